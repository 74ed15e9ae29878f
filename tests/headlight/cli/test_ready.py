"""`ready`: it waits for one line, says what is wrong with it, and has imported what a training needs."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from headlight.cli.main import main

ROOT = Path(__file__).resolve().parents[3]

# Trains as a ready process does, and says how much was imported only then.
LATE = """
import sys
from headlight.cli.ready import import_all
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
