"""Texts with line breaks in one line: to be read, and in a box that holds one line."""

import re

from transformer_core.text.labels import visible

_UNUSUAL = re.compile(r"[^\S \xa0\u202f]|^ +| +$| {2,}")
_SIGNS = {"\n": "↵", "\r": "␍"}  # of what a box of one line cannot hold
_CHARACTERS = {sign: character for character, sign in _SIGNS.items()}


def in_a_line(text: str) -> str:
    """Return a text as one reads it in a line: line breaks, tabs, and all but single spaces as labels show them."""
    return _UNUSUAL.sub(lambda match: visible(match.group()), text)


def output_in_a_line(output: str) -> str:
    """Return the output of a model without a leading space and an incomplete letter at its end."""
    return in_a_line(re.sub(r"^ (?=\S)", "", output.rstrip("\ufffd")))


def to_box(text: str) -> str:
    r"""Return a text for a box of one line: "↵" for a line break, "␍" for a carriage return.

    One of these two signs has a backslash before it where the text itself has it, and so has each backslash before one.
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
