"""Outputs that are wrong in one way, by tests of what is held out."""

import pytest

from tests.training.diagnosis.records import STEPS, a_case, falling, kinds, logged, measured, probed, the


@pytest.mark.parametrize(
    ("tests", "kind"),
    [
        ({"early_end": 0.9}, "ends_at_once"),
        ({"cut_outputs": 0.8}, "never_ends"),
        ({"source_gain": 0.001}, "ignores_source"),
        ({"source_gain": -0.2}, "ignores_source"),
    ],
)
def test_a_fault_is_a_problem_where_the_task_is_not_solved(tests: dict[str, float], kind: str):
    log = logged(falling(1.8, half_life=40))
    assert the(kind, a_case([*log, probed(measured(STEPS, 1.8, exact_match=0.0), **tests)])).severity == "problem"
    assert kinds(a_case([*log, probed(measured(STEPS, 1.8, exact_match=0.9), **tests)])) == ["well"]


@pytest.mark.parametrize("tests", [{"early_end": 0.4}, {"cut_outputs": 0.3}, {"source_gain": 0.5}])
def test_what_is_within_bounds_is_none(tests: dict[str, float]):
    log = logged(falling(1.8, half_life=40))
    run = a_case([*log, probed(measured(STEPS, 1.8, exact_match=0.3), **tests)])
    assert not {"ends_at_once", "never_ends", "ignores_source"} & {*kinds(run)}


def test_a_source_may_come_into_use_late():
    line = probed(measured(600, 2.4, exact_match=0.0), source_gain=0.0)
    assert "ignores_source" not in kinds(a_case([*logged(lambda step: 4.0 - step / 400, until=600), line]))
