"""What a loss amounts to, beside the entropies that tables of counts reach."""

import pytest

from tests.training.diagnosis.records import STEPS, evidence, falling, kinds, logged, measured, the
from transformer_core.training.diagnosis import diagnose


def standing_at(loss: float, **changes):
    """A run that has come to stand at a held-out loss, of 4.6 for an even guess, 4.0 and 2.5 for tables of counts."""
    return evidence([*logged(falling(loss, half_life=40)), measured(STEPS, loss)], **changes)


@pytest.mark.parametrize(
    ("loss", "kind"),
    [
        (9.0, "no_better_than_guessing"),
        (4.6, "no_better_than_guessing"),
        (4.35, "no_better_than_guessing"),
        (4.1, "guesses_by_frequency"),
        (3.95, "guesses_by_frequency"),
        (3.9, "looks_one_token_back"),
        (3.8, "looks_one_token_back"),
        (2.5, "looks_one_token_back"),
        (2.46, "looks_one_token_back"),
        (1.0, "well"),
    ],
)
def test_the_level_is_named(loss: float, kind: str):
    levels = {"no_better_than_guessing", "guesses_by_frequency", "looks_one_token_back", "well"}
    assert levels & {*kinds(standing_at(loss))} == {kind}


def test_the_numbers_are_told():
    found = the("looks_one_token_back", standing_at(3.0))
    assert found.severity == "problem"
    assert found.evidence == (
        "Held-out loss is 3.00 nats at step 1,000, while the frequencies of the tokens alone give 4.00 nats, and a "
        "table of which token follows which 2.50 nats."
    )
    assert "4.61 nats" in the("no_better_than_guessing", standing_at(4.6)).evidence


def test_where_a_table_of_pairs_knows_no_more_than_frequencies_there_is_no_level_between():
    assert "guesses_by_frequency" in kinds(standing_at(3.99, bigram_entropy=4.01))
    assert kinds(standing_at(2.0, bigram_entropy=4.01)) == ["well"]


def test_an_encoder_sees_both_neighbours_so_the_token_before_means_nothing():
    assert "looks_one_token_back" not in kinds(standing_at(3.0, architecture="encoder_only"))
    (well,) = diagnose(standing_at(1.0, architecture="encoder_only"))
    assert well.kind == "well" and "writes" not in well.advice
    assert "well" not in kinds(standing_at(3.0, architecture="encoder_only"))  # 4.0 is what frequencies give


def test_without_entropies_only_an_even_guess_is_known():
    unknown = {"unigram_entropy": None, "bigram_entropy": None}
    assert "no_better_than_guessing" in kinds(standing_at(4.6, **unknown))
    assert not {"guesses_by_frequency", "looks_one_token_back", "well"} & {*kinds(standing_at(3.0, **unknown))}
    nonsense = {"unigram_entropy": float("nan"), "bigram_entropy": float("inf")}
    assert kinds(standing_at(3.0, **nonsense)) == kinds(standing_at(3.0, **unknown))


def test_a_smoothed_training_loss_is_told_without_its_smoothing():
    """At a smoothing of 0.1 among 100 tokens, nobody comes below 0.78: 1.3 is a good loss, of 0.94 nats at most."""
    run = evidence(logged(falling(1.3, half_life=40)), label_smoothing=0.1, steps=3000)
    found = the("nothing_unusual", run)
    assert "at most 0.9" in found.evidence and "without smoothing" in found.evidence  # (1.3 - 0.1 log 100) / 0.9
    assert "1.3" not in found.evidence


def test_what_judges_outputs_goes_before_the_loss():
    log = logged(falling(1.0, half_life=40))
    good = evidence([*log, measured(STEPS, 1.0, exact_match=0.95, accuracy=0.99)])
    assert kinds(good) == ["well"]
    assert diagnose(good)[0].evidence.startswith("95% of its outputs are right; held-out loss is 1.00 nats")
    assert "well" not in kinds(evidence([*log, measured(STEPS, 1.0, exact_match=0.3)]))
    assert "“coherent”" in the("well", evidence([*log, measured(STEPS, 1.0, coherent=0.9)])).evidence
    assert "can be known" in the("well", evidence([*log, measured(STEPS, 3.0, determined_accuracy=0.9)])).evidence


def test_a_poor_level_is_no_problem_yet_while_the_loss_falls():
    run = evidence([*logged(lambda step: 4.6 - step / 500, until=700), measured(700, 3.4)])
    assert the("looks_one_token_back", run).severity == "note"
    assert the("looks_one_token_back", run).advice.startswith("Let it go on")
