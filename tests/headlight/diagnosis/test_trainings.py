"""Real trainings: no healthy one is accused, and in each broken one the diagnosis names what is wrong."""

from dataclasses import replace
from pathlib import Path

import pytest

from headlight.diagnosis import Case, diagnose
from tests.headlight.diagnosis.recordings import BROKEN, FOLDER, RUNS, recorded

WITHOUT_FAULT = {"well", "nothing_unusual", "undertrained", "plateau", "exposure_gap", "bigram_baseline", "too_early"}


def check(name: str, case: Case) -> None:
    actual = diagnose(case)
    kinds = {finding.kind for finding in actual}
    if name in BROKEN:
        assert BROKEN[name][1] in kinds, actual
    else:
        assert kinds <= WITHOUT_FAULT, actual
        assert "problem" not in [finding.severity for finding in actual], actual


def test_every_training_is_recorded():
    assert {path.stem for path in FOLDER.iterdir()} == {*RUNS}


@pytest.mark.parametrize("name", RUNS)
def test_a_recorded_training(name: str):
    check(name, recorded(name))


@pytest.mark.parametrize("name", ["reverse", "sort-smoothed-dropout", "prose-not-converged"])
def test_a_healthy_training_is_not_accused_on_its_way(name: str):
    case = recorded(name)
    for share in (0.1, 0.3, 0.6, 0.9):
        so_far = [line for line in case.metrics if line["step"] <= share * case.steps]
        assert "problem" not in [finding.severity for finding in diagnose(replace(case, metrics=so_far))]


@pytest.mark.full
@pytest.mark.training
@pytest.mark.parametrize("name", RUNS)
def test_a_fresh_training_gives_the_diagnosis_of_the_recorded_one(name: str, tmp_path: Path):
    check(name, RUNS[name](tmp_path))
