"""Filling in blanks is a plain loop that puts tokens in by hand and reads everything again, only each state once."""

import math
from collections.abc import Callable
from functools import cache
from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from tests.decoding.test_tree import counting
from tests.model.building import ENCODER, shaken_model, small_config
from transformer_core.decoding.decoding_step import Aim
from transformer_core.decoding.filling import NOTHING, BlankPrediction, Filling, FillingTree
from transformer_core.errors import ConfigError, TextError
from transformer_core.instrument.capture import capture
from transformer_core.model.transformer import Transformer

MASK, PAD = 4, 0
TEXT = [1, 5, MASK, 7, MASK, MASK, 9, 2]
PLACES = [2, 4, 5]
SEEDS = range(6)
every_seed = pytest.mark.parametrize("seed", SEEDS)


@cache
def model_of(seed: int) -> Transformer:
    return shaken_model(small_config(**ENCODER, n_encoder_layers=2), seed=seed)


def tree_of(seed: int, text: list[int] = TEXT) -> FillingTree:
    return FillingTree(model_of(seed), torch.tensor([text]), mask_id=MASK)


shared_tree = cache(tree_of)


@torch.no_grad()
def said_naively(model: Transformer, text: list[int], place: int) -> list[float]:
    """One forward on the whole text; log-probabilities of all tokens at a place, none for mask and padding."""
    log_probs: list[float] = F.log_softmax(model(torch.tensor([text]))[0, place], dim=0).tolist()
    return [-math.inf if token in (MASK, PAD) else value for token, value in enumerate(log_probs)]


def filled_naively(model: Transformer, text: list[int]) -> list[tuple[int, int, float]]:
    """Place, token and log-probability of each choice: look through all masks for the largest number, put it in."""
    text, choices = text.copy(), []
    while MASK in text:
        best = (-1, -1, -math.inf)
        for place, held in enumerate(text):
            if held == MASK:
                for token, value in enumerate(said_naively(model, text, place)):
                    if value > best[2] + 1e-7:
                        best = (place, token, value)
        text[best[0]] = best[1]
        choices.append(best)
    return choices


def told(filling: Filling) -> list[tuple[int, int]]:
    return [(step.position, step.chosen.token) for step in filling.steps]


def n_forwards(model: Transformer, run: Callable[[], object]) -> int:
    with counting(model, "encoder.hook_embed") as passed:
        run()
    return len(passed)


@every_seed
def test_the_most_certain_first_is_the_naive_loop(seed: int):
    end, by_hand = tree_of(seed).fill_all(), filled_naively(model_of(seed), TEXT)
    assert told(end) == [(place, token) for place, token, _ in by_hand]
    assert [step.chosen.log_prob for step in end.steps] == pytest.approx([p for *_, p in by_hand], abs=1e-5)
    assert end.total_log_prob == pytest.approx(sum(p for *_, p in by_hand), abs=1e-5)
    assert all(step.is_models_own and step.chosen.rank == 0 for step in end.steps)


@every_seed
def test_what_is_said_at_each_blank(seed: int):
    tree = tree_of(seed)
    filling = tree.fill(NOTHING, 4, 11)
    text = [11 if place == 4 else token for place, token in enumerate(TEXT)]
    state = tree.read(filling)
    assert state.tokens == tuple(text) and [*state.blanks] == [2, 5] and state.ms > 0
    for place, blank in state.blanks.items():
        by_hand = said_naively(model_of(seed), text, place)
        np.testing.assert_allclose(blank.log_probs, by_hand, atol=1e-5)
        assert blank.entropy == pytest.approx(-sum(math.exp(p) * p for p in by_hand if p > -math.inf), abs=1e-5)
        ranked = sorted(range(len(by_hand)), key=lambda token: -by_hand[token])
        actual = blank.candidates(100)
        assert [one.token for one in actual] == ranked[: len(ranked) - 2]  # without mask and padding
        assert [one.rank for one in actual] == [*range(len(actual))]
        assert blank.best == actual[0] == blank.candidate(ranked[0])


@every_seed
def test_where_it_looked(seed: int):
    tree, model = tree_of(seed), model_of(seed)
    state = tree.read(tree.fill(NOTHING, 2, 6))
    with torch.no_grad(), capture(model, "encoder.*.hook_pattern") as acts:
        model(torch.tensor([state.tokens]))
    patterns = np.stack([acts[f"encoder.blocks.{layer}.self_attn.hook_pattern"][0].numpy() for layer in (0, 1)])
    for place, blank in state.blanks.items():
        np.testing.assert_allclose(blank.rows, patterns[:, :, place], atol=1e-6)
        row = patterns[1, :, place].mean(axis=0).tolist()
        key, weight = blank.most_attended(Aim(layer=1, head=0, mean="layer"))
        assert key == row.index(max(row)) and weight == pytest.approx(max(row), abs=1e-6)


@given(st.lists(st.sampled_from([5, 9, 12]), min_size=3, max_size=3), st.sampled_from([0, 1]))
def test_a_state_does_not_depend_on_the_order(tokens: list[int], seed: int):
    tree, choices = shared_tree(seed), list(zip(PLACES, tokens, strict=True))
    for n in (1, 2, 3):
        fillings = [tree.follow(ways) for ways in permutations(choices[:n])]
        assert len({filling.key for filling in fillings}) == 1
        assert len({id(tree.read(filling)) for filling in fillings}) == 1
        assert {tuple(told(filling)) for filling in fillings} == set(permutations(choices[:n]))


def test_nothing_is_computed_twice():
    tree, model = tree_of(0), model_of(0)
    assert n_forwards(model, tree.read) == 1
    assert n_forwards(model, tree.at_once) == 0
    assert (
        n_forwards(model, tree.fill_all) == 2
    )  # the first state is there, and after the last blank there is nothing to predict
    assert n_forwards(model, tree.fill_all) == 0
    one, other = tree.follow([(2, 6), (5, 7)]), [(5, 7), (2, 6)]
    assert n_forwards(model, lambda: tree.read(one)) == 1
    assert n_forwards(model, lambda: tree.read(tree.follow(other))) == 1  # only with place 5 filled and 2 open
    assert tree.n_bytes == sum(state.n_bytes for state in tree._states.values())


@every_seed
def test_all_at_once_no_blank_knows_of_another(seed: int):
    tree = tree_of(seed)
    for place, best in tree.at_once().items():
        by_hand = said_naively(model_of(seed), TEXT, place)
        assert best.token == max(range(len(by_hand)), key=by_hand.__getitem__)
        assert best.log_prob == pytest.approx(max(by_hand), abs=1e-5)
    one = tree.fill()
    assert [*tree.at_once(one)] == [place for place in PLACES if place != one.steps[0].position]
    assert tree.at_once(tree.fill_all()) == {}


def test_a_person_chooses_blank_and_token():
    tree = tree_of(1)
    surest = tree.read().certain_first[0]
    assert tree.fill(NOTHING, surest.position).steps == tree.fill().steps == tree.fill(token=surest.best.token).steps
    other = next(place for place in PLACES if place != surest.position)
    (step,) = tree.fill(NOTHING, other, 12).steps
    assert not step.is_models_own and (step.position, step.chosen.token) == (other, 12)
    assert step.chosen == tree.read().blanks[other].candidate(12)
    second = surest.candidates(2)[1]
    (chosen,) = tree.fill(NOTHING, surest.position, second.token).steps
    assert not chosen.is_models_own and chosen.chosen == second
    forked = tree.fill(tree.fill(NOTHING, other, 12))
    assert forked.first(1) == tree.fill(NOTHING, other, 12) and forked.first(0) == NOTHING
    assert forked.before(forked.steps[1].position) == forked.first(1)


def test_of_equal_blanks_the_leftmost_is_first():
    """A model without weights before its logits finds all tokens equal, everywhere."""
    model = shaken_model(small_config(**ENCODER))
    torch.nn.init.zeros_(model.unembed.weight)
    tree = FillingTree(model, torch.tensor([TEXT]), mask_id=MASK)
    assert len({blank.best.log_prob for blank in tree.read().blanks.values()}) == 1
    assert [blank.position for blank in tree.read().certain_first] == PLACES
    assert told(tree.fill_all()) == [(place, 1) for place in PLACES]  # token 0 is padding


def test_equal_tokens_share_their_rank_and_the_first_is_best():
    even = np.log(np.array([0.2, 0.3, 0.3, 0.2], dtype=np.float32))
    blank = BlankPrediction(position=0, log_probs=even, rows=np.ones((1, 1, 1), dtype=np.float32))
    assert [(one.token, one.rank) for one in blank.candidates(4)] == [(1, 0), (2, 0), (0, 2), (3, 2)]
    assert blank.best.token == 1


@pytest.mark.parametrize(
    ("position", "token", "words"),
    [
        (3, 5, "no blank at position 3; choose one of 2, 4, 5"),
        (5, 13, "token id 13 is not in the vocabulary; ids go from 0 to 12"),
        (5, MASK, "token 4 is a mask or padding"),
        (2, 5, "the blank at position 2 is already filled"),
    ],
)
def test_what_cannot_be_filled_in_is_told(position: int | None, token: int, words: str):
    tree = tree_of(0)
    filling = tree.fill(NOTHING, 2, 6)
    with pytest.raises(TextError, match=words):
        tree.fill(filling, position, token)
    end = tree.fill_all(filling)
    with pytest.raises(TextError, match="every blank is filled; go back"):
        tree.fill(end)


def test_texts_and_models_that_have_nothing_to_fill():
    with pytest.raises(TextError, match="no blank in this text; type ____"):
        tree_of(0, [1, 5, 6, 2])
    with pytest.raises(TextError, match="one text, got 2"):
        FillingTree(model_of(0), torch.tensor([TEXT, TEXT]), mask_id=MASK)
    with pytest.raises(ConfigError, match="no mask token"):
        FillingTree(model_of(0), torch.tensor([TEXT]), mask_id=None)
    with pytest.raises(ConfigError, match="is encoder-decoder and does not fill"):
        FillingTree(shaken_model(small_config()), torch.tensor([TEXT]), mask_id=MASK)


def test_padding_that_also_ends_texts_may_be_filled_in():
    model = shaken_model(small_config(**ENCODER, pad_id=2, eos_id=2))
    tree = FillingTree(model, torch.tensor([[1, 5, MASK]]), mask_id=MASK)
    assert np.isinf(tree.read().blanks[2].log_probs).nonzero()[0].tolist() == [MASK]
