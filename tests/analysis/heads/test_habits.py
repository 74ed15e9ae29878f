"""The cells of each habit, by hand and by loops over single tokens."""

import numpy as np

from transformer_core.analysis.heads.habits import aligned_cells, first_cells, mean_share, near_cells, previous_cells
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
    unknown = Case(inputs=((1, 7, 8),), targets=(7, 8, 2), determined=(0, 1, 2), sources=())
    assert not aligned_cells(unknown, 3, 3).any()


def test_a_share_is_the_mean_over_queries_that_have_such_cells():
    cells = np.array([[False, False, False], [True, False, False], [True, True, False]])
    pattern = np.array([[[1.0, 0, 0], [0.25, 0.75, 0], [0.5, 0.25, 0.25]]])
    np.testing.assert_allclose(mean_share(pattern, cells), [(0.25 + 0.75) / 2])
    assert mean_share(pattern, np.zeros((3, 3), dtype=bool)) is None
