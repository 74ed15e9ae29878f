"""A ready process: it runs its command, prints into a file, and ends with its parent."""

from pathlib import Path

import pytest

from headlight.cli.launch import Launcher
from tests.german import in_german
from tests.training.small_runs import standing

SMALL = ["--set", "d_model=16", "--set", "d_ff=32", "--set", "n_heads=2", "--set", "n_encoder_layers=1"]


@pytest.mark.training
def test_what_is_handed_over_is_trained_and_what_cannot_be_is_told(tmp_path: Path):
    launcher = Launcher()
    try:
        launcher.warm_up()
        orphan = launcher._ready
        assert orphan is not None and orphan.stdin is not None
        orphan.stdin.close()  # as when the process that keeps it is killed
        assert orphan.wait(timeout=300) == 0  # and it is replaced

        def start(name: str, corpus: str):
            words = ["train", "--corpus", corpus, "--run", str(tmp_path / name), "--steps", "3", *SMALL]
            return launcher.start(tmp_path / name, words)

        started, wrong = start("copy", "copy"), start("wrong", "cpoy")
        assert started in launcher.started()
        assert started.process.wait(timeout=300) == 0
        assert wrong.process.wait(timeout=300) == 2
        assert str(started.trouble()) == ""
        assert str(wrong.trouble()).startswith("there is no corpus 'cpoy'")
        assert in_german(wrong.trouble()).startswith("es gibt kein Korpus 'cpoy'")
        assert launcher.started() == [wrong]
        launcher.forget(wrong.run)
        assert launcher.started() == []
        assert standing(tmp_path / "copy") == ("finished", 3, "")
        assert "Finished: 3 steps" in started.log.read_text()
    finally:
        launcher.close()
