"""What loading shows, on a terminal and elsewhere."""

import pytest

from transformer_core.cli.loading import LoadingProgress
from transformer_core.errors import Message

CLEAR = "\r\x1b[2K"


class Clock:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def show(*, seconds_a_megabyte: float, n_megabytes: int = 100, is_terminal: bool) -> None:
    clock = Clock()
    progress = LoadingProgress(is_terminal, clock)
    for what in ("downloading a/b", "reading a/b"):
        for done in range(n_megabytes + 1):
            progress.show(done * 1_000_000, n_megabytes * 1_000_000, Message(what))
            clock.seconds += seconds_a_megabyte
    progress.clear()


def test_what_is_quick_is_not_worth_a_line(capsys: pytest.CaptureFixture[str]):
    show(seconds_a_megabyte=0.001, is_terminal=True)
    show(seconds_a_megabyte=0.001, is_terminal=False)
    assert capsys.readouterr() == ("", "")


def test_elsewhere_there_is_a_line_every_ten_seconds_and_one_at_the_end(capsys: pytest.CaptureFixture[str]):
    show(seconds_a_megabyte=0.25, is_terminal=False)
    shown = capsys.readouterr()
    assert shown.out == ""
    done = ["2.0", "42.0", "82.0", "100.0"]
    assert [line.split(" of ")[0] for line in shown.err.splitlines()] == [
        f"{what} a/b: {megabytes}" for what in ("downloading", "reading") for megabytes in done
    ]
    assert shown.err.splitlines()[1] == "downloading a/b: 42.0 of 100.0 MB (42%)"


def test_on_a_terminal_one_line_changes_and_goes(capsys: pytest.CaptureFixture[str]):
    show(seconds_a_megabyte=0.0625, n_megabytes=10, is_terminal=True)
    text = capsys.readouterr().err
    assert "\n" not in text
    lines = text.split(CLEAR)[1:]
    assert [line.split(" ")[2] for line in lines[:-1]] == ["8.0", "10.0", "8.0", "10.0"]
    assert lines[-1] == ""


def test_on_a_narrow_terminal_the_line_is_cut(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "20")
    show(seconds_a_megabyte=1, n_megabytes=1, is_terminal=True)
    assert {len(line) for line in capsys.readouterr().err.split(CLEAR)[1:-1]} == {19}
