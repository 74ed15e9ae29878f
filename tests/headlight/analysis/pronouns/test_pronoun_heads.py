"""The heads that decide between il and elle, against a recount over single sentences."""

from itertools import chain, combinations

import pytest

import transformer_core as tc
from headlight.analysis.heads.measures import HeadName
from headlight.analysis.pronouns.pronoun_heads import (
    ENOUGH,
    Heads,
    PronounHeads,
    Score,
    pronoun_heads,
    pronoun_runs,
    random_sets,
    set_effect,
    smallest_set,
)

N_PAIRS = 24

Loaded = tuple[tc.Transformer, tc.Tokenizer]

QUALITY_TO_IT, IT_TO_NOUN = HeadName("encoder", 0, 2), HeadName("encoder", 1, 0)
PREDICTION_TO_IT = (HeadName("cross", 1, 2), HeadName("cross", 1, 3))


@pytest.fixture(scope="module")
def search(en_fr: Loaded) -> PronounHeads:
    return pronoun_heads(*en_fr, n_pairs=N_PAIRS)


def test_one_head_is_enough_and_two_by_themselves_are(search: PronounHeads):
    assert (search.n_drawn, search.n_measured) == (N_PAIRS, N_PAIRS // 2)
    assert search.share_right == 1
    assert search.smallest is not None
    assert search.smallest.heads in ((QUALITY_TO_IT,), (IT_TO_NOUN,))
    assert search.sufficient == (QUALITY_TO_IT, IT_TO_NOUN)
    assert min(search.equally_small[0].rates) == 1
    assert all(effect.rates.lower >= ENOUGH - 0.05 for effect in search.equally_small)
    assert min(search.everything) == 1


def test_other_heads_do_not_turn_the_pronoun(search: PronounHeads):
    shared = {*search.sufficient, *PREDICTION_TO_IT}
    others = [effect for effect in search.single if effect.heads[0] not in shared]
    assert len(others) == 20
    assert max(max(effect.rates) for effect in others) <= 0.1
    assert search.remaining_sets <= 0.1


def test_in_the_plural_the_same_heads_of_the_encoder_decide_and_two_of_the_decoder_together(en_fr: Loaded):
    """Of "they" in ils and elles; the gender reaches the decoder through two heads of cross-attention."""
    runs = pronoun_runs(*en_fr, n_pairs=12, plural=True)
    assert all(set_effect(runs, (head,)).rates.lower == 1 for head in (QUALITY_TO_IT, IT_TO_NOUN))
    assert all(set_effect(runs, (head,)).rates.lower < 1 for head in PREDICTION_TO_IT)
    assert set_effect(runs, PREDICTION_TO_IT).rates.lower == 1


def test_a_model_that_translates_nothing_right_is_refused(en_fr: Loaded):
    model = tc.build(tc.presets.tiny(vocab_size=en_fr[1].vocab_size)).eval()
    with pytest.raises(ValueError, match="translates 0 of 4 minimal pairs"):
        pronoun_heads(model, en_fr[1], n_pairs=4)


HEADS = tuple(HeadName("encoder", layer, head) for layer in range(2) for head in range(4))
A, B, C, D = HEADS[1], HEADS[4], HEADS[6], HEADS[7]


def any_of(*sets: Heads) -> Score:
    """All flips if one of these sets is patched, none if not; more heads of theirs are better."""

    def score(heads: Heads) -> tuple[float, float]:
        return float(any(set(one) <= set(heads) for one in sets)), float(len({*chain(*sets)} & {*heads}))

    return score


def by_trying_all(score: Score) -> list[Heads]:
    for size in range(1, len(HEADS) + 1):
        if enough := [heads for heads in combinations(HEADS, size) if score(heads)[0] >= 0.9]:
            return enough
    return []


@pytest.mark.parametrize(
    "score",
    [any_of((A,)), any_of((B,), (C,)), any_of((A, C)), any_of((A, B), (C, D)), any_of((A, B, D)), any_of((A, B, C, D))],
)
def test_the_smallest_set_is_one_of_those_found_by_trying_all(score: Score):
    actual = smallest_set(HEADS, score, at_least=0.9, most_sets=70)
    assert actual is not None
    expected = by_trying_all(score)
    assert actual.heads in expected
    assert list(actual.equally_small) == expected


def test_what_is_not_tried_in_full_is_not_said_to_be_the_smallest():
    score = any_of((A, B, C))
    actual = smallest_set(HEADS, score, at_least=0.9, most_sets=28)  # all sets of two, not all of three
    assert actual is not None
    assert (actual.heads, actual.equally_small) == ((A, B, C), ())

    greedy = smallest_set(HEADS, score, at_least=0.9, most_sets=0)
    assert greedy is not None
    assert (greedy.heads, greedy.equally_small) == ((A, B, C), ())


@pytest.mark.parametrize("most_sets", [0, 8, 100])
def test_where_no_set_is_enough_there_is_none(most_sets: int):
    def never(heads: Heads) -> tuple[float, float]:
        return 0.85, 0.0

    assert smallest_set(HEADS, never, at_least=0.9, most_sets=most_sets) is None


def test_random_sets_are_different_and_the_same_for_a_seed():
    drawn = random_sets(HEADS, 3, 50)
    assert len({*drawn}) == 50
    assert all(len({*heads}) == 3 and list(heads) == sorted(heads, key=HEADS.index) for heads in drawn)
    assert drawn == random_sets(HEADS, 3, 50)
    assert drawn != random_sets(HEADS, 3, 50, seed=1)
    assert {*chain(*drawn)} == {*HEADS}
    assert random_sets(HEADS, 1, 50) == tuple((head,) for head in HEADS)
