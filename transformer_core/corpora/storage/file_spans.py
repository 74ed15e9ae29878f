"""Where the texts in files begin and end, and which of them are held out."""

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from tempfile import SpooledTemporaryFile, gettempdir
from typing import BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from transformer_core.corpora.storage.kept_arrays import Sink, kept_arrays
from transformer_core.corpora.storage.text_files import LARGE, TextFile, TextFiles, opened, shown
from transformer_core.errors import CorpusError, Message
from transformer_core.reasons import reason

Division = Literal["stretches", "lines", "pairs", "files"]
"""What one text is: a stretch between blank lines, a line, the first two columns of a line, or a whole file."""

LONGEST_TEXT = 2**20  # bytes; what is longer is cut, after a line or a word if it can be

_PATTERNS: dict[Division, re.Pattern[bytes]] = {
    "stretches": re.compile(rb"(?m)^[^\S\n]*+\S[^\n]*+(?:\n[^\S\n]*+\S[^\n]*+)*+"),
    "lines": re.compile(rb"(?m)^[^\S\n]*+\S[^\n]*+"),
    "pairs": re.compile(rb"(?m)^[^\S\n]*+\S[^\n]*+"),
    "files": re.compile(rb"(?ms)^[^\S\n]*+\S.*+"),
}
FEWEST_BYTES = 200  # of a text whose end can be held out
_BLOCK = 2**20  # bytes that are read at a time
_LEAST_STRETCHES = 20  # fewer are chapters, or a heading and a list
_HELD_OUT_ONE_IN, _MOST_HELD_OUT = 20, 2_000
_VERSION = "1"  # of how texts are found and held out
_ONLY_ONE: dict[Division, Message] = {
    "stretches": Message(
        "{path} contains only one text, but at least 2 different ones are needed, one for "
        "training and one held out; add more, or at least {n} bytes of text, so that its end can "
        "be held out"
    ),
    "lines": Message(
        "{path} contains only one line, but at least 2 different ones are needed, one for "
        "training and one held out; add more, or at least {n} bytes of text, so that its end can "
        "be held out"
    ),
    "pairs": Message(
        "{path} contains only one source, but at least 2 different ones are needed, one for "
        "training and one held out; add more"
    ),
    "files": Message(
        "{path} contains only one text file, but at least 2 different ones are needed, one for "
        "training and one held out; use that file itself, so that each line is a text, or add "
        "more files"
    ),
}


class OneTextError(CorpusError):
    """There are not two different texts, of which one could be held out."""


def division_of(file: TextFile) -> Division:
    """Return what one text is in a file: a stretch if its first MiB has twenty of them, else a line."""
    with opened(file.path) as handle:
        handle.seek(file.start)
        stretches = _PATTERNS["stretches"].finditer(handle.read(_BLOCK))
        return "stretches" if sum(1 for _ in islice(stretches, _LEAST_STRETCHES)) == _LEAST_STRETCHES else "lines"


def divided(files: TextFiles, division: Division) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the texts, and hold out one in twenty that differ: 1 at least, 2,000 at most.

    Lines that hold no pair are left out. Hashes choose: those of the texts, or of the sources of pairs. So a text is on
    the same side in whatever file, and however often, it occurs. What is held out is held out once; the training has
    none of its copies.

    Args:
        files: where the texts are.
        division: what a text is.

    Returns:
        The addresses of the texts to train on, and of those held out, each [text, 2]: the first byte of a text, and the
        byte after its last.

    Raises:
        OneTextError: there are not two different texts.
    """

    def fill(sinks: Mapping[str, Sink]) -> None:
        with SpooledTemporaryFile(max_size=LARGE) as notes:
            for spans in _span_blocks(files, division):
                _note(notes, spans)
            chosen = _chosen(notes, files, division)
            waiting = chosen  # those that were not met yet
            for spans, hashes in _noted(notes):
                sinks["train"].append(spans[~np.isin(hashes, chosen)].ravel())
                different, rows = np.unique(hashes, return_index=True)
                sinks["held_out"].append(spans[np.sort(rows[np.isin(different, waiting)])].ravel())
                waiting = np.setdiff1d(waiting, different)

    dtypes = dict.fromkeys(("train", "held_out"), np.dtype(np.int64))
    arrays = kept_arrays("spans", [_VERSION, division, files.fingerprint], dtypes, fill, keep=files.is_large)
    return arrays["train"].reshape(-1, 2), arrays["held_out"].reshape(-1, 2)


def source_and_target(line: bytes) -> tuple[str, str] | None:
    """Return the first two columns of a line, without white space around them; None: there are not two."""
    columns = [column.strip() for column in line.decode("utf-8").split("\t")[:2]]
    return (columns[0], columns[1]) if len(columns) == 2 and all(columns) else None


def _span_blocks(files: TextFiles, division: Division) -> Iterator[NDArray[np.int64]]:
    """Yield the texts, some at a time, as [text, 3]: the first address, the one after the last, and a hash."""
    for address, block, spans in matches(files, division):
        if division == "pairs":
            pairs = [source_and_target(block[start:end]) for start, end in spans]
            spans = [span for span, pair in zip(spans, pairs, strict=True) if pair is not None]
            contents = [pair[0].encode() for pair in pairs if pair is not None]
        else:
            contents = [block[start:end].strip().replace(b"\r\n", b"\n") for start, end in spans]
        found = np.empty((len(spans), 3), np.int64)
        found[:, :2] = address + np.array(spans, np.int64).reshape(-1, 2)
        found[:, 2] = _hashes(contents)
        yield found


def _hashes(contents: Sequence[bytes]) -> NDArray[np.int64]:
    """Return a number for each content, spread evenly over all numbers of 64 bits.

    Two contents of one length have the same number once in four billion times; one is then taken for a copy.

    Source: Steele et al. 2014, "Fast splittable pseudorandom number generators": the finalizer of SplitMix.
    """
    mixed = np.fromiter((zlib.crc32(content) | len(content) << 32 for content in contents), np.uint64, len(contents))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed.view(np.int64)


def matches(files: TextFiles, division: Division) -> Iterator[tuple[int, bytes, list[tuple[int, int]]]]:
    """Yield some bytes of the files at a time, the address of the first, and the spans of the texts in them.

    Args:
        files: where the texts are.
        division: what a text is; of pairs, any line that is not blank.
    """
    for file, end in zip(files.files, files.ends.tolist(), strict=True):
        with opened(file.path) as handle:
            handle.seek(file.start)
            for offset, block, spans in _matches_in(handle, division):
                yield end - file.size + file.start + offset, block, spans


def _matches_in(handle: BinaryIO, division: Division) -> Iterator[tuple[int, bytes, list[tuple[int, int]]]]:
    """Yield the same of one file, read from where it is: bytes, the offset of the first, and spans."""
    pattern = _PATTERNS[division]
    offset, rest = 0, b""
    while block := handle.read(_BLOCK):
        rest += block
        spans = [match.span() for match in pattern.finditer(rest)]
        last = spans.pop()[0] if spans else len(rest)  # the next block may go on with it
        *pieces, (last, _) = _cut(rest, last, len(rest))
        if any(end - start > LONGEST_TEXT for start, end in spans):
            cut = [piece for start, end in spans for piece in _cut(rest, start, end)]
            spans = [piece for piece in cut if rest[slice(*piece)].strip()]  # a space may be left
        yield offset, rest, spans + pieces
        offset, rest = offset + last, rest[last:]
    if rest and not rest.isspace():
        yield offset, rest, [(0, len(rest))]


def _cut(block: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """Return the spans of the pieces, of at most `LONGEST_TEXT` bytes, that a span is cut into; one, if it is short."""
    pieces = []
    while end - start > LONGEST_TEXT:
        limit = start + LONGEST_TEXT
        cut = block.rfind(b"\n", start, limit) + 1 or block.rfind(b" ", start, limit) + 1 or limit
        while block[cut] & 0xC0 == 0x80:  # inside a character of several bytes
            cut -= 1
        if not block[start:cut].isspace():
            pieces.append((start, cut))
        start = cut
        while start < end and block[start : start + 1] in (b"\n", b"\r"):
            start += 1
    return [*pieces, (start, end)]


def _note(notes: "SpooledTemporaryFile[bytes]", spans: NDArray[np.int64]) -> None:
    """Write down what was found, in memory or, if it is much, in a file."""
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
    """Yield what was written down, many texts at a time: the spans [text, 2] and the hashes."""
    notes.seek(0)
    while some := notes.read(24 * 2**16):
        spans = np.frombuffer(some, np.int64).reshape(-1, 3)
        yield spans[:, :2], spans[:, 2]


def _chosen(notes: "SpooledTemporaryFile[bytes]", files: TextFiles, division: Division) -> NDArray[np.int64]:
    """Return the hashes of what is to be held out: the smallest, which is an even choice and always the same."""
    smallest = np.empty(0, np.int64)
    for _, hashes in _noted(notes):
        smallest = np.unique(np.append(smallest, hashes))[: _HELD_OUT_ONE_IN * _MOST_HELD_OUT]
    if len(smallest) < 2:
        raise OneTextError(_ONLY_ONE[division], path=shown(files.path), n=FEWEST_BYTES)
    return smallest[: max(1, len(smallest) // _HELD_OUT_ONE_IN)]
