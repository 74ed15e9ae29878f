"""The tokens of all texts of a corpus, end to end: encoded once, cached, read from disk, and cut into pieces.

Texts are cut into pieces that fit a model; a running text is cut into windows that move in each epoch.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from importlib.metadata import version
from itertools import accumulate, chain
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from transformer_core.corpora.corpus import Pair, Text
from transformer_core.corpora.storage.file_items import FileItems, RunningText, texts_of
from transformer_core.corpora.storage.kept_arrays import Sink, arrays_in_memory, kept_arrays
from transformer_core.corpora.storage.kept_items import KeptItems
from transformer_core.errors import CorpusError
from transformer_core.text.tokenizer import Tokenizer

OnItems = Callable[[int, int], None]
"""Called with the number of finished items, and the total."""

_TOGETHER = 2**17  # characters encoded at a time; each token takes about 250 bytes meanwhile
_WORTH_KEEPING = 2**17  # characters of text; less is encoded in a few tenths of a second
_VERSION = "3"  # of the contents of a store


class TokenStore:
    """Texts as tokens end to end, each as <bos>, text, <eos>; a running text has no <bos> and <eos>.

    Args:
        tokens: of all texts.
        starts: the index of each text in `tokens`, and the end of the last one.
    """

    def __init__(self, tokens: NDArray[Any], starts: NDArray[np.int64]) -> None:
        self.tokens = tokens
        self.starts = starts

    def __len__(self) -> int:
        return len(self.starts) - 1

    def lengths(self, rows: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.int64]:
        """Return the number of tokens of some texts, including <bos> and <eos>."""
        return (self.starts[1:][rows] - self.starts[:-1][rows]).astype(np.int64)

    def padded(self, starts: NDArray[np.int64], lengths: NDArray[np.int64], padding: int) -> Int[Tensor, "batch pos"]:
        """Return spans of `tokens` as one matrix, padded on the right."""
        pos = np.arange(lengths.max())
        places = np.minimum(starts[:, None] + pos, len(self.tokens) - 1)  # batch pos
        rows = np.where(pos < lengths[:, None], self.tokens[places].astype(np.int64), padding)
        return torch.from_numpy(rows)


def tokenize(
    items: Sequence[Pair] | Sequence[Text], tokenizer: Tokenizer, *, on_progress: OnItems | None = None
) -> TokenStore:
    """Return the tokens of texts; for pairs, those of each source followed by those of its target.

    The tokens of large corpora are cached under a fingerprint of the texts and of the tokenizer.

    Args:
        items: the texts, in memory or in files.
        tokenizer: encodes them.
        on_progress: called with the numbers of encoded items and of all; not called if the tokens are cached.

    Raises:
        CorpusError: the tokenizer has no <bos> or <eos>; or the tokens do not fit into memory, and the cache folder
            cannot be written.
    """
    bos_id, eos_id = special_token(tokenizer.bos_id, "<bos>"), special_token(tokenizer.eos_id, "<eos>")
    is_running = isinstance(items, RunningText)
    begin, end = ([], []) if is_running else ([bos_id], [eos_id])

    def fill(sinks: Mapping[str, Sink]) -> None:
        n_items, n_tokens = 0, 0
        sinks["starts"].append(np.zeros(1, np.int64))
        for texts, n_new in _blocks(items):
            rows = [[*begin, *tokens, *end] for tokens in tokenizer.encode_batch(texts)]
            ends = n_tokens + np.cumsum(np.fromiter(map(len, rows), np.int64, count=len(rows)))
            sinks["tokens"].append(np.fromiter(chain.from_iterable(rows), np.int64, int(ends[-1]) - n_tokens))
            n_items, n_tokens = n_items + n_new, int(ends[-1])
            sinks["starts"].append(ends)
            if on_progress is not None:
                on_progress(n_items, len(items))

    dtypes = {
        "tokens": np.dtype(np.uint16 if tokenizer.vocab_size <= 2**16 else np.uint32),
        "starts": np.dtype(np.int64),
    }
    if _is_worth_keeping(items):
        made_from = [_VERSION, version("tokenizers"), str(is_running), _fingerprint(items)]
        made_from += [fingerprint_of_tokenizer(tokenizer)]
        arrays = kept_arrays("tokens", made_from, dtypes, fill)
    else:
        arrays = arrays_in_memory(dtypes, fill)
    return TokenStore(**arrays)


def special_token(token: int | None, name: Literal["<pad>", "<bos>", "<eos>", "<mask>"]) -> int:
    """Return a token that batches require.

    Raises:
        CorpusError: the tokenizer has no such token.
    """
    if token is None:
        raise CorpusError(
            "this tokenizer has no {token} token, which training needs; choose another tokenizer", token=name
        )
    return token


def _blocks(items: Sequence[Pair] | Sequence[Text]) -> Iterator[tuple[list[str], int]]:
    """Yield blocks of texts, each with its number of items."""
    texts: list[str] = []
    n_items, n_characters = 0, 0
    for of_item in texts_of(items):
        texts += of_item
        n_items, n_characters = n_items + 1, n_characters + sum(map(len, of_item))
        if n_characters >= _TOGETHER:
            yield texts, n_items
            texts, n_items, n_characters = [], 0, 0
    if texts:
        yield texts, n_items


def _is_worth_keeping(items: Iterable[Pair | Text]) -> bool:
    if isinstance(items, FileItems | KeptItems) and items.fingerprint:
        return items.n_bytes >= _WORTH_KEEPING
    n_characters = accumulate(len(text) for item in items for text in item.texts)
    return any(n >= _WORTH_KEEPING for n in n_characters)


def _fingerprint(items: Sequence[Pair] | Sequence[Text]) -> str:
    """Return the known fingerprint of texts, or a hash of them."""
    if isinstance(items, FileItems | KeptItems) and items.fingerprint:
        return items.fingerprint
    digest = blake2b(digest_size=32)
    for item in items:
        for text in item.texts:
            digest.update(f"{len(text)} {text}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def fingerprint_of_tokenizer(tokenizer: Tokenizer) -> str:
    """Return the fingerprint of a saved tokenizer, 64 hexadecimal digits."""
    return blake2b(tokenizer.to_json().encode(), digest_size=32).hexdigest()


class Pieces:
    """Texts cut into pieces that fit a model: all full except the last one of each text.

    A piece brings some tokens, and also sees the tokens around them: <bos>, <eos>, or tokens of neighbouring pieces.
    Together the pieces bring every token of a text exactly once.

    Args:
        store: the texts.
        n_brought: tokens that a full piece brings.
        n_around: other tokens that each piece sees.

    Raises:
        CorpusError: there is no token to bring, or a piece has no room for one.
    """

    moves = False  # whether pieces begin at different positions in each epoch

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
        self.ends = np.cumsum(self._n_pieces(store.lengths()))  # pieces of all texts up to and including each text
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
    """One text cut into full pieces, `stride` tokens apart, from a random position in each epoch.

    So the position of a token varies between epochs. Without a stride, pieces are end to end; the text before the first
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
        n_brought: tokens that a window brings; fewer if the text is shorter.
        n_around: other tokens that each window sees.
        stride: tokens between the starts of two windows; None: windows are end to end.
    """
    n_in_all = n_tokens - n_around
    n_brought = max(1, min(n_brought, n_in_all))
    return max(1, (n_in_all - n_brought + 1) // min(stride or n_brought, n_brought))


def first_windows(
    stream: NDArray[Any], *, length: int, stride: int, n: int, bos_id: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a decoder's inputs and targets for the first windows of a stream, both [window, pos].

    The targets are the stream, the inputs are the stream shifted right after <bos>.

    Args:
        stream: tokens, [pos]; if it is shorter than `length`, there is no window.
        length: tokens of a window.
        stride: tokens between the starts of two windows.
        n: maximum number of windows.
        bos_id: <bos>, before the first token.
    """
    targets = np.asarray(stream[: length + stride * (n - 1)]).astype(np.int64)
    inputs = np.append(bos_id, targets[:-1])
    places = np.arange(0, len(targets) - length + 1, stride)[:n, None] + np.arange(length)  # window pos
    return inputs[places], targets[places]
