"""How alike what each layer of A hands on is to what each layer of B does."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.explore.compare_code import changed, opening
from pages.explore.compare_scene import Arrays, Scene, calm
from pages.explore.compare_sides import Side, theme
from pages.shared import models
from transformer_core.analysis.side_by_side import layer_likeness
from transformer_core.analysis.table import matrix_csv
from transformer_core.analysis.token_alignment import TokenAlignment, align_tokens
from transformer_core.figures.layer_matrix import layer_matrix

if TYPE_CHECKING:
    from transformer_core.analysis import Reading

HEIGHT = 420  # px
FEW_TOKENS = 16  # on fewer, everything looks rather alike
SIDES = {"encoder": "source", "decoder": "target"}  # whose tokens a stack holds
CODE = """
from transformer_core.analysis.head_outputs import layer_states
from transformer_core.analysis.side_by_side import layer_likeness
from transformer_core.analysis.token_alignment import align_tokens
from transformer_core.analysis.watching import tensor_of

{states}
for stack, side in {stacks}:
    positions = align_tokens(getattr(a, side), getattr(b, side))
    print(stack, layer_likeness(states_a[stack], states_b[stack], positions))  # CKA, [state of A, state of B]
"""


def show(scene: Scene) -> None:
    """Draw a matrix for each stack that both models have."""
    scene, is_on_a = _on_one_text(scene)
    positions = _positions(scene)
    if not positions:
        calm(
            "These two have no stack in common whose tokens can be paired: one has only an encoder and the other only "
            "a decoder, or they cut the text into other tokens."
        )
        return
    found = scene.kept("layers", None, lambda: _likeness(scene, positions))
    with st.container(key="hl-compare-layers"):
        columns = st.columns(2, gap="medium")
    for column, (stack, likeness) in zip(columns, found.items(), strict=False):
        with column:
            _matrix(scene, stack, likeness)
    if is_on_a:
        calm("The two texts have not the same number of tokens, so both models read A’s text here.")
    for stack, paired in positions.items():
        if paired.only_a or paired.only_b:
            n_left_out = len(paired.only_a) + len(paired.only_b)
            calm(
                f"In the {stack}, {len(paired.pairs)} tokens of both are paired and compared; {n_left_out} that only "
                "one of them has are left out."
            )
    few = min(len(paired.pairs) for paired in positions.values())
    honest = (
        f" The text is short: over {few} tokens all states are rather alike, so look at where the numbers fall, not at "
        "how high they are."
        if few < FEW_TOKENS
        else ""
    )
    st.html(
        "<p class='hl-look'><b>What to look for:</b> a bright diagonal: the layers of both do the same, one by one. A "
        "bright block: layers that hand on much the same. A pale row: a state of A that B never has. CKA is 1 where "
        f"one state is the other turned, scaled or shifted, and 0 where they have nothing in common.{honest}</p>"
    )


def code(scene: Scene) -> str:
    """Return the lines that compute what is shown."""
    scene, _ = _on_one_text(scene)
    stacks = [(stack, SIDES[stack]) for stack in _positions(scene)]
    states = "\n".join(
        line
        for side in (scene.a, scene.b)
        for line in changed(
            side,
            "states_{0} = layer_states(model_{0}, *(tensor_of(ids, model_{0}) for ids in {0}.inputs))".format(
                side.letter.lower()
            ),
        )
    )
    return opening(scene.a, scene.b) + CODE.format(states=states, stacks=stacks)


def _on_one_text(scene: Scene) -> tuple[Scene, bool]:
    """Return the scene with B reading A's text where the two have other numbers of tokens, and whether it does.

    Raises:
        HeadlightError: B cannot read A's text.
    """
    a, b = scene.readings
    if all(len(getattr(a, side)) == len(getattr(b, side)) for side in SIDES.values()) or scene.a.text == scene.b.text:
        return scene, False
    side_b = replace(scene.b, text=scene.a.text, target=None)
    return replace(scene, b=side_b, readings=(a, side_b.read())), True


def _positions(scene: Scene) -> dict[str, TokenAlignment]:
    """Return the paired tokens of each stack that both have; of one with fewer than two pairs, none."""
    a, b = scene.readings
    paired = {stack: align_tokens(getattr(a, side), getattr(b, side)) for stack, side in SIDES.items()}
    return {stack: positions for stack, positions in paired.items() if len(positions.pairs) >= 2}


def _likeness(scene: Scene, positions: dict[str, TokenAlignment]) -> Arrays:
    with st.spinner("Comparing all layers …", show_time=True):
        a, b = (_states(side, reading) for side, reading in scene.sides)
        return {stack: layer_likeness(a[stack], b[stack], paired) for stack, paired in positions.items()}


def _states(side: Side, reading: "Reading") -> Arrays:
    """Return the residual stream of a side's model on its text, before the first block and behind each."""
    from transformer_core.analysis.head_outputs import layer_states
    from transformer_core.analysis.watching import tensor_of

    model, _ = side.source.load()
    with models.on(side.source.device), side.source.changed(model):
        return layer_states(model, *(tensor_of(ids, model) for ids in reading.inputs))


def _matrix(scene: Scene, stack: str, likeness: np.ndarray) -> None:
    rows, columns = (["embedding", *(f"layer {layer}" for layer in range(n - 1))] for n in likeness.shape)
    figure = layer_matrix(
        likeness,
        names=(f"A: {scene.a.name}", f"B: {scene.b.name}"),
        labels=(rows, columns),
        title=f"{stack.capitalize()}: how alike the states behind the layers are (CKA)",
        theme=theme(),
        height=HEIGHT,
    )
    scene.draw(
        figure,
        name=f"layers-{stack}",
        key=f"compare-layers-{stack}",
        csv=lambda: matrix_csv(likeness, "state_a", rows, "state_b", columns, "cka"),
        arrays=lambda: {"cka": likeness},
        code=code(scene),
        height=HEIGHT,
    )
