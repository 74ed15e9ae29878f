"""The numbers of a lesson: which run and which training each question needs, and the six words' training."""

import math
from unittest.mock import Mock, call

import numpy as np
import pytest

from pages.learn.tour.lesson_engine.evidence import Evidence
from pages.learn.tour.lesson_engine.six_words import STEPS, smoothed_target
from tests.pages.learn.tour.lesson_engine.conftest import MakeEvidence, train


@pytest.mark.parametrize(
    ("mistake", "of_run", "is_shifted_here"),
    [("", "", True), ("axes_swapped", "axes_swapped", True), ("targets_not_shifted", "", False)],
)
def test_a_mistake_is_in_the_run_or_in_the_training_where_it_lies(
    make_evidence: MakeEvidence, mistake: str, of_run: str, is_shifted_here: bool
):
    make_run = Mock(return_value=make_evidence("en-fr", "The cat sees the dog.").run)
    make_words = Mock(return_value=train(0.0, True, 0))
    evidence = Evidence(make_run=make_run, train=make_words, mistake=mistake)
    for which in ("", "right", "other"):
        evidence.run_of(which)
    assert make_run.call_args_list == [call(of_run, False), call("", False), call(of_run, True)]
    for source in ("untrained", "trained[0.2]", "loss", "right.loss"):
        evidence.ask(source)
    settings = [(0.0, is_shifted_here, 0), (0.2, is_shifted_here, STEPS), (0.0, is_shifted_here, STEPS)]
    assert [one.args for one in make_words.call_args_list] == [*settings, (0.0, True, STEPS)]


def test_targets_are_one_hot_and_smoothed():
    np.testing.assert_array_equal(smoothed_target(2), [0, 0, 1, 0, 0, 0])
    np.testing.assert_allclose(smoothed_target(0, 4, smoothing=0.2), [0.85, 0.05, 0.05, 0.05])


@pytest.mark.training
def test_smoothing_leaves_the_entropy_of_the_target():
    result = train(0.1, True, STEPS)
    right = 0.9 + 0.1 / 6
    entropy = -right * math.log(right) - 5 * (0.1 / 6) * math.log(0.1 / 6)
    assert result.losses[-1] == pytest.approx(entropy, abs=0.01)
    np.testing.assert_allclose(result.trained, result.target, atol=0.02)
