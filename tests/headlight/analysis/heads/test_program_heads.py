"""Heads of a program and trained heads: renumbered heads are found again, and an untrained model is far away."""

import copy
import itertools

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon  # type: ignore[import-untyped]

import transformer_core as tc
from headlight.analysis.heads.program_heads import MatchedHead, match_program
from headlight.programs import corpus as programs_corpus
from headlight.programs import roles
from tests.headlight.programs.compiled_examples import example
from transformer_core.corpora import load_corpus
from transformer_core.corpora.corpus import Corpus
from transformer_core.errors import ConfigError, ProgramError
from transformer_core.model.attention import MultiHeadAttention
from transformer_core.model.transformer import build


@pytest.fixture(scope="module")
def corpora() -> dict[str, Corpus]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(programs_corpus, "N_TRAIN", 30)
        patch.setattr(programs_corpus, "N_HELD_OUT", 16)
        return {name: load_corpus(f"program:{name}") for name in ("shuffle_dyck_2", "reverse", "shift")}


def attentions(model: tc.Transformer) -> list[MultiHeadAttention]:
    return [module for module in model.modules() if isinstance(module, MultiHeadAttention)]


def renumbered(model: tc.Transformer, order: list[int]) -> tc.Transformer:
    """The same model with the heads of each layer in another order: new head i is old head order[i]."""
    other = copy.deepcopy(model)
    d_head = model.config.d_head
    rows = torch.cat([torch.arange(head * d_head, (head + 1) * d_head) for head in order])
    with torch.no_grad():
        for attention in attentions(other):
            for projection in (attention.q, attention.k, attention.v):
                projection.weight.copy_(projection.weight[rows])
            attention.out.weight.copy_(attention.out.weight[:, rows])
    return other


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1], [3, 2, 1, 0]])
def test_renumbered_heads_are_found_again(corpora: dict[str, Corpus], order: list[int]):
    model, tokenizer = example("shuffle_dyck_2")
    match = match_program(model, renumbered(model, order), tokenizer, corpora["shuffle_dyck_2"], n_untrained=2)
    assert match.accuracy == 1.0
    assert [head.program_head for head in match.heads] == [*roles(model)]
    assert [head.role for head in match.heads] == [*roles(model).values()]
    for head in match.heads:
        layer, old = head.program_head
        assert head.trained_head == (layer, order.index(old))
        assert head.distance == pytest.approx(0, abs=1e-6)
        assert min(head.untrained) > 0.1


def test_distances_and_effects_are_what_plain_python_gives(corpora: dict[str, Corpus]):
    model, tokenizer = example("shift")
    corpus = corpora["shift"]
    trained = build(model.config.changed(n_heads=2, d_head=4, d_model=8, norm="layer"), seed=3).eval()
    match = match_program(model, trained, tokenizer, corpus, n_inputs=5, n_untrained=1)
    (head,) = match.heads
    assert match.n_inputs == 5
    assert 0 <= match.accuracy <= 1
    site = "decoder.blocks.{}.self_attn.hook_pattern"
    means = {}
    for candidate in itertools.product(range(trained.config.n_decoder_layers), range(2)):
        values = []
        for item in corpus.held_out[:5]:
            tokens = torch.tensor([tokenizer.encode(item.text, bos=True)])
            with torch.inference_mode(), tc.capture(model) as known, tc.capture(trained) as ours:
                model(tokens), trained(tokens)
            for query in range(1, tokens.shape[1]):
                rows = [known[site.format(0)][0, 0, query], ours[site.format(candidate[0])][0, candidate[1], query]]
                values.append(jensenshannon(*(row.double().numpy() for row in rows), base=2))
        means[candidate] = np.mean(values)
    assert head.trained_head == min(means, key=means.__getitem__)
    assert head.distance == pytest.approx(min(means.values()), abs=1e-5)


def test_a_head_that_is_needed_has_an_effect_and_one_that_writes_nothing_has_none(corpora: dict[str, Corpus]):
    model, tokenizer = example("reverse")
    match = match_program(model, model, tokenizer, corpora["reverse"], n_untrained=1)
    assert all(head.effect > 0.3 for head in match.heads)
    silent = copy.deepcopy(model)
    with torch.no_grad():
        attentions(silent)[0].out.weight.zero_()
    first, *_ = match_program(model, silent, tokenizer, corpora["reverse"], n_untrained=1).heads
    assert first.distance == pytest.approx(0, abs=1e-6)
    assert first.effect == 0


@pytest.mark.parametrize(
    ("distance", "effect", "is_convincing"), [(0.2, 0.3, True), (0.6, 0.3, False), (0.2, 0, False)]
)
def test_a_match_convinces_if_no_untrained_model_comes_near_and_the_head_is_needed(
    distance: float, effect: float, is_convincing: bool
):
    role, heads = roles(example("shift")[0])[0, 0], {"program_head": (0, 0), "trained_head": (0, 0)}
    head = MatchedHead(role=role, **heads, distance=distance, untrained=(0.5, 0.9), effect=effect)
    assert head.is_convincing == is_convincing


def test_models_that_cannot_be_compared(corpora: dict[str, Corpus]):
    model, tokenizer = example("shuffle_dyck_2")
    reverse, words = example("reverse")
    with pytest.raises(ConfigError, match="does not read the tokens"):
        match_program(model, reverse, tokenizer, corpora["shuffle_dyck_2"])
    small = build(model.config.changed(n_decoder_layers=1, n_heads=1, norm="layer"), seed=0).eval()
    with pytest.raises(ConfigError, match="the program has 5 heads, but the trained model has only 1"):
        match_program(model, small, tokenizer, corpora["shuffle_dyck_2"])
    with pytest.raises(ProgramError, match="not compiled"):
        match_program(build(reverse.config, seed=0), reverse, words, corpora["reverse"])
