"""A process that waits with everything imported: it runs what it is handed, prints into a file, and ends with us."""

from pathlib import Path

import pytest

from tests.german import in_german
from transformer_core.training.run.directory import RunDirectory
from transformer_core.training.run.launch import Launcher

SMALL = ["--set", "d_model=16", "--set", "d_ff=32", "--set", "n_heads=2", "--set", "n_encoder_layers=1"]


@pytest.mark.training
def test_what_is_handed_over_is_trained_and_what_cannot_be_is_told(tmp_path: Path):
    launcher = Launcher()
    try:
        started = launcher.start(
            tmp_path / "copy", ["train", "--corpus", "copy", "--run", str(tmp_path / "copy"), "--steps", "3", *SMALL]
        )
        wrong = launcher.start(
            tmp_path / "wrong", ["train", "--corpus", "cpoy", "--run", str(tmp_path / "wrong"), "--steps", "3"]
        )
        assert started in launcher.started()
        assert started.process.wait(timeout=300) == 0
        assert wrong.process.wait(timeout=300) == 2
        assert str(started.trouble()) == ""
        assert str(wrong.trouble()).startswith("there is no corpus 'cpoy'")
        assert in_german(wrong.trouble()).startswith("es gibt keinen Korpus 'cpoy'")
        assert launcher.started() == [wrong]
        launcher.forget(wrong.run)
        assert launcher.started() == []
        status = RunDirectory.open(tmp_path / "copy").standing()
        assert status is not None
        assert (status.state, status.step) == ("finished", 3)
        assert "Finished: 3 steps" in started.log.read_text()
    finally:
        launcher.close()


@pytest.mark.training
def test_a_ready_process_that_died_is_replaced(tmp_path: Path):
    launcher = Launcher()
    try:
        launcher.warm_up()
        ready = launcher._ready
        assert ready is not None
        ready.kill()
        ready.wait()
        started = launcher.start(tmp_path / "run", ["train", "--run", str(tmp_path / "run"), "--resume"])
        assert started.process.wait(timeout=300) == 2
        assert "does not contain a run" in str(started.trouble())
    finally:
        launcher.close()


@pytest.mark.training
def test_the_ready_process_ends_with_whoever_kept_it():
    """That one may be killed: its end of the pipe closes, and the ready process reads the end of its input."""
    launcher = Launcher()
    launcher.warm_up()
    ready = launcher._ready
    assert ready is not None
    assert ready.stdin is not None
    ready.stdin.close()
    assert ready.wait(timeout=300) == 0
    launcher.warm_up()
    other = launcher._ready
    assert other is not None
    assert other is not ready
    launcher.close()
    assert other.poll() is not None
