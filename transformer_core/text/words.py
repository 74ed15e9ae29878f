"""Words and white space: how the word tokenizer splits a sentence and joins it again, and what a tokenizer ignores."""

import re
from collections.abc import Sequence

from transformer_core.text.interface import WRITTEN_MASK, Given, Tokenizer

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
    """Return whether a tokenizer ignores some spaces, tabs or line breaks of a text, other than single spaces.

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
