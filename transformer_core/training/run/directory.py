"""The folder of a training run.

```
run.json        the request: corpus and its hash, configurations, seed, versions
status.json     queued | running | paused | stopped | finished | failed (with the reason), pid, heartbeat, step
metrics.jsonl   one line per logged step, append-only; a torn last line is ignored
commands/       commands to the running process (commands.py)
film/, now/     snapshots of the weights (film.py)
last/           a checkpoint folder, and the state to resume from: optimizer.safetensors, training.json
```

Other processes may read this folder at any time, since files are replaced or appended to; they write only `commands/`.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from transformer_core.checkpoints.checkpoint import (
    read_card,
    read_checkpoint,
    reading_folder,
    refuse_to_replace,
    save,
    write_parts,
)
from transformer_core.checkpoints.folder import reading, real_path, replacing, settle, write_json
from transformer_core.corpora.batch_order import BatchPosition
from transformer_core.errors import Message, RunError
from transformer_core.instrument.finite import not_finite_weights, note_on_weights
from transformer_core.model.transformer import Transformer
from transformer_core.reasons import reason
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.training.run import commands
from transformer_core.training.run.film import Film
from transformer_core.training.run.records import read_object, read_request
from transformer_core.training.run.request import RunRequest
from transformer_core.training.run.status import WorkDirectory


@dataclass(frozen=True, kw_only=True)
class RunProgress:
    """The state of a run besides its weights and its optimizer."""

    step: int  # steps done
    seconds: float  # spent so far, over all sessions
    position: BatchPosition  # in the data


class SavedRun(NamedTuple):
    """The contents of `last/`."""

    model: Transformer
    tokenizer: Tokenizer
    card: dict[str, Any]
    optimizer_tensors: Mapping[str, Tensor]
    progress: RunProgress


class NotSavedError(RunError):
    """A step could not be saved; the message says from which step the run can be resumed."""


class RunDirectory(WorkDirectory):
    """A run's folder: `create` makes a new one, `open` finds an old one, `claim` takes it over."""

    def __init__(self, path: Path, request: RunRequest) -> None:
        super().__init__(path)
        self.request = request
        self.film = Film(path)

    def create(self) -> None:
        """Create and claim the folder of a new run.

        Raises:
            RunError: as for `refuse_if_taken`, or the folder cannot be written.
        """
        self.refuse_if_taken(self.path)
        taken = Message("another process has just started a run in {path}; choose another folder")
        self.begin("run.json", asdict(self.request), taken=taken)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the directory of an existing run.

        Raises:
            RunError: the folder contains no run, or its run.json cannot be read.
        """
        missing = Message("{path} does not contain a run; leave out --resume to start one there")
        return cls(path, read_request(path / "run.json", RunRequest.from_dict, missing=missing))

    def claim(self) -> None:
        """Claim the run, and clean up after a killed process.

        Raises:
            RunError: another process works on the run, or the folder cannot be written.
        """
        status = None
        with suppress(RunError):  # a damaged one is replaced below
            status = self.status()
        try:
            is_taken = not self.take()
            if is_taken and status is not None:
                raise RunError(
                    "{path} is being trained by process {process} (step {step:,}); stop that one first",
                    path=self.path,
                    process=status.pid,
                    step=status.step,
                )
            if is_taken:
                raise RunError(
                    "another process has just started a run in {path}; wait a moment and try again", path=self.path
                )
            settle(self.path / "last")
            commands.clear(self.path)
            self.write_status("queued", step=0 if status is None else status.step)
        except OSError as error:
            raise RunError(
                "{path} cannot be written ({error}); free some disk space and try again",
                path=self.path,
                error=reason(error),
            ) from error

    def extend(self, request: RunRequest) -> None:
        """Replace run.json: the same run with more steps, or another learning rate from now on."""
        write_json(self.path / "run.json", asdict(request))
        self.request = request

    def rewind(self, *, step: int) -> None:
        """Delete metrics and snapshots after a step, since a resumed run writes them again.

        Raises:
            RunError: the metrics are damaged.
        """
        self.metrics.rewind(step=step)
        self.film.rewind(step=step)

    def save(self, run: SavedRun) -> None:
        """Replace `last/`; if the process is killed at any moment, either the old or the new version is complete.

        Raises:
            NotSavedError: the disk is full, or the folder cannot be written; `last/` is unchanged.
        """
        try:
            with replacing(self.path / "last") as folder:
                write_parts(folder, run.model, run.tokenizer, run.card)
                save_file(dict(run.optimizer_tensors), folder / "optimizer.safetensors")
                write_json(folder / "training.json", asdict(run.progress))
        except (OSError, SafetensorError) as error:
            raise NotSavedError(
                "step {step:,} could not be saved in {path} ({error}); free some disk space, then "
                "continue from the last checkpoint with --resume",
                step=run.progress.step,
                path=self.path,
                error=error,
            ) from error

    def progress(self) -> RunProgress | None:
        """Return the progress of the last save, or None; another process may be working on the run.

        Raises:
            RunError: the training state is damaged.
        """
        return reading(self.path / "last", _read_progress)

    def read_last(self) -> SavedRun | None:
        """Return the last save, or None; another process may be working on the run.

        Raises:
            RunError: the training state is damaged.
            CheckpointError: the checkpoint is damaged.
        """
        return reading_folder(self.path / "last", _read_saved)


def _read_saved(last: Path) -> SavedRun | None:
    progress = _read_progress(last)
    if progress is None:
        return None
    model, tokenizer = read_checkpoint(last)
    try:
        tensors = load_file(last / "optimizer.safetensors")
    except (OSError, SafetensorError) as error:
        raise RunError(
            "the training state in {folder} is damaged ({error}); the weights there can still be used",
            folder=last,
            error=error,
        ) from error
    return SavedRun(model, tokenizer, read_card(last), tensors, progress)


def _read_progress(last: Path) -> RunProgress | None:
    values = read_object(last / "training.json")
    try:
        return None if values is None else RunProgress(**{**values, "position": BatchPosition(**values["position"])})
    except (KeyError, TypeError) as error:
        raise RunError(
            "{path} was written by another version ({error})", path=last / "training.json", error=error
        ) from error


def keep_run(run: Path, folder: Path, *, title: str | None = None) -> int:
    """Write the last saved model of a run as a checkpoint folder; an older checkpoint there is replaced.

    The run may be finished, stopped or paused, or continue meanwhile.

    Args:
        run: the run's folder.
        folder: the checkpoint folder to write.
        title: the title of the model; None: that of its corpus.

    Returns:
        The step after which the model was saved.

    Raises:
        RunError: the run has saved nothing yet, is damaged, or the folder cannot be written.
        CheckpointError: the folder holds something else.
    """
    refuse_to_replace(folder)
    saved = RunDirectory.open(run).read_last()
    if saved is None:
        raise RunError(
            "{run} has not saved any weights yet, so there is no model to save; let it train a little longer", run=run
        )
    card = saved.card | {"name": real_path(folder).name} | ({"title": title} if title else {})
    if note := note_on_weights(not_finite_weights(saved.model)):
        card["notes"] = [note.as_json()]
    try:
        save(folder, saved.model, saved.tokenizer, card)
    except OSError as error:
        raise RunError(
            "{folder} cannot be written ({error}); free some disk space, or choose another folder",
            folder=folder,
            error=reason(error),
        ) from error
    return saved.progress.step
