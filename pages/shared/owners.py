"""Ownership and quotas on a server that several people use (`HEADLIGHT_SHARED=1`).

Each browser gets a random cookie with the first page; what it makes is noted beside it, as a digest of that cookie, in
a folder `.owners`. Without `HEADLIGHT_SHARED` everything belongs to everybody.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import streamlit as st

from pages.shared.view.fields import Kept
from transformer_core.errors import ConfigError, HeadlightError, mark

VARIABLE = "HEADLIGHT_SHARED"
COOKIE = "headlight-visitor"
MOST_UPLOAD = 20  # MB, of one file
MOST_KEPT = 200 << 20  # bytes of a visitor's models, or texts, beyond which no more are accepted
TRAINING_MEMORY = 2 << 30  # bytes, of one training
_NOTES = ".owners"  # the folder that records the owners of its siblings
_SECRET = Kept("visitor")  # replaces the cookie if the browser stores none
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_YES, _NO = {"1", "true", "yes", "on"}, {"", "0", "false", "no", "off"}


def is_shared() -> bool:
    """Return whether people who do not know each other use this server.

    Raises:
        ConfigError: HEADLIGHT_SHARED is neither yes nor no.
    """
    wanted = os.environ.get(VARIABLE, "").strip().lower()
    if wanted not in _YES | _NO:
        raise ConfigError("{variable} must be 1 or 0, got {wanted!r}", variable=VARIABLE, wanted=wanted)
    return wanted in _YES


def is_operator() -> bool:
    """Return whether this visitor runs the server: it serves this machine alone, and the visitor is there."""
    is_local = st.get_option("server.address") in _LOOPBACK and st.context.ip_address is None
    return is_local and not is_shared()


def visitor() -> str:
    """Return the id of this visitor, also after a reload: a digest of the cookie."""
    secret = st.context.cookies.get(COOKIE) or _SECRET.value
    if not secret:
        secret = secrets.token_urlsafe()
        _SECRET.set(secret)
    return sha256(secret.encode()).hexdigest()[:32]


def claim(path: Path) -> None:
    """Record this visitor as the owner of a file or folder; on a server that is not shared, do nothing."""
    if is_shared():
        note = _note(path)
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(visitor(), encoding="utf-8")


def is_mine(path: Path) -> bool:
    """Return whether this visitor may change a file or folder."""
    if not is_shared():
        return True
    try:
        return _note(path).read_text(encoding="utf-8") == visitor()
    except (OSError, ValueError):
        return False


def check_is_mine(path: Path, kind: type[HeadlightError]) -> None:
    """Refuse to change what somebody else made.

    Raises:
        kind: another visitor or the operator of the server made it.
    """
    if not is_mine(path):
        raise kind(mark("only the visitor who made {name} can change it on this shared server"), name=path.name)


def forget(path: Path) -> None:
    """Remove the ownership record of a deleted file or folder."""
    with suppress(OSError):
        _note(path).unlink(missing_ok=True)


def mine(folder: Path) -> Iterator[Path]:
    """Yield the existing folders that this visitor has made on a shared server."""
    for note in sorted((folder / _NOTES).glob("*")):
        path = folder / note.name
        if path.exists() and is_mine(path):
            yield path


def check_room(folder: Path) -> None:
    """Refuse another text or model if a visitor's files in a folder of a shared server exceed the quota.

    Raises:
        HeadlightError: there is no room for it.
    """
    if not is_shared():
        return
    used = sum(file.stat().st_size for path in mine(folder) for file in path.rglob("*") if file.is_file())
    if used > MOST_KEPT:
        raise HeadlightError(
            "your files on this shared server take more than {most} MiB; delete some of them first",
            most=MOST_KEPT >> 20,
        )


def _note(path: Path) -> Path:
    return path.parent / _NOTES / path.name
