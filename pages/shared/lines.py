"""Texts with line breaks on one line: for display, and in a single-line text box."""

import re

from transformer_core.text.labels import visible

_UNUSUAL = re.compile(r"[^\S \xa0\u202f]|^ +| +$| {2,}")
_SIGNS = {"\n": "↵", "\r": "␍"}  # signs for the characters that a single-line box cannot hold
_CHARACTERS = {sign: character for character, sign in _SIGNS.items()}


def in_a_line(text: str) -> str:
    """Return a text for display on one line, with line breaks, tabs and unusual spaces written as in labels."""
    return _UNUSUAL.sub(lambda match: visible(match.group()), text)


def output_in_a_line(output: str) -> str:
    """Return a model's output on one line, without a leading space or an incomplete character at its end."""
    return in_a_line(re.sub(r"^ (?=\S)", "", output.rstrip("\ufffd")))


def to_box(text: str) -> str:
    r"""Return a text for a box of one line: "↵" for a line break, "␍" for a carriage return.

    If the text itself contains one of these signs, it is escaped with a backslash, and so is each backslash before it.
    """

    def written(match: re.Match[str]) -> str:
        backslashes, character = match.groups()
        return 2 * backslashes + (_SIGNS.get(character) or f"\\{character}")

    return re.sub(r"(\\*)([\n\r↵␍])", written, text)


def from_box(line: str) -> str:
    """Return the text that `to_box` writes as this line."""

    def read(match: re.Match[str]) -> str:
        backslashes, sign = match.groups()
        n = len(backslashes)
        return backslashes[: n // 2] + (sign if n % 2 else _CHARACTERS[sign])

    return re.sub(r"(\\*)([↵␍])", read, line)
