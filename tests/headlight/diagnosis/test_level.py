"""What a loss amounts to, beside the entropies that tables of counts reach."""

import pytest

from tests.headlight.diagnosis.records import STEPS, a_case, falling, kinds, logged, measured, the


def standing_at(loss: float, **changes):
    """A run that has come to stand at a held-out loss, of 4.6 for an even guess, 4.0 and 2.5 for tables of counts."""
    return a_case([*logged(falling(loss, half_life=40)), measured(STEPS, loss)], **changes)


@pytest.mark.parametrize(
    ("loss", "kind"),
    [
        (4.6, "no_better_than_guessing"),
        (4.1, "unigram_baseline"),
        (3.95, "unigram_baseline"),
        (3.8, "bigram_baseline"),
        (2.46, "bigram_baseline"),
        (1.0, "well"),
    ],
)
def test_the_level_is_named(loss: float, kind: str):
    levels = {"no_better_than_guessing", "unigram_baseline", "bigram_baseline", "well"}
    assert levels & {*kinds(standing_at(loss))} == {kind}


def test_the_numbers_are_told():
    actual = the("bigram_baseline", standing_at(3.0))
    assert actual.severity == "note"  # the best that some data allow
    assert the("unigram_baseline", standing_at(3.95)).severity == "problem"
    assert "3.00 nats at step 1,000" in actual.evidence and "4.00 nats, the bigram baseline 2.50" in actual.evidence


def test_where_a_table_of_pairs_knows_no_more_than_frequencies_there_is_no_level_between():
    assert "unigram_baseline" in kinds(standing_at(3.99, bigram_entropy=4.01))
    assert kinds(standing_at(2.0, bigram_entropy=4.01)) == ["well"]


def test_an_encoder_sees_both_neighbours_so_the_token_before_means_nothing():
    assert "bigram_baseline" not in kinds(standing_at(3.0, architecture="encoder_only"))
    assert kinds(standing_at(1.0, architecture="encoder_only")) == ["well"]


def test_without_entropies_only_an_even_guess_is_known():
    unknown = {"unigram_entropy": None, "bigram_entropy": None}
    assert "no_better_than_guessing" in kinds(standing_at(4.6, **unknown))
    assert not {"unigram_baseline", "bigram_baseline", "well"} & {*kinds(standing_at(3.0, **unknown))}


def test_a_smoothed_training_loss_is_told_without_its_smoothing():
    """At a smoothing of 0.1 among 100 tokens, nobody comes below 0.78: 1.3 is a good loss, of 0.94 nats at most."""
    run = a_case(logged(falling(1.3, half_life=40)), label_smoothing=0.1, steps=3000)
    actual = the("nothing_unusual", run)
    assert (
        "at most 0.9" in actual.evidence and "without label smoothing" in actual.evidence
    )  # (1.3 - 0.1 log 100) / 0.9


def test_what_judges_outputs_goes_before_the_loss():
    log = logged(falling(1.0, half_life=40))
    for judged, message in (
        ({"exact_match": 0.95, "accuracy": 0.99}, "95% exact match"),
        ({"coherent": 0.9}, "“coherent”"),
        ({"determined_accuracy": 0.9}, "tokens that the text determines"),
    ):
        run = a_case([*log, measured(STEPS, 1.0, **judged)])
        assert kinds(run) == ["well"]
        assert message in the("well", run).evidence
    assert "well" not in kinds(a_case([*log, measured(STEPS, 1.0, exact_match=0.3)]))


def test_a_poor_level_is_no_problem_yet_while_the_loss_falls():
    run = a_case([*logged(lambda step: 4.6 - step / 1500, until=700), measured(700, 4.1)])
    assert the("unigram_baseline", run).severity == "note"
    assert the("unigram_baseline", run).advice.startswith("Wait for all 1,000 steps")
