"""How alike what each layer of A hands on is to what each layer of B does."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.explore.compare.code import changed, opening
from pages.explore.compare.data import Arrays, ComparisonData
from pages.explore.compare.sides import Side, teacher_forced
from pages.shared import models, prose
from pages.shared.glossary.links import definitions
from pages.shared.style import theme
from transformer_core.analysis.heads.table import matrix_csv
from transformer_core.analysis.texts.side_by_side import is_telling, layer_likeness
from transformer_core.analysis.texts.token_alignment import TokenAlignment, align_tokens
from transformer_core.errors import mark
from transformer_core.figures.heatmaps.layer_matrix import layer_matrix
from transformer_core.language import say

if TYPE_CHECKING:
    from transformer_core.analysis import ModelRun

HEIGHT = 420  # px
FEW_TOKENS = 16  # on fewer, everything looks rather alike
SIDES = {"encoder": "source", "decoder": "target"}  # whose tokens a stack holds
STACKS = {"encoder": mark("encoder"), "decoder": mark("decoder")}
LOOK_FOR = mark(
    "a strong diagonal: corresponding layers have similar states. A strong block: layers that change the state "
    "little. A row of low values: a state of A without a counterpart in B. CKA is 1 for states that differ only by "
    "rotation, scaling or translation, and 0 for states with nothing in common."
)
SHORT = mark(
    " The text is short: with {n} tokens, CKA tends to be high, so compare the values with each other rather than "
    "taking them at face value."
)
CODE = """
from transformer_core.analysis.heads.outputs import layer_states
from transformer_core.analysis.texts.side_by_side import is_telling, layer_likeness
from transformer_core.analysis.texts.token_alignment import align_tokens
from transformer_core.analysis.trace.traced_forward import tensor_of

{states}
"""
COMPARED = """
positions = align_tokens({tokens_a}[0], {tokens_b}[0])
print(layer_likeness(states_a[{a!r}], states_b[{b!r}], positions))  # CKA, [state of A, state of B]
"""


@dataclass(frozen=True, kw_only=True)
class StackPair:
    """A stack of A, one of B, and their tokens, paired."""

    a: str
    b: str
    positions: TokenAlignment

    @property
    def name(self) -> str:
        """What the two are called together."""
        return self.a if self.a == self.b else f"{self.a} and {self.b}"

    def in_words(self) -> str:
        """Return which stacks these are."""
        a, b = say(STACKS[self.a]), say(STACKS[self.b])
        return a if self.a == self.b else say("A’s {a} and B’s {b}", a=a, b=b)


def show(data: ComparisonData) -> None:
    """Draw a matrix for each stack that both models have."""
    data, is_on_a = _on_one_text(data)
    pairs = _pairs(data)
    if not pairs:
        prose.note(
            say(
                "The two models tokenize this text differently, so their hidden states cannot be compared token by "
                "token. Choose two models with the same tokenizer."
            )
        )
        return
    found = data.kept("layers", None, lambda: _likeness(data, pairs))
    with st.container(key="hl-compare-layers"):
        columns = st.columns(2, gap="medium")
    for column, pair in zip(columns, pairs, strict=False):
        with column:
            _matrix(data, pair, found[pair.name])
    if is_on_a:
        prose.note(say("The two texts have different tokens, so both models read A’s text here."))
    for pair in pairs:
        n_left_out = len(pair.positions.only_a) + len(pair.positions.only_b)
        if n_left_out:
            n_paired = len(pair.positions.pairs)
            prose.note(
                say(
                    "{n_paired} tokens occur on both sides and are compared; {n_left_out} occur on one side only "
                    "and are left out.",
                    n_paired=n_paired,
                    n_left_out=n_left_out,
                )
            )
    few = min(len(pair.positions.pairs) for pair in pairs)
    honest = say(SHORT, n=few) if few < FEW_TOKENS else ""
    prose.look_for(say(LOOK_FOR) + honest, definitions("cka", "residual-stream"))


def code(data: ComparisonData) -> str:
    """Return the lines that compute what is shown."""
    data, _ = _on_one_text(data)
    states = "\n".join(
        line
        for side in (data.a, data.b)
        for line in changed(
            side,
            "states_{0} = layer_states(model_{0}, *(tensor_of(ids, model_{0}) for ids in {0}.inputs))".format(
                side.letter.lower()
            ),
        )
    )
    lines = [
        COMPARED.format(
            a=pair.a,
            b=pair.b,
            tokens_a=data.labels_in_code(0, repr(pair.a)),
            tokens_b=data.labels_in_code(1, repr(pair.b)),
        )
        for pair in _pairs(data)
    ]
    return opening(data.a, data.b) + CODE.format(states=states) + "".join(lines)


def _on_one_text(data: ComparisonData) -> tuple[ComparisonData, bool]:
    """Return the data with B reading A's text where the two have other tokens, and whether it does.

    Raises:
        HeadlightError: B cannot read A's text.
    """
    pairs = _pairs(data)
    is_whole = all(not (pair.positions.only_a or pair.positions.only_b) for pair in pairs)
    if data.a.text == data.b.text or (is_whole and len(pairs) == len(_names(data))):
        return data, False
    side_b = teacher_forced(replace(data.b, text=data.a.text, target=None), data.a, data.model_runs[0])
    return replace(data, b=side_b, model_runs=(data.model_runs[0], side_b.read())), True


def _pairs(data: ComparisonData) -> list[StackPair]:
    """Return the stacks that can be compared; without those whose tokens are not the same."""
    pairs = [
        StackPair(a=stack_a, b=stack_b, positions=align_tokens(_tokens(data, 0, stack_a), _tokens(data, 1, stack_b)))
        for stack_a, stack_b in _names(data)
    ]
    return [pair for pair in pairs if is_telling(pair.positions)]


def _names(data: ComparisonData) -> list[tuple[str, str]]:
    """Return the stacks of the same name, or else the last one of each."""
    a, b = ([stack for stack, side in SIDES.items() if getattr(model_run, side)] for model_run in data.model_runs)
    return [(stack, stack) for stack in a if stack in b] or [(a[-1], b[-1])]


def _tokens(data: ComparisonData, i: int, stack: str) -> tuple[str, ...]:
    return data.labels(i, stack)[0]  # a stack's self-attention has its name


def _likeness(data: ComparisonData, pairs: list[StackPair]) -> Arrays:
    with st.spinner(say("Comparing all layers …"), show_time=True):
        a, b = (_states(side, model_run) for side, model_run in data.sides)
        return {pair.name: layer_likeness(a[pair.a], b[pair.b], pair.positions) for pair in pairs}


def _states(side: Side, model_run: "ModelRun") -> Arrays:
    """Return the residual stream of a side's model on its text, before the first block and behind each."""
    from transformer_core.analysis.heads.outputs import layer_states
    from transformer_core.analysis.trace.traced_forward import tensor_of

    model, _ = side.source.load()
    with models.on(side.source.device), side.source.changed(model):
        return layer_states(model, *(tensor_of(ids, model) for ids in model_run.inputs))


def _matrix(data: ComparisonData, pair: StackPair, likeness: np.ndarray) -> None:
    rows, columns = (
        [say("embedding"), *(say("layer {layer}", layer=layer) for layer in range(n - 1))] for n in likeness.shape
    )
    name = say("{stacks}: CKA of the hidden states after each layer", stacks=pair.in_words())
    figure = layer_matrix(
        likeness,
        names=(f"A: {data.a.name}", f"B: {data.b.name}"),
        labels=(rows, columns),
        title=f"{name[:1].upper()}{name[1:]}",
        theme=theme(),
        height=HEIGHT,
    )
    data.draw(
        figure,
        name=f"layers-{pair.a}-{pair.b}",
        key=f"compare-layers-{pair.a}-{pair.b}",
        csv=lambda: matrix_csv(likeness, "state_a", rows, "state_b", columns, "cka"),
        arrays=lambda: {"cka": likeness},
        code=code(data),
        height=HEIGHT,
    )
