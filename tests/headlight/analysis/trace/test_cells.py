"""Single cells of a pattern, by hand."""

import numpy as np

from headlight.analysis.trace.cells import strongest_cell, strongest_cells


def test_the_strongest_cell_can_be_sought_near_its_query():
    pattern = np.array([[1, 0, 0], [0.4, 0.6, 0], [0.9, 0.1, 0]], dtype=np.float32)
    causal = np.tril(np.ones((3, 3), dtype=bool))
    assert (strongest_cell(pattern, causal).query, strongest_cell(pattern, causal, within=2).key) == (2, 0)
    near = strongest_cell(pattern, causal, within=1)  # key 0 is two places from query 2
    assert (near.query, near.key) == (1, 1)


def test_strongest_cells_are_those_of_each_pattern_alone():
    patterns = np.random.default_rng(0).dirichlet(np.ones(5), size=(3, 2, 4)).astype(np.float32)
    masks = np.ones((4, 5), dtype=bool), np.tri(4, 5, dtype=bool), np.eye(4, 5, dtype=bool)
    for mask in masks:
        allowed = patterns * mask
        queries, keys, weights = strongest_cells(allowed, mask)
        for place in np.ndindex(3, 2):
            cell = strongest_cell(allowed[place], mask)
            assert (queries[place], keys[place], weights[place]) == (cell.query, cell.key, cell.value)
