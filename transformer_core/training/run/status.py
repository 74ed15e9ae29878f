"""How a run stands, as its process says it, and whether that process is still there."""

import errno
import json
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from filelock import FileLock, Timeout

from transformer_core.checkpoints.folder import write_json
from transformer_core.errors import NO_MESSAGE, Message, RunError
from transformer_core.reasons import reason

RunState = Literal["queued", "running", "paused", "stopped", "finished", "failed"]
AT_WORK: tuple[RunState, ...] = ("queued", "running", "paused")  # states in which a process holds the run

_STATUS, _LOCK, _RESERVE = "status.json", ".lock", ".reserve"
_HEARTBEAT_SECONDS = 2.0  # least time between two heartbeats
_SILENT_SECONDS = 60.0  # a process of another machine that has not written for this long is taken for gone
_CLAIM_SECONDS = 1.0  # for which a claim waits, since readers hold the lock for a moment
_RESERVE_BYTES = 64 * 1024  # room on the disk to say that there is no room
_KILLED = Message(
    "its process ended without a word: it was killed, ran out of memory, or the machine was restarted. What was saved "
    "is whole; resume goes on from there"
)


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

    @property
    def is_at_work(self) -> bool:
        """Whether a process holds the run."""
        return self.state in AT_WORK


class RunClaim:
    """The right to work on a run: one process at a time has it, and loses it when it ends, however it ends.

    Args:
        path: the run's folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(path / _LOCK, thread_local=False, preserve_lock_file=True)
        self._last_heartbeat = 0.0

    def take(self) -> bool:
        """Take the run, drop what a killed process left half written, and reserve the room for a last word.

        Returns:
            Whether it was taken; False: another process has it.

        Raises:
            OSError: the folder cannot be written; the run is not taken.
        """
        try:
            self._lock.acquire(timeout=_CLAIM_SECONDS)
        except Timeout:
            return False
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

    def release(self) -> None:
        """Let others have the run."""
        self._lock.release(force=True)

    def write(self, state: RunState, *, step: int, reason: Message = NO_MESSAGE) -> None:
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

    def heartbeat(self, state: RunState, *, step: int, reason: Message = NO_MESSAGE) -> None:
        """Say that the run is alive; written every two seconds at most."""
        if time.time() - self._last_heartbeat >= _HEARTBEAT_SECONDS:
            self.write(state, step=step, reason=reason)


def read_status(path: Path) -> RunStatus | None:
    """Return how a run stands as last written; None before the first time.

    Raises:
        RunError: status.json is damaged.
    """
    values = read_object(path / _STATUS)
    try:
        if values is None:
            return None
        return RunStatus(**values | {"reason": Message.from_json(values.get("reason", ""))})
    except (TypeError, ValueError) as error:
        raise RunError(
            "{path} is damaged, or was written by another version ({error})", path=path / _STATUS, error=error
        ) from error


def standing(path: Path) -> RunStatus | None:
    """Return how a run truly stands: one whose process is gone has failed, whatever it said last.

    Raises:
        RunError: status.json is damaged.
    """
    status = read_status(path)
    if status is None or not status.is_at_work or is_held(path, status):
        return status
    now = read_status(path)  # it may have ended in order meanwhile
    return replace(status, state="failed", reason=_KILLED) if now == status else now


def is_held(path: Path, status: RunStatus) -> bool:
    """Whether a process works on a run now: it holds the lock, or cannot be asked here and wrote a moment ago."""
    wrote_lately = time.time() - status.heartbeat < _SILENT_SECONDS
    if status.host not in ("", socket.gethostname()) and wrote_lately:
        return True
    lock = FileLock(path / _LOCK, thread_local=False, preserve_lock_file=True)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:  # a read-only folder
        return wrote_lately
    lock.release()
    return False


def read_object(path: Path) -> dict[str, Any] | None:
    """Return what a JSON file of a run holds, None where there is no such file.

    Raises:
        RunError: it is damaged, or cannot be read.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (RecursionError, ValueError) as error:  # nested without end; not JSON, or not UTF-8
        raise RunError("{path} is damaged and cannot be read ({error})", path=path, error=reason(error)) from error
    except OSError as error:
        raise RunError("{path} cannot be read ({error})", path=path, error=reason(error)) from error
    if not isinstance(values, Mapping):
        raise RunError("{path} is damaged: it holds no JSON object", path=path)
    return dict(values)
