"""Texts as batches: a decoder predicts each next token, an encoder masked ones; of texts with labels, each label."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from transformer_core.config import Architecture
from transformer_core.corpora.batch_order import IGNORED, Batch, Batches
from transformer_core.corpora.corpus import Labelled, Text
from transformer_core.corpora.storage.token_store import pieces_of, special_token
from transformer_core.errors import CorpusError
from transformer_core.text.tokenizer import Tokenizer

_BEGINNINGS = 1 / 16  # share of the windows of a running text whose first token is replaced by <bos>

CHOSEN = 0.15  # share of the tokens of a row
MASKED, RANDOM = 0.8, 0.1  # of those, the shares replaced by <mask>, and by any token; the rest stays

LabelledRow = tuple[tuple[int, ...], tuple[int, ...]]
"""Tokens as a model reads them, and as many targets: `IGNORED` at <bos> and <eos>."""


class TextBatches(Batches):
    """Batches of pieces of texts.

    Args:
        texts: to make batches of.
        tokenizer: turns them into tokens.
        max_seq_len: tokens that a model takes, <bos> and <eos> included.
        batch_size: pieces per batch.
        seed: determines, with the epoch, the order, the first window of a running text, and the masks.
        stride: tokens between the beginnings of two windows of a running text; None: no overlap.

    Raises:
        CorpusError: there is no token to learn, or the tokenizer lacks a special token.
    """

    n_given: int  # tokens of each input that are never targets: <bos> and <eos>
    n_around: int  # context tokens of a piece, which are not counted as its own

    def __init__(
        self,
        texts: Sequence[Text],
        tokenizer: Tokenizer,
        *,
        max_seq_len: int,
        batch_size: int,
        seed: int,
        stride: int | None = None,
    ) -> None:
        self._take_special_tokens(tokenizer)
        n_brought = max_seq_len - self.n_given
        self.pieces = pieces_of(texts, tokenizer, n_brought=n_brought, n_around=self.n_around, stride=stride)
        super().__init__(len(self.pieces), batch_size=batch_size, seed=seed)

    @abstractmethod
    def _take_special_tokens(self, tokenizer: Tokenizer) -> None:
        """Store the special tokens that batches need."""

    def _by_length(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.pieces.by_length(rows)

    def _shuffle(self, *, epoch: int) -> None:
        super()._shuffle(epoch=epoch)
        self.pieces.move(np.random.default_rng(np.random.SeedSequence((self.seed, epoch)).spawn(1)[0]))

    def _random(self) -> np.random.Generator:
        """Return the random generator of the batch at the position: reproducible, and unlike any other batch's."""
        # index + 1: numpy treats (seed, epoch, 0) as (seed, epoch), which orders the epoch
        return np.random.default_rng((self.seed, self.position.epoch, self.position.index + 1))


class NextTokenBatches(TextBatches):
    """Batches for a decoder: inputs <bos>, text; targets text, <eos>; a long text in consecutive pieces.

    A running text has neither token: the targets are the text, shifted by one. But a prompt begins with <bos>; for a
    model to know this token, one *training* window in sixteen begins with <bos> in place of its first token. Windows of
    measurements do not.
    """

    n_given, n_around = 0, 1

    def _take_special_tokens(self, tokenizer: Tokenizer) -> None:
        # a decoder never sees what follows, so any token can serve as padding
        filler = tokenizer.eos_id if tokenizer.pad_id is None else tokenizer.pad_id
        self.pad_id = special_token(filler, "<pad>")
        self.bos_id = special_token(tokenizer.bos_id, "<bos>")

    def batch(self, rows: NDArray[np.int64]) -> Batch:
        """Return the batch of these rows."""
        starts, lengths = self.pieces.windows(rows)
        store = self.pieces.store
        tokens = store.padded(starts, lengths - 1, self.pad_id)
        if self.pieces.moves:
            tokens[torch.from_numpy(self._random().random(len(rows)) < _BEGINNINGS), 0] = self.bos_id
        return Batch(inputs=(tokens,), targets=store.padded(starts + 1, lengths - 1, IGNORED))


class MaskedBatches(TextBatches):
    """Batches for an encoder: inputs <bos>, text, <eos>, some tokens masked; targets those tokens.

    The masks depend only on seed, epoch and index in the epoch, so each epoch has other masks, and a resumed run sees
    the batches that an uninterrupted one would see. A long text is cut into pieces, each with a <bos> and an <eos>, and
    so is a running text: an encoder never reads a text without them.
    """

    n_given, n_around = 2, 2

    def _take_special_tokens(self, tokenizer: Tokenizer) -> None:
        self.pad_id = special_token(tokenizer.pad_id, "<pad>")
        self.bos_id = special_token(tokenizer.bos_id, "<bos>")
        self.eos_id = special_token(tokenizer.eos_id, "<eos>")
        self.mask_id = special_token(tokenizer.mask_id, "<mask>")
        special = [self.pad_id, self.bos_id, self.eos_id, self.mask_id, tokenizer.unk_id]
        self.ordinary = np.setdiff1d(np.arange(tokenizer.vocab_size), [i for i in special if i is not None])

    def batch(self, rows: NDArray[np.int64]) -> Batch:
        """Return the batch of these rows."""
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
        tokens: [batch, pos], not modified.
        is_text: [batch, pos], True where a token may be chosen: not at <bos>, <eos> and padding. At least one per row.
        mask_id: the mask token.
        ordinary: the tokens to draw a random one from: all but the special ones.
        random: the random generator.

    Returns:
        The input of the model, and the targets: the tokens at chosen positions, `IGNORED` elsewhere.

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


class LabelledBatches(Batches):
    """Batches for a decoder or an encoder: inputs <bos>, text, of an encoder <eos>; targets the labels of the text.

    Args:
        texts: to make batches of.
        tokenizer: each unit of a text and each label is one token.
        architecture: of the model.
        max_seq_len: tokens that a model takes, <bos> and <eos> included.
        batch_size: texts per batch.
        seed: determines, with the epoch, the order.

    Raises:
        CorpusError: a text is too long, or does not have one token for each label.
    """

    def __init__(
        self,
        texts: Sequence[Labelled],
        tokenizer: Tokenizer,
        architecture: Architecture,
        *,
        max_seq_len: int,
        batch_size: int,
        seed: int,
    ) -> None:
        self.all = batch_of(texts, tokenizer, architecture)
        longest = self.all.targets.shape[1]
        if longest > max_seq_len:
            raise CorpusError(
                "the longest input has {n} tokens, <bos> and <eos> included, but max_seq_len is {most}; set "
                "max_seq_len={n}",
                n=longest,
                most=max_seq_len,
            )
        around = 2 if architecture == "encoder_only" else 1
        self.lengths = np.array([len(text.labels) + around for text in texts])
        super().__init__(len(texts), batch_size=batch_size, seed=seed)

    def _by_length(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return rows[np.argsort(self.lengths[rows], kind="stable")]

    def batch(self, rows: NDArray[np.int64]) -> Batch:
        """Return the batch of these rows."""
        (tokens,), targets, _ = self.all.rows(torch.from_numpy(rows))
        longest = self.lengths[rows].max()
        return Batch((tokens[:, :longest],), targets[:, :longest])


def batch_of(texts: Sequence[Labelled], tokenizer: Tokenizer, architecture: Architecture) -> Batch:
    """Return texts as one batch, in their order.

    Raises:
        CorpusError: as `with_targets`; or the tokenizer has no padding token.
    """
    fillers = special_token(tokenizer.pad_id, "<pad>"), IGNORED
    tokens, targets = (
        pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=filler)
        for rows, filler in zip(zip(*with_targets(texts, tokenizer, architecture), strict=True), fillers, strict=True)
    )
    return Batch((tokens,), targets)


def with_targets(texts: Sequence[Labelled], tokenizer: Tokenizer, architecture: Architecture) -> list[LabelledRow]:
    """Return each text as a model reads it, with its targets.

    Raises:
        CorpusError: a text does not have one token for each label, or the tokenizer lacks a label.
    """
    ids = {word: i for i, word in enumerate(tokenizer.tokens(range(tokenizer.vocab_size)))}
    begin = (special_token(tokenizer.bos_id, "<bos>"),)
    end = (special_token(tokenizer.eos_id, "<eos>"),) if architecture == "encoder_only" else ()
    rows = []
    for text, tokens in zip(texts, tokenizer.encode_batch([text.text for text in texts]), strict=True):
        if len(tokens) != len(text.labels) or not ids.keys() >= {*text.labels}:
            raise CorpusError(
                "“{text}” does not have one token for each of its labels; use the tokenizer of the corpus",
                text=text.text,
            )
        targets = (IGNORED, *(ids[label] for label in text.labels), *(IGNORED for _ in end))
        rows.append(((*begin, *tokens, *end), targets))
    return rows
