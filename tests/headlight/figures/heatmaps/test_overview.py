"""Weights as integers, with one for masked cells; sizes of pictures; pooled frames, compared with naive loops."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from headlight.figures.heatmaps import overview


def test_by_hand():
    pattern = np.array([[1.0, 0.0], [0.2, 0.8]], dtype=np.float32)
    mask = np.array([[True, False], [True, True]])
    np.testing.assert_array_equal(overview.levels(pattern, mask), [[253, 255], [51, 202]])
    np.testing.assert_array_equal(overview.levels(np.full((2, 2), np.nan), mask), [[254, 255], [254, 254]])
    np.testing.assert_array_equal(overview.fine_levels(pattern, mask), [[65_534, 65_535], [13_107, 52_427]])
    with pytest.raises(ValueError, match="0 heads and 5 tokens"):
        overview.thumbnail_side(0, 5)


@given(arrays.arrays(np.float32, (3, 5), elements=st.floats(0, 1, width=32)))
def test_a_level_is_within_half_a_step_of_its_weight(pattern: np.ndarray):
    mask = np.ones(pattern.shape, dtype=bool)
    actual, fine = overview.levels(pattern, mask), overview.fine_levels(pattern, mask)
    np.testing.assert_allclose(actual / overview.TOP, pattern, atol=0.51 / overview.TOP)
    np.testing.assert_allclose(fine / overview.FINE_TOP, pattern, atol=0.51 / overview.FINE_TOP)
    assert (actual <= overview.TOP).all()
    assert (fine <= overview.FINE_TOP).all()


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 3_000_000))
def test_pictures_are_as_large_as_there_is_room_for(n_heads: int, n_tokens: int, most_bytes: int):
    side = overview.thumbnail_side(n_heads, n_tokens, most_bytes=most_bytes)

    def fits(side: int) -> bool:
        return side <= min(n_tokens, 192) and n_heads * side**2 <= most_bytes

    assert side == 1 or fits(side)
    assert not fits(side + 1)


@given(n_queries=st.integers(1, 40), n_keys=st.integers(1, 40), side=st.integers(1, 16), seed=st.integers(0, 9))
def test_a_block_has_the_largest_weight_of_its_cells(n_queries: int, n_keys: int, side: int, seed: int):
    random = np.random.default_rng(seed)
    patterns = random.dirichlet(np.ones(n_keys), size=(2, n_queries)).astype(np.float32)
    mask = random.random((2, n_queries, n_keys)) < 0.7  # each pattern has its own
    pooled = overview.pooled_levels(patterns, mask, side=side)
    n_rows, n_columns = pooled.shape[1:]
    assert 1 <= n_rows <= min(side, n_queries) and 1 <= n_columns <= min(side, n_keys)
    each = overview.levels(patterns, mask)
    rows, columns = ([i * n // m for i in range(m + 1)] for n, m in ((n_queries, n_rows), (n_keys, n_columns)))
    for i, (top, bottom) in enumerate(pairwise(rows)):
        for j, (left, right) in enumerate(pairwise(columns)):
            for head in range(2):
                allowed = [v for v in each[head, top:bottom, left:right].ravel().tolist() if v != overview.FORBIDDEN]
                assert pooled[head, i, j] == max(allowed, default=overview.FORBIDDEN)


SHAPES = {"encoder": (2, 4, 64, 64), "decoder": (2, 4, 64, 64), "cross": (2, 4, 64, 64)}


@pytest.mark.parametrize(
    ("shapes", "n_snapshots", "fit"),
    [
        (SHAPES, 74, (64, 74)),  # 24 heads * 64 * 64 * 74 = 7.3 million
        (SHAPES, 100, (48, 100)),  # 9.8 million do not fit
        ({"decoder": (48, 24, 64, 64)}, 100, (16, 27)),  # 1152 * 256 * 27 = 7.96 million
    ],
)
def test_the_pictures_are_as_large_as_there_is_room_for(
    shapes: dict[str, tuple[int, int, int, int]], n_snapshots: int, fit: tuple[int, int]
):
    assert overview.fit_frames(shapes, n_snapshots) == fit
    side, n_frames = fit
    of_a_frame = sum(n * m * min(q, side) * min(k, side) for n, m, q, k in shapes.values())
    assert of_a_frame * n_frames <= overview.MOST_FILM_BYTES


@given(n_snapshots=st.integers(2, 200), n_frames=st.integers(2, 250))
def test_the_first_and_the_last_snapshot_are_kept(n_snapshots: int, n_frames: int):
    places = overview.thinned_places(n_snapshots, n_frames)
    assert places == sorted(set(places)) and len(places) == min(n_snapshots, n_frames)
    assert (places[0], places[-1]) == (0, n_snapshots - 1)
