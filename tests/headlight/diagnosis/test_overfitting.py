"""Overfitting, and what only looks like it."""

import pytest

from tests.headlight.diagnosis.records import STEPS, a_case, diagnose, falling, kinds, logged, measured, probed, the


def test_a_held_out_loss_that_rises_while_the_training_loss_falls():
    run = a_case([*logged(falling(0.1)), measured(250, 1.9), measured(500, 2.2), measured(1000, 2.6)])
    (actual,) = diagnose(run)
    assert (actual.kind, actual.severity) == ("overfitting", "problem")
    assert actual.evidence.startswith("Held-out loss was lowest at step 250 (1.90 nats) and is now 0.70 nats higher")
    assert actual.advice.startswith("Steps: stop at about 250; Dropout: try 0.1 (now 0)")


def test_a_little_rise_is_none():
    run = a_case([*logged(falling(0.5)), measured(500, 0.6), measured(1000, 0.65)])
    assert kinds(run) == ["well"]


def test_a_single_bad_measurement_on_the_way_is_none():
    way = [*logged(falling(1.2), until=600), measured(250, 1.9), measured(500, 2.2)]
    assert "overfitting" not in kinds(a_case(way))
    assert "overfitting" in kinds(a_case([*way, measured(600, 2.3)]))


def test_the_training_loss_has_fallen_since_the_best_measurement_not_before_it():
    """Each loss of a third of the training; what the first steps lose says nothing of overfitting."""

    def found(first: float, at_best: float, now: float) -> list[str]:
        def loss(step: int) -> float:
            return first if step <= 200 else at_best if step <= 500 else now

        run = a_case([*logged(loss, noise=0), measured(500, 1.9), measured(STEPS, 2.6)])
        return [one.evidence for one in diagnose(run) if one.evidence.startswith("Held-out loss was lowest")]

    (evidence,) = found(first=4.6, at_best=2.0, now=1.0)
    assert "while training loss fell from 2.00 to 1.00;" in evidence
    assert not found(first=4.6, at_best=1.0, now=1.0)


def test_with_outputs_as_right_as_ever_a_rise_is_a_remark():
    log = logged(falling(0.1))
    sure = [measured(250, 1.0, exact_match=0.9), measured(1000, 1.4, exact_match=0.95)]
    actual = diagnose(a_case([*log, *sure]))
    assert [(finding.kind, finding.severity) for finding in actual] == [("overfitting", "note"), ("well", "fine")]


def test_one_measurement_far_above_the_training_loss():
    log = [*logged(falling(0.1)), measured(STEPS, 2.9)]
    assert "Training loss is 0.1" in the("overfitting", a_case(log)).evidence
    assert (
        "Training loss is 0.30 nats"
        in the("overfitting", a_case([*log[:-1], probed(log[-1], training_loss=0.3)])).evidence
    )
    unlike = [*log[:-1], probed(log[-1], training_loss=2.7)]  # it was low by dropout or by the batches alone
    assert "overfitting" not in kinds(a_case(unlike))
    assert "overfitting" not in kinds(a_case(log, tokens_seen=150_000))  # seen once and a half
    assert the("overfitting", a_case(log, dropout=0.3)).advice == "Training data: add more, or train a smaller model."


@pytest.mark.parametrize(
    ("held_out", "training", "epochs", "is_told"),
    [
        (3.0, 1.0, 3.0, True),  # the training data were seen three times
        (3.0, 1.0, 2.99, False),
        (0.75, 0.25, 9, True),  # half a nat
        (0.74, 0.25, 9, False),
    ],
)
def test_where_far_above_begins(held_out: float, training: float, epochs: float, is_told: bool):
    log = [*logged(falling(0.1)), probed(measured(STEPS, held_out), training_loss=training)]
    run = a_case(log, tokens_seen=round(epochs * 100_000), unigram_entropy=4.0, bigram_entropy=0.1)
    assert ("overfitting" in kinds(run)) == is_told


def test_nothing_that_carries_over_may_be_a_fault_in_the_targets():
    log = [*logged(falling(0.1)), measured(500, 5.0), measured(STEPS, 6.0)]
    assert "have the same distribution" in the("overfitting", a_case(log)).advice
    assert "have the same distribution" not in the("overfitting", a_case([*log, measured(100, 2.0)])).advice
