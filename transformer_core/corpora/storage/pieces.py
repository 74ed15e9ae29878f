"""Texts cut into pieces that fit a model, and a running text cut into windows that move in each epoch."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer_core.corpora.corpus import Pair, Text
from transformer_core.corpora.storage.file_items import RunningText
from transformer_core.corpora.storage.token_store import TokenStore, tokenize
from transformer_core.errors import CorpusError
from transformer_core.text.tokenizer import Tokenizer


class Pieces:
    """Texts cut into pieces that fit a model: all full, except the last of each text.

    A piece brings some tokens, and sees others around them, which its neighbours bring, or which are <bos> and <eos>:
    all pieces together bring every token of a text once.

    Args:
        store: the texts.
        n_brought: tokens that a full piece brings.
        n_around: other tokens that each piece sees.

    Raises:
        CorpusError: there is no token to bring, or a piece has no room for one.
    """

    moves = False  # whether pieces begin at other places in each epoch

    def __init__(self, store: TokenStore, *, n_brought: int, n_around: int) -> None:
        if n_brought < 1:
            raise CorpusError(
                "max_seq_len ({max_seq_len}) leaves no room between <bos> and <eos>; it must be at least {least} "
                "for this corpus",
                max_seq_len=n_brought + n_around,
                least=n_around + 1,
            )
        self.store = store
        self.n_brought = n_brought
        self.n_around = n_around
        self.ends = np.cumsum(self._n_pieces(store.lengths()))  # of each text: pieces up to its last, all texts counted
        if not len(self):
            raise CorpusError("the corpus is empty; it must contain at least one non-empty text")

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def move(self, random: np.random.Generator) -> None:
        """Begin an epoch; these pieces do not move."""

    def windows(self, pieces: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where each piece begins in the store, and its number of tokens."""
        texts = np.searchsorted(self.ends, pieces, side="right")
        lengths = self.store.lengths(texts)
        before = self.n_brought * (pieces - (self.ends[texts] - self._n_pieces(lengths)))  # brought by earlier pieces
        return self.store.starts[texts] + before, np.minimum(lengths - before, self.n_brought + self.n_around)

    def by_length(self, pieces: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return pieces sorted by length."""
        return pieces[np.argsort(self.windows(pieces)[1], kind="stable")]

    def _n_pieces(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.maximum(0, -(-(lengths - self.n_around) // self.n_brought))


class MovingPieces(Pieces):
    """One text cut into full pieces, `stride` tokens apart, from a random place in each epoch.

    So a token is at another position in each epoch. Without a stride, pieces are end to end; the text before the first
    and after the last one, less than two pieces together, is left out of an epoch.
    """

    moves = True

    def __init__(self, store: TokenStore, *, n_brought: int, n_around: int, stride: int | None = None) -> None:
        n_in_all = len(store.tokens) - n_around  # tokens that can be brought
        if n_brought > 0 and n_in_all < 1:
            raise CorpusError(
                "this text has {n} tokens for training, but at least {least} are needed; add more text",
                n=len(store.tokens),
                least=n_around + 1,
            )
        super().__init__(store, n_brought=min(n_brought, n_in_all), n_around=n_around)
        self.stride = self.n_brought if stride is None else min(stride, self.n_brought)
        self.ends = np.array(
            [n_windows(len(store.tokens), n_brought=self.n_brought, n_around=n_around, stride=self.stride)]
        )
        self.n_spare = n_in_all - self.n_brought - (len(self) - 1) * self.stride
        self.first = 0  # where the first piece begins

    def move(self, random: np.random.Generator) -> None:
        """Begin an epoch: draw where the first piece begins."""
        self.first = int(random.integers(self.n_spare + 1))

    def windows(self, pieces: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where each piece begins in the store, and its number of tokens."""
        return self.first + self.stride * pieces, np.full(len(pieces), self.n_brought + self.n_around)

    def by_length(self, pieces: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the pieces unchanged: all have one length."""
        return pieces


def pieces_of(
    texts: Sequence[Text],
    tokenizer: Tokenizer,
    *,
    n_brought: int,
    n_around: int,
    stride: int | None = None,
) -> Pieces:
    """Return texts as pieces of tokens; a running text is cut as a whole, not by its stretches.

    Args:
        texts: to cut.
        tokenizer: encodes them.
        n_brought: tokens that a full piece brings.
        n_around: other tokens that each piece sees.
        stride: tokens between the starts of two training pieces of a running text; None: `n_brought`.

    Raises:
        CorpusError: there is nothing to cut, or a piece has no room for a token.
    """
    moves = isinstance(texts, RunningText) and texts.moves
    store = joined(texts, tokenize(texts, tokenizer))
    if moves:
        return MovingPieces(store, n_brought=n_brought, n_around=n_around, stride=stride)
    return Pieces(store, n_brought=n_brought, n_around=n_around)


def joined(items: Sequence[Pair] | Sequence[Text], store: TokenStore) -> TokenStore:
    """Return the tokens of items with consecutive stretches of a running text joined."""
    if not isinstance(items, RunningText):
        return store
    return TokenStore(store.tokens, np.append(store.starts[:-1][items.begins], store.starts[-1]))


def n_windows(n_tokens: int, *, n_brought: int, n_around: int, stride: int | None = None) -> int:
    """Return how many full windows an epoch of a running text has; at least 1.

    Args:
        n_tokens: of the text.
        n_brought: tokens that a window brings, as far as the text has this many.
        n_around: tokens that each window sees besides.
        stride: tokens between the starts of two windows; None: windows are end to end.
    """
    n_in_all = n_tokens - n_around
    n_brought = max(1, min(n_brought, n_in_all))
    return max(1, (n_in_all - n_brought + 1) // min(stride or n_brought, n_brought))


def first_windows(
    stream: NDArray[Any], *, length: int, stride: int, n: int, bos_id: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a decoder's inputs and targets of the first windows of a stream, both [window, pos].

    The targets are the stream, the inputs are the stream shifted right after <bos>.

    Args:
        stream: tokens, [pos]; with fewer than `length` there is no window.
        length: tokens of a window.
        stride: tokens between the starts of two windows.
        n: maximum number of windows.
        bos_id: <bos>, before the first token.
    """
    targets = np.asarray(stream[: length + stride * (n - 1)]).astype(np.int64)
    inputs = np.append(bos_id, targets[:-1])
    places = np.arange(0, len(targets) - length + 1, stride)[:n, None] + np.arange(length)  # window pos
    return inputs[places], targets[places]
