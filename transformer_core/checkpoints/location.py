"""Where a model is: the folder of a typed path, of a model that comes with Headlight, or of an id of the Hub."""

import errno
import os
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import url2pathname

from transformer_core.checkpoints.checkpoint import reading_folder
from transformer_core.checkpoints.tensor_files import OnProgress, newest_of_training
from transformer_core.errors import CheckpointError, Message
from transformer_core.shipped import shipped_model

if TYPE_CHECKING:
    from transformer_core.checkpoints.hub import OnUnsupported

_FILE = ("file://localhost/", "file:///")
_QUOTES = "\"'“”‘’„"
_MOST_QUOTED = 60  # most characters of a text quoted in an error


@dataclass(frozen=True)
class ModelLocation:
    """The folder of a model, and its name."""

    folder: Path
    name: str | Message  # the given path, or the id
    commit: str | None = None  # the version of a Hub model
    note: Message | None = None  # on which of several models it is


def find(
    source: str | os.PathLike[str],
    on_progress: OnProgress | None = None,
    *,
    on_unsupported: "OnUnsupported | None" = None,
) -> ModelLocation:
    """Return the folder of a model, after downloading it if it is on the Hub; arguments as for `load` and `fetch`.

    Raises:
        CheckpointError: there is neither such a folder nor such a model on the Hub.
    """
    folder = typed_path(str(source))
    if not isinstance(source, str) or reading_folder(folder, Path.exists):
        place = reading_folder(folder, newest_of_training)
        if place == folder:
            return ModelLocation(folder, str(folder))
        note = Message("Of the checkpoints of its training, the newest was read: {name}.", name=place.name)
        return ModelLocation(place, str(folder / place.name), note=note)
    if shipped := shipped_model(source):
        return ModelLocation(shipped, source)
    from transformer_core.checkpoints.hub import HubId, fetch  # slow to import

    hub_id = HubId.read(source)
    if hub_id is None and source.strip().startswith(("http://", "https://")):
        raise CheckpointError(
            "{source} is a web address; download the model, and give the path of its folder", source=source
        )
    if hub_id is None:
        raise CheckpointError(
            "there is no file or folder {path!r}; give a path on this machine, or an id of the Hub (owner/name)",
            path=str(folder),
        )
    try:
        folder, commit = fetch(hub_id, on_progress, on_unsupported=on_unsupported)
    except CheckpointError as error:
        if nearest := _nearest_folder(folder):
            raise CheckpointError("{error}; did you mean {nearest}?", error=error, nearest=nearest) from error
        raise
    return ModelLocation(folder, str(hub_id), commit)


def _nearest_folder(folder: Path) -> Path | None:
    """Return the folder next to a missing one with the most similar name; None if no name is similar."""
    if not folder.parent.name or not folder.parent.is_dir():
        return None
    names = [path.name for path in folder.parent.iterdir() if path.is_dir()]
    return next((folder.with_name(name) for name in get_close_matches(folder.name, names, n=1)), None)


def typed_path(text: str) -> Path:
    """Return the path in a typed or pasted text: unchanged if it exists, otherwise cleaned up.

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
