"""The same text with its words in another order: what a head still looks at, the words or the places."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures import TokenGrid, attention_heatmap, head_grid
from pages.explore.heads.data import NAMES as SIDE_NAMES
from pages.learn.positions import recipes, view_fields
from pages.learn.positions.data import PositionsData
from pages.learn.positions.drawing import draw, draw_heads
from pages.shared import prose
from pages.shared.recipe import value_of
from transformer_core.errors import mark
from transformer_core.language import say

if TYPE_CHECKING:
    from headlight.analysis.positions.shuffled_words import ShuffledWords

HEIGHT = 430  # px
LOOK = mark(
    "if both patterns look the same, the head follows positions: a diagonal stays a diagonal, whatever the words. If "
    "the same word pairs get the weight at new positions, it follows the words."
)
HOW = mark(
    "Score per head: compares the shuffled pattern with the original pattern at the same positions and with the "
    "original pattern moved along with the words (total variation distance per row, over keys visible in both "
    "orders). 1: follows the words; −1: follows the positions; averaged over {n} orders."
)


def choose_order() -> None:
    """Draw the button of another order."""
    seed = view_fields.SEED.value
    st.button(
        say("Another order"),
        key="positions-order",
        icon=":material/shuffle:",
        on_click=view_fields.SEED.set,
        args=((seed + 1) % 1000,),
    )


def show(data: PositionsData) -> None:
    """Draw both patterns, what the model says to both, and the number of every head."""
    from headlight.analysis.positions.shuffled_words import N_ORDERS

    view = data.view
    result: ShuffledWords = value_of(recipes.shuffled(data))
    _outputs(result)
    with st.container(key="hl-positions-shuffle"):
        columns = st.columns([5, 5, 3], gap="small")
    for column, name, pattern, which in (
        (columns[0], "own", result.own, 0),
        (columns[1], "shuffled", result.shuffled, 1),
    ):
        with column:
            _pattern(data, result, name, pattern[view.layer, view.head], which)
    with columns[2]:
        _follows(data, result)
    how = say(HOW, n=N_ORDERS)
    prose.small(how)
    prose.look_for(say(LOOK))


def _outputs(shuffled: "ShuffledWords") -> None:
    """Draw both texts, and what the model says to them."""
    rows = [
        (name, text, prose.markup("<i aria-hidden='true'>→</i><b dir='auto'>{}</b>", output) if output else "")
        for name, text, output in (
            (say("original order"), shuffled.own_text, shuffled.own_output),
            (say("shuffled"), shuffled.text, shuffled.output),
        )
    ]
    prose.html(
        "<div class='hl-positions-orders'>{}</div>",
        prose.each("<div><span>{}</span><em dir='auto'>{}</em>{}</div>", rows),
    )


def _pattern(data: PositionsData, shuffled: "ShuffledWords", name: str, pattern: np.ndarray, which: int) -> None:
    """Draw the pattern of the chosen head in one order."""
    view, mask = data.view, shuffled.mask[data.view.layer]
    kind = ATTENTIONS[view.attention]
    queries, keys = shuffled.query_labels[which], shuffled.key_labels[which]
    order = say("original order") if which == 0 else say("shuffled")
    sides = [say(SIDE_NAMES[data.card.config.architecture, side]) for side in (kind.queries_from, kind.keys_from)]
    title = say("L{layer}.H{head}: {order}", layer=view.layer, head=view.head, order=order)
    names = [say("query: {what}", what=sides[0]), say("key: {what}", what=sides[1])]
    grid = TokenGrid(queries, keys, query_name=names[0], key_name=names[1], width=430, height=HEIGHT)
    figure = attention_heatmap(pattern, grid, title=title, mask=mask)
    draw(
        data,
        figure,
        name=f"shuffle-{name}",
        csv=lambda: matrix_csv(
            pattern,
            "query",
            [f"{place} {label}" for place, label in enumerate(queries)],
            "key",
            [f"{place} {label}" for place, label in enumerate(keys)],
            "weight",
        ),
        arrays=lambda: {"pattern": pattern, "mask": mask, "order": np.array(shuffled.order)},
    )


def _follows(data: PositionsData, shuffled: "ShuffledWords") -> None:
    """Draw the number of every head."""
    view = data.view
    figure = head_grid(
        shuffled.follows,
        title=say("Words (1) or positions (−1)"),
        what=say("follows"),
        limits=(-1.0, 1.0),
        diverging=True,
        chosen=(view.layer, view.head),
        width=300,
    )
    draw_heads(data, figure, name="follows", values=shuffled.follows)
