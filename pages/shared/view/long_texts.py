"""Texts as addresses hold them: as given, and packed where they are long, since mail and chat cut long addresses."""

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
    """Return a text as the URL says it."""
    return {name: text} if len(text) <= MAX_PLAIN else {packed_name(name): packed(text)}


def asked(name: str, wanted: Mapping[str, str]) -> str | None:
    """Return the text that the URL's parameters ask for; None: they ask for none.

    Args:
        name: of the text in the URL.
        wanted: the URL's parameters.

    Raises:
        ValueError: it is packed, and damaged.
    """
    text = wanted.get(name)
    if packed_name(name) in wanted:
        text = unpacked(wanted[packed_name(name)])
        if text is None:
            raise ValueError(say("it is damaged; ask for the link again"))
    return None if text is None else clean(text)


def clean(text: str) -> str:
    """Return the text as a tokenizer reads it, white space and all, cut after `MAX_CHARACTERS`."""
    return encodable(text[:MAX_CHARACTERS])


def packed(text: str) -> str:
    """Return a text as an address holds it: short, and of plain letters."""
    return base64.urlsafe_b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode().rstrip("=")


def unpacked(packed_text: str) -> str | None:
    """Return the text that `packed` packed; None where it is damaged or far too long."""
    try:
        compressed = base64.b64decode(packed_text + "=" * (-len(packed_text) % 4), altchars=b"-_", validate=True)
        return zlib.decompressobj().decompress(compressed, 8 * MAX_CHARACTERS).decode()
    except (binascii.Error, zlib.error, ValueError):
        return None
