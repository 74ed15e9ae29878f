"""Words: how the word tokenizer splits a sentence and joins it again, and how tokens are grouped into words.

Words are those of the word tokenizer, regardless of how a text is tokenized: "didn't" is one word, "l'animal" is two,
and so is "cat.". Moreover:

- Each special token is a separate word.
- Spaces belong to the word after them, as in byte-level tokens; line breaks and tabs are separate words.
- A token that continues a word (prefix "##") belongs to it.
- Tokens are never split: one that ends a word and contains another belongs to the first, so the bytes of a letter stay
  together.
- In scripts without spaces, a word is a token, or several that share a letter.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import SupportsInt

import regex  # type: ignore[import-untyped]

from transformer_core.text.interface import WRITTEN_MASK, Given, Tokenizer
from transformer_core.text.labels import Token, border_in, runs_of, with_border

_ELIDED = r"(?:\w*qu|[cdjlmnst])'"  # French: l'animal, n'a, qu'il, jusqu'à
WORD = rf"\w+n't\b|aujourd'hui\b|{_ELIDED}(?=\w)|\w+|[^\w\s]"  # didn't, aujourd'hui: one word each
_OPENING = rf"{_ELIDED}|\("  # no space after these
_CLOSING = frozenset(".,;:!?)")

_ALTERNATIVES = (  # pattern and replacement
    (re.compile(r"^\s+"), ""),
    (re.compile(r"\s+$"), ""),
    (re.compile(r"\s+"), " "),
    (re.compile(r" {2,}"), " "),
    (re.compile(r"[\r\n]"), " "),
    (re.compile(r"[^\S\r\n ]"), " "),
    (re.compile("[\u200b\u2060\ufeff]"), ""),
)


def join_words(words: Sequence[str]) -> str:
    """Join words as a sentence: no space before closing punctuation or after an elision, and an initial capital."""
    text = "".join(
        word if i == 0 or word in _CLOSING or re.fullmatch(_OPENING, words[i - 1]) else f" {word}"
        for i, word in enumerate(words)
    )
    return text[:1].upper() + text[1:]


def unknown_words(tokenizer: Tokenizer, text: Given) -> tuple[str, ...]:
    """Return the unknown words of a text or a pair, each once; blanks do not count."""
    texts = [text] if isinstance(text, str) else text
    parts = texts if tokenizer.mask_id is None else [part for one in texts for part in WRITTEN_MASK.split(one)]
    return tuple(dict.fromkeys(word for part in parts for word in tokenizer.unknown_words(part)))


def is_ignored(tokenizer: Tokenizer, text: Given) -> bool:
    """Return whether a tokenizer ignores any white space in a text other than single spaces.

    Raises:
        TextError: the tokenizer has no tokens for the text.
    """
    texts = (text,) if isinstance(text, str) else text
    return tokenizer.kind != "ids" and any(_is_ignored(tokenizer, one) for one in texts)


def _is_ignored(tokenizer: Tokenizer, text: str) -> bool:
    others = {pattern.sub(instead, text) for pattern, instead in _ALTERNATIVES} - {text}
    if tokenizer.kind == "character" or not others:
        return False
    tokens, *alternatives = tokenizer.encode_batch([text, *others])
    return tokens in alternatives


_BREAKS = r"\n\r\t\v\f\x85\u2028\u2029"
_STRAY = "[\udc80-\udcff]+"  # bytes of incomplete characters, decoded with `surrogateescape`
_TYPED = WORD.replace("'", "['’]")  # the word tokenizer treats both apostrophes alike
_WORD = regex.compile(rf"\s*[{_BREAKS}]|\s*(?:{_STRAY}|(?=[^\w\s])\X|{_TYPED})|\s+", regex.IGNORECASE)
_SCRIPTS = "".join(map(r"\p{{{}}}".format, "Han Hiragana Katakana Thai Lao Khmer Myanmar Tibetan".split()))
_UNSPACED = regex.compile(rf"([^\S{_BREAKS}]*(?=[{_SCRIPTS}])(?=\p{{L}})\X)")  # a letter of a script without spaces
_PART = re.compile(r" ?(\S+) (\d+)/\d+(?: |$)")  # a part of a letter in a label: "é 1/2"


def word_places(tokenizer: Tokenizer, ids: Iterable[SupportsInt]) -> tuple[int, ...]:
    """Return the index of the word that each token of a text belongs to: 0, 1, 2, ..., in order and without gaps.

    Raises:
        TextError: a token that is not in the vocabulary.
    """
    places: list[int] = []
    for run in runs_of(map(tokenizer._token, tokenizer._known(ids))):
        for begins in _beginnings(run):
            places.append((places[-1] if places else -1) + begins)
    return tuple(places)


def text_places(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int]:
    """Return the positions of the tokens of the text itself, unknown words included, without special tokens."""
    special = zip(ids, tokenizer.is_special(ids), strict=True)
    return [place for place, (token, is_sign) in enumerate(special) if not is_sign or token == tokenizer.unk_id]


def places_of_words(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return the positions of the tokens of each word of a text, without special tokens."""
    numbers = range(len(ids)) if tokenizer.kind == "word" else word_places(tokenizer, ids)
    words: dict[int, list[int]] = {}
    for place in text_places(tokenizer, ids):
        words.setdefault(numbers[place], []).append(place)
    return tuple(map(tuple, words.values()))


def word_labels(labels: Sequence[str], places: Sequence[int]) -> tuple[str, ...]:
    """Return a label for each word: "unbelievable" for "·un", "believ", "able".

    Args:
        labels: of the tokens, see labels.py.
        places: of the tokens, from `word_places`.

    Returns:
        One per word, never empty: the joined labels of its tokens without the leading space and "##", and with each
        letter that is split into parts only once.
    """
    border = border_in(labels)
    words = groupby(zip(places, with_border(labels, None), strict=True), key=lambda placed: placed[0])
    joined = [_joined([label for _, label in placed]) for _, placed in words]
    return with_border(joined, None if border is None else len({*places[: border + 1]}) - 1)


def _beginnings(run: Sequence[Token]) -> Iterator[bool]:
    """Yield, for each token of a run, whether it begins a word."""
    owners = _owners(b"".join(token.text for token in run))
    start, last = 0, -1
    for i, token in enumerate(run):
        held = owners[start : start + len(token.text)]
        words = [word for word, is_gap in held if not is_gap] or [word for word, _ in held] or [last]
        yield i == 0 or (words[0] != last and not token.mark)
        start, last = start + len(token.text), words[-1]


def _owners(text: bytes) -> list[tuple[int, bool]]:
    """Return the word index of each byte, and whether the byte belongs to the leading spaces."""
    owners: list[tuple[int, bool]] = []
    for number, word in enumerate(_cut(text.decode("utf-8", "surrogateescape"))):
        n_bytes = len(word.encode("utf-8", "surrogateescape"))
        n_shown = len(word.lstrip().encode("utf-8", "surrogateescape")) or n_bytes
        owners += [(number, True)] * (n_bytes - n_shown) + [(number, False)] * n_shown
    return owners


def _cut(text: str) -> Iterator[str]:
    """Split a text into words with their leading spaces; concatenated, they give back the text."""
    for i, part in enumerate(_UNSPACED.split(text)):
        yield from [part] if i % 2 else _WORD.findall(part)


def _joined(labels: Sequence[str]) -> str:
    """Return the label of a word, given the labels of its tokens."""
    if len(labels) > 1:
        first, *others = (_PART.sub(lambda part: part[1] if part[2] == "1" else "", label) for label in labels)
        labels = [first, *(label.removeprefix("##") for label in others)]
        labels = [label for label in labels if label != "<empty>"]
    word = "".join(labels)
    return word.lstrip("·") or word or "<empty>"
