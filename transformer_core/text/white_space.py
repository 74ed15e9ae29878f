"""White space in a text that does not change its tokens."""

import re

from transformer_core.text.interface import Given, Tokenizer

_ALTERNATIVES = (  # pattern and replacement
    (re.compile(r"^\s+"), ""),
    (re.compile(r"\s+$"), ""),
    (re.compile(r"\s+"), " "),
    (re.compile(r" {2,}"), " "),
    (re.compile(r"[\r\n]"), " "),
    (re.compile(r"[^\S\r\n ]"), " "),
    (re.compile("[\u200b\u2060\ufeff]"), ""),
)


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
