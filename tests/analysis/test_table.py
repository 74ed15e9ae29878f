"""The numbers as CSV: every cell, as exact as it was computed."""

import csv
import io

import numpy as np

from transformer_core.analysis.table import COLUMNS, pattern_csv


def test_by_hand():
    pattern, mask = np.array([[1.0, 0.0], [0.25, 0.75]], dtype=np.float32), np.tril(np.ones((2, 2), dtype=bool))
    assert pattern_csv(pattern, ["a", "b"], ["c", "d"], mask) == (
        "query,query_token,key,key_token,allowed,weight\n0,a,0,c,1,1.0\n0,a,1,d,0,0.0\n1,b,0,c,1,0.25\n1,b,1,d,1,0.75\n"
    )


def test_numbers_and_tokens_come_back_exactly():
    pattern = np.random.default_rng(0).random((3, 4)).astype(np.float32)
    queries, keys = ['"', ",", "a\nb"], ["é", "🙂", " ", "<script>"]
    rows = list(csv.DictReader(io.StringIO(pattern_csv(pattern, queries, keys, pattern > 0.5), newline="")))
    assert list(rows[0]) == list(COLUMNS)
    np.testing.assert_array_equal([np.float32(row["weight"]) for row in rows], pattern.ravel())
    assert [row["key_token"] for row in rows[:4]] == keys
    assert [row["query_token"] for row in rows[::4]] == queries
