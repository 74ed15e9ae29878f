"""What a training and the loading of a model show, on a terminal and elsewhere."""

import pytest

from transformer_core.cli.progress import LoadingProgress, TrainingProgress, duration
from transformer_core.errors import Message
from transformer_core.training.loop import StepRecord
from transformer_core.training.run.worker import Measurement

CLEAR = "\r\x1b[2K"


class Clock:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def a_record(step: int) -> StepRecord:
    return StepRecord(step=step, loss=1.2345, learning_rate=1e-3, gradient_norm=0.5, tokens_per_second=12345.6)


def show(*, steps: int, seconds_a_step: float, steps_done: int = 0, is_terminal: bool = False) -> None:
    clock = Clock()
    progress = TrainingProgress(steps, is_terminal=is_terminal, clock=clock)
    for step in range(steps_done + 1, steps + 1):
        clock.seconds += seconds_a_step
        progress.show_step(a_record(step))


def test_elsewhere_there_is_a_line_every_ten_seconds_and_one_at_the_end(capsys: pytest.CaptureFixture[str]):
    show(steps=1000, seconds_a_step=0.0625)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("   ")[0] for line in lines] == [
        f"step {step} of 1,000" for step in ("1", "161", "321", "481", "641", "801", "961", "1,000")
    ]
    assert lines[1] == "step 161 of 1,000   loss 1.234 nats   12,346 tokens/s   52 s left"
    assert lines[-1].endswith("   0 s left")


def test_on_a_terminal_one_line_changes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "30")
    show(steps=10, seconds_a_step=0.125, is_terminal=True)
    text = capsys.readouterr().out
    assert "\n" not in text
    assert [line.split()[1] for line in text.split(CLEAR)[1:]] == ["1", "3", "5", "7", "9", "10"]
    assert {len(line) for line in text.split(CLEAR)[1:]} == {29}  # cut to the width
    show_loading(seconds_a_megabyte=0.0625, n_megabytes=10, is_terminal=True)
    text = capsys.readouterr().err
    assert "\n" not in text
    *lines, last = text.split(CLEAR)[1:]
    assert [line.split(" ")[2] for line in lines] == ["8.0", "10.0", "8.0", "10.0"]
    assert (last, max(map(len, lines))) == ("", 29)


def test_the_time_left_counts_from_where_a_resumed_run_goes_on(capsys: pytest.CaptureFixture[str]):
    """The first step says nothing of it: it may take a minute where it is compiled."""
    show(steps=1000, seconds_a_step=10.0, steps_done=990)
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.endswith("tokens/s")
    assert second.endswith("1 min 20 s left")
    lengths = {0.2: "0 s", 59.4: "59 s", 59.6: "1 min 0 s", 200: "3 min 20 s", 3599.7: "1 h 0 min", 7500: "2 h 5 min"}
    assert {seconds: duration(seconds) for seconds in lengths} == lengths


def test_a_measurement_stays_on_its_line(capsys: pytest.CaptureFixture[str]):
    metrics = {"loss": 0.12345, "exact_match": 0.99999, "pronoun": 1.0}
    measurement = Measurement(step=1500, n_items=2048, of="pairs", metrics=metrics)
    expected = "step 1,500, on 2,048 held-out pairs:   loss 0.123 nats   exact match 99.9 %   pronoun 100.0 %\n"
    for is_terminal, after_a_step in ((False, "\n"), (True, CLEAR)):
        progress = TrainingProgress(2000, is_terminal=is_terminal)
        progress.show_step(a_record(1500))
        progress.show_measurement(measurement)
        assert capsys.readouterr().out.endswith("tokens/s" + after_a_step + expected)


def show_loading(*, seconds_a_megabyte: float, n_megabytes: int = 100, is_terminal: bool) -> None:
    clock = Clock()
    progress = LoadingProgress(is_terminal=is_terminal, clock=clock)
    for what in ("downloading a/b", "reading a/b"):
        for done in range(n_megabytes + 1):
            progress.show(done * 1_000_000, n_megabytes * 1_000_000, Message(what))
            clock.seconds += seconds_a_megabyte
    progress.clear()


def test_elsewhere_loading_has_a_line_every_ten_seconds_and_one_at_the_end(capsys: pytest.CaptureFixture[str]):
    show_loading(seconds_a_megabyte=0.25, is_terminal=False)
    shown = capsys.readouterr()
    assert shown.out == ""
    done = ["2.0", "42.0", "82.0", "100.0"]
    assert [line.split(" of ")[0] for line in shown.err.splitlines()] == [
        f"{what} a/b: {megabytes}" for what in ("downloading", "reading") for megabytes in done
    ]
    assert shown.err.splitlines()[1] == "downloading a/b: 42.0 of 100.0 MB (42%)"
