"""The folder that a training lives in: what was asked, how it stands, what was measured, and where to go on.

```
run.json        what was asked: corpus and its hash, configurations, seed, versions
status.json     queued | running | paused | stopped | finished | failed (with the reason), pid, heartbeat, step
metrics.jsonl   one line a logged step, append-only; a torn last line is ignored
last/           a checkpoint folder, and the state to go on from: optimizer.safetensors, training.json
```

Whoever watches a run only reads this folder, at any time: what changes is replaced whole or appended to.
"""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from transformer_core.config import ModelConfig
from transformer_core.corpora.batching import BatchPosition
from transformer_core.errors import ConfigError, RunError
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.training.config import TrainingConfig
from transformer_core.weights.checkpoint import load, read_card, write_parts
from transformer_core.weights.folder import reading, replacing, settle, write_json

RunState = Literal["queued", "running", "paused", "stopped", "finished", "failed"]

_HEARTBEAT_SECONDS = 2.0  # least time between two heartbeats
_SILENT_SECONDS = 60.0  # a process that has not written for this long is taken for gone


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What was asked of a run: all that its losses depend on, and what it was made with."""

    corpus: str  # name, as `load_corpus` takes it
    corpus_seed: int
    corpus_fingerprint: str  # sha256 of all pairs
    preset: str  # name of the model preset and of its training
    model: ModelConfig
    training: TrainingConfig
    command: str  # makes the same run again
    versions: Mapping[str, str]  # of Python and the packages that the numbers depend on

    def to_dict(self) -> dict[str, Any]:
        """Return the request as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build a request from plain values; a missing or unknown key is a KeyError or TypeError."""
        model, training = ModelConfig.from_dict(values["model"]), TrainingConfig(**values["training"])
        return cls(**{**values, "model": model, "training": training})


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """How a run stands."""

    state: RunState
    step: int  # steps done
    pid: int  # the process that wrote this
    heartbeat: float  # when it did, seconds since 1970 (UTC)
    reason: str = ""  # why it stopped or failed

    @property
    def is_live(self) -> bool:
        """Whether another process still works on the run: it is there, and wrote within the last minute."""
        active = self.state in ("running", "paused") and self.pid != os.getpid()
        return active and time.time() - self.heartbeat < _SILENT_SECONDS and _process_exists(self.pid)


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where a run stands, beside its weights and its optimizer."""

    step: int  # steps done
    seconds: float  # spent so far, over all sessions
    position: BatchPosition  # in the data


@dataclass(frozen=True, kw_only=True)
class SavedRun:
    """What `last/` holds."""

    model: Transformer
    tokenizer: Tokenizer
    card: dict[str, Any]
    optimizer_tensors: dict[str, Tensor]
    progress: Progress


class RunDirectory:
    """A run's folder; `create` makes a new one, `open` finds an old one, `claim` takes it over."""

    def __init__(self, path: Path, request: RunRequest) -> None:
        """Keep the folder and what was asked; nothing is written."""
        self.path = path
        self.request = request
        self._last_heartbeat = 0.0

    @staticmethod
    def refuse_if_taken(path: Path) -> None:
        """Check that a new run may begin in a folder: it is empty, or does not exist yet.

        Raises:
            RunError: it holds a run, or anything else.
        """
        if (path / "run.json").exists():
            raise RunError(f"{path} already holds a run; go on with it by --resume, or choose another folder")
        if path.exists() and not path.is_dir():
            raise RunError(f"{path} is a file; a run needs a folder of its own")
        if path.is_dir() and any(path.iterdir()):
            raise RunError(f"{path} is not empty, and what it holds is not a run; choose another folder")

    def create(self) -> None:
        """Make the folder of a new run, and claim it.

        Raises:
            RunError: as `refuse_if_taken`; or the folder cannot be written.
        """
        self.refuse_if_taken(self.path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            (self.path / "run.json").touch(exist_ok=False)  # of two that try at the same time, one fails
            write_json(self.path / "run.json", self.request.to_dict())
            self.write_status("running", step=0)
        except FileExistsError as error:
            raise RunError(f"another process has just begun a run in {self.path}; choose another folder") from error
        except OSError as error:
            raise RunError(f"{self.path} cannot be written ({error.strerror}); choose another folder") from error

    @classmethod
    def open(cls, path: Path) -> Self:
        """Find a run that was created before.

        Raises:
            RunError: the folder holds no run, or its run.json cannot be read.
        """
        values = _read_json(path / "run.json")
        if values is None:
            raise RunError(f"{path} holds no run; leave out --resume to begin one there")
        try:
            return cls(path, RunRequest.from_dict(values))
        except (ConfigError, KeyError, TypeError) as error:
            raise RunError(
                f"{path / 'run.json'} was written by another version and cannot be used ({error})"
            ) from error

    def claim(self) -> None:
        """Make the run this process's own: refuse a live one, and clear away what a killed process left half done.

        Raises:
            RunError: another process works on the run.
        """
        status = self.status()
        if status is not None and status.is_live:
            raise RunError(
                f"{self.path} is being trained by process {status.pid} (step {status.step:,}); stop that one first, "
                f"or wait a minute if it is gone"
            )
        settle(self.path / "last")
        self.write_status("running", step=0 if status is None else status.step)

    def extend(self, request: RunRequest) -> None:
        """Replace run.json: the same run, asked to go further."""
        write_json(self.path / "run.json", request.to_dict())
        self.request = request

    def status(self) -> RunStatus | None:
        """Return how the run stands as last written; None before the first time.

        Raises:
            RunError: status.json is damaged.
        """
        values = _read_json(self.path / "status.json")
        try:
            return None if values is None else RunStatus(**values)
        except TypeError as error:
            raise RunError(f"{self.path / 'status.json'} was written by another version ({error})") from error

    def write_status(self, state: RunState, *, step: int, reason: str = "") -> None:
        """Replace status.json."""
        status = RunStatus(state=state, step=step, pid=os.getpid(), heartbeat=time.time(), reason=reason)
        write_json(self.path / "status.json", asdict(status))
        self._last_heartbeat = status.heartbeat

    def heartbeat(self, *, step: int) -> None:
        """Say that the run is alive; written every two seconds at most."""
        if time.time() - self._last_heartbeat >= _HEARTBEAT_SECONDS:
            self.write_status("running", step=step)

    def append_metrics(self, record: Mapping[str, int | float]) -> None:
        """Append one line to metrics.jsonl; `record` has at least `step`."""
        with (self.path / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False) + "\n")

    def read_metrics(self) -> list[dict[str, int | float]]:
        """Return the lines of metrics.jsonl; a torn last one is left out.

        Raises:
            RunError: another line is damaged.
        """
        return [json.loads(line) for line in self._metrics_lines()]

    def rewind_metrics(self, *, step: int) -> None:
        """Forget what was logged after a step: a run that goes on from there logs it again."""
        kept = [line for line in self._metrics_lines() if json.loads(line)["step"] <= step]
        if (path := self.path / "metrics.jsonl").exists():
            os.truncate(path, sum(len(line) + 1 for line in kept))  # steps only rise: what is kept is the beginning

    def save(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        card: Mapping[str, Any],
        optimizer_tensors: Mapping[str, Tensor],
        progress: Progress,
    ) -> None:
        """Replace `last/`; a process killed at any moment leaves the former or the new one whole.

        Raises:
            RunError: there is no room, or the folder cannot be written; `last/` is as it was.
        """
        try:
            with replacing(self.path / "last") as folder:
                write_parts(folder, model, tokenizer, card)
                save_file(dict(optimizer_tensors), folder / "optimizer.safetensors")
                write_json(folder / "training.json", asdict(progress))
        except (OSError, SafetensorError) as error:
            raise RunError(
                f"step {progress.step:,} could not be saved in {self.path} ({error}); "
                f"make room, then go on from the save before with --resume"
            ) from error

    def progress(self) -> Progress | None:
        """Return how far the last save is; None where nothing has been saved yet. Another process may work on the run.

        Raises:
            RunError: the training state is damaged.
        """
        return reading(self.path / "last", _read_progress)

    def read_last(self) -> SavedRun | None:
        """Return what `last/` holds; None where nothing has been saved yet.

        Raises:
            RunError: the training state is damaged.
            CheckpointError: the checkpoint is damaged.
        """
        last = self.path / "last"
        progress = _read_progress(last)
        if progress is None:
            return None
        model, tokenizer = load(last)
        try:
            tensors = load_file(last / "optimizer.safetensors")
        except (OSError, SafetensorError) as error:
            raise RunError(
                f"the training state in {last} is damaged ({error}); the weights there can still be used"
            ) from error
        return SavedRun(
            model=model, tokenizer=tokenizer, card=read_card(last), optimizer_tensors=tensors, progress=progress
        )

    def _metrics_lines(self) -> list[bytes]:
        """Return the complete lines of metrics.jsonl, each checked to be JSON."""
        path = self.path / "metrics.jsonl"
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        try:
            for line in lines:
                json.loads(line)
        except ValueError as error:  # not JSON, or not UTF-8
            raise RunError(f"{path} is damaged ({error}); move it away, and --resume goes on without it") from error
        return lines


def _read_json(path: Path) -> dict[str, Any] | None:
    """Return what a JSON file holds, None where there is no such file."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{path} is damaged and cannot be read ({error})") from error
    except OSError as error:
        raise RunError(f"{path} cannot be read ({error.strerror})") from error
    if not isinstance(values, dict):
        raise RunError(f"{path} is damaged: it holds no JSON object")
    return values


def _read_progress(last: Path) -> Progress | None:
    values = _read_json(last / "training.json")
    try:
        return None if values is None else Progress(**{**values, "position": BatchPosition(**values["position"])})
    except (KeyError, TypeError) as error:
        raise RunError(f"{last / 'training.json'} was written by another version ({error})") from error


def _process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it exists, and belongs to somebody else
    return True
