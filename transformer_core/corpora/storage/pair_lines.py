"""The lines of a .tsv file that are no pairs, and the columns beyond the second: counted, and said in words."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

import numpy as np

from transformer_core.corpora.storage.file_spans import matches, source_and_target
from transformer_core.corpora.storage.kept_arrays import Sink, kept_arrays
from transformer_core.corpora.storage.text_files import TextFiles
from transformer_core.errors import CorpusError, Message

N_SHOWN = 5  # bad lines that are shown, the first ones

_LONGEST_SHOWN = 60  # characters of a line
_VERSION = "2"  # of what is counted
_PROBLEMS = {
    "one_column": Message("line {line:,} has only one column"),
    "no_source": Message("line {line:,} has no source"),
    "no_target": Message("line {line:,} has no target"),
}


@dataclass(frozen=True, kw_only=True)
class BadLine:
    """A line that holds no pair."""

    line: int  # counted from 1
    problem: Literal["one_column", "no_source", "no_target"]
    text: str  # the line itself, cut where it is long, with its tabs

    def in_words(self) -> Message:
        """Return which line it is, and what is wrong with it."""
        return Message(_PROBLEMS[self.problem], line=self.line)


@dataclass(frozen=True, kw_only=True)
class PairLines:
    """What was counted in a file of pairs; blank lines count for nothing."""

    n_lines: int
    n_bad: int  # lines that hold no pair
    first_bad: tuple[BadLine, ...]  # the first `N_SHOWN` of them
    n_wider: int  # lines of pairs with more than two columns; those without text at the end of a line do not count

    def remark(self, corpus: Message) -> Message:
        """Return what is said of a corpus, and what of it a reader of the pairs leaves out."""
        if self.n_bad:
            corpus = Message("{corpus} Skipped lines that are not pairs: {n:,}.", corpus=corpus, n=self.n_bad)
        if self.n_wider:
            corpus = Message(
                "{corpus} Only the first two columns are used; {n:,} of {n_lines:,} lines have more.",
                corpus=corpus,
                n=self.n_wider,
                n_lines=self.n_lines,
            )
        return corpus


class BadLinesError(CorpusError):
    """Some lines of a file of pairs hold no pair; the others could be read without them.

    Args:
        lines: what was counted.
        name: of the file, for the message.
    """

    def __init__(self, lines: PairLines, name: str | Message) -> None:
        self.lines = lines
        self.name = name
        super().__init__(
            Message(
                "{name}: {n:,} of {n_lines:,} lines is not a pair ({first}); {pair}; correct that line, or skip it "
                "with skip_bad_lines=true",
                plural="{name}: {n:,} of {n_lines:,} lines are not pairs ({first}); {pair}; correct those lines, or "
                "skip them with skip_bad_lines=true",
                name=name,
                n=lines.n_bad,
                n_lines=lines.n_lines,
                first=_first_of(lines),
                pair=pair_in_words(name),
            )
        )


def refuse_bad_lines(lines: PairLines, name: str | Message, *, skip: bool) -> None:
    """Check that a file of pairs can be read.

    Args:
        lines: what was counted in it.
        name: of the file, for a message.
        skip: whether lines that hold no pair may be left out.

    Raises:
        BadLinesError: some lines hold no pair, and may not be left out.
        CorpusError: no line holds one.
    """
    if lines.n_bad == lines.n_lines:
        pair = pair_in_words(name)
        if lines.first_bad and all(re.search("[,;]", bad.text) for bad in lines.first_bad):
            pair = Message("its columns seem to be separated by commas or semicolons; rename it to .csv")
        raise CorpusError(
            "{name}: none of the lines is a pair ({first}); {pair}", name=name, first=_first_of(lines), pair=pair
        )
    if lines.n_bad and not skip:
        raise BadLinesError(lines, name)


def pair_in_words(name: str | Message) -> Message:
    """Return what a line of a file has to be."""
    if PurePath(str(name)).suffix.lower() == ".csv":
        return Message("each line must contain a source, a comma or semicolon, and a target")
    return Message("each line must contain a source, a tab and a target")


def pair_lines(files: TextFiles) -> PairLines:
    """Count the lines of a file of pairs, and those that are none; read through once, in little memory."""

    def fill(sinks: Mapping[str, Sink]) -> None:
        n_lines, n_bad, n_wider = 0, 0, 0
        first_bad: list[tuple[int, int]] = []
        for address, block, spans in matches(files, "pairs"):
            n_lines += len(spans)
            for start, end in spans:
                line = block[start:end]
                if source_and_target(line) is None:
                    n_bad += 1
                    if len(first_bad) < N_SHOWN:
                        first_bad.append((address + start, address + end))
                elif line.rstrip().count(b"\t") > 1:
                    n_wider += 1
        sinks["counts"].append(np.array([n_lines, n_bad, n_wider]))
        sinks["first_bad"].append(np.array(first_bad, np.int64).ravel())

    dtypes = dict.fromkeys(("counts", "first_bad"), np.dtype(np.int64))
    arrays = kept_arrays("lines", [_VERSION, files.fingerprint], dtypes, fill, keep=files.is_large)
    n_lines, n_bad, n_wider = arrays["counts"].tolist()
    spans = arrays["first_bad"].reshape(-1, 2)
    bad = (
        _bad_line(files.path_and_line(start)[1], raw)
        for start, raw in zip(spans[:, 0].tolist(), files.read(spans), strict=True)
    )
    return PairLines(n_lines=n_lines, n_bad=n_bad, first_bad=tuple(bad), n_wider=n_wider)


def _bad_line(line: int, raw: bytes) -> BadLine:
    text = raw.decode("utf-8").rstrip("\r\n")
    source, tab, _ = text.partition("\t")
    shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]} ..."
    if not tab:
        return BadLine(line=line, problem="one_column", text=shown)
    return BadLine(line=line, problem="no_target" if source.strip() else "no_source", text=shown)


def _first_of(lines: PairLines) -> Message:
    """Return which lines are bad, the first ones by themselves, the others by their number."""
    first = Message.joined("; ", (bad.in_words() for bad in lines.first_bad))
    n_more = lines.n_bad - len(lines.first_bad)
    return Message("{lines}; and {n:,} more", lines=first, n=n_more) if n_more else first
