"""Spans of the texts in files, and which of them are held out."""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from typing import BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from transformer_core.corpora.storage.kept_arrays import Sink, kept_arrays
from transformer_core.corpora.storage.text_files import LARGE, TextFile, TextFiles, opened, shown
from transformer_core.errors import CorpusError, Message
from transformer_core.reasons import reason

Division = Literal["stretches", "lines", "pairs", "texts", "files"]
"""One item: a stretch between blank lines, a line, a pair or a text of a table's row, or a whole file."""

LONGEST_TEXT = 2**20  # bytes; a longer text is cut, after a line or a word if possible

SHORTEST_TEXTS, MOST_SHORT_TEXTS = 16, 2**21  # bytes of a text, on average; how many shorter ones may be texts each
FEWEST_BYTES = 200  # least size of a text whose end can be held out
WHITE = np.isin(np.arange(256), list(b" \t\n\r\v\f"))
_BLOCK = 2**18  # bytes read at a time
_HEAD = 2**20  # bytes read to decide how a file is divided
_LEAST_STRETCHES = 20  # fewer stretches are likely chapters, or a heading and a list
_HELD_OUT_ONE_IN, _MOST_HELD_OUT = 20, 2_000
_VERSION = "1"  # of how texts are found and held out
_ADD_BYTES = Message("add more, or at least {n} bytes of text, so that its end can be held out", n=FEWEST_BYTES)
_ADD = Message("add more")
_ADD_FILES = Message("use that file itself, so that each line is a text, or add more files")
_ONLY_ONE: dict[Division, tuple[Message, Message]] = {
    "stretches": (Message("only one text"), _ADD_BYTES),
    "lines": (Message("only one line"), _ADD_BYTES),
    "pairs": (Message("only one source"), _ADD),
    "texts": (Message("only one text"), _ADD),
    "files": (Message("only one text file"), _ADD_FILES),
}


class OneTextError(CorpusError):
    """There are fewer than two different texts, so none can be held out."""


def division_of(file: TextFile) -> Division:
    """Return the usual division of a file: stretches if its first MiB has twenty of them, else lines."""
    n_stretches, _ = texts_at_beginning(file, "stretches")
    return "stretches" if n_stretches >= _LEAST_STRETCHES else "lines"


def texts_at_beginning(file: TextFile, division: Division) -> tuple[int, int]:
    """Return the number of texts in the first MiB of a file, and its number of bytes."""
    with opened(file.path) as handle:
        handle.seek(file.start)
        block = handle.read(_HEAD)
    return len(_spans_in(block, division)), len(block)


def divided(files: TextFiles, division: Division) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the texts, and hold out one in twenty of the different ones: at least 1, at most 2,000.

    Hashes of the texts decide, so equal texts are on the same side, in whatever files they occur. A held-out text is
    held out once, without its copies.

    Returns:
        The addresses of the training texts and of the held-out ones, each [text, 2]: the first byte of a text, and the
        byte after its last.

    Raises:
        OneTextError: there are fewer than two different texts.
    """

    def fill(sinks: Mapping[str, Sink]) -> None:
        hold_out(_span_blocks(files, division), sinks, division, files.path)

    dtypes = dict.fromkeys(("train", "held_out"), np.dtype(np.int64))
    arrays = kept_arrays("spans", [_VERSION, division, files.fingerprint], dtypes, fill, keep=files.is_large)
    return arrays["train"].reshape(-1, 2), arrays["held_out"].reshape(-1, 2)


def hold_out(blocks: Iterable[NDArray[np.int64]], sinks: Mapping[str, Sink], division: Division, path: Path) -> None:
    """Split items between the sinks `train` and `held_out`, as `divided` does.

    Args:
        blocks: blocks of items, [item, 3]: the first address, the one after the last, and a hash.
        sinks: receive the addresses.
        division: one item, for a message.
        path: of the file or folder, for a message.

    Raises:
        OneTextError: there are fewer than two different items.
    """
    with SpooledTemporaryFile(max_size=LARGE) as notes:
        for spans in blocks:
            _note(notes, spans)
        chosen = _chosen(notes, path, division)
        waiting = chosen  # hashes not found so far
        for spans, hashes in _noted(notes):
            sinks["train"].append(spans[~np.isin(hashes, chosen)].ravel())
            different, rows = np.unique(hashes, return_index=True)
            sinks["held_out"].append(spans[np.sort(rows[np.isin(different, waiting)])].ravel())
            waiting = np.setdiff1d(waiting, different)


def _span_blocks(files: TextFiles, division: Division) -> Iterator[NDArray[np.int64]]:
    """Yield the texts in blocks, [text, 3]: the first address, the one after the last, and a hash."""
    for file, end in zip(files.files, files.ends.tolist(), strict=True):
        with opened(file.path) as handle:
            handle.seek(file.start)
            for offset, block, spans in _blocks_of(handle, division):
                address = end - file.size + file.start + offset
                yield np.column_stack([address + spans, hashes_of(block[slice(*span)] for span in spans.tolist())])


def hashes_of(texts: Iterable[bytes]) -> NDArray[np.int64]:
    """Return a 64-bit hash for each text, without white space around it, evenly distributed.

    Two texts of equal length collide with probability 1 in 4 billion; one then counts as a copy of the other.

    Source: Steele et al. 2014, "Fast splittable pseudorandom number generators": the finalizer of SplitMix.
    """
    stripped = [text.strip().replace(b"\r\n", b"\n") for text in texts]
    mixed = np.array([zlib.crc32(text) | len(text) << 32 for text in stripped], np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed.view(np.int64)


def _spans_in(block: bytes, division: Division) -> NDArray[np.int64]:
    """Return the spans of the texts in some bytes, [text, 2]."""
    codes = np.frombuffer(block, np.uint8)
    breaks = np.flatnonzero(codes == ord("\n"))
    starts, ends = np.append(0, breaks + 1), np.append(breaks, len(block))
    seen = np.flatnonzero(~WHITE[codes])
    has_text = np.searchsorted(seen, starts) < np.searchsorted(seen, ends)
    if division == "files":
        first = starts[has_text][:1]
        return np.column_stack([first, np.full(len(first), len(block))])
    begins = ends_here = has_text
    if division == "stretches":
        begins = has_text & ~np.append(False, has_text[:-1])
        ends_here = has_text & ~np.append(has_text[1:], False)
    return np.column_stack([starts[begins], ends[ends_here]])


def _blocks_of(handle: BinaryIO, division: Division) -> Iterator[tuple[int, bytes, NDArray[np.int64]]]:
    """Yield the offset of a block, its bytes, and the spans of its texts, from the file's current position."""
    offset, rest = 0, b""
    while block := handle.read(_BLOCK):
        rest += block
        spans = _spans_in(rest, division)
        last = int(spans[-1, 0]) if len(spans) else len(rest)  # may continue in the next block
        *pieces, (last, _) = cut(rest, last, len(rest))
        spans = spans[:-1]
        if (spans[:, 1] - spans[:, 0] > LONGEST_TEXT).any():
            cut_spans = [piece for start, end in spans.tolist() for piece in cut(rest, start, end)]
            spans = np.array([piece for piece in cut_spans if rest[slice(*piece)].strip()])  # a space may be left
        yield offset, rest, np.concatenate([spans.reshape(-1, 2), np.array(pieces, np.int64).reshape(-1, 2)])
        offset, rest = offset + last, rest[last:]
    if rest and not rest.isspace():
        yield offset, rest, np.array([(0, len(rest))])


def cut(block: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """Return a span in pieces of at most `LONGEST_TEXT` bytes, each cut after a line or a word if possible."""
    pieces = []
    while end - start > LONGEST_TEXT:
        limit = start + LONGEST_TEXT
        place = block.rfind(b"\n", start, limit) + 1 or block.rfind(b" ", start, limit) + 1 or limit
        while block[place] & 0xC0 == 0x80:  # inside a character of several bytes
            place -= 1
        if not block[start:place].isspace():
            pieces.append((start, place))
        start = place
        while start < end and block[start : start + 1] in (b"\n", b"\r"):
            start += 1
    return [*pieces, (start, end)]


def _note(notes: "SpooledTemporaryFile[bytes]", spans: NDArray[np.int64]) -> None:
    """Store spans and hashes in memory or, if there are many, in a file."""
    try:
        notes.write(spans.tobytes())
    except OSError as error:
        raise CorpusError(
            "the folder for temporary files, {folder}, cannot be written ({error}); free some space "
            "there, or set TMPDIR to another folder",
            folder=gettempdir(),
            error=reason(error),
        ) from error


def _noted(notes: "SpooledTemporaryFile[bytes]") -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the stored spans [text, 2] and hashes in large blocks."""
    notes.seek(0)
    while some := notes.read(24 * 2**16):
        spans = np.frombuffer(some, np.int64).reshape(-1, 3)
        yield spans[:, :2], spans[:, 2]


def _chosen(notes: "SpooledTemporaryFile[bytes]", path: Path, division: Division) -> NDArray[np.int64]:
    """Return the hashes to hold out: the smallest, an even choice that is always the same."""
    smallest = np.empty(0, np.int64)
    for _, hashes in _noted(notes):
        smallest = np.unique(np.append(smallest, hashes))[: _HELD_OUT_ONE_IN * _MOST_HELD_OUT]
    if len(smallest) < 2:
        only_one, way_out = _ONLY_ONE[division]
        raise OneTextError(
            "{path} contains {only_one}, but at least 2 different ones are needed, one for training and one held out; "
            "{way_out}",
            path=shown(path),
            only_one=only_one,
            way_out=way_out,
        )
    return smallest[: max(1, len(smallest) // _HELD_OUT_ONE_IN)]
