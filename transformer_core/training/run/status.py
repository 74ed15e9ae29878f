"""How a run stands, as its process says it, and whether that process is still there."""

import errno
import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from filelock import FileLock

from transformer_core.checkpoints.folder import real_path, write_json
from transformer_core.errors import NO_MESSAGE, ConfigError, Message, RunError
from transformer_core.reasons import reason
from transformer_core.training.run.locks import acquire
from transformer_core.training.run.metrics import RecordFile, refuse_what_is_no_file

RunState = Literal["queued", "running", "paused", "stopped", "finished", "failed"]
AT_WORK: tuple[RunState, ...] = ("queued", "running", "paused")  # states in which a process holds the run

_STATUS, _LOCK, _RESERVE = "status.json", ".lock", ".reserve"
_HEARTBEAT_SECONDS = 2.0  # least time between two heartbeats
_SILENT_SECONDS = 60.0  # a process of another machine that has not written for this long is taken for gone
_CLAIM_SECONDS = 1.0  # for which a claim waits, since readers hold the lock for a moment
_BEFORE_A_RUN = (  # what one that waited, or was killed before it began, may leave
    *(".lock", ".reserve", ".run.json.", ".status.json.", "status.json", "queued.json", "commands"),
)
_RESERVE_BYTES = 64 * 1024  # room on the disk to say that there is no room
_KEPT: dict[Path, FileLock] = {}  # locks of folders that this process has, and no object of it at the moment


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """How a run stands."""

    state: RunState
    step: int  # steps done
    pid: int  # the process that wrote this
    heartbeat: float  # when it did, seconds since 1970 (UTC)
    host: str = ""  # the machine of that process
    reason: Message = NO_MESSAGE  # why it waits, stopped or failed

    def __post_init__(self) -> None:
        """Check every field: it comes from a file.

        Raises:
            TypeError, ValueError: one makes no sense.
        """
        if self.state not in get_args(RunState):
            raise ValueError(f"state must be one of {', '.join(get_args(RunState))}; got {self.state!r}")
        for name, kind in (("step", int), ("pid", int), ("heartbeat", (int, float)), ("host", str)):
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} is {getattr(self, name)!r}")
        if not 0 <= self.step < 2**63:
            raise ValueError(f"step is {self.step}")

    @property
    def is_at_work(self) -> bool:
        """Whether a process holds the run."""
        return self.state in AT_WORK


class WorkDirectory:
    """The folder of a run or an experiment; one process at a time may claim it, and loses it when it ends.

    Args:
        path: the folder.
    """

    gone = Message(
        "its process ended unexpectedly: it was killed, ran out of memory, or the machine was "
        "restarted. The last checkpoint is intact; resume continues from it"
    )

    def __init__(self, path: Path) -> None:
        self.path = path
        self.metrics = RecordFile(path / "metrics.jsonl")
        self._lock: FileLock | None = None
        self._last_heartbeat = 0.0

    def begin(self, file: str, request: dict[str, Any], *, taken: Message) -> None:
        """Make the folder, claim it, and write what was asked.

        Args:
            file: takes the request.
            request: what was asked.
            taken: the error of a process that is later than another one, with {path}.

        Raises:
            RunError: that, or the folder cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if not self.take() or (self.path / file).exists():  # of two that try at once, one is later
                self.release()
                raise RunError(taken, path=self.path)
            write_json(self.path / file, request)
            self.write_status("queued", step=0)
        except OSError as error:
            self.release()
            raise RunError(
                "{path} cannot be written ({error}); choose another folder", path=self.path, error=reason(error)
            ) from error

    @staticmethod
    def refuse_if_taken(path: Path) -> None:
        """Check that a new run may begin in a folder: it is empty, or does not exist yet.

        Raises:
            RunError: it holds a run, or anything else.
        """
        if path.exists() and not path.is_dir():
            raise RunError("{path} is a file; a run needs a folder", path=path)
        names = (
            {entry.name for entry in path.iterdir()} if path.is_dir() else set()
        )  # once: another may begin meanwhile
        if "run.json" in names:
            raise RunError(
                "{path} already contains a run; resume it with --resume, or choose another folder", path=path
            )
        if not all(name.startswith(_BEFORE_A_RUN) for name in names):
            raise RunError("{path} is not empty and does not contain a run; choose another folder", path=path)

    def wait_here(self) -> int:
        """Make the folder this process's own while it waits for its turn; return the step that is done.

        Raises:
            RunError: it holds something that is no run, another process works on it, or it cannot be written.
        """
        if not (self.path / "run.json").exists():
            self.refuse_if_taken(self.path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            is_taken = not self.take()
        except OSError as error:
            raise RunError(
                "{path} cannot be written ({error}); choose another folder", path=self.path, error=reason(error)
            ) from error
        if is_taken:
            raise RunError(
                "another process has just started a run in {path}; wait a moment and try again", path=self.path
            )
        status = self.status()
        return 0 if status is None else status.step

    def take(self) -> bool:
        """Take the folder, drop what a killed process left half written, and reserve the room for a last word.

        Returns:
            Whether it was taken; False: another process has it.

        Raises:
            OSError: the folder cannot be written, and is not taken.
        """
        lock = _KEPT.pop(real_path(self.path), None) or acquire(self.path / _LOCK, seconds=_CLAIM_SECONDS)
        if lock is None:
            return False
        self._lock = lock
        try:
            for left_over in self.path.glob(".*.json.*.new"):
                left_over.unlink()
            reserve = self.path / _RESERVE
            if not reserve.exists() or reserve.stat().st_size < _RESERVE_BYTES:
                reserve.write_bytes(os.urandom(_RESERVE_BYTES))  # no file system finds a way to store less
        except OSError:
            self.release()
            raise
        return True

    def keep(self) -> None:
        """Keep the folder for this process, for whichever object takes it next; `release` lets others work on it."""
        if self._lock is not None:
            _KEPT[real_path(self.path)], self._lock = self._lock, None

    def release(self) -> None:
        """Let others work on it."""
        self._lock = _KEPT.pop(real_path(self.path), None) or self._lock
        if self._lock is not None:
            self._lock.release(force=True)

    def write_status(self, state: RunState, *, step: int, reason: Message = NO_MESSAGE) -> None:
        """Replace status.json; on a full disk the reserve makes room for it.

        Raises:
            OSError: the folder cannot be written.
        """
        status = RunStatus(
            state=state, step=step, pid=os.getpid(), heartbeat=time.time(), host=socket.gethostname(), reason=reason
        )
        values = asdict(status) | {"reason": reason.as_json()}
        try:
            write_json(self.path / _STATUS, values, is_durable=False)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            (self.path / _RESERVE).unlink(missing_ok=True)
            write_json(self.path / _STATUS, values, is_durable=False)
        self._last_heartbeat = status.heartbeat

    def heartbeat(self, state: RunState = "running", *, step: int, reason: Message = NO_MESSAGE) -> None:
        """Say that the work goes on; written every two seconds at most."""
        if time.time() - self._last_heartbeat >= _HEARTBEAT_SECONDS:
            self.write_status(state, step=step, reason=reason)

    def status(self) -> RunStatus | None:
        """Return how the work stands as last written; None before the first time.

        Raises:
            RunError: status.json is damaged.
        """
        values = read_object(self.path / _STATUS)
        try:
            if values is None:
                return None
            return RunStatus(**values | {"reason": Message.from_json(values.get("reason", ""))})
        except (TypeError, ValueError) as error:
            raise RunError(
                "{path} is damaged, or was written by another version ({error})", path=self.path / _STATUS, error=error
            ) from error

    def standing(self, *, has_begun: bool = False) -> RunStatus | None:
        """Return how the work truly stands: where its process is gone it has failed, whatever was written last.

        Args:
            has_begun: what was asked is written down here: without a status, a process is about to write it, or is
                gone; else nothing may have begun, and there is none.

        Raises:
            RunError: status.json is damaged.
        """
        status = self.status()
        if not has_begun if status is None else not status.is_at_work:
            return status
        if self._is_held(status):
            return status
        now = self.status()  # it may have ended in order meanwhile
        last = status or RunStatus(state="failed", step=0, pid=0, heartbeat=0.0)
        return replace(last, state="failed", reason=self.gone) if now == status else now

    def _is_held(self, status: RunStatus | None) -> bool:
        """Whether a process works here now: it holds the lock, or cannot be asked here and wrote a moment ago."""
        wrote_lately = status is not None and time.time() - status.heartbeat < _SILENT_SECONDS
        if status is not None and status.host not in ("", socket.gethostname()) and wrote_lately:
            return True
        try:
            lock = acquire(self.path / _LOCK)
        except OSError:  # a read-only folder
            return wrote_lately
        if lock is None:
            return True
        lock.release()
        return False


Request = TypeVar("Request")


def read_request(path: Path, parse: Callable[[dict[str, Any]], Request], *, missing: Message) -> Request:
    """Return what a file says that was asked of a run or an experiment.

    Args:
        path: the file.
        parse: reads its values.
        missing: the error where there is no such file, with {path}, the folder.

    Raises:
        RunError: that, or the file is damaged.
    """
    values = read_object(path)
    if values is None:
        raise RunError(missing, path=path.parent)
    try:
        return parse(values)
    except (AttributeError, ConfigError, KeyError, TypeError, ValueError) as error:
        raise RunError(
            "{path} was written by another version and cannot be used ({error})", path=path, error=error
        ) from error


def read_object(path: Path) -> dict[str, Any] | None:
    """Return what a JSON file of a run holds, None where there is no such file.

    Raises:
        RunError: it is damaged, or cannot be read.
    """
    refuse_what_is_no_file(path)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (RecursionError, ValueError) as error:  # nested without end; not JSON, or not UTF-8
        raise RunError("{path} is damaged and cannot be read ({error})", path=path, error=reason(error)) from error
    except OSError as error:
        raise RunError("{path} cannot be read ({error})", path=path, error=reason(error)) from error
    if not isinstance(values, Mapping):
        raise RunError("{path} is damaged: it does not contain a JSON object", path=path)
    return dict(values)
