"""Signs that the learning rate is too high or too low, and clipping."""

from dataclasses import replace

import pytest

from tests.training.diagnosis.records import STEPS, evidence, falling, kinds, logged, measured, the
from transformer_core.training.diagnosis import diagnose


def test_a_loss_that_rises_again():
    run = evidence(logged(lambda step: 4.0 - step / 200 if step < 400 else 2.0 + (step - 400) / 300))
    found = the("learning_rate_too_high", run)
    assert found.severity == "problem"
    assert "has risen to" in found.evidence
    assert not {"undertrained", "plateau", "learning_rate_too_low"} & {*kinds(run)}


def test_a_loss_that_rises_in_the_warmup_is_told_early():
    run = evidence(logged(lambda step: 2.0 + abs(step - 300) / 60, until=600), warmup_steps=900, steps=9000)
    assert "too_early" in kinds(evidence(logged(falling(2.0), until=600), warmup_steps=900, steps=9000))
    assert [finding.kind for finding in diagnose(run)] == ["learning_rate_too_high"]


def test_a_single_bad_batch_is_none():
    log = logged(falling(1.0, half_life=50))
    log[60]["loss"] += 5.0
    assert "learning_rate_too_high" not in kinds(evidence([*log, measured(STEPS, 1.0)]))


def test_jumps_again_and_again():
    log = logged(falling(3.0, half_life=50))
    for i in (30, 50, 70, 90):
        log[i]["loss"] += 5.0
    found = the("learning_rate_too_high", evidence([*log, measured(STEPS, 3.0)]))
    assert "4 logged steps" in found.evidence and "step 900" in found.evidence


@pytest.mark.parametrize(("jump", "places"), [(5.0, (30, 60)), (0.6, (30, 50, 70, 90))])
def test_few_or_small_jumps_are_none(jump: float, places: tuple[int, ...]):
    log = logged(falling(3.0, half_life=50))
    for place in places:
        log[place]["loss"] += jump
    assert "learning_rate_too_high" not in kinds(evidence([*log, measured(STEPS, 3.0)]))


def test_a_small_rise_is_none():
    for rise, is_told in ((0.2, False), (0.5, True)):
        run = evidence(logged(lambda step, rise=rise: max(2.0, 4.0 - step / 200) + rise * max(0, step - 400) / 600))
        assert ("learning_rate_too_high" in kinds(run)) == is_told


def test_long_gradients_count_where_nothing_is_learnt():
    stuck = [*logged(falling(4.0, half_life=40), norm=30.0), measured(STEPS, 4.0)]
    assert "more than 10 times" in the("learning_rate_too_high", evidence(stuck)).evidence
    assert "learning_rate_too_high" not in kinds(evidence(stuck, clip_norm=None))
    for every, is_told in ((30, False), (5, True)):
        now_and_then = logged(falling(4.0, half_life=40))
        for line in now_and_then[::every]:
            line["gradient_norm"] = 30.0
        run = evidence([*now_and_then, measured(STEPS, 4.0)])
        assert ("learning_rate_too_high" in kinds(run)) == is_told
    assert kinds(evidence([*logged(falling(0.5), norm=30.0), measured(STEPS, 0.5)])) == ["well"]


def test_a_rate_far_above_the_usual_explains_why_little_is_learnt():
    stuck = [*logged(falling(3.0, half_life=40), rate=8 * 0.4 / 64), measured(STEPS, 3.0)]
    found = the("learning_rate_too_high", evidence(stuck, learning_rate_factor=4.0))
    assert "8.0 times what is usual for a width of 64" in found.evidence
    assert found.advice.startswith("Learning rate: try 0.5 (now 4)")  # 0.4 / 64 * sqrt(64 * 100)
    good = [*logged(falling(0.5), rate=8 * 0.4 / 64), measured(STEPS, 0.5)]
    assert kinds(evidence(good)) == ["well"]
    for rate, loss, is_told in ((2, 3.0, False), (8, 1.5, True), (8, 0.9, False)):
        log = logged(falling(loss, half_life=40), rate=rate * 0.4 / 64)
        run = evidence([*log, measured(STEPS, loss, exact_match=0.3)])
        assert ("learning_rate_too_high" in kinds(run)) == is_told


@pytest.mark.parametrize(("ratio", "is_told"), [(0.05, True), (0.2, False), (0.5, False)])
def test_a_rate_that_is_a_little_low_is_advice_at_most(ratio: float, is_told: bool):
    log = logged(falling(4.2, half_life=40), rate=ratio * 0.4 / 64)
    run = evidence([*log, measured(STEPS, 4.2)], learning_rate_factor=ratio / 2)
    assert ("learning_rate_too_low" in kinds(run)) == is_told
    if not is_told:
        assert the("guesses_by_frequency", run).advice.startswith("Learning rate: try 0.5") == (ratio < 1 / 3)


def test_a_rate_far_below_the_usual_explains_it_too():
    slow = [*logged(lambda step: 4.6 - step / 2500, rate=0.4 / 64 / 100), measured(STEPS, 4.2)]
    found = diagnose(evidence(slow, learning_rate_factor=0.005))
    assert [finding.kind for finding in found] == ["learning_rate_too_low", "guesses_by_frequency"]
    assert "1% of what is usual" in found[0].evidence
    assert found[0].advice == "Learning rate: try 0.5 (now 0.005)."
    assert (found[1].severity, found[1].advice) == ("note", "Mend the problem above first: this comes of it.")


def test_a_warmup_that_outlasts_the_training():
    low = 0.25 * 0.4 / 64  # a quarter of the usual rate: as far as such a warm-up comes
    slow = evidence([*logged(lambda step: 4.6 - step / 2500, rate=low), measured(STEPS, 4.2)], warmup_steps=4000)
    found = the("learning_rate_too_low", slow)
    assert found.title == "The warm-up is too long"
    assert found.advice == "Warm-up: try 100 steps, a tenth of all."
    on_its_way = [*logged(lambda step: 4.6 - step / 2500, until=600, rate=low), measured(600, 4.3)]
    assert "learning_rate_too_low" in kinds(evidence(on_its_way, warmup_steps=4000))
    assert "learning_rate_too_low" not in kinds(replace(slow, warmup_steps=400))
    high_enough = [*logged(lambda step: 4.6 - step / 2500, rate=2 * 0.4 / 64), measured(STEPS, 4.2)]
    assert "learning_rate_too_low" not in kinds(evidence(high_enough, warmup_steps=4000))


def test_clipping_all_the_time_is_a_remark():
    stuck = [*logged(falling(3.0, half_life=40), norm=2.5), measured(STEPS, 3.0)]
    found = the("gradient_clipped", evidence(stuck))
    assert found.severity == "note"
    assert "100% of the steps" in found.evidence and "Clip norm: try 2.5" in found.advice
    assert "gradient_clipped" not in kinds(evidence(stuck, clip_norm=5.0))
    for line in stuck[:-1:3]:
        line["gradient_norm"] = 0.5
    assert "gradient_clipped" not in kinds(evidence(stuck))
    stuck = [*logged(falling(3.0, half_life=40), norm=2.5), measured(STEPS, 3.0)]
    assert "gradient_clipped" not in kinds(evidence(stuck, clip_norm=None))
    assert kinds(evidence([*logged(falling(0.5), norm=2.5), measured(STEPS, 0.5)])) == ["well"]
