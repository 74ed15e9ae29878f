"""Which heads changed most from A to B: a grid with a cell for each head, and a list of the most changed heads."""

import numpy as np
import streamlit as st

from headlight.analysis.heads.measures import HeadName
from headlight.analysis.heads.table import matrix_csv
from headlight.analysis.texts.side_by_side import changes, ranked_heads
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures.heatmaps.head_grid import head_grid
from headlight.figures.theme import STRONG
from headlight.language import say, say_message
from pages.components import figures
from pages.explore.compare import view_fields
from pages.explore.compare.data import ComparisonData, kept
from pages.shared import prose
from pages.shared.glossary.links import definitions
from pages.shared.recipe import Expression, Print, call, named, value_of
from transformer_core.errors import mark

AXES = "[layer, head], in [0, 1]"
MOST_LISTED = 12
NOT_FINITE = mark("Some of these weights are NaN or infinite (magenta), so they cannot be compared.")
UNCHANGED = 0.005  # smaller distances round to 0.00
LEAST_RANGE = 0.1  # minimum upper limit of the color scale and bars, so that tiny changes look tiny
LOOK_FOR = mark(
    "which heads respond to the change of text, training step or other heads; heads near 0 behave as before. The "
    "number is the Jensen-Shannon distance of corresponding rows (base 2, from 0 to 1), averaged over queries with "
    "at least two allowed keys."
)


def show(data: ComparisonData) -> None:
    """Draw the distance between corresponding heads of A and B, and a list of the most changed heads."""
    if data.is_same:
        prose.note(
            say(
                "A and B are the same model on the same text, so no head changed. Give B a different text, model or "
                "ablation."
            )
        )
        return
    if not _have_one_shape(data):
        prose.note(
            say(
                "Only models with the same layers, heads and attentions can be compared head by head. The head map "
                "shows which heads are similar."
            )
        )
        return
    recipe = _changes(data)
    distances: dict[str, np.ndarray] = value_of(recipe)
    if not distances:
        prose.note(say("The two texts share too few tokens to compare heads; use texts that are more similar."))
        return
    with st.container(key="hl-compare-changed"):
        left, right = st.columns([7, 5], gap="large")
    most = max(LEAST_RANGE, *(float(np.nan_to_num(of_heads).max()) for of_heads in distances.values()))
    with left:
        for name in distances:
            _grid(data, name, recipe[name], most)
    with right:
        if not all(np.isfinite(of_heads).all() for of_heads in distances.values()):
            prose.note(say(NOT_FINITE))
        else:
            _list(_ranked(recipe), most)
    missing = [say(ATTENTIONS[name].inline) for name in data.a.model_run.attention_maps if name not in distances]
    if missing:
        where = say(" and ").join(missing)
        prose.note(say("In {where}, the two sides share too few tokens to be compared.", where=where))
    prose.look_for(say(LOOK_FOR), definitions("jensen-shannon-distance"))


def code(data: ComparisonData) -> list[Print]:
    """Return the lines that print what is shown."""
    if not _have_one_shape(data):
        return data.outputs
    distances = _changes(data)
    return [*data.outputs, Print(distances, AXES), Print(call(ranked_heads, distances)[:MOST_LISTED])]


def most_changed(data: ComparisonData) -> list[tuple[HeadName, float]]:
    """Return the changed heads with their distances, largest first; none if A and B are equal or not comparable."""
    return [] if data.is_same or not _have_one_shape(data) else _ranked(_changes(data))


def _have_one_shape(data: ComparisonData) -> bool:
    a, b = ({name: of.shape[:2] for name, of in side.model_run.attention_maps.items()} for side in data.sides)
    return a == b


def _changes(data: ComparisonData) -> Expression:
    """Return the distances by attention as code, omitting attentions whose tokens cannot be paired."""
    a, b = (side.recipe.attention_maps for side in data.sides)
    pairs = {name: data.shared(name, name) for name in data.a.model_run.attention_maps}
    distances = {
        name: call(changes, a[name], b[name], shared) for name, shared in pairs.items() if value_of(shared).is_telling
    }
    return named("changed", kept(call(dict, **distances), waiting=say("Comparing all heads …")))


def _ranked(distances: Expression) -> list[tuple[HeadName, float]]:
    """Return the changed heads of all attentions with their distances, largest first."""
    return [one for one in value_of(call(ranked_heads, distances)) if one[1] >= UNCHANGED]


def _grid(data: ComparisonData, name: str, recipe: Expression, most: float) -> None:
    key = f"compare-changed-{name}"
    head, of_heads = data.a.head, value_of(recipe)
    figure = head_grid(
        of_heads,
        title=say("{attention}: distance between A and B", attention=say(ATTENTIONS[name].title)),
        what=say("Jensen-Shannon distance"),
        limits=(0.0, most),
        chosen=(head.layer, head.head) if head.attention == name else None,
    )
    layers, heads = (list(range(n)) for n in of_heads.shape)
    data.draw(
        figure,
        name=f"changed-{name}",
        key=key,
        csv=lambda: matrix_csv(of_heads, "layer", layers, "head", heads, "distance"),
        arrays=lambda: {"distance": of_heads},
        code=[Print(recipe, AXES)],
        on_cell=lambda: _open(name, figures.sent_cell(key)),
    )


def _open(attention: str, cell: tuple[int, int] | None) -> None:
    if cell:
        view_fields.open_both(HeadName(attention, *cell))


def _list(changed: list[tuple[HeadName, float]], most: float) -> None:
    """Draw the heads that changed most, each with a button that opens it."""
    if not changed:
        prose.note(say("No head changed: all distances are below 0.005."))
        return
    prose.html("<p class='hl-subtitle'>{}</p>", say("Most changed"))
    with st.container(key="hl-compare-list", gap=None):
        for head, change in changed[:MOST_LISTED]:
            with st.container(horizontal=True, gap="small", vertical_alignment="center"):
                prose.html(
                    "<div class='hl-compare-bar'><i style='width:{:.0%};background:{}'></i></div>"
                    "<span class='hl-compare-number'>{:.2f}</span>",
                    *(change / most, STRONG, change),
                    width="content",
                )
                st.button(
                    prose.plain(say_message(head.in_words())),
                    key=f"compare-open-{view_fields.written_head(head)}",
                    type="tertiary",
                    on_click=view_fields.open_both,
                    args=(head,),
                )
