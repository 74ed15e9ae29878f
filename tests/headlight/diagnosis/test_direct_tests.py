"""Data with nothing to learn, answers that are given away, outputs that are wrong; and what only looks so."""

import pytest

from tests.headlight.diagnosis.records import STEPS, a_case, falling, kinds, logged, measured, probed, the

LOG = logged(falling(0.1))
SOLVED_LOG = logged(falling(0.01))  # target leakage needs a test that shows it, and wrong outputs


@pytest.mark.parametrize(
    ("tests", "exact_match", "kind"),
    [
        ({"unknown": 0.9}, 1.0, "unknown_tokens"),
        ({"unknown": 0.3}, 0.9, "well"),  # rare words of a small corpus
        ({"empty_target": 0.97, "same_target": 0.97}, 0.97, "empty_targets"),
        ({"empty_target": 0.7, "same_target": 0.7}, 0.95, "well"),  # the correct answer is often nothing
        ({"same_target": 0.95}, 0.99, "well"),  # an unbalanced task, solved
    ],
)
def test_what_is_wrong_with_the_data(tests: dict[str, float], exact_match: float, kind: str):
    run = a_case([*LOG, probed(measured(STEPS, 0.1, exact_match=exact_match), **tests)])
    assert kinds(run) == [kind]


def leaking(seen: float, hidden: float, exact_match: float, **changes):
    line = measured(STEPS, 0.01, accuracy=0.999, exact_match=exact_match)
    return a_case([*SOLVED_LOG, probed(line, seen_accuracy=seen, hidden_accuracy=hidden)], **changes)


def test_a_low_loss_and_wrong_outputs_are_no_leak():
    assert "target_leakage" not in kinds(leaking(0.999, 0.999, 0.0))
    assert "target_leakage" not in kinds(a_case([*SOLVED_LOG, measured(STEPS, 0.01, accuracy=0.999, exact_match=0.0)]))


def test_answers_that_are_missed_when_they_are_hidden_are_one():
    actual = the("target_leakage", leaking(0.99, 0.2, 0.1))
    assert (actual.title, actual.severity) == ("Possible target leakage", "problem")
    assert kinds(leaking(0.99, 0.2, 0.1)) == ["target_leakage"]
    assert "target_leakage" not in kinds(leaking(0.99, 0.2, 0.95))  # it writes as well without them


@pytest.mark.parametrize(("seen", "is_told"), [(0.5, False), (0.95, True)])
def test_an_encoder_is_given_one_answer_in_ten(seen: float, is_told: bool):
    line = probed(measured(STEPS, 0.01), seen_accuracy=seen, hidden_accuracy=0.4)
    log = a_case([*SOLVED_LOG, line], architecture="encoder_only")
    assert ("target_leakage" in kinds(log)) == is_told


@pytest.mark.parametrize(
    ("tests", "kind"),
    [
        ({"early_end": 0.9}, "ends_at_once"),
        ({"cut_outputs": 0.8}, "never_ends"),
        ({"source_gain": 0.001}, "ignores_source"),
    ],
)
def test_a_fault_is_a_problem_where_the_task_is_not_solved(tests: dict[str, float], kind: str):
    log = logged(falling(1.8, half_life=40))
    assert the(kind, a_case([*log, probed(measured(STEPS, 1.8, exact_match=0.0), **tests)])).severity == "problem"
    assert kinds(a_case([*log, probed(measured(STEPS, 1.8, exact_match=0.9), **tests)])) == ["well"]


def test_a_source_may_come_into_use_late():
    line = probed(measured(600, 2.4, exact_match=0.0), source_gain=0.0)
    assert "ignores_source" not in kinds(a_case([*logged(lambda step: 4.0 - step / 400, until=600), line]))


def test_one_token_again_and_again_leaves_nothing_open():
    run = a_case([*LOG, measured(STEPS, 0.0)], architecture="decoder_only", unigram_entropy=0.001, bigram_entropy=0.0)
    assert "0.001 nats" in the("constant_targets", run).evidence
