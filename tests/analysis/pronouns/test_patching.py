"""Batched patches against single sentences, each found by its words and run without padding."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.analysis.pronouns.by_hand import captured, place, sides
from transformer_core.analysis.heads.measures import HeadName
from transformer_core.analysis.pronouns.pair_batch import PairBatch, pair_batch
from transformer_core.analysis.pronouns.patching import (
    FlipRates,
    HeadPatch,
    Outcome,
    PronounRuns,
    heads_of,
    rows_from_other_pairs,
)
from transformer_core.corpora.grammars.en_fr.minimal_pairs import draw_minimal_pairs

Loaded = tuple[tc.Transformer, tc.Tokenizer]


@pytest.fixture(scope="module", params=["shipped", "random"])
def loaded(request: pytest.FixtureRequest, en_fr: Loaded) -> Loaded:
    if request.param == "shipped":
        return en_fr
    config = tc.ModelConfig(
        vocab_size=en_fr[1].vocab_size,
        d_model=24,
        d_ff=20,
        n_heads=4,
        n_kv_heads=2,
        n_encoder_layers=2,
        n_decoder_layers=1,
        max_seq_len=40,
        positions="learned",
        norm_position="pre",
    )
    return tc.build(config, seed=3).eval(), en_fr[1]


@pytest.fixture(scope="module")
def runs(loaded: Loaded, batch: PairBatch) -> PronounRuns:
    return PronounRuns(loaded[0], batch)


def check(outcome: Outcome, expected: list[float], is_flipped: list[bool]) -> None:
    assert outcome.difference == pytest.approx(np.array(expected), abs=2e-5)
    assert outcome.flipped.tolist() == is_flipped
    n = len(is_flipped) // 2
    assert outcome.rates == FlipRates(sum(is_flipped[:n]) / n, sum(is_flipped[n:]) / n)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "part", "role"),
    [
        (HeadName("encoder", 0, 1), "z", None),
        (HeadName("encoder", 0, 1), "z", "pronoun"),
        (HeadName("encoder", 1, 0), "z", "rest"),
        (HeadName("encoder", 1, 0), "pattern", "pronoun"),
        (HeadName("encoder", 1, 0), "q", "pronoun"),
        (HeadName("encoder", 0, 1), "v", "quality"),
        (HeadName("encoder", 0, 1), "k", "object"),
        (HeadName("encoder", 1, 2), "z", "subject"),
        (HeadName("cross", 0, 0), "z", "prediction"),
        (HeadName("cross", 0, 2), "v", "pronoun"),
        (HeadName("decoder", 0, 1), "z", "earlier"),
        (HeadName("cross", 0, 0), "z", None),
    ],
)
def test_a_patch_is_that_of_each_sentence_by_itself(
    loaded: Loaded, batch: PairBatch, runs: PronounRuns, head: HeadName, part: str, role: str | None
):
    model, tokenizer = loaded
    outcome = runs.patched(HeadPatch(heads=(head,), part=part, role=role))
    expected, is_flipped = [], []
    attention = model.config
    index = head.head // (attention.n_heads // attention.n_kv_heads) if part in "kv" else head.head
    name = tc.site(part, layer=head.layer, attention=head.attention)
    for _, one, partner in sides(tokenizer, batch.pairs):
        taken = captured(model, partner, name)
        with tc.intervene(
            model, {name: tc.patch(taken, heads=[index], positions=None if role is None else place(one, role))}
        ):
            expected.append(one.difference(model))
            is_flipped.append(int(one.run(model).argmax()) == one.other)
    check(outcome, expected, is_flipped)


def test_without_a_patch_or_with_its_own_values_nothing_changes(loaded: Loaded, batch: PairBatch, runs: PronounRuns):
    model, tokenizer = loaded
    alone = [one.difference(model) for _, one, _ in sides(tokenizer, batch.pairs)]
    assert runs.unpatched.difference == pytest.approx(np.array(alone), abs=2e-5)
    held = runs.patched(HeadPatch(heads=heads_of(model.config), donors=runs.itself))
    np.testing.assert_allclose(held.difference, runs.unpatched.difference, atol=1e-6)


def test_all_heads_in_every_place_give_the_other_side_where_nothing_else_mixes_positions(
    batch: PairBatch, runs: PronounRuns
):
    """The position of the pronoun's prediction reads the two sentences through heads alone."""
    outcome = runs.patched(HeadPatch(heads=heads_of(runs.model.config)))
    partner = -np.roll(runs.unpatched.difference, batch.n_pairs)
    assert outcome.difference == pytest.approx(partner, abs=2e-5)


def test_a_held_head_blocks_the_path_through_it(loaded: Loaded, batch: PairBatch, runs: PronounRuns):
    model, tokenizer = loaded
    early, late = HeadName("encoder", 0, 1), HeadName("encoder", 1, 0)
    outcome = runs.patched(HeadPatch(heads=(early,)), HeadPatch(heads=(late,), donors=runs.itself))
    expected = []
    first, second = (tc.site("z", layer=head.layer, attention="encoder") for head in (early, late))
    for _, one, partner in sides(tokenizer, batch.pairs):
        edits = {
            first: tc.patch(captured(model, partner, first), heads=[early.head]),
            second: tc.patch(captured(model, one, second), heads=[late.head]),
        }
        with tc.intervene(model, edits):
            expected.append(one.difference(model))
    assert outcome.difference == pytest.approx(np.array(expected), abs=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("same_pronoun", [True, False])
@pytest.mark.parametrize("same_antecedent", [True, False])
def test_donors_are_as_asked_and_their_values_come_from_their_own_position(
    loaded: Loaded, batch: PairBatch, runs: PronounRuns, same_pronoun: bool, same_antecedent: bool
):
    model, tokenizer = loaded
    donors = rows_from_other_pairs(batch, same_pronoun=same_pronoun, same_antecedent=same_antecedent)
    both = sides(tokenizer, batch.pairs)
    head, name = HeadName("encoder", 1, 0), tc.site("z", layer=1, attention="encoder")
    expected, places = [], set()
    for row, (side, one, _) in enumerate(both):
        other_side, donor, _ = both[int(donors[row])]
        assert int(donors[row]) % batch.n_pairs != row % batch.n_pairs
        assert (donor.own == one.own) == same_pronoun
        assert (other_side.means_subject == side.means_subject) == same_antecedent
        (there,), (here,) = place(donor, "pronoun"), place(one, "pronoun")
        places.add(there - here)
        z = captured(model, donor, name)[name][:, head.head, there]

        def put(value: torch.Tensor, _: tc.Site, z: torch.Tensor = z, here: int = here) -> torch.Tensor:
            value[:, head.head, here] = z
            return value

        with tc.intervene(model, {name: put}):
            expected.append(one.difference(model))
    assert len(places) > 1, "donors must have the pronoun in other places for this test to tell anything"
    outcome = runs.patched(HeadPatch(heads=(head,), role="pronoun", donors=donors))
    assert outcome.difference == pytest.approx(np.array(expected), abs=2e-5)


def test_heads_are_in_the_order_of_computation(en_fr: Loaded):
    heads = heads_of(en_fr[0].config)
    assert len(heads) == 24
    layers = [head[:2] for head in heads[::4]]
    assert layers == [("encoder", 0), ("encoder", 1), ("decoder", 0), ("cross", 0), ("decoder", 1), ("cross", 1)]


def test_models_without_these_words_are_refused(en_fr: Loaded):
    model, tokenizer = en_fr
    with pytest.raises(ValueError, match="draw at least one"):
        pair_batch(model, tokenizer, ())
    pairs = draw_minimal_pairs(1)
    letters = tc.train_tokenizer([pairs[0].masculine.pair.source], kind="character")
    with pytest.raises(ValueError, match="word tokenizer"):
        pair_batch(model, letters, pairs)
    with pytest.raises(ValueError, match="trained on en-fr"):
        pair_batch(model, tc.train_tokenizer(["other words"], kind="word"), pairs)
