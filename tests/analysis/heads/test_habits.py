"""The cells of each habit, by hand and by loops over single tokens."""

import numpy as np
import pytest

from transformer_core.analysis.heads.habits import (
    aligned_cells,
    first_cells,
    induction_cells,
    mean_share,
    near_cells,
    previous_cells,
    share_weights,
)
from transformer_core.analysis.trace.cases import Case


def cells_of(cells: np.ndarray) -> set[tuple[int, int]]:
    return {(int(query), int(key)) for query, key in np.argwhere(cells)}


def test_positions_by_hand():
    assert cells_of(previous_cells(5)) == {(2, 1), (3, 2), (4, 3)}
    assert cells_of(first_cells(4)) == {(2, 0), (3, 0)}
    assert cells_of(near_cells(6)) == {(4, 1), (4, 2), (4, 3), (4, 4), (4, 5), (5, 2), (5, 3), (5, 4), (5, 5)}
    assert not previous_cells(2).any()


def test_the_alignment_by_hand():
    case = Case(inputs=((5, 6, 2), (1, 7, 8)), targets=(7, 8, 2), determined=(0, 2), sources=((1,), (0, 1)))
    assert cells_of(aligned_cells(case, 3, 3)) == {(0, 1), (2, 0), (2, 1)}


def test_nothing_is_aligned_where_nothing_is_known():
    case = Case(inputs=((1, 7, 8),), targets=(7, 8, 2), determined=(0, 1, 2), sources=())
    assert not aligned_cells(case, 3, 3).any()


@pytest.mark.parametrize("seed", range(5))
def test_induction_looks_behind_every_earlier_occurrence(seed: int):
    special = {0, 3}
    tokens = np.random.default_rng(seed).integers(0, 6, size=(2, 14))
    found = induction_cells(tokens, special)
    for text, cells in zip(tokens.tolist(), found, strict=True):
        expected = {
            (query, key)
            for query in range(len(text))
            for key in range(1, len(text))
            if key - 1 < query and text[key - 1] == text[query] and text[query] not in special
        }
        assert cells_of(cells) == expected
    np.testing.assert_array_equal(induction_cells(tokens[0], special), found[0])


def test_a_share_is_the_mean_over_queries_that_have_such_cells():
    cells = np.array([[False, False, False], [True, False, False], [True, True, False]])
    pattern = np.array([[[1.0, 0, 0], [0.25, 0.75, 0], [0.5, 0.25, 0.25]]])
    np.testing.assert_allclose(mean_share(pattern, cells), [(0.25 + 0.75) / 2])
    assert mean_share(pattern, np.zeros((3, 3), dtype=bool)) is None


def test_weights_of_several_texts_are_those_of_each():
    cells = np.random.default_rng(1).random((4, 3, 5)) < 0.3
    cells[2] = False
    weights = share_weights(cells)
    for one, alone in zip(weights, cells, strict=True):
        np.testing.assert_array_equal(one, share_weights(alone))
    assert not weights[2].any()
