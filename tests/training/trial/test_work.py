"""The work of a trial's process: what it logs, how it stops, and what becomes of an arm that can go no further."""

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
import torch

from transformer_core.errors import Message, RunError
from transformer_core.training.loop import StepRecord
from transformer_core.training.run import commands
from transformer_core.training.trial import arms as trial_arms
from transformer_core.training.trial import work as trial_work
from transformer_core.training.trial.arms import Arm, TrialData
from transformer_core.training.trial.directory import TrialDirectory
from transformer_core.training.trial.trial import TrialRequest
from transformer_core.training.trial.work import TrialMeasurement, TrialStep, work

pytestmark = pytest.mark.slow

REQUEST = TrialRequest(kind="masks", task="copy", arms=("look_ahead", "not_shifted"), seed=2, steps=20)


@pytest.fixture(scope="module")
def data() -> TrialData:
    """What the arms learn from and are measured on: less than in earnest, and read once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial_arms, "_N_HELD_OUT", 4)
        patch.setattr(trial_arms, "_N_SAMPLES", 2)
        return TrialData.of(REQUEST)


@pytest.fixture(autouse=True)
def small(data: TrialData, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small batches, and one thread, as in the process of a trial."""
    monkeypatch.setattr(TrialData, "of", lambda request: data)
    monkeypatch.setattr(trial_arms, "_BATCH_SIZE", 12)
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)


@pytest.fixture
def few_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_work, "_N_MEASUREMENTS", 1)


def stands(path: Path) -> tuple[str, int, str]:
    status = TrialDirectory.open(path).standing()
    assert status is not None
    return status.state, status.step, str(status.reason)


def test_a_whole_trial(tmp_path: Path):
    events = list(work(TrialDirectory.create(tmp_path / "trial", REQUEST)))
    steps = [event for event in events if isinstance(event, TrialStep)]
    assert [taken.step for taken in steps] == list(range(1, 21))
    assert [event.step for event in events if isinstance(event, TrialMeasurement)] == [0, 4, 8, 12, 16, 20]
    assert stands(tmp_path / "trial") == ("finished", 20, "")
    lines = TrialDirectory.open(tmp_path / "trial").metrics.read()
    assert [line["loss"] for line in lines if "loss" in line] == [taken.losses for taken in steps]
    first, last = steps[0].losses, steps[-1].losses
    assert [*first] == [*REQUEST.arms]
    assert last["not_shifted"] < 0.3 < last["look_ahead"] < first["look_ahead"]  # the one cheats, the other learns
    measured = [line for line in lines if "held_out" in line][-1]
    assert measured["held_out"]["not_shifted"]["loss"] > measured["held_out"]["look_ahead"]["loss"]
    assert {arm: len(outputs) for arm, outputs in measured["outputs"].items()} == dict.fromkeys(REQUEST.arms, 2)


def test_a_stopped_trial_is_measured_where_it_stops(tmp_path: Path, few_measurements: None):
    directory = TrialDirectory.create(tmp_path / "trial", REQUEST)
    events = []
    for event in work(directory):
        events.append(event)
        if event.step == 3 and isinstance(event, TrialStep):
            commands.ask(tmp_path / "trial", "stop")
    assert [event.step for event in events] == [0, 1, 2, 3, 3]
    assert isinstance(events[-1], TrialMeasurement)
    assert stands(tmp_path / "trial") == ("stopped", 3, "")


def breaking(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let some arms break at their third step."""
    step = Arm.step
    done = dict.fromkeys(names, 0)

    def breaking_step(arm: Arm) -> StepRecord:
        if arm.name in done:
            done[arm.name] += 1
            if done[arm.name] == 3:
                raise RunError("the loss exploded")
        return step(arm)

    monkeypatch.setattr(Arm, "step", breaking_step)


def test_an_arm_that_can_go_no_further_holds_the_others_not_up(
    tmp_path: Path, few_measurements: None, monkeypatch: pytest.MonkeyPatch
):
    breaking(monkeypatch, "not_shifted")
    events = list(work(TrialDirectory.create(tmp_path / "trial", REQUEST)))
    steps = [event for event in events if isinstance(event, TrialStep)]
    assert [len(taken.losses) for taken in steps] == [2, 2, *[1] * 18]
    assert [taken.ended for taken in steps if taken.ended] == [{"not_shifted": Message("the loss exploded")}]
    assert stands(tmp_path / "trial")[0] == "finished"


def test_a_trial_without_arms_has_failed(tmp_path: Path, few_measurements: None, monkeypatch: pytest.MonkeyPatch):
    breaking(monkeypatch, *REQUEST.arms)
    with pytest.raises(RunError, match="no arm can go on: the loss exploded; the loss exploded"):
        list(work(TrialDirectory.create(tmp_path / "trial", REQUEST)))
    state, step, reason = stands(tmp_path / "trial")
    assert (state, step) == ("failed", 3)
    assert "no arm can go on" in reason


def test_no_room_is_told_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def no_room(self: TrialDirectory, record: object) -> None:
        raise OSError(28, "No space left on device")

    directory = TrialDirectory.create(tmp_path / "trial", REQUEST)
    monkeypatch.setattr(TrialDirectory, "log", no_room)
    with pytest.raises(RunError, match=r"cannot be written \(No space left on device\); make room, and start again"):
        list(work(directory))
    assert stands(tmp_path / "trial")[0] == "failed"


def test_one_waits_for_the_other_and_can_be_called_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trial_work, "_LINE", "trials-of-a-test")
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "cache"))
    first = work(TrialDirectory.create(tmp_path / "first", REQUEST), waits=True)
    next(first)  # it has the place, and is at work
    second = TrialDirectory.create(tmp_path / "second", REQUEST)
    events: list[object] = []
    waiting = Thread(target=lambda: events.extend(work(second, waits=True)))
    waiting.start()
    assert stands(tmp_path / "second")[0] == "queued"
    commands.ask(tmp_path / "second", "stop")
    waiting.join(timeout=300)
    assert not waiting.is_alive()
    assert events == []
    assert stands(tmp_path / "second") == ("stopped", 0, "")
    first.close()
