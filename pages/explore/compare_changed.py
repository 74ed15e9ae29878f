"""Which heads changed most from A to B: a cell for each head, and the first of them in a list."""

import numpy as np
import streamlit as st

from pages.explore.compare_code import opening
from pages.explore.compare_scene import Arrays, Scene, calm
from pages.explore.compare_sides import theme
from pages.shared import compare_state
from pages.shared.components import figures
from transformer_core.analysis import ATTENTIONS, HeadName
from transformer_core.analysis.divergence import ranked
from transformer_core.analysis.side_by_side import changes
from transformer_core.analysis.table import matrix_csv
from transformer_core.figures.head_grid import head_grid

MOST_LISTED = 12
MOST = float(np.sqrt(np.log(2)))  # nats^0.5
CODE = """
from transformer_core.analysis.divergence import ranked
from transformer_core.analysis.side_by_side import SharedTokens, changes

for name in {attentions}:
    shared = SharedTokens.of(a.labels(name), b.labels(name))
    found = changes(a.attended[name], b.attended[name], shared)  # [layer, head], nats^0.5
    for layer, head, distance in ranked(found)[:12]:
        print(name, layer, head, round(distance, 3))
"""


def show(scene: Scene) -> None:
    """Draw how far apart each two heads of the same number are, and the list of the most changed ones."""
    if scene.is_same:
        calm("A and B are the same model on the same text, so no head changed. Give B another text, model, or change.")
        return
    shapes = [{name: of.shape[:2] for name, of in reading.attended.items()} for reading in scene.readings]
    if shapes[0] != shapes[1]:
        calm(
            "Head by head only models of one shape can be compared, and these two have other layers, heads or "
            "attentions. The map of heads shows which of them are alike."
        )
        return
    found = scene.kept("changes", None, lambda: _changes(scene))
    if not found:
        calm("The two texts have too few tokens in common to say which heads changed; take texts that are more alike.")
        return
    with st.container(key="hl-compare-changed"):
        left, right = st.columns([7, 5], gap="large")
    with left:
        for name, of_heads in found.items():
            _grid(scene, name, of_heads)
    with right:
        _list(found)
    missing = [ATTENTIONS[name].title.lower() for name in scene.readings[0].attended if name not in found]
    if missing:
        calm(f"In {' and '.join(missing)}, the two have too few tokens in common to be compared.")
    st.html(
        "<p class='hl-look'><b>What to look for:</b> the heads that a change of the text, of the training or of "
        "another head reaches at all; those that stay pale do the same as before. The number is the Jensen-Shannon "
        "distance: the root of the divergence of two rows in nats, averaged over the queries with a choice, from 0 to "
        "0.83.</p>"
    )


def code(scene: Scene) -> str:
    """Return the lines that compute what is shown."""
    return opening(scene.a, scene.b) + CODE.format(attentions=[*scene.readings[0].attended])


def _changes(scene: Scene) -> Arrays:
    """Return the distances by attention; of an attention whose tokens cannot be paired, none."""
    a, b = scene.readings
    with st.spinner("Comparing all heads …", show_time=True):
        pairs = {name: scene.shared(name, name) for name in a.attended}
        return {
            name: changes(a.attended[name], b.attended[name], shared)
            for name, shared in pairs.items()
            if shared.is_telling
        }


def _grid(scene: Scene, name: str, of_heads: np.ndarray) -> None:
    key = f"compare-changed-{name}"
    head = scene.a.head
    figure = head_grid(
        of_heads,
        title=f"{ATTENTIONS[name].title}: how far B is from A",
        what="Jensen-Shannon distance",
        unit="nats^½",
        limits=(0.0, MOST),
        chosen=(head.layer, head.head) if head.attention == name else None,
        theme=theme(),
    )
    layers, heads = (list(range(n)) for n in of_heads.shape)
    scene.draw(
        figure,
        name=f"changed-{name}",
        key=key,
        csv=lambda: matrix_csv(of_heads, "layer", layers, "head", heads, "distance"),
        arrays=lambda: {"distance": of_heads},
        code=code(scene),
        height=int(figure.layout.height),
        on_cell=lambda: _open(name, figures.sent_cell(key)),
    )


def _open(attention: str, cell: tuple[int, int] | None) -> None:
    if cell:
        compare_state.open_both(HeadName(attention, *cell))


def _list(found: Arrays) -> None:
    """Draw the heads that changed most, of all attentions, each with a button that opens it."""
    order = sorted(
        ((change, HeadName(name, layer, head)) for name, of in found.items() for layer, head, change in ranked(of)),
        key=lambda one: -one[0],
    )
    st.html("<p class='hl-subtitle'>Changed most</p>")
    with st.container(key="hl-compare-list", gap=None):
        for change, head in order[:MOST_LISTED]:
            with st.container(horizontal=True, gap="small", vertical_alignment="center"):
                st.html(
                    f"<div class='hl-compare-bar'><i style='width:{change / MOST:.0%}'></i></div>"
                    f"<span class='hl-compare-number'>{change:.2f}</span>",
                    width="content",
                )
                st.button(
                    f"{ATTENTIONS[head.attention].title}, layer {head.layer}, head {head.head}",
                    key=f"compare-open-{compare_state.head_in_words(head)}",
                    type="tertiary",
                    help="Open this head in A and B",
                    on_click=compare_state.open_both,
                    args=(head,),
                )
