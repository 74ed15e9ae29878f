"""Signs that the learning rate is too high or too low."""

from dataclasses import replace

import pytest

from tests.headlight.diagnosis.records import STEPS, a_case, diagnose, falling, kinds, logged, measured, probed, the


def test_a_loss_that_rises_again():
    run = a_case(logged(lambda step: 4.0 - step / 200 if step < 400 else 2.0 + (step - 400) / 300))
    actual = the("learning_rate_too_high", run)
    assert actual.severity == "problem"
    assert "has risen to" in actual.evidence
    assert not {"undertrained", "plateau", "learning_rate_too_low"} & {*kinds(run)}


def test_a_loss_that_rises_in_the_warmup_is_told_early():
    run = a_case(logged(lambda step: 2.0 + abs(step - 300) / 60, until=600), warmup_steps=900, steps=9000)
    assert "too_early" in kinds(a_case(logged(falling(2.0), until=600), warmup_steps=900, steps=9000))
    assert [finding.kind for finding in diagnose(run)] == ["learning_rate_too_high"]


def test_jumps_that_do_not_last_are_none():
    """A single bad batch, or batches of similar lengths, which differ from each other."""
    for places in ((60,), (30, 50, 70, 90)):
        log = logged(falling(2.0, half_life=50))
        for place in places:
            log[place]["loss"] += 5.0
        assert "learning_rate_too_high" not in kinds(a_case([*log, measured(STEPS, 2.0)]))


def test_harder_batches_are_none_where_the_held_out_loss_is_lower_than_ever():
    log = logged(lambda step: 4.0 - step / 200 if step < 400 else 2.0 + (step - 400) / 300)
    run = a_case([*log, measured(300, 2.6), measured(600, 2.4), measured(1000, 2.1)])
    assert "learning_rate_too_high" not in kinds(run)
    assert "learning_rate_too_high" in kinds(a_case([*log, measured(300, 2.6), measured(1000, 3.6)]))


def test_a_rate_far_above_the_usual_explains_why_little_is_learnt():
    stuck = [*logged(falling(3.0, half_life=40), rate=8 * 0.4 / 64), measured(STEPS, 3.0)]
    actual = the("learning_rate_too_high", a_case(stuck, learning_rate_factor=4.0))
    assert actual.advice.startswith("Learning rate: try 0.5 (now 4)")  # 0.4 / 64 * sqrt(64 * 100)
    good = [*logged(falling(0.5), rate=8 * 0.4 / 64), measured(STEPS, 0.5)]
    assert kinds(a_case(good)) == ["well"]


@pytest.mark.parametrize(("ratio", "is_told"), [(0.05, True), (0.2, False), (0.5, False)])
def test_a_rate_that_is_a_little_low_is_advice_at_most(ratio: float, is_told: bool):
    log = logged(falling(4.2, half_life=40), rate=ratio * 0.4 / 64)
    run = a_case([*log, measured(STEPS, 4.2)], learning_rate_factor=ratio / 2)
    assert ("learning_rate_too_low" in kinds(run)) == is_told


def test_a_rate_far_below_the_usual_explains_it_too():
    slow = [*logged(lambda step: 4.6 - step / 2500, rate=0.4 / 64 / 100), measured(STEPS, 4.2)]
    actual = diagnose(a_case(slow, learning_rate_factor=0.005))
    assert [finding.kind for finding in actual] == ["learning_rate_too_low", "unigram_baseline"]
    assert actual[0].advice == "Learning rate: try 0.5 (now 0.005), the usual value for a model of this width."


def test_a_warmup_that_outlasts_the_training():
    low = 0.25 * 0.4 / 64  # a quarter of the usual rate: as far as such a warm-up comes
    slow = a_case([*logged(lambda step: 4.6 - step / 2500, rate=low), measured(STEPS, 4.2)], warmup_steps=4000)
    actual = the("learning_rate_too_low", slow)
    assert actual.advice == "Warm-up: try 100 steps, 10% of the training."
    assert "learning_rate_too_low" not in kinds(replace(slow, warmup_steps=400))


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
