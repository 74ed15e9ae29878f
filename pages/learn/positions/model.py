"""Positions in the chosen model: their share in a head's scores, and what a head attends to when words are shuffled."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.figures import TokenGrid, attention_heatmap
from headlight.figures.heatmaps.score_sources import part_shares, position_parts
from headlight.language import localized, say
from pages.learn import head_choice
from pages.learn.positions import view_fields
from pages.learn.positions.data import PositionsData
from pages.learn.positions.drawing import draw, draw_heads
from pages.shared import prose
from pages.shared.glossary.links import definitions
from pages.shared.heads import axis_names, head_in_words
from pages.shared.recipe import value_of
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.positions.share import PartName, ScoreParts
    from headlight.analysis.positions.shuffled_words import ShuffledWords

MOST_DRAWN = 64  # tokens per side for which cells are visible in small matrices
MOST_TOKENS = 512  # per side, up to which scores are decomposed
PART_NAMES = {
    "content_content": mark("content → content"),
    "content_position": mark("content → position"),
    "position_content": mark("position → content"),
    "position_position": mark("position → position"),
    "unturned": mark("without rotation"),
    "turning": mark("effect of the rotation"),
    "distance": mark("position bias"),
    "rest": mark("rest"),
}
LOOK = {
    "added": mark(
        "“position → position” is the same for every text: a diagonal means the head attends at a fixed distance. "
        "“content → content” depends on the words. Outputs of earlier layers count as content, although they may "
        "contain positions."
    ),
    "turned": mark(
        "on the left, the score without rotation, as if query and key had the same position; then the effect of their "
        "distance. In a head with a strong second part, distance matters."
    ),
    "bias": mark("the bias is the same for every text; the dot product of query and key depends on the words."),
    "none": mark("there is no positional encoding here: the scores depend only on the tokens’ content."),
}
HOW = mark(
    "Shares: the softmax ignores what all keys of a query have in common, so each row is centered. A part’s share is "
    "its covariance with the scores divided by their variance; the shares sum to 100%, and a part that works against "
    "the others is negative. The rest comes from biases and segment embeddings."
)
FROZEN = mark(
    "Between these sources and the scores there are layer norms. With their statistics frozen at their values on this "
    "text, the decomposition is exact."
)
HEIGHT = 430  # px
LOOK_SHUFFLED = mark(
    "if both patterns look the same, the head follows positions: a diagonal stays a diagonal, whatever the words. If "
    "the same word pairs get the weight at new positions, it follows the words."
)
HOW_SHUFFLED = mark(
    "Score per head: compares the shuffled pattern with the original pattern at the same positions and with the "
    "original pattern moved along with the words (total variation distance per row, over keys visible in both "
    "orders). 1: follows the words; −1: follows the positions; averaged over {n} orders."
)


def show(data: PositionsData) -> None:
    """Draw the question about the model, and the head."""
    if not data.view.text:
        return
    with st.container(key="hl-positions-model", horizontal=True, gap="small", vertical_alignment="center"):
        view_fields.IN_MODEL.segmented(
            say("Show"),
            ["sources", "shuffle"],
            name={"sources": say("Score decomposition"), "shuffle": say("Shuffled words")}.__getitem__,
        )
        head_choice.attention(data.card)
        head_choice.head(data.card)
        if view_fields.IN_MODEL.value == "shuffle":
            st.button(
                say("Another order"),
                key="positions-order",
                icon=":material/shuffle:",
                on_click=view_fields.SEED.set,
                args=((view_fields.SEED.value + 1) % 1000,),
            )
    if view_fields.IN_MODEL.value == "shuffle":
        shuffled(data)
    else:
        _sources(data)


def _sources(data: PositionsData) -> None:
    view, model_run = data.view, data.model_run
    assert model_run is not None, "there is a text"
    labels = model_run.labels(view.attention)
    if max(map(len, labels)) > MOST_TOKENS:
        prose.note(say("Scores can be decomposed for texts of up to {n} tokens; shorten the text.", n=MOST_TOKENS))
        return
    if max(map(len, labels)) > MOST_DRAWN:
        prose.note(
            say(
                "This text is long: the matrices show its first {n} tokens; the shares include all tokens.",
                n=MOST_DRAWN,
            )
        )
    result: ScoreParts = value_of(data.score_parts)
    shares = result.shares()
    figure = position_parts(
        {say(PART_NAMES[name]): part[:MOST_DRAWN, :MOST_DRAWN] for name, part in result.parts.items()},
        {say(PART_NAMES[name]): share for name, share in shares.items()},
        result.scores[:MOST_DRAWN, :MOST_DRAWN],
        result.mask[:MOST_DRAWN, :MOST_DRAWN],
        TokenGrid(
            *(side[:MOST_DRAWN] for side in labels),
            **axis_names(data.card.config.architecture, data.view.attention),
        ),
        title=say("Scores of {head} as a sum", head=head_in_words(*view.head_name)),
    )
    names = [*result.parts]
    stacked = np.stack([result.parts[name] for name in names]).reshape(len(names), -1)
    cells = [f"{query}.{key}" for query in range(len(labels[0])) for key in range(len(labels[1]))]
    draw(
        data,
        figure,
        name="sources",
        csv=lambda: matrix_csv(stacked, "part", names, "query.key", cells, "score"),
        arrays=lambda: (
            {str(of): part for of, part in result.parts.items()} | {"scores": result.scores, "mask": result.mask}
        ),
    )
    _shares(data, shares)
    exact = say("The parts sum to the model’s scores, to within {error}.", error=localized(result.error, ".1e"))
    notes = [exact, *([say(FROZEN)] if result.is_frozen else []), say(HOW)]
    prose.small(" ".join(notes))
    acting = {"position_position": "added", "turning": "turned", "distance": "bias"}  # by the part that indicates it
    look = next((look for part, look in acting.items() if part in result.parts), "none")
    prose.look_for(say(LOOK[look]), definitions("score-decomposition"))


def _shares(data: PositionsData, shares: "Mapping[PartName, float]") -> None:
    """Draw the share of each part, and beside it the share of positions in every head."""
    with st.container(key="hl-positions-shares"):
        left, right = st.columns([3, 2], gap="medium")
    names = [*shares]
    bars = part_shares(
        {say(PART_NAMES[name]): share for name, share in shares.items()},
        title=say("Share of each part in the score’s variance"),
    )
    with left:
        draw(
            data,
            bars,
            name="shares",
            csv=lambda: matrix_csv(np.array([*shares.values()])[:, None], "part", names, "of", ["share"], "share"),
            arrays=lambda: {"shares": np.array([*shares.values()]), "parts": np.array(names)},
        )
    of_heads: np.ndarray | None = value_of(data.shares_of_heads)
    if of_heads is not None:
        titles = {"title": say("Share of positions by head"), "what": say("share of positions")}
        with right:
            draw_heads(data, of_heads, name="positions-of-heads", width=400, **titles)


def shuffled(data: PositionsData) -> None:
    """Draw the patterns and outputs for both word orders, and the score of every head."""
    from headlight.analysis.positions.shuffled_words import N_ORDERS

    view = data.view
    result: ShuffledWords = value_of(data.shuffled)
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
        titles = {"title": say("Words (1) or positions (−1)"), "what": say("follows")}
        draw_heads(data, result.follows, name="follows", width=300, **titles)
    prose.small(say(HOW_SHUFFLED, n=N_ORDERS))
    prose.look_for(say(LOOK_SHUFFLED))


def _outputs(shuffled: "ShuffledWords") -> None:
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
    view, mask = data.view, shuffled.mask[data.view.layer]
    queries, keys = shuffled.query_labels[which], shuffled.key_labels[which]
    order = say("original order") if which == 0 else say("shuffled")
    title = say("L{layer}.H{head}: {order}", layer=view.layer, head=view.head, order=order)
    names = axis_names(data.card.config.architecture, data.view.attention)
    grid = TokenGrid(queries, keys, **names, width=430, height=HEIGHT)
    rows, columns = ([f"{place} {label}" for place, label in enumerate(side)] for side in (queries, keys))
    draw(
        data,
        attention_heatmap(pattern, grid, title=title, mask=mask),
        name=f"shuffle-{name}",
        csv=lambda: matrix_csv(pattern, "query", rows, "key", columns, "weight"),
        arrays=lambda: {"pattern": pattern, "mask": mask, "order": np.array(shuffled.order)},
    )
