"""The path of the pronoun: what is written under a patch and cells, recounted by sentence; and what the path is."""

from collections.abc import Mapping

import numpy as np
import pytest

import transformer_core as tc
from tests.analysis.pronouns.by_hand import captured, place, sides
from transformer_core.analysis.heads.measures import HeadName
from transformer_core.analysis.pronouns.pair_batch import PairBatch
from transformer_core.analysis.pronouns.patching import PronounRuns, heads_of
from transformer_core.analysis.pronouns.pronoun_path import (
    PronounPath,
    agreement,
    cell_effect,
    position_map,
    pronoun_path,
)
from transformer_core.corpora.grammars.en_fr.lexicon import ADJECTIVES

Loaded = tuple[tc.Transformer, tc.Tokenizer]

QUALITY_TO_IT, IT_TO_NOUN, PREDICTION_TO_IT = HEADS = (
    HeadName("encoder", 0, 1),
    HeadName("encoder", 1, 0),
    HeadName("cross", 1, 0),
)


@pytest.fixture(scope="module")
def runs(en_fr: Loaded, batch: PairBatch) -> PronounRuns:
    return PronounRuns(en_fr[0], batch)


@pytest.fixture(scope="module")
def path(runs: PronounRuns) -> PronounPath:
    return pronoun_path(runs, HEADS)


def forms(pronoun: str) -> Mapping[str, str]:
    """Each English adjective's French form after il or elle."""
    gender = "masculine" if pronoun == "il" else "feminine"
    return {name: getattr(adjective, gender) for name, adjective in ADJECTIVES.items()}


@pytest.mark.slow
@pytest.mark.parametrize("head", HEADS[:2])
def test_what_is_written_is_that_of_each_sentence_by_itself(
    runs: PronounRuns, batch: PairBatch, en_fr: Loaded, head: HeadName
):
    model, tokenizer = en_fr
    name = tc.site("z", layer=head.layer, attention="encoder")
    is_flipped, is_exact, agrees = [], [], []
    for side, one, partner in sides(tokenizer, batch.pairs):
        edit = tc.patch(captured(model, partner, name), heads=[head.head], positions=[one.words.index("it")])
        with tc.intervene(model, {name: edit}):
            tokens = tc.greedy_decode(model, one.src).tokens[0].tolist()
        text = tokenizer.decode(tokens).lower()
        before, _, after = text.partition(" parce qu'")
        pronoun, *rest = after.rstrip(".").split()
        own = "il" if one.own == tokenizer.encode("il")[0] else "elle"
        expected = side.pair.target.lower().partition(" parce qu'")[0]
        is_flipped.append(before == expected and pronoun in ("il", "elle") and pronoun != own)
        is_exact.append(text == side.forced.lower())
        quality = one.words[-3]
        if is_flipped[-1] and quality in ADJECTIVES and forms("il")[quality] != forms("elle")[quality]:
            agrees.append(rest[-1] == forms(pronoun)[quality])
    found = agreement(runs, head)
    masculine, feminine = np.split(np.array(is_flipped), 2)
    assert found.rates == pytest.approx((masculine.mean(), feminine.mean()))
    assert found.n_gendered == len(agrees)
    assert len(agrees) > 4, "else this test compares nothing"
    assert found.agreeing == pytest.approx(np.mean(agrees))
    assert found.exact == pytest.approx(np.mean(is_exact))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "key"), [(QUALITY_TO_IT, "quality"), (IT_TO_NOUN, "antecedent"), (IT_TO_NOUN, "other noun")]
)
def test_a_cell_is_knocked_out_as_in_each_sentence_by_itself(
    runs: PronounRuns, batch: PairBatch, en_fr: Loaded, head: HeadName, key: str
):
    model, tokenizer = en_fr
    name = tc.site("pattern", layer=head.layer, attention="encoder")
    weights: list[float] = []
    is_flipped: dict[bool, list[bool]] = {True: [], False: []}
    for side, one, _ in sides(tokenizer, batch.pairs):
        (query,), nouns = place(one, "pronoun"), ("subject", "object") if side.means_subject else ("object", "subject")
        (key_place,) = place(one, {"antecedent": nouns[0], "other noun": nouns[1]}.get(key, key))
        weights.append(float(captured(model, one, name)[name][0, head.head, query, key_place]))
        for renormalize, flips in is_flipped.items():
            with tc.intervene(model, {name: tc.zero(cells=[(head.head, query, key_place)], renormalize=renormalize)}):
                flips.append(int(one.run(model).argmax()) == one.other)
    found = cell_effect(runs, head, key)
    assert found.weight == pytest.approx(np.mean(weights), abs=1e-6)
    for rates, renormalize in ((found.knocked_out, True), (found.set_to_zero, False)):
        masculine, feminine = np.split(np.array(is_flipped[renormalize]), 2)
        assert rates == pytest.approx((masculine.mean(), feminine.mean()))


@pytest.mark.slow
def test_the_positions_are_it_and_the_one_that_predicts_the_pronoun(path: PronounPath, runs: PronounRuns):
    effects = {(one.head, one.role): one.rates for one in path.positions}
    assert len(effects) == 5 + 5 + 2
    decisive = {(QUALITY_TO_IT, "pronoun"), (IT_TO_NOUN, "pronoun"), (PREDICTION_TO_IT, "prediction")}
    for place_, rates in effects.items():
        assert min(rates) >= 0.75 if place_ in decisive else max(rates) == 0, place_
    assert len(position_map(runs)) == 8 * 5 + 16 * 2


def test_the_first_head_works_through_the_second_and_the_second_through_the_last_layer(path: PronounPath):
    held = {(one.head, one.held): one.rates for one in path.held}
    assert len(held) == 6
    assert held[QUALITY_TO_IT, (IT_TO_NOUN,)] == (0, 0)
    last = tuple(head for head in heads_of(tc.load("checkpoints/en-fr")[0].config) if head[:2] == ("cross", 1))
    assert held[IT_TO_NOUN, last] == (0, 0)


def test_the_first_head_says_which_noun_and_the_others_its_gender(path: PronounPath):
    """From other sentences: one head carries what a noun is in the sentence, whatever its gender; two carry gender."""
    for one in path.transfers:
        is_other = not (one.same_antecedent if one.head == QUALITY_TO_IT else one.same_pronoun)
        assert min(one.rates) >= 0.75 if is_other else max(one.rates) == 0, one


def test_the_second_head_is_steered_by_its_query_and_the_last_one_by_its_values(path: PronounPath):
    parts = {(one.head, one.part): min(one.rates) for one in path.parts}
    for head, decisive in ((IT_TO_NOUN, {"z", "pattern", "q"}), (PREDICTION_TO_IT, {"z", "v"})):
        assert {part for part in ("z", "pattern", "q", "k", "v") if parts[head, part] >= 0.75} == decisive
        assert all(parts[head, part] == 0 for part in {"z", "pattern", "q", "k", "v"} - decisive)
