"""The numbers of a lesson: which run and which training each question needs, and no more than that."""

import pytest

from pages.learn.tour.lesson_engine.errors import ExpressionError
from pages.learn.tour.lesson_engine.evidence import Evidence
from pages.learn.tour.lesson_engine.run import Run
from pages.learn.tour.lesson_engine.six_words import STEPS, SixWords, train_six_words
from tests.pages.learn.tour.lesson_engine.conftest import MakeEvidence


@pytest.mark.parametrize(
    ("mistake", "of_run", "is_shifted_here"),
    [("", "", True), ("axes_swapped", "axes_swapped", True), ("targets_not_shifted", "", False)],
)
def test_a_mistake_is_in_the_run_or_in_the_training_where_it_lies(
    make_evidence: MakeEvidence, mistake: str, of_run: str, is_shifted_here: bool
):
    run = make_evidence("en-fr", "The cat sees the dog.").run
    runs: list[tuple[str, bool]] = []
    trainings: list[tuple[float, bool, int]] = []

    def make_run(wrong: str, is_other: bool) -> Run:
        runs.append((wrong, is_other))
        return run

    def train(smoothing: float, is_shifted: bool, steps: int) -> SixWords:
        trainings.append((smoothing, is_shifted, steps))
        return train_six_words(smoothing=smoothing, is_shifted=is_shifted, steps=0)

    evidence = Evidence(make_run=make_run, train=train, mistake=mistake)
    for which in ("", "right", "other"):
        evidence.run_of(which)
    assert runs == [(of_run, False), ("", False), (of_run, True)]
    for source in ("untrained", "aim[0.1]", "trained[0.2]", "loss", "right loss", "right untrained"):
        evidence.ask(source)
    assert trainings == [
        *[(smoothing, is_shifted_here, steps) for smoothing, steps in ((0.0, 0), (0.1, 0), (0.2, STEPS), (0.0, STEPS))],
        *[(0.0, True, steps) for steps in (STEPS, 0)],
    ]


@pytest.mark.parametrize(("smoothing", "is_refused"), [("0", False), ("0.99", False), ("1", True)])
def test_a_smoothing_lies_between_none_and_all(make_evidence: MakeEvidence, smoothing: str, is_refused: bool):
    evidence = make_evidence("en-fr", "The cat sees the dog.")
    if is_refused:
        with pytest.raises(ExpressionError, match="at least 0 and below 1"):
            evidence.ask(f"aim[{smoothing}]")
    else:
        evidence.ask(f"aim[{smoothing}]")
