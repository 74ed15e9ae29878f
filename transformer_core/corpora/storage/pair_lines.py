"""The lines of a table that hold no pair or no text, and columns beyond the second: counted, and said in words."""

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

from transformer_core.errors import CorpusError, Message

N_SHOWN = 5  # bad lines that are shown, the first ones

_LONGEST_SHOWN = 60  # characters of a line
Problem = Literal["one_column", "no_source", "no_target", "no_text", "no_row", "no_json", "too_deep", "too_long"]
_PROBLEMS: dict[Problem, Message] = {
    "one_column": Message("line {line:,} has only one column"),
    "no_source": Message("line {line:,} has no source"),
    "no_target": Message("line {line:,} has no target"),
    "no_text": Message("line {line:,} has no text"),
    "no_row": Message("line {line:,} has no columns"),
    "no_json": Message("line {line:,} is not valid JSON"),
    "too_deep": Message("line {line:,} is nested too deeply"),
    "too_long": Message("line {line:,} is too long"),
}


@dataclass(frozen=True, kw_only=True)
class BadLine:
    """A line that holds no pair."""

    line: int  # counted from 1
    problem: Problem
    text: str  # the line itself, cut where it is long, with its tabs

    def __post_init__(self) -> None:
        if len(self.text) > _LONGEST_SHOWN:
            object.__setattr__(self, "text", f"{self.text[:_LONGEST_SHOWN]} ...")

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
    is_pairs: bool = True  # False: each line holds one text

    def remark(self, corpus: Message) -> Message:
        """Return what is said of a corpus, and what of it a reader of the pairs leaves out."""
        if self.n_bad:
            skipped = Message("{corpus} Skipped lines that are not pairs: {n:,}.")
            if not self.is_pairs:
                skipped = Message("{corpus} Skipped lines without a text: {n:,}.")
            corpus = Message(skipped, corpus=corpus, n=self.n_bad)
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
        sentence = (
            Message(
                "{name}: {n:,} of {n_lines:,} lines is not a pair ({first}); {pair}; correct that line, or skip it "
                "with skip_bad_lines=true",
                plural="{name}: {n:,} of {n_lines:,} lines are not pairs ({first}); {pair}; correct those lines, or "
                "skip them with skip_bad_lines=true",
            )
            if lines.is_pairs
            else Message(
                "{name}: {n:,} of {n_lines:,} lines has no text ({first}); correct that line, or skip it with "
                "skip_bad_lines=true",
                plural="{name}: {n:,} of {n_lines:,} lines have no text ({first}); correct those lines, or skip them "
                "with skip_bad_lines=true",
            )
        )
        values: dict[str, Any] = {"name": name, "n": lines.n_bad, "n_lines": lines.n_lines, "first": _first_of(lines)}
        super().__init__(Message(sentence, **values, pair=pair_in_words(name)))


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
    if lines.n_bad == lines.n_lines and not lines.is_pairs:
        raise CorpusError(
            "{name}: none of the lines has a text ({first}); use another file or column",
            name=name,
            first=_first_of(lines),
        )
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
    if PurePath(str(name)).suffix.lower() == ".tsv":
        return Message("each line must contain a source, a tab and a target")
    return Message("each line must contain a source and a target")


def _first_of(lines: PairLines) -> Message:
    """Return which lines are bad, the first ones by themselves, the others by their number."""
    first = Message.joined("; ", (bad.in_words() for bad in lines.first_bad))
    n_more = lines.n_bad - len(lines.first_bad)
    return Message("{lines}; and {n:,} more", lines=first, n=n_more) if n_more else first
