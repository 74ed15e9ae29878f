"""Signs that the learning rate is too high or too low."""

from dataclasses import replace

import pytest

from tests.headlight.diagnosis.records import STEPS, a_case, diagnose, falling, kinds, logged, measured, the


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
    assert actual[0].advice == "Learning rate: try 0.5 (now 0.005)."


def test_a_warmup_that_outlasts_the_training():
    low = 0.25 * 0.4 / 64  # a quarter of the usual rate: as far as such a warm-up comes
    slow = a_case([*logged(lambda step: 4.6 - step / 2500, rate=low), measured(STEPS, 4.2)], warmup_steps=4000)
    actual = the("learning_rate_too_low", slow)
    assert actual.advice == "Warm-up: try 100 steps, 10% of the training."
    assert "learning_rate_too_low" not in kinds(replace(slow, warmup_steps=400))
