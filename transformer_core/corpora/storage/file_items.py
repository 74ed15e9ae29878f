"""The texts or pairs of files as spans that are read on access; running texts, whose last tenth is held out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray

from transformer_core.corpora.corpus import Pair, Text
from transformer_core.corpora.storage.file_spans import FEWEST_BYTES, WHITE
from transformer_core.corpora.storage.kept_arrays import Sink, kept_arrays
from transformer_core.corpora.storage.text_files import TextFile, TextFiles, opened, shown
from transformer_core.errors import CorpusError

Item = Pair | Text


class Spans(Protocol):
    """Text in which each byte has an address."""

    def read(self, spans: NDArray[np.int64]) -> Iterator[bytes]:
        """Yield the bytes of each span, [span, 2]: its first address, and the one after its last."""
        ...

    def path_and_line(self, address: int) -> tuple[str, int]:
        """Return the displayed path and the line, counted from 1, of an address."""
        ...


FEW_FOR_VOCABULARY = 500_000  # bytes of text; smaller corpora are used whole
_MOST_FOR_VOCABULARY = 8_000_000  # bytes of text, plus an overhead per text
_OVERHEAD = 4
_MOST_OF_WORDS = 1_000_000  # bytes of distinct words; each takes some hundred bytes in BPE training
_LONG = 2**16  # characters; longer texts are cut before a space, as each word takes about 250 bytes
_N_PARTS = 16  # parts of a sample, each spread evenly over all texts


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
        """The number of bytes of all items in the files."""
        return int((self.spans[:, 1] - self.spans[:, 0]).sum())

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.spans)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> "FileItems": ...
    def __getitem__(self, index: int | slice) -> "Item | FileItems":
        """Read one item; the items of a slice are read later, on access."""
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
    """Yield the texts of each item; for items in files, without building the items."""
    return items.texts() if isinstance(items, FileItems) else (item.texts for item in items)


def _item(texts: Sequence[str]) -> Item:
    return Pair(texts[0], texts[1]) if len(texts) > 1 else Text(texts[0])


HELD_OUT_ONE_IN = 10  # as in nanoGPT

_STRETCH = 2**10  # approximate bytes per stretch
_LONGEST_WAIT = 2**12  # additional bytes to search for the end of a word
_BLOCK = 2**20  # bytes read at a time
_VERSION = "1"  # of the ends of stretches


class RunningText(FileItems):
    """A running text as stretches of about a thousand bytes, end to end.

    A stretch ends between a word and the white space after it, as tokens do, so the tokens of all stretches are those
    of the whole text. In a text without white space it ends after any character.

    Args:
        files: contain the text.
        spans: [stretch, 2], the address of the first byte of each, and of the byte after its last.
        moves: whether training windows begin at different positions in each epoch.
        fingerprint: of the whole text; "" if it has none.
        numbers: [stretch], their indices in the whole text; 0, 1, ... by default.
    """

    def __init__(
        self,
        files: Spans,
        spans: NDArray[np.int64],
        *,
        moves: bool = False,
        fingerprint: str = "",
        numbers: NDArray[np.int64] | None = None,
    ) -> None:
        super().__init__(files, spans, _as_written, fingerprint=fingerprint)
        self.moves = moves
        self.numbers = np.arange(len(spans)) if numbers is None else numbers

    @property
    def begins(self) -> NDArray[np.bool_]:
        """For each stretch, whether it does not continue the one before it."""
        return np.diff(self.numbers, prepend=-2) != 1

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> "RunningText": ...
    def __getitem__(self, index: int | slice) -> "Item | RunningText":
        """Read one stretch; the stretches of a slice are read on access, and its windows do not move."""
        if isinstance(index, slice):
            return RunningText(self.files, self.spans[index], numbers=self.numbers[index])
        return super().__getitem__(index)


def running_text(files: TextFiles, *, fingerprint: str) -> tuple[RunningText, RunningText]:
    """Return a text without its last tenth, for training, and the last tenth.

    Args:
        files: contain the text, in their order.
        fingerprint: of the corpus.

    Raises:
        CorpusError: the text is too short.
    """
    if _n_text_bytes(files) < FEWEST_BYTES:
        raise CorpusError(
            "{path} is too short to hold out its last 10%: it has {n:,} bytes, and at least "
            "{least:,} are needed; add more text",
            path=shown(files.path),
            n=_n_text_bytes(files),
            least=FEWEST_BYTES,
        )

    def fill(sinks: Mapping[str, Sink]) -> None:
        for part, first, file, start, end in _parts(files):
            for ends in _ends(file, start, end):
                spans = np.stack([np.append(start, ends[:-1]), ends], axis=1)
                sinks[part].append(first + spans.ravel())
                start = int(ends[-1])

    dtypes = dict.fromkeys(("train", "held_out"), np.dtype(np.int64))
    arrays = kept_arrays("stretches", [_VERSION, fingerprint], dtypes, fill, keep=files.is_large)
    return (
        RunningText(files, arrays["train"].reshape(-1, 2), moves=True, fingerprint=f"{fingerprint} train"),
        RunningText(files, arrays["held_out"].reshape(-1, 2), fingerprint=f"{fingerprint} held out"),
    )


def _n_text_bytes(files: TextFiles) -> int:
    return files.size - sum(file.start for file in files.files)


def _parts(files: TextFiles) -> Iterator[tuple[str, int, TextFile, int, int]]:
    """Yield the part ("train", "held_out"), the file, its first address, and the start and end of the part in it."""
    n_left = _n_text_bytes(files) * (HELD_OUT_ONE_IN - 1) // HELD_OUT_ONE_IN  # to train on
    first = 0
    for file in files.files:
        cut = file.start + n_left
        if cut < file.size:
            cut = _between_characters(file, cut)
        if file.start < cut:
            yield "train", first, file, file.start, min(cut, file.size)
        if cut < file.size:
            yield "held_out", first, file, max(cut, file.start), file.size
        n_left = max(0, cut - file.size)
        first += file.size


def _between_characters(file: TextFile, place: int) -> int:
    """Return the last offset up to `place` that is not inside a character or a line break."""
    with opened(file.path) as handle:
        start = max(file.start, place - 4)
        handle.seek(start)
        near = handle.read(place - start + 1)
    ends = np.flatnonzero(_is_character(np.frombuffer(near, np.uint8)))
    return start + int(ends[-1])


def _ends(file: TextFile, start: int, end: int) -> Iterator[NDArray[np.int64]]:
    """Yield the ends of the stretches between two offsets of a file, in blocks."""
    with opened(file.path) as handle:
        handle.seek(start)
        rest = b""
        while start + len(rest) < end:
            rest += handle.read(min(_BLOCK, end - start - len(rest)))
            is_last = start + len(rest) == end
            ends = _ends_in(np.frombuffer(rest, np.uint8), is_last=is_last)
            if len(ends):
                yield start + ends
                start, rest = start + int(ends[-1]), rest[ends[-1] :]


def _ends_in(text: NDArray[np.uint8], *, is_last: bool) -> NDArray[np.int64]:
    """Return the ends of stretches in a text: the first possible end after each `_STRETCH` bytes."""
    is_white = WHITE[text]
    good = 1 + np.flatnonzero(is_white[1:] & ~is_white[:-1])
    other = np.flatnonzero(_is_character(text))
    equal = np.arange(_STRETCH, len(text) - (0 if is_last else _LONGEST_WAIT), _STRETCH)
    ends = np.append(good, len(text) + _LONGEST_WAIT)[np.searchsorted(good, equal)]
    waits = (ends - equal > _LONGEST_WAIT) & (equal + _LONGEST_WAIT <= len(text))
    ends[waits] = np.append(other, len(text))[np.searchsorted(other, equal[waits])]
    return np.unique(np.append(ends[ends < len(text)], len(text) if is_last else []).astype(np.int64))


def _is_character(text: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return whether a character begins at each byte; a Windows line break counts as one."""
    is_second = np.append(False, (text[:-1] == ord("\r")) & (text[1:] == ord("\n")))
    return (text & 0xC0 != 0x80) & ~is_second


def _as_written(raw: bytes) -> Sequence[str]:
    """Return a stretch with all its white space, with one character per line break."""
    return (raw.decode("utf-8").replace("\r\n", "\n"),)
