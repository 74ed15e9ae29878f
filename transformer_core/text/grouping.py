"""Words out of tokens: which tokens make one word together, and what it is called.

A word is what the word tokenizer takes for one (words.py), however a text is cut: "didn't" is a word, "l'animal" is
two, and so is "cat.". Besides:

- A special token is a word of its own.
- Spaces belong to the word after them, as byte-level tokens have it; line breaks and tabs are words of their own.
- A token that goes on with a word ("##" in front) belongs to it.
- No token is cut: one that ends a word and holds another belongs to the first. So the bytes of a letter stay together.
- In scripts that are written without spaces, a word is a token, or as many as share a letter.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import SupportsInt

import regex  # type: ignore[import-untyped]

from transformer_core.text.interface import Tokenizer
from transformer_core.text.labels import Token, border_in, runs_of, with_border
from transformer_core.text.words import WORD

_BREAKS = r"\n\r\t\v\f\x85\u2028\u2029"
_STRAY = "[\udc80-\udcff]+"  # bytes of no whole character, as `surrogateescape` writes them
_TYPED = WORD.replace("'", "['’]")  # the word tokenizer takes both signs for one
_WORD = regex.compile(rf"\s*[{_BREAKS}]|\s*(?:{_STRAY}|(?=[^\w\s])\X|{_TYPED})|\s+", regex.IGNORECASE)
_SCRIPTS = "".join(map(r"\p{{{}}}".format, "Han Hiragana Katakana Thai Lao Khmer Myanmar Tibetan".split()))
_UNSPACED = regex.compile(rf"([^\S{_BREAKS}]*(?=[{_SCRIPTS}])(?=\p{{L}})\X)")  # a letter where words have no spaces
_PART = re.compile(r" ?(\S+) (\d+)/\d+(?: |$)")  # of a letter, in a label: "é 1/2"


def word_places(tokenizer: Tokenizer, ids: Iterable[SupportsInt]) -> tuple[int, ...]:
    """Return for each token the number of the word that it belongs to: 0, 1, 2, ..., never falling, none left out.

    Args:
        tokenizer: that made the tokens.
        ids: of one text, in their order.

    Raises:
        TextError: a token that is not in the vocabulary.
    """
    places: list[int] = []
    for run in runs_of(map(tokenizer._token, tokenizer._known(ids))):
        for begins in _beginnings(run):
            places.append((places[-1] if places else -1) + begins)
    return tuple(places)


def said_places(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int]:
    """Return the places of the tokens that stand for something said, be it an unknown word: not <bos>, not <eos>."""
    special = zip(ids, tokenizer.is_special(ids), strict=True)
    return [place for place, (token, is_sign) in enumerate(special) if not is_sign or token == tokenizer.unk_id]


def places_of_words(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return for each word that is said the places of its tokens.

    Args:
        tokenizer: that made the tokens.
        ids: of one text, in their order, special ones among them or not.
    """
    numbers = range(len(ids)) if tokenizer.kind == "word" else word_places(tokenizer, ids)
    words: dict[int, list[int]] = {}
    for place in said_places(tokenizer, ids):
        words.setdefault(numbers[place], []).append(place)
    return tuple(map(tuple, words.values()))


def word_labels(labels: Sequence[str], places: Sequence[int]) -> tuple[str, ...]:
    """Return a label for each word, for the screen: "·un", "believ", "able" is "unbelievable".

    Args:
        labels: of the tokens, as labels.py has them.
        places: of the tokens, from `word_places`.

    Returns:
        As many as there are words; none is empty. A word of one token is called as the token is, but for the space in
        front of it; of several, signs that a word goes on are left out, and a letter in parts is there once.
    """
    border = border_in(labels)
    words = groupby(zip(places, with_border(labels, None), strict=True), key=lambda placed: placed[0])
    joined = [_joined([label for _, label in placed]) for _, placed in words]
    return with_border(joined, None if border is None else len({*places[: border + 1]}) - 1)


def _beginnings(run: Sequence[Token]) -> Iterator[bool]:
    """Yield of each token of a run whether a word begins with it."""
    owners = _owners(b"".join(token.text for token in run))
    start, last = 0, -1
    for i, token in enumerate(run):
        held = owners[start : start + len(token.text)]
        words = [word for word, is_gap in held if not is_gap] or [word for word, _ in held] or [last]
        yield i == 0 or (words[0] != last and not token.mark)
        start, last = start + len(token.text), words[-1]


def _owners(text: bytes) -> list[tuple[int, bool]]:
    """Return of each byte the number of the word that it belongs to, and whether it is of the spaces in front of it."""
    owners: list[tuple[int, bool]] = []
    for number, word in enumerate(_cut(text.decode("utf-8", "surrogateescape"))):
        n_bytes = len(word.encode("utf-8", "surrogateescape"))
        n_shown = len(word.lstrip().encode("utf-8", "surrogateescape")) or n_bytes
        owners += [(number, True)] * (n_bytes - n_shown) + [(number, False)] * n_shown
    return owners


def _cut(text: str) -> Iterator[str]:
    """Cut a text into words, each with the spaces in front of it; together they are the text."""
    for i, stretch in enumerate(_UNSPACED.split(text)):
        yield from [stretch] if i % 2 else _WORD.findall(stretch)


def _joined(labels: Sequence[str]) -> str:
    """Return the label of a word from its tokens' labels."""
    if len(labels) > 1:
        first, *others = (_PART.sub(lambda part: part[1] if part[2] == "1" else "", label) for label in labels)
        labels = [first, *(label.removeprefix("##") for label in others)]
        labels = [label for label in labels if label != "<empty>"]
    word = "".join(labels)
    return word.lstrip("·") or word or "<empty>"
