"""Masked tokens: which ones a model is to guess, and what it sees in their places."""

import numpy as np
from numpy.typing import NDArray

from transformer_core.corpora.batch_order import IGNORED

CHOSEN = 0.15  # of the tokens of a row
MASKED, RANDOM = 0.8, 0.1  # of the chosen ones: what becomes <mask>, and what becomes any token; the rest stays


def masked(
    tokens: NDArray[np.int64],
    is_text: NDArray[np.bool_],
    *,
    mask_id: int,
    ordinary: NDArray[np.int64],
    random: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Choose 15 % of the tokens of each row, one at least: 80 % of them are masked, 10 % become another, 10 % stay.

    Args:
        tokens: [batch, pos], left as they are.
        is_text: [batch, pos], True where a token may be chosen: not at <bos>, <eos> and padding. One a row at least.
        mask_id: the mask token.
        ordinary: the tokens that a random one is drawn from: all but the special ones.
        random: where the random numbers come from.

    Returns:
        What the model sees, and the targets: the tokens themselves at chosen places, `IGNORED` elsewhere.

    Source: Devlin et al. 2019, sec. 3.1 and app. A.1.
    Differs: a token becomes a random one *other than special ones*, which in BERT's code can be any of the vocabulary.
    """
    lots = np.where(is_text, random.random(tokens.shape), 2.0)
    ranks = lots.argsort(axis=-1).argsort(axis=-1)
    n_chosen = np.maximum(1, np.rint(CHOSEN * is_text.sum(axis=-1))).astype(np.int64)
    is_chosen = ranks < n_chosen[:, None]  # batch pos
    fate = random.random(tokens.shape)
    drawn = ordinary[random.integers(len(ordinary), size=tokens.shape)]
    seen = np.where(fate < MASKED, mask_id, np.where(fate < MASKED + RANDOM, drawn, tokens))
    return np.where(is_chosen, seen, tokens), np.where(is_chosen, tokens, IGNORED)
