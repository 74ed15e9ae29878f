"""Images and sounds that a person opened: kept as long as the session, and never written to the URL.

In the view, in place of a text, such a file is named by its name and a hash of its content, an example by its name.
"""

import re
from dataclasses import dataclass
from hashlib import blake2b
from weakref import WeakValueDictionary

import streamlit as st

from headlight.language import say
from headlight.viewing.media import EXAMPLES, Medium, open_media
from pages.shared import prose
from pages.shared.view.fields import Kept
from transformer_core.errors import HeadlightError, mark

MOST_KEPT = 4  # files of a session; the oldest one is dropped
IS_OPEN = Kept("media-open", False)  # whether the box for a file is
NOTE = Kept("media-note", "")  # why the last file could not be opened
NAMES = {  # of the examples
    "shapes": mark("Example: shapes"),
    "stripes": mark("Example: stripes"),
    "sweep": mark("Example: rising tone"),
    "tones": mark("Example: four tones"),
}
_FILES = Kept("media-files", ())
_N_UPLOADS = Kept("media-uploads", 0)  # empties the input for files
_HASH = re.compile(r"#[0-9a-f]{16}$")


@dataclass(frozen=True, kw_only=True, eq=False)
class MediaFile:
    """An image or a sound that a person opened."""

    key: str
    name: str
    medium: Medium
    content: bytes


_of_all_sessions: WeakValueDictionary[str, MediaFile] = WeakValueDictionary()


def keys(medium: Medium) -> list[str]:
    """Return the names in the view of the examples, and of this session's files."""
    return [*EXAMPLES[medium], *(file.key for file in _FILES.value if file.medium == medium)]


def label(key: str) -> str:
    """Return the name of an example or of a file on the screen; any other text as is."""
    return say(NAMES[key]) if key in NAMES else _HASH.sub("", key)


def find(key: str) -> MediaFile:
    """Return a file of any session, for threads that work for one.

    Raises:
        HeadlightError: no session has it.
    """
    file = _of_all_sessions.get(key)
    if file is None:
        raise HeadlightError("the file {name} is no longer here; open it again", name=_HASH.sub("", key))
    return file


def upload_key() -> str:
    """Return the key of the input for files."""
    return f"media-upload-{_N_UPLOADS.value}"


def take(medium: Medium) -> str | None:
    """Keep the file that was just uploaded, and return its name in the view; None, with a note, if it is refused."""
    uploaded = st.session_state.get(upload_key())
    if uploaded is None:
        return None
    _N_UPLOADS.set(_N_UPLOADS.value + 1)
    content = uploaded.getvalue()
    name = re.sub(r"[^\w .()-]", "_", uploaded.name)[-60:]
    try:
        open_media(content, medium)
    except HeadlightError as error:
        NOTE.set(prose.sentence(error))
        return None
    NOTE.set("")
    IS_OPEN.set(False)
    key = f"{name}#{blake2b(content, digest_size=8).hexdigest()}"
    file = MediaFile(key=key, name=name, medium=medium, content=content)
    _FILES.set((*(one for one in _FILES.value if one.key != key), file)[-MOST_KEPT:])
    _of_all_sessions[key] = file
    return key
