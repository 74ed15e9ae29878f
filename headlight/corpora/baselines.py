"""Baselines for a loss: the losses of the unigram and of the bigram model.

Both predict each target that a model is measured on (teacher forcing, <eos> included where a model has to predict it)
from counts in the training part. Their loss is the mean of -log p(target) on the held-out part, in nats per target, as
the `loss` of training/evaluate.py.

An encoder predicts masked tokens, drawn evenly from all of a text; for it, both are means over all these tokens.

    unigram:  p(y)     = (c(y) + 1) / (n + vocab_size)                 add-one smoothing (Laplace)
    bigram:   p(y | x) = (c(x, y) + t(x) p(y)) / (c(x) + t(x))         t(x): how many different tokens follow x

Source: Witten and Bell 1991, "The zero-frequency problem", method C, as an interpolation with the unigram.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transformer_core.corpora.storage.token_store import TokenStore
from transformer_core.errors import CorpusError

_TOGETHER = 2**20  # tokens counted at a time
_MOST_COUNTED, _MOST_JUDGED = 2**24, 2**22  # targets; of more, evenly spaced blocks


class Baselines(NamedTuple):
    """The two losses, and the numbers of targets that they are computed from."""

    unigram_loss: float  # nats a target
    bigram_loss: float  # nats a target
    n_counted: int  # training targets that the probabilities are estimated from
    n_judged: int  # held-out targets that the losses are means of


class Targets:
    """The targets of a model, each with the token before it.

    Args:
        store: the texts.
        is_target: [text], True for texts that a model has to predict; of pairs, the targets.
        n_given: tokens at the end of each text that it need not predict: 1 where <eos> is given, else 0.
    """

    def __init__(self, store: TokenStore, is_target: NDArray[np.bool_], *, n_given: int) -> None:
        self.store = store
        self.is_target = is_target
        self.n_given = n_given

    def blocks(self, *, at_most: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the previous tokens and the targets, about a million at a time; of very many, only some blocks."""
        n_tokens, starts = len(self.store.tokens), self.store.starts
        every = max(1, -(-n_tokens // at_most))
        for first in range(0, n_tokens, every * _TOGETHER):
            places = np.arange(first, min(first + _TOGETHER, n_tokens))
            texts = np.searchsorted(starts, places, side="right") - 1
            is_target = (places > starts[texts]) & (starts[texts + 1] - places > self.n_given) & self.is_target[texts]
            targets = places[is_target]
            yield self.store.tokens[targets - 1].astype(np.int64), self.store.tokens[targets].astype(np.int64)


class _Counts:
    """The counts of tokens and of pairs of tokens."""

    def __init__(self, vocab_size: int) -> None:
        self.vocab_size = vocab_size
        self.pairs = np.empty(0, np.int64)  # before * vocab_size + target, ascending
        self.counts = np.empty(0, np.int32)  # of those
        self.n_of = np.zeros(vocab_size, np.int64)  # of each token as a target
        self.n_before = np.zeros(vocab_size, np.int64)  # of each token before a target

    def add(self, before: NDArray[np.int64], targets: NDArray[np.int64]) -> None:
        self.n_of += np.bincount(targets, minlength=self.vocab_size)
        self.n_before += np.bincount(before, minlength=self.vocab_size)
        pairs, counts = np.unique(before * self.vocab_size + targets, return_counts=True)
        places, is_known = self._find(pairs)
        self.counts[places[is_known]] += counts[is_known].astype(np.int32)
        new = ~is_known
        self.pairs = np.insert(self.pairs, places[new], pairs[new])
        self.counts = np.insert(self.counts, places[new], counts[new])

    def of(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the count of each pair, 0 for unseen ones."""
        places, is_known = self._find(pairs)
        counts = np.zeros(len(pairs), np.int64)
        counts[is_known] = self.counts[places[is_known]]
        return counts

    def n_followers(self) -> NDArray[np.int64]:
        """Return the number of different tokens that follow each token."""
        return np.diff(np.searchsorted(self.pairs, np.arange(self.vocab_size + 1) * self.vocab_size))

    def _find(self, pairs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the index of each pair in the sorted pairs, or its insertion point, and whether it was seen."""
        places = np.searchsorted(self.pairs, pairs)
        is_known = places < len(self.pairs)
        is_known[is_known] = self.pairs[places[is_known]] == pairs[is_known]
        return places, is_known


def baselines(train: Targets, held_out: Targets, *, vocab_size: int) -> Baselines:
    """Return the losses of both models.

    Args:
        train: to estimate the probabilities from.
        held_out: to compute the losses on.
        vocab_size: of the tokenizer.

    Raises:
        CorpusError: one of the two has no target.
    """
    counts = _Counts(vocab_size)
    for before, targets in train.blocks(at_most=_MOST_COUNTED):
        counts.add(before, targets)
    n_counted = int(counts.n_of.sum())
    if not n_counted:
        raise CorpusError("this corpus has no tokens to predict; add more text")
    unigram = (counts.n_of + 1) / (n_counted + vocab_size)
    n_followers = counts.n_followers()
    sums, n_judged = np.zeros(2), 0
    for before, targets in held_out.blocks(at_most=_MOST_JUDGED):
        known = counts.n_before[before] + n_followers[before]
        seen = counts.of(before * vocab_size + targets) + n_followers[before] * unigram[targets]
        bigram = np.where(known > 0, seen / np.maximum(known, 1), unigram[targets])
        sums += -np.log(unigram[targets]).sum(), -np.log(bigram).sum()
        n_judged += len(targets)
    if not n_judged:
        raise CorpusError("the held-out part of this corpus has no tokens to predict; add more text")
    unigram_loss, bigram_loss = sums / n_judged
    return Baselines(float(unigram_loss), float(bigram_loss), n_counted, n_judged)
