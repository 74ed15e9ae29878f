"""The files that a corpus is read from: one, those of a folder, or those of several paths."""

import os
from pathlib import Path

from transformer_core.corpora.corpus import BETWEEN
from transformer_core.corpora.storage.text_files import shown
from transformer_core.errors import CorpusError
from transformer_core.reasons import reason


def places_of(path: str | os.PathLike[str]) -> tuple[Path, list[Path]]:
    """Return what a corpus is called by, and its files: those of a folder, or of several paths.

    Raises:
        CorpusError: there is nothing that could be read.
    """
    several = [Path(part) for part in os.fspath(path).split(BETWEEN)] if not os.path.exists(path) else [Path(path)]
    for place in several:
        if os.path.exists(place) and not os.path.isfile(place) and not os.path.isdir(place):
            raise CorpusError("{path} is neither a file nor a folder", path=shown(place))
    files = [file for place in several for file in (files_of(place) if os.path.isdir(place) else [place])]
    return several[0], files


def files_of(folder: Path) -> list[Path]:
    """Return all files of a folder and of the folders in it, but hidden ones, by their names.

    Raises:
        CorpusError: a folder may not be read.
    """

    def refuse(error: OSError) -> None:
        raise CorpusError(
            "the folder {path} cannot be read ({error}); change its permissions",
            path=error.filename,
            error=reason(error),
        )

    paths = []
    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths += [Path(place, name) for name in names if not name.startswith(".")]
    return sorted((path for path in paths if os.path.isfile(path)), key=lambda path: path.relative_to(folder).parts)
