"""The texts or pairs of files as a sequence of spans that are read on access."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray

from transformer_core.corpora.corpus import Pair, Text

Item = Pair | Text


class Spans(Protocol):
    """Text in which each byte has an address."""

    def read(self, spans: NDArray[np.int64]) -> Iterator[bytes]:
        """Yield the bytes of each span, [span, 2]: its first address, and the one after its last."""
        ...

    def path_and_line(self, address: int) -> tuple[str, int]:
        """Return the displayed path and the line, counted from 1, of an address."""
        ...


FEW_FOR_VOCABULARY = 500_000  # bytes of texts; up to this many, all are used
_MOST_FOR_VOCABULARY = 8_000_000  # bytes of texts, each with an overhead
_OVERHEAD = 4
_MOST_OF_WORDS = 1_000_000  # bytes of different words; each takes some hundred bytes while subwords are found
_LONG = 2**16  # characters; longer texts are cut before a space, as each word takes some 250 bytes meanwhile
_N_PARTS = 16  # of a sample, each evenly from all texts


class FileItems(Sequence[Item]):
    """Pairs or texts in files.

    Args:
        files: contain them.
        spans: [item, 2], the address of the first byte of each, and of the byte after its last.
        texts_in: returns the texts in the bytes of an item: one, or a source and a target.
        fingerprint: of all items; "" if they have none.
    """

    def __init__(
        self,
        files: Spans,
        spans: NDArray[np.int64],
        texts_in: Callable[[bytes], Sequence[str]],
        *,
        fingerprint: str = "",
    ) -> None:
        self.files = files
        self.spans = spans
        self.texts_in = texts_in
        self.fingerprint = fingerprint

    @property
    def n_bytes(self) -> int:
        """Bytes of all items in the files."""
        return int((self.spans[:, 1] - self.spans[:, 0]).sum())

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.spans)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> "FileItems": ...
    def __getitem__(self, index: int | slice) -> "Item | FileItems":
        """Read one item; a slice is not read yet."""
        if isinstance(index, slice):
            return FileItems(self.files, self.spans[index], self.texts_in)
        [raw] = self.files.read(self.spans[index][None])
        return _item(self.texts_in(raw))

    def __iter__(self) -> Iterator[Item]:
        """Read one item after another."""
        return map(_item, self.texts())

    def texts(self) -> Iterator[Sequence[str]]:
        """Read the texts of one item after another."""
        return map(self.texts_in, self.files.read(self.spans))

    def for_vocabulary(self) -> Iterator[str]:
        """Yield the texts to build a vocabulary from: all, or an even sample of many."""
        n_left, words, n_left_of_words = _MOST_FOR_VOCABULARY, set[str](), _MOST_OF_WORDS
        every = _N_PARTS * (1 + (self.n_bytes + _OVERHEAD * len(self)) // _MOST_FOR_VOCABULARY)
        for text in chain.from_iterable(chain.from_iterable(self[i::every].texts() for i in range(every))):
            new = {*text.split()} - words
            words |= new
            n_left -= len(text.encode()) + _OVERHEAD
            n_left_of_words -= sum(len(word.encode()) for word in new)
            if min(n_left, n_left_of_words) < 0:
                return
            while len(text) > _LONG:
                cut = text.rfind(" ", 1, _LONG)
                cut = cut if cut > 0 else _LONG
                yield text[:cut]
                text = text[cut:]
            yield text

    def path_and_line(self, index: int) -> tuple[str, int]:
        """Return the displayed path and the line, counted from 1, of an item."""
        return self.files.path_and_line(int(self.spans[index, 0]))


def as_text(raw: bytes) -> Sequence[str]:
    """Return a text without final line breaks, with one character per line break inside it."""
    return (raw.rstrip(b"\r\n").decode("utf-8").replace("\r\n", "\n"),)


def texts_of(items: Sequence[Item]) -> Iterator[Sequence[str]]:
    """Yield the texts of each item; those of files without building items."""
    return items.texts() if isinstance(items, FileItems) else (item.texts for item in items)


def _item(texts: Sequence[str]) -> Item:
    return Pair(texts[0], texts[1]) if len(texts) > 1 else Text(texts[0])
