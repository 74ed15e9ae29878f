"""How a run stands: what is written is read, what is damaged is told, and a claim is one process's own."""

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
from transformer_core.training.run.status import AT_WORK, RunStatus, WorkDirectory, read_object

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


def test_what_is_written_is_read(run: Path):
    claim = WorkDirectory(run)
    assert WorkDirectory(run).status() is None
    assert WorkDirectory(run).standing() is None
    assert claim.take()
    before = time.time()
    claim.write_status("paused", step=7, reason=Message("so"))
    status = WorkDirectory(run).status()
    assert status is not None
    assert before <= status.heartbeat <= time.time()
    assert status == RunStatus(
        state="paused",
        step=7,
        pid=os.getpid(),
        heartbeat=status.heartbeat,
        host=socket.gethostname(),
        reason=Message("so"),
    )
    assert status.is_at_work
    assert WorkDirectory(run).standing() == status
    claim.release()


def test_a_reason_is_stored_as_template_and_values(run: Path):
    claim = WorkDirectory(run)
    assert claim.take()
    why = RunError(
        "there is not enough memory for this experiment; choose fewer variants, or close other programs"
    ).message
    claim.write_status("failed", step=7, reason=Message("{what}. {saved}", what=why, saved=Message("so")))
    stored = json.loads((run / "status.json").read_text())["reason"]
    assert (stored["template"], [*stored["values"]]) == ("{what}. {saved}", ["what", "saved"])
    status = WorkDirectory(run).status()
    assert status is not None
    assert str(status.reason).startswith("there is not enough memory")
    assert in_german(status.reason).startswith("für dieses Experiment ist zu wenig Speicher frei")
    claim.release()


def test_a_reason_of_an_older_file_is_shown_as_it_is(run: Path):
    (run / "status.json").write_text(json.dumps(GOOD | {"state": "failed", "reason": "the disk is full {so}"}))
    status = WorkDirectory(run).status()
    assert status is not None
    assert str(status.reason) == in_german(status.reason) == "the disk is full {so}"


@pytest.mark.parametrize("state", AT_WORK)
def test_whose_process_is_gone_has_failed(run: Path, state: str):
    (run / "status.json").write_text(json.dumps(GOOD | {"state": state, "host": socket.gethostname()}))
    status = WorkDirectory(run).standing()
    assert status is not None
    assert (status.state, status.step) == ("failed", 3)
    assert "ended unexpectedly" in str(status.reason)
    assert "resume continues from it" in str(status.reason)


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
                {"step": None},
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


def test_a_status_that_cannot_be_read_is_told(run: Path):
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


@given(st.binary(max_size=60))
def test_whatever_a_file_holds_it_is_an_object_or_told(tmp_path_factory: pytest.TempPathFactory, content: bytes):
    path = tmp_path_factory.mktemp("file") / "some.json"
    path.write_bytes(content)
    try:
        found = read_object(path)
    except RunError:
        return
    assert found == json.loads(content)


def test_a_lock_that_cannot_be_asked_leaves_the_word_of_the_process(run: Path):
    """As in a folder of somebody else's: a run there is not called failed while it writes."""
    (run / ".lock").mkdir()  # root may open any file, but no folder
    for age, state in ((0.0, "running"), (61.0, "failed")):
        status = GOOD | {"host": socket.gethostname(), "heartbeat": time.time() - age}
        (run / "status.json").write_text(json.dumps(status))
        found = WorkDirectory(run).standing()
        assert found is not None
        assert found.state == state


@pytest.mark.slow
def test_a_claim_is_one_process_s_own_until_it_is_released(run: Path):
    first, second = WorkDirectory(run), WorkDirectory(run)
    assert first.take()
    assert not second.take()
    first.release()
    assert second.take()
    second.release()
    second.release()  # twice is once


def test_a_claim_reserves_room_and_drops_what_was_half_written(run: Path):
    half = run / f".status.json.{'0f' * 16}.new"
    half.write_text('{"sta')
    (run / ".reserve").write_bytes(b"too little")
    claim = WorkDirectory(run)
    assert claim.take()
    assert not half.exists()
    assert (run / ".reserve").stat().st_size == 64 * 1024
    claim.release()


def test_a_claim_that_fails_is_not_kept(run: Path):
    (run / ".reserve").mkdir()
    with pytest.raises(OSError, match="directory"):
        WorkDirectory(run).take()
    lock = FileLock(run / ".lock", thread_local=False)
    lock.acquire(timeout=0)
    lock.release()


def test_the_heartbeat_tells_the_step_every_two_seconds_at_most(run: Path):
    claim = WorkDirectory(run)
    claim.write_status("running", step=1)
    claim.heartbeat("running", step=2)
    status = WorkDirectory(run).status()
    assert status is not None
    assert status.step == 1
    claim._last_heartbeat -= 2.5
    claim.heartbeat("paused", step=3)
    status = WorkDirectory(run).status()
    assert status is not None
    assert (status.state, status.step) == ("paused", 3)
