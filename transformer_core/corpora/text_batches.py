"""Texts as batches: for a decoder, which says each next token, and for an encoder, which guesses masked ones."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from transformer_core.corpora.batch_order import IGNORED, Batch, Batches
from transformer_core.corpora.corpus import Text
from transformer_core.corpora.masking import masked
from transformer_core.corpora.token_store import OnProgress, TokenStore, special_token, tokenize
from transformer_core.errors import CorpusError
from transformer_core.text.tokenizer import Tokenizer


class Pieces:
    """Texts cut into pieces that a model takes: all full, but the last of each text.

    A piece brings some tokens, and sees others around them, which its neighbours bring, or which are <bos> and <eos>.
    So all pieces together bring every token of a text once.

    Args:
        store: the texts.
        n_brought: tokens that a full piece brings.
        n_around: tokens that each piece sees besides.

    Raises:
        CorpusError: the texts have no token to bring, or a piece has no room for one.
    """

    def __init__(self, store: TokenStore, *, n_brought: int, n_around: int) -> None:
        if n_brought < 1:
            raise CorpusError(
                f"max_seq_len ({n_brought + n_around}) leaves no room between <bos> and <eos>; it must be at least "
                f"{n_around + 1} for this corpus"
            )
        self.store = store
        self.n_brought = n_brought
        self.n_around = n_around
        self.ends = np.cumsum(self._n_pieces(store.lengths()))  # of each text: pieces up to its last, all texts counted
        if not len(self):
            raise CorpusError("there is nothing to make batches of; the corpus must hold at least one text, not empty")

    def __len__(self) -> int:
        """Count the pieces."""
        return int(self.ends[-1]) if len(self.ends) else 0

    def windows(self, pieces: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where each piece begins in the store, and how many tokens it brings and sees."""
        texts = np.searchsorted(self.ends, pieces, side="right")
        lengths = self.store.lengths(texts)
        before = self.n_brought * (pieces - (self.ends[texts] - self._n_pieces(lengths)))  # brought by earlier pieces
        return self.store.starts[texts] + before, np.minimum(lengths - before, self.n_brought + self.n_around)

    def by_length(self, pieces: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return pieces sorted by length."""
        return pieces[np.argsort(self.windows(pieces)[1], kind="stable")]

    def _n_pieces(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        return -(-(lengths - self.n_around) // self.n_brought)


class NextTokenBatches(Batches):
    """Batches for a decoder: inputs <bos>, text; targets text, <eos>; a long text in pieces that go on from each other.

    Args:
        texts: what to make batches of.
        tokenizer: turns them into tokens.
        max_seq_len: tokens that a model takes.
        batch_size: pieces a batch.
        seed: with the epoch, fixes the order.
        on_progress: told of texts that are encoded, and of all.

    Raises:
        CorpusError: there are no texts.
    """

    def __init__(
        self,
        texts: Sequence[Text],
        tokenizer: Tokenizer,
        *,
        max_seq_len: int,
        batch_size: int,
        seed: int,
        on_progress: OnProgress | None = None,
    ) -> None:
        self.pad_id = special_token(tokenizer.pad_id, "fills up a sequence")
        store = tokenize(texts, tokenizer, on_progress=on_progress)
        self.pieces = Pieces(store, n_brought=max_seq_len, n_around=1)
        super().__init__(len(self.pieces), batch_size=batch_size, seed=seed)

    def _by_length(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.pieces.by_length(rows)

    def _batch(self, rows: NDArray[np.int64]) -> Batch:
        starts, lengths = self.pieces.windows(rows)
        store = self.pieces.store
        tokens = store.padded(starts, lengths - 1, self.pad_id)
        return Batch(inputs=(tokens,), targets=store.padded(starts + 1, lengths - 1, IGNORED))


class MaskedBatches(Batches):
    """Batches for an encoder: inputs <bos>, text, <eos>, some tokens masked; targets those tokens.

    What is masked depends on seed, epoch and place in the epoch alone, so each epoch masks others, and a run that goes
    on from a position sees what it would have seen. A long text is cut into pieces, each with a <bos> and an <eos>.

    Args:
        texts: what to make batches of.
        tokenizer: turns them into tokens, and has a mask token.
        max_seq_len: tokens that a model takes, <bos> and <eos> included.
        batch_size: pieces a batch.
        seed: with the epoch, fixes the order, and what is masked.
        on_progress: told of texts that are encoded, and of all.

    Raises:
        CorpusError: there are no tokens to mask, or no mask token.
    """

    def __init__(
        self,
        texts: Sequence[Text],
        tokenizer: Tokenizer,
        *,
        max_seq_len: int,
        batch_size: int,
        seed: int,
        on_progress: OnProgress | None = None,
    ) -> None:
        self.pad_id = special_token(tokenizer.pad_id, "fills up a sequence")
        self.bos_id = special_token(tokenizer.bos_id, "begins a text")
        self.eos_id = special_token(tokenizer.eos_id, "ends a text")
        self.mask_id = special_token(tokenizer.mask_id, "masks another")
        special = [self.pad_id, self.bos_id, self.eos_id, self.mask_id, tokenizer.unk_id]
        self.ordinary = np.setdiff1d(np.arange(tokenizer.vocab_size), [i for i in special if i is not None])
        store = tokenize(texts, tokenizer, on_progress=on_progress)
        self.pieces = Pieces(store, n_brought=max_seq_len - 2, n_around=2)
        super().__init__(len(self.pieces), batch_size=batch_size, seed=seed)

    def _by_length(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.pieces.by_length(rows)

    def _batch(self, rows: NDArray[np.int64]) -> Batch:
        starts, lengths = self.pieces.windows(rows)
        tokens = self.pieces.store.padded(starts, lengths, self.pad_id).numpy()  # batch pos
        tokens[:, 0] = self.bos_id
        tokens[np.arange(len(tokens)), lengths - 1] = self.eos_id
        pos = np.arange(tokens.shape[1])
        # one more than the index: numpy takes (seed, epoch, 0) for (seed, epoch), which orders the epoch
        random = np.random.default_rng((self.seed, self.position.epoch, self.position.index + 1))
        seen, targets = masked(
            tokens,
            (pos > 0) & (pos < lengths[:, None] - 1),
            mask_id=self.mask_id,
            ordinary=self.ordinary,
            random=random,
        )
        return Batch(inputs=(torch.from_numpy(seen),), targets=torch.from_numpy(targets))
