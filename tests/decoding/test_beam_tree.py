"""Beam search in a tree against the search without one, and what it says of each beam."""

import math
from typing import Any

import pytest
import torch

import transformer_core as tc
from tests.decoding.test_tree import counting
from tests.model.building import DECODER, random_tokens, shaken_model, small_config
from transformer_core.decoding.beam import PenaltyForm
from transformer_core.decoding.beam_tree import BeamCandidate, BeamTree, search_beams
from transformer_core.decoding.decoding_step import DecodingStep
from transformer_core.decoding.tree import DecodingTree
from transformer_core.errors import ConfigError

EOS = 2
N_NEW = 7
ARCHITECTURES: dict[str, dict[str, Any]] = {"decoder_only": DECODER, "encoder_decoder": {}}
FORMS: list[PenaltyForm] = ["paper", "length"]


def wide_awake(architecture: str = "decoder_only", *, seed: int = 3, **changes: Any) -> tc.Transformer:
    """A model whose probabilities are far from even, so that searches differ."""
    config = small_config(**(ARCHITECTURES[architecture] | {"n_decoder_layers": 2, "tie_embeddings": "none"} | changes))
    model = shaken_model(config, seed=seed)
    with torch.no_grad():
        model.unembed.weight.mul_(4)
    return model


def tokens_of(steps: list[DecodingStep]) -> list[int]:
    return [step.token for step in steps]


def kept(level: tuple[BeamCandidate, ...]) -> list[BeamCandidate]:
    return [one for one in level if one.fate == "kept"]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_it_finds_what_the_search_without_a_tree_finds(architecture: str):
    """Many models, beams and penalties; texts that end, and texts that run out of room."""
    for seed, n_beams in enumerate((2, 3, 4, 5, 2, 3, 4, 5)):
        model = wide_awake(architecture, seed=seed)
        given = random_tokens([4], vocab_size=13, seed=seed)
        penalty, form = (0.0, 0.6, 1.0, 2.0, 0.6)[seed % 5], FORMS[seed % 2]
        actual = tc.beam_search(
            model, given, n_beams=n_beams, length_penalty=penalty, penalty_form=form, max_new_tokens=N_NEW
        )
        searched = search_beams(
            DecodingTree(model, given),
            n_beams=n_beams,
            length_penalty=penalty,
            penalty_form=form,
            max_new_tokens=N_NEW,
        )
        path = searched.best.path()
        assert tokens_of(path) == actual.tokens[0].tolist()
        n_written = len(searched.best.written())
        log_probs = actual.log_probs[0, -n_written:].tolist()
        assert [step.log_prob for step in path[-n_written:]] == pytest.approx(log_probs, abs=1e-5)
        check(searched, n_beams)


def check(searched: BeamTree, n_beams: int) -> None:
    before: set[DecodingStep | None] | None = None
    for depth, level in enumerate(searched.levels, start=1):
        assert [one.rank for one in level] == [*range(len(level))]
        assert [one.total for one in level] == sorted((one.total for one in level), reverse=True)
        assert [one.score for one in level] == sorted((one.score for one in level), reverse=True)
        assert len(kept(level)) <= n_beams
        worst = min((one.score for one in kept(level)), default=math.inf)
        for one in level:
            assert before is None or one.parent in before
            assert one.parent.prediction is not None
            assert one.log_prob == one.parent.prediction.candidate(one.token).log_prob
            assert one.total == pytest.approx(one.parent.total_log_prob + one.log_prob)
            assert (one.step is None) == (one.fate == "dropped")
            if one.step is not None:
                assert one.step is one.parent.children[one.token]
                assert len(one.step.written()) == depth
                assert one.step.total_log_prob == pytest.approx(one.total)
            if one.fate == "dropped":
                assert one.token == EOS or one.score <= worst
            if one.fate == "kept":
                assert one.token != EOS
            if one.token == EOS:
                assert (one.fate == "ended") == (one.rank < n_beams)
        before = {one.step for one in kept(level)}
    assert not before, "after the last level nothing continues"
    ended = [one for level in searched.levels for one in level if one.fate == "ended"]
    assert [*searched.finished] == sorted(ended, key=lambda one: -one.score)[:n_beams]
    assert searched.best is searched.finished[0].step


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nothing_is_computed_twice(architecture: str):
    model, given = wide_awake(architecture), random_tokens([5], vocab_size=13)
    with counting(model) as read:
        tree = DecodingTree(model, given)
        first = search_beams(tree, n_beams=3, max_new_tokens=N_NEW)
        n_first = 1 if architecture == "encoder_decoder" else 5
        assert read == [n_first] + [len(kept(level)) for level in first.levels[:-1]]
        read.clear()
        assert search_beams(tree, n_beams=3, max_new_tokens=N_NEW).best is first.best and read == []
        wider = search_beams(tree, n_beams=4, length_penalty=0.0, max_new_tokens=N_NEW)
        known = {one.step for level in first.levels[:-1] for one in kept(level)}
        new = [[one for one in kept(level) if one.step not in known] for level in wider.levels[:-1]]
        assert read == [len(level) for level in new if level]


def test_a_text_that_ends_at_once():
    """All but the last of the probability goes to <eos>: the empty text is best, and beams fill up meanwhile."""
    model = wide_awake("encoder_decoder", unembed_bias=True)
    with torch.no_grad():
        model.unembed.bias[EOS] += 60
    searched = search_beams(DecodingTree(model, random_tokens([4], vocab_size=13)), n_beams=3, length_penalty=0.0)
    assert tokens_of(searched.best.written()) == [EOS]
    assert searched.levels[0][0].fate == "ended"
    assert len(searched.levels) == 2, "each of the beams ends at its first chance"
    check(searched, 3)


def test_what_makes_no_sense_is_refused():
    model = wide_awake("decoder_only")
    tree = DecodingTree(model, random_tokens([3], vocab_size=13))
    with pytest.raises(ConfigError, match="n_beams must be at least 1, got 0"):
        search_beams(tree, n_beams=0)
    with pytest.raises(ConfigError, match=r"max_new_tokens \(10\) must be from 1 to 9"):
        search_beams(tree, max_new_tokens=10)
    with pytest.raises(ConfigError, match="length_penalty"):
        search_beams(tree, length_penalty=math.nan)
