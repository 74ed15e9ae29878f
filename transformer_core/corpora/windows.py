"""Windows of a stream of tokens: how many there are, and the first ones as a decoder learns from them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def n_windows(n_tokens: int, *, n_brought: int, n_around: int, stride: int | None = None) -> int:
    """Return how many full windows an epoch of a running text has; at least 1.

    Args:
        n_tokens: of the text.
        n_brought: tokens that a window brings, as far as the text has so many.
        n_around: tokens that each window sees besides.
        stride: tokens from the beginning of one window to that of the next; None: they lie end to end.
    """
    n_in_all = n_tokens - n_around
    n_brought = max(1, min(n_brought, n_in_all))
    return max(1, (n_in_all - n_brought + 1) // min(stride or n_brought, n_brought))


def first_windows(
    stream: NDArray[Any], *, length: int, stride: int, n: int, bos_id: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the decoder's inputs and targets, both [window, pos].

    The targets are the stream in windows; the inputs are the stream shifted right after the token that begins a text,
    in the same windows. So below each input stands the token that comes next.

    Args:
        stream: tokens, [pos]; where it has fewer than `length`, there is no window.
        length: tokens of a window.
        stride: tokens from the beginning of one window to that of the next.
        n: windows at most.
        bos_id: stands before the first token.
    """
    targets = np.asarray(stream[: length + stride * (n - 1)]).astype(np.int64)
    inputs = np.append(bos_id, targets[:-1])
    places = np.arange(0, len(targets) - length + 1, stride)[:n, None] + np.arange(length)  # window pos
    return inputs[places], targets[places]
