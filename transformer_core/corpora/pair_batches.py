"""Pairs as batches, for an encoder-decoder, which reads the source and predicts the target token by token."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor

from transformer_core.corpora.batch_order import IGNORED, Batch, Batches
from transformer_core.corpora.corpus import Pair
from transformer_core.corpora.storage.file_items import FileItems
from transformer_core.corpora.storage.token_store import OnProgress, special_token, tokenize
from transformer_core.errors import CorpusError, Message
from transformer_core.text.grouping import places_of_words
from transformer_core.text.tokenizer import Tokenizer

_TOO_LONG = {  # by whether the pairs are in files, and whether it is the target
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


class EncodedPairs:
    """Pairs as tokens, ready to form batches.

    Args:
        pairs: to encode.
        tokenizer: with tokens that begin, end and pad a sequence.
        max_seq_len: tokens that a model takes, <bos> or <eos> included.
        with_antecedents: batches contain the antecedents of the pronouns in the sources.
        on_progress: called with the numbers of encoded pairs and of all pairs.

    Raises:
        CorpusError: there are no pairs, or one is too long; the message names its line, counted from 1.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        tokenizer: Tokenizer,
        *,
        max_seq_len: int,
        with_antecedents: bool = False,
        on_progress: OnProgress | None = None,
    ) -> None:
        if not len(pairs):
            raise CorpusError("the corpus has no sentence pairs; it must contain at least one")
        self.pad_id = special_token(tokenizer.pad_id, "<pad>")
        self.store = tokenize(pairs, tokenizer, on_progress=on_progress)
        # a source is read without <bos>; a target has either <bos> or <eos>
        lengths = self.store.lengths() - 1
        if lengths.max() > max_seq_len:
            side = int(np.argmax(lengths > max_seq_len))
            row, is_target = divmod(side, 2)
            path, line = pairs.path_and_line(row) if isinstance(pairs, FileItems) else ("", row + 1)
            sentence = _TOO_LONG[bool(path), bool(is_target)]
            raise CorpusError(sentence, path=path, line=line, n=int(lengths[side]), most=max_seq_len)
        self._antecedents = self._on_tokens(pairs, tokenizer) if with_antecedents else None

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.store) // 2

    def by_length(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return rows sorted by source length, those of equal source length by target length."""
        return rows[np.lexsort((self.store.lengths(2 * rows + 1), self.store.lengths(2 * rows)))]

    def batch(self, rows: NDArray[np.int64]) -> Batch:
        """Return the batch of these rows: inputs (source, <eos>) and (<bos>, target); targets (target, <eos>)."""
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
        """Return a mask of the sources of some rows, True from pronouns to their antecedents."""
        assert self._antecedents is not None, "the pairs were encoded with antecedents"
        cells = torch.zeros(len(rows), n_tokens, n_tokens, dtype=torch.bool)
        for place, row in enumerate(rows):
            query, key = self._antecedents[row].T
            cells[place, query, key] = True
        return cells


class PairBatches(Batches):
    """Batches of pairs.

    Args:
        pairs: encoded pairs.
        batch_size: pairs per batch.
        seed: determines, with the epoch, the order.
    """

    def __init__(self, pairs: EncodedPairs, *, batch_size: int, seed: int) -> None:
        self.pairs = pairs
        super().__init__(len(pairs), batch_size=batch_size, seed=seed)

    def _by_length(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.pairs.by_length(rows)

    def _batch(self, rows: NDArray[np.int64]) -> Batch:
        return self.pairs.batch(rows)
