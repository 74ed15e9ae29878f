"""Batched patches against single sentences, each found by its words and run without padding."""

from collections.abc import Mapping

import numpy as np
import pytest

import transformer_core as tc
from grammars.en_fr.lexicon import ADJECTIVES
from headlight.analysis.heads.measures import HeadName, heads_of
from headlight.analysis.pronouns.patching import FlipRates, Outcome, PairBatch, PronounRuns, agreement, pair_batch
from tests.headlight.analysis.pronouns.by_hand import captured, place, sides
from transformer_core.corpora.shipped.en_fr.minimal_pairs import minimal_pairs

Loaded = tuple[tc.Transformer, tc.Tokenizer]


@pytest.fixture(scope="module")
def runs(en_fr: Loaded, batch: PairBatch) -> PronounRuns:
    return PronounRuns(en_fr[0], batch)


def check(outcome: Outcome, expected: list[float], is_flipped: list[bool]) -> None:
    assert outcome.difference == pytest.approx(np.array(expected), abs=2e-5)
    assert outcome.flipped.tolist() == is_flipped
    n = len(is_flipped) // 2
    assert outcome.rates == FlipRates(sum(is_flipped[:n]) / n, sum(is_flipped[n:]) / n)


@pytest.mark.parametrize(
    ("head", "role"),
    [
        (HeadName("encoder", 0, 1), "pronoun"),
        (HeadName("encoder", 1, 2), None),
        (HeadName("cross", 0, 2), "prediction"),
        (HeadName("decoder", 0, 1), None),
    ],
)
def test_a_patch_is_that_of_each_sentence_by_itself(
    en_fr: Loaded, batch: PairBatch, runs: PronounRuns, head: HeadName, role: str | None
):
    model, tokenizer = en_fr
    expected, is_flipped, name = [], [], tc.site("z", layer=head.layer, attention=head.attention)
    for _, one, partner in sides(tokenizer, batch.pairs):
        edit = tc.patch(
            captured(model, partner, name), heads=[head.head], positions=None if role is None else place(one, role)
        )
        with tc.intervene(model, {name: edit}):
            expected.append(one.difference(model))
            is_flipped.append(int(one.run(model).argmax()) == one.other)
    check(runs.patched([head], role=role), expected, is_flipped)
    alone = [one.difference(model) for _, one, _ in sides(tokenizer, batch.pairs)]
    assert runs.unpatched.difference == pytest.approx(np.array(alone), abs=2e-5)


def test_all_heads_in_every_place_give_the_other_side_where_nothing_else_mixes_positions(
    batch: PairBatch, runs: PronounRuns
):
    """The position of the pronoun's prediction reads the two sentences through heads alone."""
    outcome = runs.patched(heads_of(runs.model.config))
    partner = -np.roll(runs.unpatched.difference, batch.n_pairs)
    assert outcome.difference == pytest.approx(partner, abs=2e-5)


def test_models_without_these_words_are_refused(en_fr: Loaded):
    model, tokenizer = en_fr
    with pytest.raises(ValueError, match="draw at least one"):
        pair_batch(model, tokenizer, ())
    pairs = minimal_pairs(1)
    letters = tc.train_tokenizer([pairs[0].masculine.pair.source], kind="character")
    with pytest.raises(ValueError, match="word tokenizer"):
        pair_batch(model, letters, pairs)
    with pytest.raises(ValueError, match="trained on en-fr"):
        pair_batch(model, tc.train_tokenizer(["other words"], kind="word"), pairs)


def forms(pronoun: str) -> Mapping[str, str]:
    """Each English adjective's French form after il or elle."""
    gender = "masculine" if pronoun == "il" else "feminine"
    return {name: getattr(adjective, gender) for name, adjective in ADJECTIVES.items()}


@pytest.mark.parametrize("head", [HeadName("encoder", 0, 2), HeadName("encoder", 1, 0)])
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
    actual = agreement(runs, head)
    assert len(agrees) > 4, "else this test compares nothing"
    assert actual.agreeing == pytest.approx(np.mean(agrees))
    assert actual.exact == pytest.approx(np.mean(is_exact))
