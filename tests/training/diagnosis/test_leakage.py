"""Target leakage needs a test that shows it, and wrong outputs."""

import pytest

from tests.training.diagnosis.records import STEPS, a_case, falling, kinds, logged, measured, probed, the

LOG = logged(falling(0.01))


def run(seen: float, hidden: float, exact_match: float, **changes):
    line = measured(STEPS, 0.01, accuracy=0.999, exact_match=exact_match)
    return a_case([*LOG, probed(line, seen_accuracy=seen, hidden_accuracy=hidden)], **changes)


def test_a_low_loss_and_wrong_outputs_are_no_leak():
    assert "target_leakage" not in kinds(run(0.999, 0.999, 0.0))
    assert "target_leakage" not in kinds(a_case([*LOG, measured(STEPS, 0.01, accuracy=0.999, exact_match=0.0)]))


def test_answers_that_are_missed_when_they_are_hidden_are_one():
    found = the("target_leakage", run(0.99, 0.2, 0.1))
    assert (found.title, found.severity) == ("Possible target leakage", "problem")
    assert "99%" in found.evidence and "20%" in found.evidence and "10%" in found.evidence
    assert kinds(run(0.99, 0.2, 0.1)) == ["target_leakage"]
    assert "target_leakage" not in kinds(run(0.99, 0.2, 0.95))  # it writes as well without them


@pytest.mark.parametrize(("seen", "is_told"), [(0.5, False), (0.95, True)])
def test_an_encoder_is_given_one_answer_in_ten(seen: float, is_told: bool):
    line = probed(measured(STEPS, 0.01), seen_accuracy=seen, hidden_accuracy=0.4)
    log = a_case([*LOG, line], architecture="encoder_only")
    assert ("target_leakage" in kinds(log)) == is_told
