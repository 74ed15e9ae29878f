"""The status of a run as its process writes it, and whether that process still exists."""

import errno
import os
import socket
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from filelock import FileLock, Timeout

from transformer_core.checkpoints.folder import real_path, write_json
from transformer_core.errors import NO_MESSAGE, Message, RunError
from transformer_core.reasons import reason
from transformer_core.training.run.records import RecordFile, read_object

RunState = Literal["queued", "running", "paused", "stopped", "finished", "failed"]
AT_WORK: tuple[RunState, ...] = ("queued", "running", "paused")  # states in which a process holds the run

_STATUS, _LOCK, _RESERVE = "status.json", ".lock", ".reserve"
_HEARTBEAT_SECONDS = 2.0  # least time between two heartbeats
_SILENT_SECONDS = 60.0  # a process on another machine counts as gone after this silence
_CLAIM_SECONDS = 1.0  # a claim waits this long, since readers hold the lock for a moment
_BEFORE_A_RUN = (  # files left by a run that waited, or was killed before it began
    *(".lock", ".reserve", ".run.json.", ".status.json.", "status.json", "queued.json", "commands"),
)
_RESERVE_BYTES = 64 * 1024  # disk space reserved for reporting that the disk is full
_KEPT: dict[Path, FileLock] = {}  # locks of this process while they pass from one object to the next


def acquire(path: Path, *, seconds: float = 0.0) -> FileLock | None:
    """Return the lock of a file, or None if it is still held, even by this process, after `seconds`.

    The file is created and stays; the system releases the locks of a process that ends in any way.

    Raises:
        OSError: the file cannot be written.
    """
    lock = FileLock(path, thread_local=False, preserve_lock_file=True)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        return None
    return lock


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """The contents of status.json.

    Raises:
        TypeError, ValueError: a field is invalid.
    """

    state: RunState
    step: int  # steps done
    pid: int  # of the process that wrote this
    heartbeat: float  # time of writing, seconds since 1970 (UTC)
    host: str = ""  # the machine of that process
    reason: Message = NO_MESSAGE  # why it waits, stopped or failed

    def __post_init__(self) -> None:
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
    """The folder of a run or an experiment; one process at a time may claim it, until it ends."""

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
        """Create the folder, claim it, and write a request to a file in it.

        Args:
            file: name of the file.
            request: its contents.
            taken: the error message if another process was faster, with {path} for the folder.

        Raises:
            RunError: another process was faster, or the folder cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if not self.take() or (self.path / file).exists():  # another process was faster
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
        """Check that a new run may begin in a folder.

        Raises:
            RunError: it contains a run, or anything else.
        """
        if path.exists() and not path.is_dir():
            raise RunError("{path} is a file; a run needs a folder", path=path)
        names = {entry.name for entry in path.iterdir()} if path.is_dir() else set()  # once, as another run may begin
        if "run.json" in names:
            raise RunError(
                "{path} already contains a run; resume it with --resume, or choose another folder", path=path
            )
        if not all(name.startswith(_BEFORE_A_RUN) for name in names):
            raise RunError("{path} is not empty and does not contain a run; choose another folder", path=path)

    def wait_here(self) -> int:
        """Claim the folder while the run waits for its turn; return its last step.

        Raises:
            RunError: it contains something else, another process works on it, or it cannot be written.
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
        """Claim the folder, delete incomplete files, and reserve disk space for a last message.

        Returns:
            False if another process has claimed it.

        Raises:
            OSError: the folder cannot be written, and is not claimed.
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
                reserve.write_bytes(os.urandom(_RESERVE_BYTES))  # cannot be compressed
        except OSError:
            self.release()
            raise
        return True

    def keep(self) -> None:
        """Hand the claim over to the next object of this process; `release` ends it."""
        if self._lock is not None:
            _KEPT[real_path(self.path)], self._lock = self._lock, None

    def release(self) -> None:
        """End the claim."""
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
        """Update the time of status.json, at most every two seconds."""
        if time.time() - self._last_heartbeat >= _HEARTBEAT_SECONDS:
            self.write_status(state, step=step, reason=reason)

    def status(self) -> RunStatus | None:
        """Return the status as last written; None if none has been written yet.

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
        """Return the actual status: failed if the process is gone, whatever was written last.

        Args:
            has_begun: whether the request is written: then a missing status is about to be written, or its process is
                gone. Otherwise there is no status yet.

        Raises:
            RunError: status.json is damaged.
        """
        status = self.status()
        if not has_begun if status is None else not status.is_at_work:
            return status
        if self._is_held(status):
            return status
        now = self.status()  # it may have ended normally meanwhile
        last = status or RunStatus(state="failed", step=0, pid=0, heartbeat=0.0)
        return replace(last, state="failed", reason=self.gone) if now == status else now

    def _is_held(self, status: RunStatus | None) -> bool:
        """Return whether a process holds the lock, or, if that cannot be tested here, wrote recently."""
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
