"""The work of an experiment's process: what it logs, how it stops, and what happens to a variant that fails."""

from pathlib import Path

import pytest
import torch

from headlight.experiments import variants as experiment_variants
from headlight.experiments import work as experiment_work
from headlight.experiments.experiment import ExperimentDirectory, ExperimentRequest
from headlight.experiments.variants import ExperimentData, Variant
from headlight.experiments.work import (
    ExperimentMeasurement,
    ExperimentStep,
    accuracy_by_length,
    measure,
    work,
    written,
)
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.errors import Message, RunError
from transformer_core.training.evaluate import evaluate
from transformer_core.training.loop import StepRecord
from transformer_core.training.run import commands
from transformer_core.training.run.records import RecordFile

POSITIONS = ExperimentRequest(kind="positions", task="reverse", variants=("rotary_halves",), seed=0, steps=40)
REQUEST = ExperimentRequest(kind="masks", task="copy", variants=("look_ahead", "not_shifted"), seed=2, steps=20)


@pytest.fixture(scope="module")
def data() -> ExperimentData:
    """What the variants learn from and are measured on: less than in earnest, and read once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment_variants, "_N_HELD_OUT", 4)
        patch.setattr(experiment_variants, "_N_SAMPLES", 2)
        return ExperimentData.of(REQUEST)


@pytest.fixture(autouse=True)
def small(data: ExperimentData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ExperimentData, "of", lambda request: data)
    monkeypatch.setattr(experiment_variants, "_BATCH_SIZE", 12)


@pytest.fixture
def few_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment_work, "_N_MEASUREMENTS", 1)


def stands(path: Path) -> tuple[str, int, str]:
    status = ExperimentDirectory.open(path).standing()
    assert status is not None
    return status.state, status.step, str(status.reason)


def test_a_whole_experiment(tmp_path: Path):
    events = list(work(ExperimentDirectory.create(tmp_path / "experiment", REQUEST)))
    steps = [event for event in events if isinstance(event, ExperimentStep)]
    assert [taken.step for taken in steps] == list(range(1, 21))
    assert [event.step for event in events if isinstance(event, ExperimentMeasurement)] == [0, 4, 8, 12, 16, 20]
    assert stands(tmp_path / "experiment") == ("finished", 20, "")
    lines = ExperimentDirectory.open(tmp_path / "experiment").metrics.read()
    assert [line["loss"] for line in lines if "loss" in line] == [taken.losses for taken in steps]
    first, last = steps[0].losses, steps[-1].losses
    assert last["not_shifted"] < 0.3 < last["look_ahead"] < first["look_ahead"]  # the one cheats, the other learns
    measured = [line for line in lines if "held_out" in line][-1]
    assert measured["held_out"]["not_shifted"]["loss"] > measured["held_out"]["look_ahead"]["loss"]


def test_a_stopped_experiment_is_measured_where_it_stops(tmp_path: Path, few_measurements: None):
    directory = ExperimentDirectory.create(tmp_path / "experiment", REQUEST)
    events = []
    for event in work(directory):
        events.append(event)
        if event.step == 3 and isinstance(event, ExperimentStep):
            commands.ask(tmp_path / "experiment", "stop")
    assert [event.step for event in events] == [0, 1, 2, 3, 3]
    assert isinstance(events[-1], ExperimentMeasurement)
    assert stands(tmp_path / "experiment") == ("stopped", 3, "")


def breaking(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let some variants break at their third step."""
    step = Variant.step
    done = dict.fromkeys(names, 0)

    def breaking_step(variant: Variant) -> StepRecord:
        if variant.name in done:
            done[variant.name] += 1
            if done[variant.name] == 3:
                raise RunError("the loss exploded")
        return step(variant)

    monkeypatch.setattr(Variant, "step", breaking_step)


def test_a_variant_that_can_go_no_further_holds_the_others_not_up(
    tmp_path: Path, few_measurements: None, monkeypatch: pytest.MonkeyPatch
):
    breaking(monkeypatch, "not_shifted")
    events = list(work(ExperimentDirectory.create(tmp_path / "experiment", REQUEST)))
    steps = [event for event in events if isinstance(event, ExperimentStep)]
    assert [len(taken.losses) for taken in steps] == [2, 2, *[1] * 18]
    assert [taken.ended for taken in steps if taken.ended] == [{"not_shifted": Message("the loss exploded")}]
    assert stands(tmp_path / "experiment")[0] == "finished"


def test_an_experiment_without_variants_or_room_has_failed(
    tmp_path: Path, few_measurements: None, monkeypatch: pytest.MonkeyPatch
):
    breaking(monkeypatch, *REQUEST.variants)
    with pytest.raises(RunError, match="no variant can continue: the loss exploded; the loss exploded"):
        list(work(ExperimentDirectory.create(tmp_path / "experiment", REQUEST)))
    state, step, reason = stands(tmp_path / "experiment")
    assert (state, step) == ("failed", 3)
    assert "no variant can continue" in reason

    def no_room(self: RecordFile, record: object) -> None:
        raise OSError(28, "No space left on device")

    directory = ExperimentDirectory.create(tmp_path / "other", REQUEST)
    monkeypatch.setattr(RecordFile, "append", no_room)
    with pytest.raises(RunError, match=r"\(No space left on device\); free some disk space and start again"):
        list(work(directory))
    assert stands(tmp_path / "other")[0] == "failed"


def test_one_waits_for_the_other_and_can_be_called_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "cache"))
    first, second = (ExperimentDirectory.create(tmp_path / name, REQUEST) for name in ("first", "second"))

    def call_off() -> str:
        assert stands(tmp_path / "second")[0] == "queued"
        commands.ask(tmp_path / "second", "stop")
        return ""

    with first.turn(str) as place, second.turn(call_off) as none:
        assert place is not None
        assert none is None
    assert stands(tmp_path / "second") == ("stopped", 0, "")


def test_a_variant_is_measured_as_if_each_length_and_output_were_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()
    monkeypatch.setattr(experiment_variants, "_N_HELD_OUT", 4)
    monkeypatch.setattr(experiment_variants, "_PAIRS_OF_A_LENGTH", 5)
    data = ExperimentData.of(POSITIONS)
    variant = Variant("rotary_halves", POSITIONS, data)
    for _ in range(15):  # so that some tokens are correct
        variant.step()
    measured = measure(variant, data)
    assert variant.model.training and {"loss", "accuracy", "exact_match"} <= {*measured.metrics}
    assert len(measured.by_length) == len(data.by_length)

    variant.model.eval()
    some = {n: data.by_length[n] for n in (3, 8, 24)}
    shares = accuracy_by_length(variant.model, data.tokenizer, some)
    alone = [evaluate(variant.model, data.tokenizer, data.corpus, pairs)["accuracy"] for pairs in some.values()]
    assert shares == pytest.approx(alone) and 0 < max(shares) < 1
    for pair, output in zip(data.samples, written(variant.model, data.tokenizer, data.samples), strict=True):
        src = torch.tensor([[*data.tokenizer.encode(pair.source, eos=True)]])
        tokens = greedy_decode(variant.model, src, max_new_tokens=24, use_cache=False).tokens[0]
        assert output == data.tokenizer.decode(tokens.tolist())
