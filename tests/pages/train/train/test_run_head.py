"""How far a training is, how long it will take, and which actions its state allows."""

import json
import time
from pathlib import Path

import pytest

from pages.shared import runs
from pages.shared.prose import duration
from pages.shared.runs import Run
from pages.train.train import run_head
from pages.train.train.run_head import loss_in_digits
from pages.train.train.setup import epochs_in_words
from tests.pages.learn.bare import drawn_bare
from tests.pages.train.small_films import save_run

Record = dict[str, float]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run of 60 steps, "one"."""
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path))
    save_run(tmp_path / "one", steps=(0,))
    return tmp_path / "one"


def run_that(place: Path, state: str, *records: Record, step: int = 0, reason: str = "") -> Run:
    """The run in this state, reported by a process of another machine, with these measurements."""
    status = {"state": state, "step": step, "pid": 1, "host": "elsewhere", "heartbeat": time.time(), "reason": reason}
    (place / "status.json").write_text(json.dumps(status))
    (place / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    run = runs.find("one")
    assert run is not None
    return run


def logged(step: int, seconds: float, loss: float = 2.5, rate: float = 1234.4) -> Record:
    return {"step": step, "loss": loss, "seconds": seconds, "tokens_per_second": rate}


def test_what_is_left_takes_as_long_per_step_as_the_last_quarter_of_what_was_logged(place: Path):
    for n_quick, n_slow, left in (
        (3, 5, "11 min"),  # 52 steps of (38 + 3 * 4) / 4 seconds: five records at least
        (30, 10, "3 min"),  # 20 steps of (38 + 8 * 4) / 9 seconds: a quarter of the records
    ):
        seconds = [0.1 * step for step in range(1, n_quick + 1)] + [900.0]
        seconds += [938.0 + 4.0 * i for i in range(n_slow - 1)]
        records = [logged(step, second, loss=1.694) for step, second in enumerate(seconds, start=1)]
        far = f"step {n_quick + n_slow} of 60, loss 1.69, 1,234 tokens/s, about {left} left at the current load"
        assert run_head._how_far(run_that(place, "running", *records)) == far


@pytest.mark.parametrize(
    ("state", "records", "reason", "words"),
    [
        ("running", [], "", "step 7 of 60"),
        ("running", [logged(9, 2.0), {"step": 10, "held_out_loss": 1.0}], "", "step 10 of 60, loss 2.50"),
        ("running", [logged(8, 1.0), logged(9, 2.0)], "measuring", "step 9 of 60, measuring"),
        ("paused", [logged(8, 1.0), logged(9, 200.0)], "", "step 7 of 60, loss 2.50, 3 min of training"),
        ("finished", [{"step": 0, "loss": 9.0}], "", "step 7 of 60"),
    ],
)
def test_how_far_it_is_is_told_as_far_as_that_is_known(
    place: Path, state: str, records: list[Record], reason: str, words: str
):
    assert run_head._how_far(run_that(place, state, *records, step=7, reason=reason)) == words


@pytest.mark.parametrize(
    ("state", "controls"),
    [
        ("queued", ["stop"]),
        ("running", ["pause", "step", "snapshot", "stop"]),
        ("paused", ["resume", "step", "snapshot", "stop"]),
        ("stopped", ["go-on"]),
        ("failed", []),  # nothing was saved
        ("finished", []),
    ],
)
def test_what_can_be_asked_of_a_run_depends_on_how_it_stands(place: Path, state: str, controls: list[str]):
    run = run_that(place, state, step=3)
    with drawn_bare() as bare:
        bare.session["run-rate-factor"] = "× 0.3"
        run_head._controls(run)
    buttons = {key.removeprefix("ask-"): how for key, how in bare.buttons.items() if key.startswith("ask-")}
    assert [*buttons] == controls
    if "step" in controls:
        assert buttons["step"]["disabled"] == (state == "running"), "one step is for a run that rests"
        assert not buttons["stop"]["disabled"] and not buttons["snapshot"]["disabled"]
        assert bare.buttons["run-rate-change"]["args"] == (run, "learning-rate", 0.3)
    assert ("run-rate-change" in bare.buttons) == ("step" in controls)


def test_durations_and_losses_are_told_as_exactly_as_they_are_known():
    durations = {0.0: "1 s", 89.0: "89 s", 90.0: "2 min", 90 * 60 - 1: "90 min", 90 * 60: "1.5 h", 7200: "2.0 h"}
    assert {seconds: duration(seconds) for seconds in durations} == durations
    losses = {12.34: "12.3", 0.002134: "0.00213", 1.0: "1.00", 1e-6: "0.00000100", 0.0: "0", 9.4e-7: "9.4e-07"}
    losses |= {999_999.0: "999,999", 1e6: "1e+06"}
    assert {nats: loss_in_digits(nats) for nats in losses} == losses
    epochs = {0.1666: "0.17", 8.329: "8.3", 9.94: "9.9", 9.96: "10", 99.9: "100", 1234.5: "1,234"}
    assert {n: epochs_in_words(n) for n in epochs} == epochs
