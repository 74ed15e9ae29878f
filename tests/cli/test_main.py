"""The commands from outside: what they print, and their exit status."""

import subprocess
import sys
from pathlib import Path

import pytest

from headlight.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


def test_help_names_the_commands_and_what_can_be_set(capsys: pytest.CaptureFixture[str]):
    for command, words in (
        ("", "train decode import"),
        ("train", "--corpus --resume --keep d_model warmup_steps transformer_big Ctrl-C"),
        ("decode", "MODEL TEXT standard input"),
        ("inspect", "--corpus --architecture tokens division vocab_size stream"),
        ("experiment", "positions rotary_halves not_shifted --queue examples:"),
    ):
        with pytest.raises(SystemExit) as exit_:
            main([*command.split(), "--help"])
        shown = capsys.readouterr().out
        assert exit_.value.code == 0
        assert all(word in shown for word in words.split())
        assert max(map(len, shown.splitlines())) <= 120


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", "--run", "run"], "error: --corpus is missing"),
        (["train", "--run", "run", "--corpus", "klingon"], "klingon"),
        (["train", "--run", "run", "--corpus", "copy", "--set", "d_modle=3"], "error: there is no setting 'd_modle'"),
        (["train", "--run", "run", "--corpus", "copy", "--set", "n_heads=7"], "error: d_model (128) must be divisible"),
        (["train", "--run", "run", "--corpus", "copy", "--steps", "0"], "error: steps must be a whole number"),
        (["train", "--run", "run", "--resume"], "error: run does not contain a run; leave out --resume"),
        (["train", "--run", "taken", "--corpus", "copy"], "error: taken is not empty"),
        (["train", "--run", "run", "--corpus", "copy", "--keep", "taken"], "error: taken contains files"),
        (["train", "--run", "ring", "--corpus", "copy", "--steps", "1"], "error: ring cannot be written"),
        (["compile", "reverse", "a" * 5000], "File name too long"),
        (["dance"], "error: there is no command 'dance'; choose one of train, decode, import"),
        (["decode", "taken", "text"], "error: taken has no config.json"),
        (
            ["experiment", "positions", "--task", "dates"],
            "error: the task must be one of reverse, copy, sort; got 'dates'",
        ),
        (
            ["experiment", "masks", "--variants", "alibi"],
            "error: there is no variant 'alibi'; the variants of this exp",
        ),
        (["experiment", "masks", "--variants", ""], "error: there is no variant ''"),
    ],
)
def test_an_error_is_one_sentence_and_status_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    sentence: str,
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "ring").symlink_to("ring")
    (tmp_path / "taken" / "thesis.txt").write_text("mine")
    assert main(arguments) == 2
    message = capsys.readouterr().err
    assert sentence in message
    assert message.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("arguments", [[], ["train", "--run", "run", "--corpus", "copy", "--preset", "huge"]])
def test_a_command_that_cannot_be_read_is_explained(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "usage: python -m transformer_core" in capsys.readouterr().err


def test_help_does_not_wait_for_torch():
    code = "import sys\nfrom headlight.cli.main import main\n"
    code += "try: main(['train', '--help'])\nexcept SystemExit: assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)


def test_who_stops_reading_what_is_printed_gets_no_traceback():
    code = "import sys\nfrom transformer_core.cli import main\n"
    code += "main.run = lambda *_: print('much')\nsys.exit(main.main(['inspect', '--corpus', 'copy']))"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141
