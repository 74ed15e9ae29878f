"""Measures over the snapshots of a training, to JSON and back, and when habits appear; by hand."""

import json
from typing import Any

import numpy as np
import pytest

from headlight.analysis.heads.measures import HeadMeasures, HeadName, Share
from headlight.analysis.training.head_history import HABITS, HeadHistory, appearances
from transformer_core.errors import RunError

CROSS = HeadName("cross", 1, 0)
NAMES = [HeadName("decoder", 0, 0), HeadName("decoder", 0, 1), HeadName("cross", 0, 0), CROSS]


def share(score: float, chance: float = 0.1, spread: float = 0.02) -> Share:
    return Share(score=score, chance=chance, spread=spread)


def measured(name: HeadName, **changes: Any) -> HeadMeasures:
    values: dict[str, Any] = {
        "entropy": 1.23456789,
        "relative_entropy": 0.5,
        "diagonality": share(0.2),
        "previous": None,
        "induction": None,
        "aligned": None,
    }
    return HeadMeasures(**name._asdict(), **(values | changes))


def history_of(scores: list[float], *, measure: str = "aligned", **other: float) -> HeadHistory:
    """One head that changes, at steps 0, 10, 20, and others that do not."""
    return HeadHistory.of(
        (10 * i, [measured(name, **({measure: share(score, **other)} if name == CROSS else {})) for name in NAMES])
        for i, score in enumerate(scores)
    )


def test_json_and_back():
    snapshots = [(step, [measured(name, previous=share(step / 7)) for name in NAMES]) for step in (0, 3, 5)]
    lines = [json.dumps(HeadHistory.to_record(step, heads), allow_nan=False) for step, heads in snapshots]
    read, written = HeadHistory.from_records(map(json.loads, lines)), HeadHistory.of(snapshots)
    assert (read.heads, read.steps.tolist()) == (written.heads, [0, 3, 5])
    assert read.values.keys() == written.values.keys()
    for key, values in written.values.items():
        np.testing.assert_allclose(read.values[key], values, atol=5e-5)
    assert read.values["previous", "score"][read.heads.index(CROSS)].tolist() == [0.0, 0.4286, 0.7143]
    assert all(len(line) < 100 * len(NAMES) + 400 for line in lines)


def test_without_records_there_is_an_empty_history():
    history = HeadHistory.from_records([])
    assert (history.heads, history.steps.tolist(), history.by_attention("aligned")) == ((), [], {})
    assert appearances(history) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda record: record.pop("previous"),
        lambda record: record["previous"].pop("chance"),
        lambda record: record["previous"]["score"].pop(),
        lambda record: record["previous"].update(score=["?"]),
        lambda record: record.update(heads=[1]),
        lambda record: record.update(step="now"),
    ],
)
def test_a_damaged_record_is_told(spoil: Any):
    record = HeadHistory.to_record(0, [measured(NAMES[0], previous=share(0.5))])
    spoil(record)
    with pytest.raises(RunError, match="a record of head scores is damaged or was written by another version"):
        HeadHistory.from_records([record])


def test_snapshots_are_of_the_same_heads():
    snapshots = [(0, [measured(name) for name in NAMES]), (1, [measured(NAMES[0])])]
    with pytest.raises(RunError, match="do not have the same heads"):
        HeadHistory.of(snapshots)


@pytest.mark.parametrize(
    ("scores", "steps"),
    [
        ([0.1, 0.2, 0.5, 0.6], [20]),
        ([0.1, 0.3, 0.3, 0.1], [10]),  # exactly the least share; that it is lost later does not matter
        ([0.1, 0.5, 0.1, 0.6, 0.7], [30]),  # one snapshot alone is an accident
        ([0.1, 0.1, 0.1, 0.9], []),  # one snapshot so far
        ([0.29, 0.29, 0.29], []),
        ([0.4, 0.4, 0.1, 0.5, 0.5], [0]),
        ([0.9], []),
    ],
)
@pytest.mark.parametrize("measure", HABITS)
def test_a_habit_appears_at_the_first_of_two_snapshots_in_a_row(scores: list[float], steps: list[int], measure: str):
    actual = appearances(history_of(scores, measure=measure))
    assert [(one.name, one.measure, one.step) for one in actual] == [(CROSS, measure, step) for step in steps]
    assert [one.is_from_start for one in actual] == [step == 0 for step in steps]


@pytest.mark.parametrize(("chance", "spread", "appears"), [(0.3, 0.05, True), (0.3, 0.06, False), (0.52, 0.0, False)])
def test_a_habit_stands_out_from_chance(chance: float, spread: float, appears: bool):
    """A score of 0.5 is 4 standard deviations above 0.3 if these are 0.05, and not if they are 0.06."""
    history = history_of([0.5, 0.5], chance=chance, spread=spread)
    assert bool(appearances(history)) == appears
