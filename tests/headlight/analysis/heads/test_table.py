"""Numbers to take away: every cell, as exact as it was computed."""

import csv
import io

import numpy as np
import pytest

from headlight.analysis.heads.table import COLUMNS, pattern_arrays, pattern_csv

QUERIES, KEYS = ['"', ",", "a\nb"], ["é", "🙂", " \r", "<script>"]


@pytest.fixture
def pattern() -> np.ndarray:
    return np.random.default_rng(0).random((3, 4)).astype(np.float32) ** 20  # some need an exponent


def test_as_the_csv_module_writes_it(pattern: np.ndarray):
    mask = pattern > 1e-3
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for query, key in np.ndindex(3, 4):
        row = (500 + query, QUERIES[query], 64 + key, KEYS[key], int(mask[query, key]), str(pattern[query, key]))
        writer.writerow(row)
    assert pattern_csv(pattern, QUERIES, KEYS, mask, first_query=500, first_key=64) == text.getvalue().replace(
        "\r\n", "\n"
    )


def test_arrays_come_back_from_a_file(pattern: np.ndarray):
    arrays = pattern_arrays(pattern.astype(np.float64), QUERIES, KEYS, pattern > 0.5, first_query=3, first_key=9)
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    file.seek(0)
    with np.load(file) as back:  # which refuses pickles
        np.testing.assert_array_equal(back["pattern"], pattern)
        np.testing.assert_array_equal(back["mask"], pattern > 0.5)
        assert (back["query_tokens"].tolist(), back["key_tokens"].tolist()) == (QUERIES, KEYS)
