"""Typed or pasted paths."""

import errno
import os
from pathlib import Path
from urllib.request import url2pathname

from transformer_core.errors import CheckpointError

_FILE = ("file://localhost/", "file:///")
_QUOTES = "\"'“”‘’„"
_MOST_QUOTED = 60  # characters of a text in an error


def typed_path(text: str) -> Path:
    """Return the path of a typed or pasted text: unchanged if it exists, and otherwise cleaned.

    White space, the quotes that "copy as path" adds, and file:// are removed; ~ is the home folder.

    Raises:
        CheckpointError: it cannot be a path, because it is too long or contains a NUL character.
    """
    try:
        os.stat(text)
    except ValueError:  # a NUL, or a lone surrogate
        raise CheckpointError(
            "{text!r} is not a path: it contains a character that paths cannot have; retype it", text=_short(text)
        ) from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise CheckpointError(
                "{text!r} is not a path or an id: with {n:,} characters it is too long; check it",
                text=_short(text),
                n=len(text),
            ) from None
    if os.path.lexists(text):
        return Path(text)
    plain = text.strip().strip(_QUOTES)
    for beginning in _FILE:
        if plain.startswith(beginning):
            plain = url2pathname("/" + plain.removeprefix(beginning))
    return Path(os.path.expanduser(plain))


def _short(text: str) -> str:
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}…"
