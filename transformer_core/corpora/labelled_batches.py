"""Texts with labels as batches: the target of each token is its label."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from transformer_core.config import Architecture
from transformer_core.corpora.batch_order import IGNORED, Batch, Batches
from transformer_core.corpora.corpus import Labelled
from transformer_core.corpora.storage.token_store import special_token
from transformer_core.errors import CorpusError
from transformer_core.text.tokenizer import Tokenizer

Row = tuple[tuple[int, ...], tuple[int, ...]]
"""Tokens as a model reads them, and as many targets: `IGNORED` at <bos> and <eos>."""


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

    def _batch(self, rows: NDArray[np.int64]) -> Batch:
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


def with_targets(texts: Sequence[Labelled], tokenizer: Tokenizer, architecture: Architecture) -> list[Row]:
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
