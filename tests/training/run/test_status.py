"""The status of a run: written and read again, reported if it is damaged; a claim belongs to one process."""

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from tests.german import in_german
from transformer_core.errors import Message, RunError
from transformer_core.training.run import status as run_status
from transformer_core.training.run.status import AT_WORK, RunStatus, WorkDirectory

GOOD = {"state": "running", "step": 3, "pid": 1, "heartbeat": 0.0, "host": "here", "reason": ""}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def read(run: Path) -> RunStatus:
    status = WorkDirectory(run).standing()
    assert status is not None
    return status


def say(run: Path, **changes: object) -> None:
    (run / "status.json").write_text(json.dumps(GOOD | changes))


def test_what_is_written_is_read(run: Path):
    claim = WorkDirectory(run)
    assert WorkDirectory(run).standing() is None
    assert claim.take()
    before = time.time()
    why = RunError("there is not enough memory for this experiment; choose fewer variants, or close other programs")
    reason = Message("{what}. {saved}", what=why.message, saved=Message("so"))
    claim.write_status("paused", step=7, reason=reason)
    status = read(run)
    assert before <= status.heartbeat <= time.time()
    where: dict[str, Any] = {"pid": os.getpid(), "host": socket.gethostname()}
    assert status == RunStatus(state="paused", step=7, heartbeat=status.heartbeat, reason=reason, **where)
    assert status.is_at_work
    assert in_german(status.reason).startswith("für dieses Experiment ist zu wenig Speicher frei")
    claim.release()
    say(run, state="failed", reason="the disk is full {so}")  # of an older file, which has no template
    assert str(read(run).reason) == "the disk is full {so}"


@pytest.mark.parametrize("state", AT_WORK)
def test_a_run_at_work_whose_process_is_gone_has_failed(run: Path, state: str):
    say(run, state=state, host=socket.gethostname(), heartbeat=time.time())
    assert (read(run).state, read(run).step) == ("failed", 3)
    assert "ended unexpectedly" in str(read(run).reason)
    for age, expected in ((0.0, state), (59, state), (61, "failed")):  # a process of another machine is believed
        say(run, state=state, host="elsewhere", heartbeat=time.time() - age)
        assert read(run).state == expected
    (run / ".lock").unlink(missing_ok=True)
    (run / ".lock").mkdir()  # as in a folder of somebody else: the lock cannot be taken
    for age, state in ((0.0, "running"), (61.0, "failed")):
        say(run, host=socket.gethostname(), heartbeat=time.time() - age)
        assert read(run).state == state


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"\x00" * 100,
        b"[" * 100_000,
        b'{"step": ' + b"9" * 5000 + b"}",
        *(json.dumps({k: v for k, v in GOOD.items() if k != name}).encode() for name in ("state", "step", "pid")),
        *(
            json.dumps(GOOD | change).encode()
            for change in (
                {"state": "dancing"},
                {"state": ["running"]},
                {"step": "three"},
                {"step": -1},
                {"heartbeat": "now"},
                {"host": 3},
                {"reason": None},
                {"colour": "red"},
            )
        ),
    ],
)
def test_a_damaged_status_is_told_in_a_sentence(run: Path, content: bytes):
    (run / "status.json").write_bytes(content)
    for use in (WorkDirectory.status, WorkDirectory.standing):
        with pytest.raises(RunError, match=r"status\.json"):
            use(WorkDirectory(run))
    (run / "status.json").unlink()
    (run / "status.json").mkdir()
    with pytest.raises(RunError, match=r"status\.json cannot be read \(Is a directory\)"):
        WorkDirectory(run).standing()


@given(name=st.sampled_from(sorted(GOOD)), value=json_values)
def test_whatever_a_field_holds_it_is_read_or_told(tmp_path_factory: pytest.TempPathFactory, name: str, value: Any):
    run = tmp_path_factory.mktemp("run")
    (run / "status.json").write_text(json.dumps(GOOD | {name: value}))
    try:
        status = WorkDirectory(run).standing()
    except RunError:
        return
    assert status is not None
    assert f"{status.state} {status.step:,} {status.host} {status.reason}"


def test_a_claim_is_one_process_s_own_until_it_is_released(run: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_status, "_CLAIM_SECONDS", 0.05)
    first, second = WorkDirectory(run), WorkDirectory(run)
    assert first.take()
    assert not second.take()
    first.release()
    assert second.take()
    second.release()
    (run / ".reserve").unlink()
    (run / ".reserve").mkdir()
    with pytest.raises(OSError, match="directory"):
        second.take()
    lock = FileLock(run / ".lock", thread_local=False)  # a claim that fails is not kept
    lock.acquire(timeout=0)
    lock.release()


def test_the_heartbeat_tells_the_step_every_two_seconds_at_most(run: Path, monkeypatch: pytest.MonkeyPatch):
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    claim = WorkDirectory(run)
    claim.write_status("running", step=1)
    for seconds, step in ((0.5, 1), (1.9, 1), (2.0, 4)):
        monkeypatch.setattr(time, "time", lambda seconds=seconds: now + seconds)
        claim.heartbeat("paused", step=4)
        status = claim.status()
        assert status is not None
        assert status.step == step


def test_a_claim_reserves_room_and_drops_what_was_half_written(run: Path):
    half = run / f".status.json.{'0f' * 16}.new"
    half.write_text('{"sta')
    (run / ".reserve").write_bytes(b"too little")
    claim = WorkDirectory(run)
    assert claim.take()
    assert not half.exists()
    assert (run / ".reserve").stat().st_size == 64 * 1024
    claim.release()
