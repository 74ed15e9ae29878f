"""A corpus as batches for a model of some architecture."""

from collections.abc import Sequence
from itertools import product
from typing import cast

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor

from transformer_core.config import Architecture
from transformer_core.corpora.batch_order import IGNORED, Batch, Batches
from transformer_core.corpora.corpus import Labelled, Pair, Text
from transformer_core.corpora.storage.file_items import FileItems, RunningText
from transformer_core.corpora.storage.token_store import special_token, tokenize
from transformer_core.corpora.text_batches import LabelledBatches, MaskedBatches, NextTokenBatches
from transformer_core.errors import CorpusError, Message
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.text.words import places_of_words

_TOO_LONG = {  # keys: whether the pairs are in files, and whether the text is the target
    (False, False): Message(
        "the source on line {line:,} has {n:,} tokens, including <eos>, and the model takes at "
        "most {most:,}; shorten that line, or raise max_seq_len"
    ),
    (False, True): Message(
        "the target on line {line:,} has {n:,} tokens, including <eos>, and the model takes at "
        "most {most:,}; shorten that line, or raise max_seq_len"
    ),
    (True, False): Message(
        "the source in {path}, line {line:,}, has {n:,} tokens, including <eos>, and the model "
        "takes at most {most:,}; shorten that line, or raise max_seq_len"
    ),
    (True, True): Message(
        "the target in {path}, line {line:,}, has {n:,} tokens, including <eos>, and the model "
        "takes at most {most:,}; shorten that line, or raise max_seq_len"
    ),
}


def batches_for(
    items: Sequence[Pair] | Sequence[Text],
    tokenizer: Tokenizer,
    architecture: Architecture,
    *,
    max_seq_len: int,
    batch_size: int,
    seed: int,
    stride: int | None = None,
    with_antecedents: bool = False,
) -> Batches:
    """Return the batches for training a model of some architecture.

    An encoder-decoder learns to predict the target of a pair, a decoder each next token of a text, an encoder the
    masked tokens of a text. On texts with labels, decoders and encoders learn the label of each token.

    Args:
        items: a part of a corpus, in memory or in files.
        tokenizer: the model's own.
        architecture: of the model.
        max_seq_len: tokens that the model accepts; longer texts are cut into pieces, longer pairs rejected.
        batch_size: pairs, or pieces of texts, per batch.
        seed: determines the order and the masks, together with the epoch.
        stride: tokens between the beginnings of two training windows of a running text; None: no overlap.
        with_antecedents: batches of pairs contain the antecedents of the pronouns in the sources.

    Raises:
        CorpusError: the corpus is empty, the architecture needs the other kind of corpus, a pair is too
            long, or the tokenizer lacks a token that is needed.
    """
    refuse_misfit(items, architecture)
    if architecture == "encoder_decoder":
        return PairBatches(
            cast(Sequence[Pair], items),
            tokenizer,
            max_seq_len=max_seq_len,
            batch_size=batch_size,
            seed=seed,
            with_antecedents=with_antecedents,
        )
    if isinstance(items[0], Labelled):
        return LabelledBatches(
            cast(Sequence[Labelled], items),
            tokenizer,
            architecture,
            max_seq_len=max_seq_len,
            batch_size=batch_size,
            seed=seed,
        )
    make = NextTokenBatches if architecture == "decoder_only" else MaskedBatches
    return make(
        cast(Sequence[Text], items),
        tokenizer,
        max_seq_len=max_seq_len,
        batch_size=batch_size,
        seed=seed,
        stride=stride,
    )


def refuse_misfit(items: Sequence[Pair] | Sequence[Text], architecture: Architecture) -> None:
    """Check, without tokenizing, that a model of some architecture can learn from a part of a corpus.

    Raises:
        CorpusError: the part is empty, or has pairs where the model needs texts, or texts where it needs pairs.
    """
    if not len(items):
        raise CorpusError("the corpus is empty; it must contain at least one pair or text")
    is_pairs, needs_pairs = isinstance(items[0], Pair), architecture == "encoder_decoder"
    if is_pairs and not needs_pairs:
        raise CorpusError(
            "this corpus consists of pairs, but a decoder or an encoder alone needs texts; choose an encoder-decoder, "
            "or a corpus of texts (a text file or a folder of text files)"
        )
    if needs_pairs and not is_pairs:
        raise CorpusError(
            "this corpus consists of texts, but an encoder-decoder needs pairs; choose a decoder or "
            "an encoder, or a corpus of pairs (a .tsv file with a source, a tab and a target on each "
            "line)"
        )


def refuse_stride(stride: int | None, items: Sequence[Pair] | Sequence[Text], *, max_seq_len: int) -> None:
    """Check that a stride applies, and that it skips no token between two windows of a running text.

    Raises:
        CorpusError: the stride does not apply, or is too large.
    """
    if stride is None:
        return
    if not isinstance(items, RunningText):
        raise CorpusError(
            "stride only applies to windows of a continuous text; set division=stream, or leave out stride"
        )
    if stride > max_seq_len:
        raise CorpusError(
            "stride ({stride}) must be at most max_seq_len ({most}); otherwise tokens between windows would be skipped",
            stride=stride,
            most=max_seq_len,
        )


class PairBatches(Batches):
    """Batches for an encoder-decoder: inputs (source, <eos>) and (<bos>, target); targets (target, <eos>).

    Args:
        pairs: at least one.
        tokenizer: with tokens that begin, end and pad a sequence.
        max_seq_len: tokens that a model accepts, including <bos> or <eos>.
        batch_size: pairs per batch.
        seed: determines the order, together with the epoch.
        with_antecedents: batches contain the antecedents of the pronouns in the sources.

    Raises:
        CorpusError: a pair is too long; the message names its line, counted from 1.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        tokenizer: Tokenizer,
        *,
        max_seq_len: int,
        batch_size: int,
        seed: int,
        with_antecedents: bool = False,
    ) -> None:
        if not len(pairs):
            raise CorpusError("the corpus has no sentence pairs; it must contain at least one")
        self.pad_id = special_token(tokenizer.pad_id, "<pad>")
        self.store = tokenize(pairs, tokenizer)
        # a source is read without <bos>; a target has either <bos> or <eos>
        lengths = self.store.lengths() - 1
        if lengths.max() > max_seq_len:
            side = int(np.argmax(lengths > max_seq_len))
            row, is_target = divmod(side, 2)
            path, line = pairs.path_and_line(row) if isinstance(pairs, FileItems) else ("", row + 1)
            sentence = _TOO_LONG[bool(path), bool(is_target)]
            raise CorpusError(sentence, path=path, line=line, n=int(lengths[side]), most=max_seq_len)
        self._antecedents = self._on_tokens(pairs, tokenizer) if with_antecedents else None
        super().__init__(len(pairs), batch_size=batch_size, seed=seed)

    def _by_length(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return rows sorted by source length, those of equal source length by target length."""
        return rows[np.lexsort((self.store.lengths(2 * rows + 1), self.store.lengths(2 * rows)))]

    def batch(self, rows: NDArray[np.int64]) -> Batch:
        """Return the batch of these rows."""
        store, source, target = self.store, 2 * rows, 2 * rows + 1
        source_lengths, target_lengths = store.lengths(source) - 1, store.lengths(target) - 1
        src = store.padded(store.starts[source] + 1, source_lengths, self.pad_id)
        tgt = store.padded(store.starts[target], target_lengths, self.pad_id)
        targets = store.padded(store.starts[target] + 1, target_lengths, IGNORED)
        return Batch((src, tgt), targets, None if self._antecedents is None else self._among(rows, src.shape[1]))

    def _on_tokens(self, pairs: Sequence[Pair], tokenizer: Tokenizer) -> list[NDArray[np.int64]]:
        """Return for each pair the positions [link, 2] of the tokens of pronouns and of their antecedents."""
        store, links = self.store, []
        for row, pair in enumerate(pairs):
            token_links: list[tuple[int, int]] = []
            if pair.antecedents:
                start, end = store.starts[2 * row : 2 * row + 2]
                words = places_of_words(tokenizer, store.tokens[start + 1 : end].tolist())  # without <bos>
                token_links = [link for one, other in pair.antecedents for link in product(words[one], words[other])]
            links.append(np.array(token_links, np.int64).reshape(-1, 2))
        return links

    def _among(self, rows: NDArray[np.int64], n_tokens: int) -> Bool[Tensor, "batch query key"]:
        """Return a mask over the sources of some rows, True from each pronoun to its antecedent."""
        assert self._antecedents is not None, "the pairs were encoded with antecedents"
        cells = torch.zeros(len(rows), n_tokens, n_tokens, dtype=torch.bool)
        for place, row in enumerate(rows):
            query, key = self._antecedents[row].T
            cells[place, query, key] = True
        return cells
