"""Biases of the scores: ALiBi's line for each head, and T5's buckets with the biases that the model learned."""

from typing import Any

import numpy as np
import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.figures.curves.lines import Line, line_figure
from headlight.figures.theme import layer_hues
from headlight.language import localized, say
from pages.learn.positions import view_fields
from pages.learn.positions.data import PositionsData
from pages.learn.positions.drawing import draw, draw_curves, draw_matrix, query_and_key, side_by_side
from pages.shared import prose
from pages.shared.glossary.links import definitions
from pages.shared.recipe import value_of
from transformer_core.errors import mark

HEIGHT = 400  # px
MOST_NAMED = 12  # maximum number of heads for which all are in the legend
NO_BUCKETS = mark(
    "These are T5’s 32 buckets, up to distance 128. The bias of each bucket is learned; {model} has no such biases."
)
LOOK_ALIBI = mark(
    "each head has its own slope, from steep to nearly flat: the first heads attend mostly to nearby tokens, the last "
    "ones far back. Nothing here depends on the training length, so the lines extend to longer texts."
)
LOOK_BUCKETS = mark(
    "short distances have one bucket each; longer ones share buckets of logarithmically growing size, and all beyond "
    "the maximum share the last. So the model can tell distance 1 from 2, but not 100 from 110."
)
LOOK_LEARNED = mark(
    "a curve with a peak prefers one distance, whatever the words; a flat curve ignores distance. The steps at the "
    "ends are the wide buckets."
)


def show(data: PositionsData) -> None:
    """Draw the biases of all heads by distance, and those of one head as a matrix."""
    if data.encoding == "alibi":
        _alibi(data)
    elif data.is_own:
        _learned(data)
    else:
        _buckets(data)


def _alibi(data: PositionsData) -> None:
    from headlight.analysis.positions.relative import alibi_by_distance, alibi_matrix, slopes

    n, n_heads = data.n, data.n_heads
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        view_fields.N_HEADS.number(say("Heads"), lowest=1, highest=view_fields.MOST_HEADS, width=120, shown=n_heads)
        head = _choose_head(n_heads)
    _heads(
        data,
        head,
        np.arange(n),
        alibi_by_distance(n_heads, n, *data.alibi_scale),
        alibi_matrix(n_heads, head, n, *data.alibi_scale),
        [
            say("head {head}: slope {slope}", head=number, slope=localized(slope, ".4g"))
            for number, slope in enumerate(slopes(n_heads, *data.alibi_scale).tolist())
        ],
        title=say("Position bias by distance"),
        x_title=say("distance between query and key"),
    )
    prose.look_for(say(LOOK_ALIBI), definitions("alibi"))


def _learned(data: PositionsData) -> None:
    result = value_of(data.learned_bias)
    n_heads = len(result.matrix)
    head = _choose_head(n_heads)
    _heads(
        data,
        head,
        result.distance,
        result.by_distance,
        result.matrix[head],
        [say("head {head}", head=number) for number in range(n_heads)],
        title=say("Learned position bias by distance"),
        x_title=say("key position minus query position"),
    )
    prose.look_for(say(LOOK_LEARNED), definitions("relative-position-bias"))


def _buckets(data: PositionsData) -> None:
    view_fields.LOOK_AHEAD.segmented(
        say("Queries see"),
        ["past", "all"],
        name={"past": say("earlier tokens"), "all": say("the whole text")}.__getitem__,
        label_visibility="visible",
    )
    result, n = value_of(data.buckets), data.n
    left, right = side_by_side("hl-positions-bias")
    with left:
        draw_curves(
            data,
            result.distance,
            [Line(name="", values=result.bucket, is_stepped=True, words=say("distance {x}: bucket {y}"))],
            name="buckets",
            axis="distance",
            arrays={"distance": result.distance, "bucket": result.bucket},
            columns=("bucket",),
            quantity="number",
            title=say("Bucket by distance"),
            x_title=say("key position minus query position"),
            y_title=say("bucket"),
            y_format="d",
            height=HEIGHT,
        )
    matrix = result.matrix.astype(np.float64)
    if view_fields.LOOK_AHEAD.value == "past":
        matrix[np.triu_indices(n, 1)] = np.nan
    with right:
        draw_matrix(
            data,
            matrix,
            *query_and_key(n),
            name="bucket-matrix",
            axes=("query", "key"),
            quantity="bucket",
            array="bucket",
            title=say("Bucket by query and key"),
            what=say("bucket"),
            diverging=False,
            decimals=0,
            has_numbers=n <= 24,
            width=560,
            height=HEIGHT,
        )
    prose.small(say(NO_BUCKETS, model=data.card.title))
    prose.look_for(say(LOOK_BUCKETS), definitions("relative-position-bias"))


def _choose_head(n_heads: int) -> int:
    head = min(view_fields.BIAS_HEAD.value, n_heads - 1)
    view_fields.BIAS_HEAD.selectbox(say("Head shown in the matrix"), range(n_heads), width=160, shown=head)
    return head


def _heads(
    data: PositionsData,
    head: int,
    distance: np.ndarray,
    values: np.ndarray,
    matrix: np.ndarray,
    names: list[str],
    **titles: Any,
) -> None:
    """Draw the bias of each head by distance, with only a few of many heads in the legend, and one head as a matrix."""
    in_legend = {0, head, len(names) - 1} if len(names) > MOST_NAMED else range(len(names))
    words = say("{head}, distance {x}: {y}")
    lines = [
        Line(
            name=name if number in in_legend else "",
            values=of_head,
            hue=hue,
            words=words.replace("{head}", name),
            is_strong=number == head,
        )
        for number, (name, of_head, hue) in enumerate(zip(names, values, layer_hues(len(names)), strict=True))
    ]
    left, right = side_by_side("hl-positions-bias")
    with left:
        draw(
            data,
            line_figure(distance, lines, y_title=say("added to the score"), height=HEIGHT, **titles),
            name="bias",
            csv=lambda: matrix_csv(values, "head", range(len(values)), "distance", distance.tolist(), "bias"),
            arrays=lambda: {"distance": distance, "bias": values},
        )
    with right:
        draw_matrix(
            data,
            matrix,
            *query_and_key(len(matrix)),
            name="bias-matrix",
            axes=("query", "key"),
            quantity="bias",
            array="bias",
            title=say("Bias of head {head}", head=head),
            what=say("added"),
            has_numbers=len(matrix) <= 12,
            width=560,
            height=HEIGHT,
        )
