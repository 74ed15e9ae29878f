"""The heads that decide between il and elle, against a recount over single sentences."""

import pytest

import transformer_core as tc
from headlight.analysis.heads.measures import HeadName
from headlight.analysis.pronouns.pronoun_heads import (
    ENOUGH,
    PronounHeads,
    pronoun_heads,
    pronoun_runs,
    set_effect,
)

N_PAIRS = 24

Loaded = tuple[tc.Transformer, tc.Tokenizer]

QUALITY_TO_IT, IT_TO_NOUN = HeadName("encoder", 0, 2), HeadName("encoder", 1, 0)
PREDICTION_TO_IT = (HeadName("cross", 1, 2), HeadName("cross", 1, 3))


@pytest.fixture(scope="module")
def found(en_fr: Loaded) -> PronounHeads:
    return pronoun_heads(*en_fr, n_pairs=N_PAIRS)


def test_one_head_is_enough_and_two_by_themselves_are(found: PronounHeads):
    assert (found.n_drawn, found.n_searched, found.n_measured) == (N_PAIRS, N_PAIRS // 2, N_PAIRS // 2)
    assert found.share_right == 1
    assert found.smallest is not None
    assert found.smallest.heads in ((QUALITY_TO_IT,), (IT_TO_NOUN,))
    assert found.smallest.n_checked == 1
    assert found.sufficient == (QUALITY_TO_IT, IT_TO_NOUN)
    assert min(found.equally_small[0].rates) == 1
    assert all(effect.rates.lower >= ENOUGH - 0.05 for effect in found.equally_small)
    assert min(found.everything) == 1


def test_other_heads_do_not_turn_the_pronoun(found: PronounHeads):
    shared = {*found.sufficient, *PREDICTION_TO_IT}
    others = [effect for effect in found.single if effect.heads[0] not in shared]
    assert len(others) == 20
    assert max(max(effect.rates) for effect in others) <= 0.1
    assert (found.remaining_sets.size, found.remaining_sets.n_sets) == (2, 50)
    assert found.remaining_sets.mean <= 0.1


def test_in_the_plural_the_same_heads_of_the_encoder_decide_and_two_of_the_decoder_together(en_fr: Loaded):
    """Of "they" in ils and elles; the gender reaches the decoder through two heads of cross-attention."""
    runs = pronoun_runs(*en_fr, n_pairs=12, plural=True)
    assert all(set_effect(runs, (head,)).rates.lower == 1 for head in (QUALITY_TO_IT, IT_TO_NOUN))
    assert all(set_effect(runs, (head,)).rates.lower < 1 for head in PREDICTION_TO_IT)
    assert set_effect(runs, PREDICTION_TO_IT).rates.lower == 1


def test_a_model_that_translates_nothing_right_is_refused(en_fr: Loaded):
    model = tc.build(tc.presets.tiny(vocab_size=en_fr[1].vocab_size)).eval()
    with pytest.raises(ValueError, match="translates 0 of 4 minimal pairs right"):
        pronoun_heads(model, en_fr[1], n_pairs=4)
