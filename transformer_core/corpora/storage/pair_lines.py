"""The lines of a table without a pair or text, and unused columns: counted, and described in messages."""

import re
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Literal

from transformer_core.corpora.storage.text_files import first_of
from transformer_core.errors import CorpusError, Message

N_SHOWN = 5  # number of bad lines shown, from the first

_LONGEST_SHOWN = 60  # characters shown of a line
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
    """A line without a pair or text."""

    line: int  # counted from 1
    problem: Problem
    text: str  # the line with its tabs, shortened

    def __post_init__(self) -> None:
        if len(self.text) > _LONGEST_SHOWN:
            object.__setattr__(self, "text", f"{self.text[:_LONGEST_SHOWN]} ...")

    def in_words(self) -> Message:
        """Return the line number and the problem as a message."""
        return Message(_PROBLEMS[self.problem], line=self.line)


@dataclass(kw_only=True)
class PairLines:
    """The counted lines of a file of pairs or texts, without blank ones."""

    n_lines: int = 0
    n_bad: int = 0
    first_bad: list[BadLine] = field(default_factory=list)  # the first `N_SHOWN`
    n_wider: int = 0  # lines of pairs with more than two columns, except empty ones at the end of a line
    is_pairs: bool = True  # False: each line contains one text

    def first_in_words(self) -> Message:
        """Return the first bad lines, and the number of others, as a message."""
        return first_of((bad.in_words() for bad in self.first_bad), self.n_bad - len(self.first_bad))

    def remark(self, corpus: Message) -> Message:
        """Return the description of a corpus, extended by a note on what was left out."""
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
    """Some lines of a file have no pair or text; the others can be read without them."""

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
        values: dict[str, Any] = {"name": name, "n": lines.n_bad, "n_lines": lines.n_lines}
        super().__init__(Message(sentence, **values, first=lines.first_in_words(), pair=pair_in_words(name)))


def refuse_bad_lines(lines: PairLines, name: str | Message, *, skip: bool) -> None:
    """Check that a file of pairs or texts can be read.

    Args:
        lines: the counts for this file.
        name: of the file, for a message.
        skip: whether bad lines may be left out.

    Raises:
        BadLinesError: some lines are bad, and may not be left out.
        CorpusError: all lines are bad.
    """
    if lines.n_bad == lines.n_lines and not lines.is_pairs:
        raise CorpusError(
            "{name}: none of the lines has a text ({first}); use another file or column",
            name=name,
            first=lines.first_in_words(),
        )
    if lines.n_bad == lines.n_lines:
        pair = pair_in_words(name)
        if lines.first_bad and all(re.search("[,;]", bad.text) for bad in lines.first_bad):
            pair = Message("its columns seem to be separated by commas or semicolons; rename it to .csv")
        raise CorpusError(
            "{name}: none of the lines is a pair ({first}); {pair}", name=name, first=lines.first_in_words(), pair=pair
        )
    if lines.n_bad and not skip:
        raise BadLinesError(lines, name)


def pair_in_words(name: str | Message) -> Message:
    """Return a message with the required contents of a line."""
    if PurePath(str(name)).suffix.lower() == ".csv":
        return Message("each line must contain a source, a comma or semicolon, and a target")
    if PurePath(str(name)).suffix.lower() == ".tsv":
        return Message("each line must contain a source, a tab and a target")
    return Message("each line must contain a source and a target")
