"""Labels: tokens as they are displayed.

Labels are never empty, never show partial letters, and contain nothing that affects the layout around them:

- A space is "·", a line break "↵", a tab "⇥": " cat" is "·cat".
- Graphemes (Unicode Standard Annex 29) are shown whole. If several tokens share one, each shows the whole and its part:
  the two bytes of é are "é 1/2" and "é 2/2", the three tokens of a flag or of a joined emoji likewise. Only next to
  such a part does a label contain a space.
- Invisible characters are named in angle brackets: "<NBSP>", "<ZWJ>", "<U+E000>"; a byte of an incomplete character, as
  at the end of an unfinished text, is "<0xE2>".
- An accent or a vowel sign without its letter is on a dotted circle: "◌́".
- Special tokens have their own names: "<eos>", "[CLS]", "<|endoftext|>".
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import regex  # type: ignore[import-untyped]

BORDER = "‖\u202f"  # before the label of a second text's first token; labels contain no such space
_SIGNS = {" ": "·", "\n": "↵", "\t": "⇥"}
MEANT = str.maketrans({sign: character for character, sign in _SIGNS.items()})
_NAMES = {  # Unicode's own abbreviations (NameAliases.txt)
    **dict(zip("\0\a\b\v\f\r\x1b\x7f\x85\xa0\xad", "NUL BEL BS VT FF CR ESC DEL NEL NBSP SHY".split(), strict=True)),
    **dict(zip("\u200b\u200c\u200d\u200e\u200f\u061c", "ZWSP ZWNJ ZWJ LRM RLM ALM".split(), strict=True)),
    **dict(zip("\u202a\u202b\u202c\u202d\u202e", "LRE RLE PDF LRO RLO".split(), strict=True)),
    **dict(zip("\u2066\u2067\u2068\u2069", "LRI RLI FSI PDI".split(), strict=True)),
    **dict(zip("\u202f\u034f\u2060\ufeff\ufe0e\ufe0f", "NNBSP CGJ WJ BOM VS15 VS16".split(), strict=True)),
}
_LONGEST_GRAPHEME = 16  # code points; longer stacks of accents are split to keep labels short

_GRAPHEME = regex.compile(r"\X")
_ON_ITS_OWN = regex.compile(r"([\s\p{Z}\p{Cc}])")  # never part of a longer grapheme
_HIDDEN = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{Z}\p{Cc}\p{Cn}\p{Co}\p{Cs}\u2800\ufff9-\ufffb]+")
_WITHOUT_SHAPE = regex.compile(r"[\p{Cn}\p{Co}\p{Cs}]")
_MARK = regex.compile(r"\p{M}")


@dataclass(frozen=True, slots=True)
class Token:
    """The text of a token, or its name."""

    text: bytes = b""  # UTF-8, possibly a part of a character
    name: str = ""  # of a special token, whose `text` is empty
    mark: str = ""  # shown before the text: "##" for a token that continues a word
    starts_anew: bool = False  # its text does not directly follow the text of the previous token


def labels(tokens: Sequence[Token]) -> list[str]:
    """Return a label for each token of a sequence, by the rules above."""
    shown: list[str] = []
    for run in runs_of(tokens):
        shown += [visible(run[0].name)] if run[0].name else _labels_of_run(run)
    return shown


def runs_of(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    """Yield the runs of tokens whose texts are contiguous; a special token is a separate run."""
    run: list[Token] = []
    for token in tokens:
        if run and (token.name or token.starts_anew or run[0].name):
            yield run
            run = []
        run.append(token)
    if run:
        yield run


def with_border(shown: Iterable[str], border: int | None) -> tuple[str, ...]:
    """Return the labels with the mark of a second text at this position only; None: at no position."""
    bare = (label.removeprefix(BORDER) for label in shown)
    return tuple(BORDER + label if place == border else label for place, label in enumerate(bare))


def border_in(shown: Sequence[str]) -> int | None:
    """Return the position of the second text's first token among labels; None if there is one text."""
    return next((place for place, label in enumerate(shown) if label.startswith(BORDER)), None)


def visible(text: str) -> str:
    """Return a text as labels show it: "a cat" as "a·cat"."""
    return "".join(map(_visible, _graphemes(text)))


def is_byte_level(token: str) -> bool:
    """Return whether a token has only characters that stand for bytes in byte-level tokens."""
    return all(letter in _BYTES for letter in token)


def byte_level_text(token: str) -> bytes:
    """Return the bytes of a byte-level token, in which "Ġ" is a space; added tokens with other characters as UTF-8.

    Source: Radford et al. 2019, code (`bytes_to_unicode`).
    """
    try:
        return bytes(map(_BYTES.__getitem__, token))
    except KeyError:
        return token.encode()


def _labels_of_run(run: Sequence[Token]) -> list[str]:
    ends = [*accumulate(len(token.text) for token in run)]
    contents: list[list[str]] = [[] for _ in run]
    first, start = 0, 0  # index of the token where the next grapheme begins; bytes before that grapheme
    text = b"".join(token.text for token in run).decode("utf-8", "surrogateescape")
    for grapheme in _graphemes(text):
        end = start + len(grapheme.encode("utf-8", "surrogateescape"))
        while ends[first] <= start:
            first += 1
        last = first
        while ends[last] < end:
            last += 1
        owners = [i for i in range(first, last + 1) if run[i].text]
        whole = _visible(grapheme)
        for part, i in enumerate(owners, start=1):
            contents[i].append(whole if len(owners) == 1 else f" {whole} {part}/{len(owners)} ")
        start = end
    return [
        token.mark + (" ".join("".join(content).split()) or "<empty>")
        for token, content in zip(run, contents, strict=True)
    ]


def _graphemes(text: str) -> Iterator[str]:
    """Split a text into graphemes; white space and control characters are separate."""
    for part in _ON_ITS_OWN.split(text):
        for grapheme in _GRAPHEME.findall(part):
            for start in range(0, len(grapheme), _LONGEST_GRAPHEME):
                yield grapheme[start : start + _LONGEST_GRAPHEME]


@lru_cache(maxsize=4096)
def _visible(grapheme: str) -> str:
    """Return a grapheme as labels show it, without white space."""
    if grapheme in _SIGNS:
        return _SIGNS[grapheme]
    hidden = _HIDDEN.match(grapheme)
    n_hidden = hidden.end() if hidden else 0
    names, rest = "".join(map(_name, grapheme[:n_hidden])), grapheme[n_hidden:]
    circle = "◌" if _MARK.match(rest) else ""
    return names + circle + _WITHOUT_SHAPE.sub(lambda match: _name(match.group()), rest)


def _name(character: str) -> str:
    """Return the name of an invisible character, or of a stray byte."""
    number = ord(character)
    if 0xDC80 <= number <= 0xDCFF:
        return f"<0x{number - 0xDC00:02X}>"
    return f"<{_NAMES.get(character) or f'U+{number:04X}'}>"


def _bytes_of_characters() -> dict[str, int]:
    """Return the byte of each character of byte-level tokens: printable ones stand for themselves."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = (byte for byte in range(0x100) if byte not in printable)
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


_BYTES = _bytes_of_characters()
