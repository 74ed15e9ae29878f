"""Texts as batches: for a decoder, which says each next token, and for an encoder, which guesses masked ones."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from transformer_core.corpora.batch_order import IGNORED, Batch, Batches
from transformer_core.corpora.corpus import Text
from transformer_core.corpora.storage.pieces import pieces_of
from transformer_core.corpora.storage.token_store import OnProgress, special_token
from transformer_core.text.tokenizer import Tokenizer

_BEGINNINGS = 1 / 16  # share of the windows of a running text whose first token gives way to <bos>

CHOSEN = 0.15  # of the tokens of a row
MASKED, RANDOM = 0.8, 0.1  # of the chosen ones: what becomes <mask>, and what becomes any token; the rest stays


class TextBatches(Batches):
    """Batches of pieces of texts.

    Args:
        texts: what to make batches of.
        tokenizer: turns them into tokens.
        max_seq_len: tokens that a model takes, <bos> and <eos> included.
        batch_size: pieces a batch.
        seed: with the epoch, fixes the order, where the windows of a running text begin, and what is masked.
        stride: tokens between the beginnings of two windows of a running text; None: they lie end to end.
        on_progress: told of texts that are encoded, and of all.

    Raises:
        CorpusError: there are no texts with a token to learn, or the tokenizer lacks a special token that is needed.
    """

    n_given: int  # tokens of each input that are never learnt: <bos> and <eos>
    n_around: int  # tokens that a piece sees besides those that it brings

    def __init__(
        self,
        texts: Sequence[Text],
        tokenizer: Tokenizer,
        *,
        max_seq_len: int,
        batch_size: int,
        seed: int,
        stride: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> None:
        self._take_special_tokens(tokenizer)
        n_brought = max_seq_len - self.n_given
        self.pieces = pieces_of(
            texts, tokenizer, n_brought=n_brought, n_around=self.n_around, stride=stride, on_progress=on_progress
        )
        super().__init__(len(self.pieces), batch_size=batch_size, seed=seed)

    @abstractmethod
    def _take_special_tokens(self, tokenizer: Tokenizer) -> None:
        """Remember the special tokens that batches need."""

    def _by_length(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.pieces.by_length(rows)

    def _shuffle(self, *, epoch: int) -> None:
        super()._shuffle(epoch=epoch)
        self.pieces.move(np.random.default_rng(np.random.SeedSequence((self.seed, epoch)).spawn(1)[0]))

    def _random(self) -> np.random.Generator:
        """Return the random numbers of the batch at the position: always the same, and no other batch's."""
        # one more than the index: numpy takes (seed, epoch, 0) for (seed, epoch), which orders the epoch
        return np.random.default_rng((self.seed, self.position.epoch, self.position.index + 1))


class NextTokenBatches(TextBatches):
    """Batches for a decoder: inputs <bos>, text; targets text, <eos>; a long text in pieces that go on from each other.

    A running text has neither token: the targets are the text, shifted by one. But a model is asked to go on from a
    beginning, and is given <bos> then; so that it knows this token, one window in sixteen that it *learns* from begins
    with <bos> in place of its first token. In windows that it is measured on, none does.
    """

    n_given, n_around = 0, 1

    def _take_special_tokens(self, tokenizer: Tokenizer) -> None:
        # what is on its right a decoder never sees, so that any token can fill up a row
        filler = tokenizer.eos_id if tokenizer.pad_id is None else tokenizer.pad_id
        self.pad_id = special_token(filler, "fills up a sequence")
        self.bos_id = special_token(tokenizer.bos_id, "begins a text")

    def _batch(self, rows: NDArray[np.int64]) -> Batch:
        starts, lengths = self.pieces.windows(rows)
        store = self.pieces.store
        tokens = store.padded(starts, lengths - 1, self.pad_id)
        if self.pieces.moves:
            tokens[torch.from_numpy(self._random().random(len(rows)) < _BEGINNINGS), 0] = self.bos_id
        return Batch(inputs=(tokens,), targets=store.padded(starts + 1, lengths - 1, IGNORED))


class MaskedBatches(TextBatches):
    """Batches for an encoder: inputs <bos>, text, <eos>, some tokens masked; targets those tokens.

    What is masked depends on seed, epoch and place in the epoch alone, so each epoch masks others, and a run that goes
    on from a position sees what it would have seen. A long text is cut into pieces, each with a <bos> and an <eos>, and
    so is a running text: an encoder is never given a text without them.
    """

    n_given, n_around = 2, 2

    def _take_special_tokens(self, tokenizer: Tokenizer) -> None:
        self.pad_id = special_token(tokenizer.pad_id, "fills up a sequence")
        self.bos_id = special_token(tokenizer.bos_id, "begins a text")
        self.eos_id = special_token(tokenizer.eos_id, "ends a text")
        self.mask_id = special_token(tokenizer.mask_id, "masks another")
        special = [self.pad_id, self.bos_id, self.eos_id, self.mask_id, tokenizer.unk_id]
        self.ordinary = np.setdiff1d(np.arange(tokenizer.vocab_size), [i for i in special if i is not None])

    def _batch(self, rows: NDArray[np.int64]) -> Batch:
        starts, lengths = self.pieces.windows(rows)
        tokens = self.pieces.store.padded(starts, lengths, self.pad_id).numpy()  # batch pos
        tokens[:, 0] = self.bos_id
        tokens[np.arange(len(tokens)), lengths - 1] = self.eos_id
        pos = np.arange(tokens.shape[1])
        seen, targets = masked(
            tokens,
            (pos > 0) & (pos < lengths[:, None] - 1),
            mask_id=self.mask_id,
            ordinary=self.ordinary,
            random=self._random(),
        )
        return Batch(inputs=(torch.from_numpy(seen),), targets=torch.from_numpy(targets))


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
