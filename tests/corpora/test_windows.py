"""The first windows of a stream, against slices of Python's lists."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.corpora.windows import first_windows, n_windows


@given(st.lists(st.integers(0, 99), max_size=60), st.integers(1, 20), st.integers(1, 20), st.integers(1, 5))
def test_windows_are_slices_and_inputs_are_one_earlier(stream: list[int], length: int, stride: int, n: int):
    inputs, targets = first_windows(np.array(stream, np.uint16), length=length, stride=stride, n=n, bos_id=100)
    shifted = [100, *stream[:-1]]
    starts = [start for start in range(0, len(stream), stride) if start + length <= len(stream)][:n]
    assert targets.tolist() == [stream[start : start + length] for start in starts]
    assert inputs.tolist() == [shifted[start : start + length] for start in starts]
    assert inputs.shape == targets.shape == (len(starts), length)


def test_a_text_too_short_for_a_window_counts_as_one():
    assert [n_windows(n, n_brought=8, n_around=1) for n in range(4)] == [1] * 4
