"""Cells: numbers where they belong, and words that say all."""

import numpy as np

from transformer_core.figures.heatmaps.cells import MOST_TOLD, cell_traces, number_traces, words
from transformer_core.figures.token_axes import grid_places


def test_numbers_on_pale_cells_come_first_and_empty_ones_not_at_all():
    pale, deep = number_traces(
        np.array([3, 4, 5]), np.array([0, 1, 2]), ["a", "", "c"], np.array([False, False, True]), xaxis="x2"
    )
    assert (list(pale.x), list(pale.y), list(pale.text)) == ([3], [0], ["a"])
    assert (list(deep.x), list(deep.y), list(deep.text)) == ([5], [2], ["c"])
    assert pale.xaxis == deep.xaxis == "x2"


def test_words_are_made_here_up_to_a_size_and_in_the_browser_above_it():
    for n in (2, 65):
        queries, keys = grid_places((n, n), ["q"] * n, ["k"] * n)
        asked = []
        told = words(
            queries,
            keys,
            np.tri(n, dtype=bool),
            numbers=lambda n=n, asked=asked: asked.append(n) or [["1"] * n] * n,
            before="at most ",
            form=".2f",
        )
        is_small = n * n <= MOST_TOLD
        assert bool(asked) == is_small
        assert ("customdata" in told.traces) == is_small == (not told.meta)
        traces = cell_traces(
            np.ones((n, n)),
            queries,
            keys,
            np.tri(n, dtype=bool),
            name="cells",
            color_axis="coloraxis",
            hover_words=told,
        )
        assert [trace.name for trace in traces] == ["masked", "cells"]
        assert [trace.meta for trace in traces] == [None if is_small else "words"] * 2
        np.testing.assert_array_equal(np.isfinite(traces[0].z), ~np.isfinite(traces[1].z))


def test_where_all_is_allowed_there_is_one_trace():
    queries, keys = grid_places((1, 2), "a", "bc")
    allowed = np.ones((1, 2), dtype=bool)
    told = words(queries, keys, allowed, numbers=lambda: [["5", "6"]], before="", form=".0f", between=" has ")
    assert told.traces["customdata"].tolist() == [["query 0 'a' → key 0 'b' has 5", "query 0 'a' → key 1 'c' has 6"]]
    assert (
        len(cell_traces(np.ones((1, 2)), queries, keys, allowed, name="n", color_axis="coloraxis", hover_words=told))
        == 1
    )
