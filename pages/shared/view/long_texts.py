"""Texts in addresses: short ones verbatim, long ones packed, since mail and chat truncate long addresses."""

import base64
import binascii
import zlib
from collections.abc import Mapping

from headlight.language import say
from transformer_core.text.interface import encodable

MAX_CHARACTERS = 30_000  # of a text: more than 4,096 tokens
MAX_PLAIN = 1000  # characters of a text that is in the URL unpacked; a longer one is packed


def packed_name(name: str) -> str:
    """Return the name of a packed text in the URL."""
    return "packed" if name == "text" else f"packed-{name}"


def parameters(name: str, text: str) -> dict[str, str]:
    """Return a text as URL parameters."""
    return {name: text} if len(text) <= MAX_PLAIN else {packed_name(name): packed(text)}


def asked(name: str, wanted: Mapping[str, str]) -> str | None:
    """Return the text in the URL's parameters; None if there is none.

    Args:
        name: of the text in the URL.
        wanted: the URL's parameters.

    Raises:
        ValueError: its packed form is damaged.
    """
    text = wanted.get(name)
    if packed_name(name) in wanted:
        text = unpacked(wanted[packed_name(name)])
        if text is None:
            raise ValueError(say("it is damaged; ask for the link again"))
    return None if text is None else clean(text)


def clean(text: str) -> str:
    """Return the text as a tokenizer reads it, white space included, truncated to `MAX_CHARACTERS`."""
    return encodable(text[:MAX_CHARACTERS])


def packed(text: str) -> str:
    """Return a text compressed into characters that are safe in an address."""
    return base64.urlsafe_b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode().rstrip("=")


def unpacked(packed_text: str) -> str | None:
    """Return the text that `packed` packed; None where it is damaged or far too long."""
    try:
        compressed = base64.b64decode(packed_text + "=" * (-len(packed_text) % 4), altchars=b"-_", validate=True)
        return zlib.decompressobj().decompress(compressed, 8 * MAX_CHARACTERS).decode()
    except (binascii.Error, zlib.error, ValueError):
        return None
