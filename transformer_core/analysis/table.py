"""Numbers to take away, as CSV."""

import csv
import io
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

COLUMNS = ("query", "query_token", "key", "key_token", "allowed", "weight")


def pattern_csv(
    pattern: Float[np.ndarray, "query key"],
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    mask: Bool[np.ndarray, "query key"],
) -> str:
    """Return one line a cell, in reading order, with the weight as exact as it was computed (float32).

    Args:
        pattern: attention weights in [0, 1].
        query_tokens: the labels of the rows.
        key_tokens: the labels of the columns.
        mask: True = may attend.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(
        (query, query_tokens[query], key, key_tokens[key], int(mask[query, key]), str(pattern[query, key]))
        for query, key in np.ndindex(pattern.shape)
    )
    return text.getvalue()
