"""Numbers to take away: every cell, as exact as it was computed."""

import csv
import io

import numpy as np
import pytest

from transformer_core.analysis.heads.table import COLUMNS, matrix_csv, pattern_arrays, pattern_csv

QUERIES, KEYS = ['"', ",", "a\nb"], ["é", "🙂", " \r", "<script>"]


@pytest.fixture
def pattern() -> np.ndarray:
    return np.random.default_rng(0).random((3, 4)).astype(np.float32) ** 20  # some need an exponent


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_by_hand():
    pattern, mask = np.array([[1.0, 0.0], [0.25, 0.75]], dtype=np.float32), np.tril(np.ones((2, 2), dtype=bool))
    assert pattern_csv(pattern, ["a", "b"], ["c", "d"], mask) == (
        "query,query_token,key,key_token,allowed,weight\n0,a,0,c,1,1.0\n0,a,1,d,0,0.0\n1,b,0,c,1,0.25\n1,b,1,d,1,0.75\n"
    )


def test_as_the_csv_module_writes_it(pattern: np.ndarray):
    mask = pattern > 1e-3
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for query, key in np.ndindex(3, 4):
        row = (query, QUERIES[query], key, KEYS[key], int(mask[query, key]), str(pattern[query, key]))
        writer.writerow(row)
    assert pattern_csv(pattern, QUERIES, KEYS, mask) == text.getvalue().replace("\r\n", "\n")


def test_numbers_and_tokens_come_back_exactly(pattern: np.ndarray):
    rows = rows_of(pattern_csv(pattern, QUERIES, KEYS, pattern > 0.5))
    assert list(rows[0]) == list(COLUMNS)
    np.testing.assert_array_equal([np.float32(row["weight"]) for row in rows], pattern.ravel())
    np.testing.assert_array_equal([row["allowed"] == "1" for row in rows], (pattern > 0.5).ravel())
    assert [row["key_token"] for row in rows[:4]] == KEYS
    assert [row["query_token"] for row in rows[::4]] == QUERIES


def test_a_window_keeps_its_places(pattern: np.ndarray):
    rows = rows_of(pattern_csv(pattern, QUERIES, KEYS, pattern > 0.5, first_query=500, first_key=64))
    assert [int(row["query"]) for row in rows[::4]] == [500, 501, 502]
    assert [int(row["key"]) for row in rows[:4]] == [64, 65, 66, 67]


@pytest.mark.parametrize("shape", [(0, 4), (3, 0)])
def test_without_cells_there_is_the_first_line(shape: tuple[int, int]):
    nothing = np.zeros(shape, dtype=np.float32)
    assert pattern_csv(nothing, QUERIES[: shape[0]], KEYS[: shape[1]], nothing > 0) == ",".join(COLUMNS) + "\n"


def test_any_matrix_by_hand():
    values = np.array([[0.5, np.nan], [-2.0, 1e-9]])
    assert matrix_csv(values, "layer", [0, 1], "head, of 2", ["a,b", 7], "effect") == (
        'layer,"head, of 2",effect\n0,"a,b",0.5\n0,7,nan\n1,"a,b",-2.0\n1,7,1e-09\n'
    )


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_any_matrix_comes_back_exactly(kind: type[np.number]):
    values = (1000 * np.random.default_rng(1).standard_normal((3, 4))).astype(kind)
    rows = rows_of(matrix_csv(values, "a", QUERIES, "b", KEYS, "c"))
    np.testing.assert_array_equal([kind(row["c"]) for row in rows], values.ravel())
    assert [(row["a"], row["b"]) for row in rows] == [(a, b) for a in QUERIES for b in KEYS]


def test_labels_that_do_not_fit_are_refused(pattern: np.ndarray):
    with pytest.raises(ValueError):
        pattern_csv(pattern, QUERIES[1:], KEYS, pattern > 0)
    with pytest.raises(ValueError):
        matrix_csv(pattern, "a", QUERIES, "b", KEYS[1:], "c")


def test_arrays_come_back_from_a_file(pattern: np.ndarray):
    arrays = pattern_arrays(pattern.astype(np.float64), QUERIES, KEYS, pattern > 0.5, first_query=3, first_key=9)
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    file.seek(0)
    with np.load(file) as back:  # which refuses pickles
        assert set(back) == {"pattern", "mask", "query_tokens", "key_tokens", "first_query", "first_key"}
        assert back["pattern"].dtype == np.float32
        np.testing.assert_array_equal(back["pattern"], pattern)
        np.testing.assert_array_equal(back["mask"], pattern > 0.5)
        assert back["query_tokens"].tolist() == QUERIES
        assert back["key_tokens"].tolist() == KEYS
        assert (int(back["first_query"]), int(back["first_key"])) == (3, 9)
