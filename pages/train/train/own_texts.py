"""The texts that people gave to be trained on: which there are, what they are called, and how one is deleted."""

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
    """A file, or a folder of several, that was taken in; a separate folder tells those of one name apart."""

    path: Path
    time: float  # when it came, seconds since 1970 (UTC)

    @property
    def name(self) -> str:
        """The name that its owner gave it."""
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
    """Return the texts that are here by the names of their folders, the newest first."""
    results = {
        path.parent.name: OwnText(path=path, time=path.stat().st_mtime)
        for path in folder().glob("[!.]*/[!.]*")
        if path.exists() and owners.is_mine(path.parent)
    }
    return dict(sorted(results.items(), key=lambda item: -item[1].time))


def titles(texts: dict[str, OwnText]) -> dict[str, str]:
    """Return the name of each text on the screen: its name, and more where two would be called alike."""
    called = {key: text.name for key, text in texts.items()}
    for more in (
        lambda key: time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(texts[key].time)),
        lambda key: say("{n:,} bytes", n=texts[key].n_bytes),  # two came within a second
        lambda key: key,
    ):
        n_of = Counter(called.values())
        called = {key: f"{name} ({more(key)})" if n_of[name] > 1 else name for key, name in called.items()}
    return called


def delete(text: OwnText) -> None:
    """Delete a text that no training at work needs.

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
