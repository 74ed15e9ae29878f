"""A ready process: it runs its command, prints into a file, and ends with its parent."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from headlight.cli.launch import Launcher
from headlight.cli.main import main
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


ROOT = Path(__file__).resolve().parents[3]

# Trains as a ready process does, and says how much was imported only then.
LATE = """
import sys
from headlight.cli.launch import import_all
import_all()
before = set(sys.modules)
from headlight.cli.main import main
main(sys.argv[1:])
print(*sorted(set(sys.modules) - before))
"""


@pytest.mark.parametrize("line", ["train", '{"arguments": ["train"]}', '{"arguments": 3, "log": "a"}'])
def test_what_is_no_command_is_told(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{line}\n"))
    assert main(["ready"]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("error: standard input must contain a JSON object with arguments and log; got ")


def test_nearly_nothing_is_left_to_import_when_a_training_begins(tmp_path: Path):
    """The optimizer alone brings eight hundred modules, which take two seconds."""
    small = ["--set", "d_model=8", "--set", "n_heads=2", "--set", "d_ff=8", "--set", "evaluate_pairs=2"]
    words = ["train", "--corpus", "copy", "--run", str(tmp_path / "run"), "--steps", "2", *small]
    done = subprocess.run(
        [sys.executable, "-c", LATE, *words], capture_output=True, text=True, cwd=ROOT, timeout=300, check=True
    )
    late = done.stdout.splitlines()[-1].split()
    assert not any(name.startswith(("torch._dynamo", "sympy")) for name in late)
    assert len(late) < 50, late


def test_it_ends_in_peace_when_nothing_comes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert main(["ready"]) == 0
    assert capsys.readouterr() == ("", "")
