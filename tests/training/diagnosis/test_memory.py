"""What was learnt by heart or read off, and how much there was to learn from."""

from tests.training.diagnosis.records import STEPS, evidence, falling, kinds, logged, measured, said, the
from transformer_core.training.diagnosis import diagnose


def test_a_held_out_loss_that_rises_while_the_training_loss_falls():
    run = evidence([*logged(falling(0.1)), measured(250, 1.9), measured(500, 2.2), measured(1000, 2.6)])
    (found,) = diagnose(run)
    assert (found.kind, found.severity) == ("overfitting", "problem")
    assert found.evidence.startswith("Held-out loss was best at step 250 (1.90 nats) and is now 0.70 nats higher")
    assert found.evidence.endswith("the training text was seen 10 times.")
    assert found.advice.startswith("Steps: stop near 250; Dropout: try 0.1 (now 0)")


def test_a_little_rise_is_none():
    run = evidence([*logged(falling(0.5)), measured(500, 0.6), measured(1000, 0.65)])
    assert kinds(run) == ["well"]
    for loss, is_told in ((1.96, False), (2.15, True)):
        run = evidence([*logged(falling(1.2)), measured(250, 1.9), measured(1000, loss)])
        assert ("overfitting" in kinds(run)) == is_told


def test_a_single_bad_measurement_on_the_way_is_none():
    way = [*logged(falling(1.2), until=600), measured(250, 1.9), measured(500, 2.2)]
    assert "overfitting" not in kinds(evidence(way))
    assert "overfitting" in kinds(evidence([*way, measured(600, 2.3)]))
    assert "overfitting" not in kinds(evidence([*logged(falling(1.6)), measured(500, 1.5), measured(1000, 1.62)]))


def test_with_outputs_as_right_as_ever_a_rise_is_a_remark():
    log = logged(falling(0.1))
    sure = [measured(250, 1.0, exact_match=0.9), measured(1000, 1.4, exact_match=0.95)]
    found = diagnose(evidence([*log, *sure]))
    assert [(finding.kind, finding.severity) for finding in found] == [("overfitting", "note"), ("well", "fine")]
    wrong = [measured(250, 1.0, exact_match=0.0), measured(1000, 1.4, exact_match=0.0)]
    assert the("overfitting", evidence([*log, *wrong])).severity == "problem"


def test_one_measurement_far_above_the_training_loss():
    log = [*logged(falling(0.1)), measured(STEPS, 2.9)]
    assert "does not carry over" in the("overfitting", evidence(log)).evidence
    assert "overfitting" not in kinds(evidence(log, tokens_seen=150_000))  # seen once and a half
    assert "Dropout" not in the("overfitting", evidence(log, dropout=0.3)).advice


def test_nothing_that_carries_over_may_be_a_fault_in_the_targets():
    log = [*logged(falling(0.1)), measured(500, 5.0), measured(STEPS, 6.0)]
    assert "check the Targets" in the("overfitting", evidence(log)).advice
    assert "check the Targets" not in the("overfitting", evidence([*log, measured(100, 2.0)])).advice


def test_outputs_are_wrong_that_must_be_right():
    """Of 100 outputs of 10 targets with 999 right guesses of 1,000, at most one can be wrong."""
    log = [*logged(falling(0.01)), measured(STEPS, 0.2, accuracy=0.999, exact_match=0.02)]
    (found,) = diagnose(evidence(log, mean_target_length=10.0))
    assert found.kind == "sees_its_answer"
    assert "at least 99% of its outputs should be; left alone, 2% are" in found.evidence
    assert "sees_its_answer" not in kinds(evidence(log, mean_target_length=800.0))  # each may have a slip
    assert "sees_its_answer" not in kinds(evidence(log))


def test_outputs_that_differ_by_capitals_alone_are_not_wrong():
    """A tokenizer that cannot give back a text exactly makes every exact match fail."""
    log = [*logged(falling(0.01)), measured(STEPS, 0.01, accuracy=0.999, exact_match=0.0)]
    written = [*said("The  cat", reference="the cat"), *said("A dog", reference="a dog")]
    assert "sees_its_answer" in kinds(evidence(log, mean_target_length=10.0))
    assert "sees_its_answer" not in kinds(evidence(log, mean_target_length=10.0, samples=written))


def test_nearly_no_loss_and_circles():
    log = [*logged(falling(0.01)), measured(STEPS, 0.01)]
    circles = said("la " * 20, "lo " * 20)
    text = {"architecture": "decoder_only"}
    (found,) = diagnose(evidence(log, samples=circles, **text))
    assert found.kind == "sees_its_answer"
    assert "0.01 nats" in found.evidence and "2.50 nats" in found.evidence
    assert kinds(evidence(log, samples=said("all is said", "and well"), **text)) == ["well"]
    assert kinds(evidence(log, samples=circles, bigram_entropy=0.05, **text))[-1] == "well"  # a text of circles
    by_heart = [*logged(falling(0.01)), measured(STEPS, 7.0)]
    assert "sees_its_answer" in kinds(evidence(by_heart, samples=circles, **text))
    assert "sees_its_answer" in kinds(evidence(by_heart, samples=said("", ""), **text))
    assert "overfitting" in kinds(evidence(by_heart, samples=said("all is said", "and well"), **text))


def test_better_on_new_text_than_on_held_out_text():
    log = [*logged(falling(0.1, half_life=30)), measured(500, 7.0), measured(1000, 7.5)]
    (found,) = diagnose(evidence(log, tokens_seen=90_000))
    assert found.kind == "sees_its_answer"
    assert "for the first time" in found.evidence and "7.00 nats" in found.evidence
    assert "masked" in diagnose(evidence(log, tokens_seen=90_000, architecture="encoder_only"))[0].advice
    assert "overfitting" in kinds(evidence(log, tokens_seen=500_000))  # measured when it was known by heart


def test_text_that_was_never_seen():
    log = [*logged(lambda step: 4.0 - step / 500)]
    found = the("less_than_one_epoch", evidence(log, tokens_seen=30_000))
    assert found.severity == "note"
    assert "30,000 of the 100,000 tokens" in found.evidence and "30%" in found.evidence
    assert "less_than_one_epoch" not in kinds(evidence(log, tokens_seen=100_000))
    assert "less_than_one_epoch" not in kinds(evidence(log, tokens_seen=None))


def test_few_tokens_for_the_parameters():
    log = [*logged(lambda step: 4.0 - step / 500)]
    found = the("few_tokens", evidence(log, tokens_seen=100_000, n_parameters=200_000))
    assert "0.50 for each of its 200,000 parameters" in found.evidence
    assert "few_tokens" not in kinds(evidence(log, tokens_seen=400_000, n_parameters=20_000))
    again = the("few_tokens", evidence(log, tokens_seen=4_000_000, n_parameters=100_000))  # 40 passes count as four
    assert again.advice.startswith("More training text")
    good = [*logged(falling(0.5)), measured(STEPS, 0.5)]
    assert kinds(evidence(good, tokens_seen=1000, n_parameters=10**9)) == ["well"]  # well is well
