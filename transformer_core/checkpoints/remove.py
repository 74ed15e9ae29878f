"""Deleting a model's folder."""

import shutil
from pathlib import Path
from uuid import uuid4

from transformer_core.checkpoints.checkpoint import CONFIG
from transformer_core.errors import CheckpointError
from transformer_core.reasons import reason


def remove(folder: Path) -> None:
    """Delete the folder of a model atomically; of a link only the link is deleted.

    Raises:
        CheckpointError: it does not contain a model, or cannot be deleted.
    """
    going = folder.with_name(f".{folder.name}.{uuid4().hex}.new")  # like an interrupted write, which `settle` deletes
    try:
        if not (folder / CONFIG).is_file():
            raise CheckpointError("there is no model in {folder}, so nothing was deleted", folder=folder)
        if folder.is_symlink():
            folder.unlink()
        else:
            folder.rename(going)
            shutil.rmtree(going)  # follows no link
    except OSError as error:
        raise CheckpointError(
            "{folder} cannot be deleted ({error}); delete it manually", folder=folder, error=reason(error)
        ) from error
