"""The uploaded training texts: their list, their titles and their deletion."""

import shutil
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from headlight.language import say
from pages.shared import models, owners, runs
from transformer_core.corpora.storage.uploads import SKIPS_BAD_LINES
from transformer_core.errors import RunError
from transformer_core.reasons import reason


@dataclass(frozen=True, kw_only=True)
class OwnText:
    """An uploaded file or folder of files; each has its own folder, so that names may repeat."""

    path: Path
    time: float  # upload time, seconds since 1970 (UTC)

    @property
    def name(self) -> str:
        """The name given by its owner."""
        return self.path.name

    @property
    def corpus(self) -> str:
        """The text as `--corpus` takes it."""
        return models.at_root(self.path)

    @property
    def n_bytes(self) -> int:
        """Bytes of its files."""
        return sum(path.stat().st_size for path in (self.path, *self.path.rglob("*")) if path.is_file())

    @property
    def skips_bad_lines(self) -> bool:
        """Whether its owner agreed to skip lines that hold no pair."""
        return (self.path.parent / SKIPS_BAD_LINES).exists()


def folder() -> Path:
    """Return where custom texts are kept."""
    return runs.folder() / ".texts"


def available() -> dict[str, OwnText]:
    """Return the uploaded texts by the names of their folders, the newest first."""
    results = {
        path.parent.name: OwnText(path=path, time=path.stat().st_mtime)
        for path in folder().glob("[!.]*/[!.]*")
        if path.exists() and owners.is_mine(path.parent)
    }
    return dict(sorted(results.items(), key=lambda item: -item[1].time))


def titles(texts: dict[str, OwnText]) -> dict[str, str]:
    """Return the display title of each text: its name, with more details if two would have the same title."""
    called = {key: text.name for key, text in texts.items()}
    for more in (
        lambda key: time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(texts[key].time)),
        lambda key: say("{n:,} bytes", n=texts[key].n_bytes),  # two uploads within a second
        lambda key: key,
    ):
        n_of = Counter(called.values())
        called = {key: f"{name} ({more(key)})" if n_of[name] > 1 else name for key, name in called.items()}
    return called


def delete(text: OwnText) -> None:
    """Delete a text unless an active training needs it.

    Raises:
        RunError: one needs it, the text cannot be deleted, or it is somebody else's on a shared server.
    """
    owners.check_is_mine(text.path.parent, RunError)
    for run in runs.available().values():
        if run.is_at_work and run.request is None:
            raise RunError("the training {run} is starting; try again in a moment", run=run.name)
        if run.is_at_work and run.request and models.ROOT / str(run.request.get("corpus", "")) == text.path:
            raise RunError("the training {run} is using {text}; stop it first", run=run.name, text=text.name)
    try:
        shutil.rmtree(text.path.parent)
        owners.forget(text.path.parent)
    except OSError as error:
        raise RunError(
            "{text} cannot be deleted ({error}); check the permissions of its folder",
            text=text.name,
            error=reason(error),
        ) from error
