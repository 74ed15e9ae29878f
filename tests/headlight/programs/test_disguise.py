"""Disguises against what they must not change: logits, the effects of heads, where heads look."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from headlight.programs import roles
from headlight.programs.disguise import (
    noisy,
    permuted_heads,
    random_rotation,
    rotated,
    with_decoys,
    with_duplicate,
)
from headlight.programs.hand_wired import induction_model, or_model
from tests.headlight.programs.compiled_examples import example
from tests.headlight.programs.test_hand_wired import composition
from tests.headlight.programs.texts import loss, repeated_texts
from tests.model.building import DECODER, ENCODER, odd_config, random_inputs, shaken_model, small_config, varied_model
from transformer_core.errors import ConfigError, ProgramError

pytestmark = pytest.mark.usefixtures("without_gradients")
H = induction_model().model
TEXTS = repeated_texts()[:40]

Disguise = Callable[[tc.Transformer], tc.Transformer]

NO_NORM: dict[str, Any] = {"norm": "none", "norm_position": "pre", "scale_embeddings": False, "positions": "learned"}
ONE_STACK: dict[str, dict[str, Any]] = {
    "decoder with MLP": DECODER | NO_NORM,
    "encoder with MLP": ENCODER | NO_NORM | {"n_segments": 2, "tie_embeddings": "none", "unembed_bias": True},
    "decoder, rotary": DECODER | {"norm": "rms", "norm_position": "pre", "positions": "rotary_halves", "gated": True},
    "encoder, attention only": ENCODER | NO_NORM | {"d_ff": 0, "attention_bias": "none"},
}
DISGUISES: dict[str, Disguise] = {
    "rotated": lambda model: rotated(model, seed=3),
    "decoys": lambda model: with_decoys(model, 2, seed=3),
    "no decoys": lambda model: with_decoys(model, 0),
    "duplicate": lambda model: with_duplicate(model, 1, 0),
    "permuted": lambda model: permuted_heads(model, 1, [*reversed(range(model.config.n_heads))]),
    "no noise": lambda model: noisy(model, 0.0),
    "all": lambda model: rotated(with_duplicate(with_decoys(permuted_heads(model, 0, [1, 0, 2]), 1), 1, 0), seed=4),
}


def with_unit_gains(model: tc.Transformer) -> tc.Transformer:
    for name, parameter in model.named_parameters():
        if model.config.norm == "rms" and (".ln" in name or "norm" in name):
            parameter.fill_(1)
    return model


def assert_near(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=0, atol=1e-5)


def name(stem: str, layer: int) -> str:
    return tc.site(stem, layer=layer, attention="decoder")


def acts_of(model: tc.Transformer, site: str) -> Tensor:
    with tc.capture(model, site) as acts:
        model(TEXTS)
    return acts[site]


@pytest.mark.parametrize("changes", ONE_STACK)
@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_disguise_keeps_the_function_and_the_given_model(disguise: str, changes: str):
    model = with_unit_gains(shaken_model(odd_config(**ONE_STACK[changes])))
    before = copy.deepcopy(model.state_dict())
    other = DISGUISES[disguise](model)
    inputs = random_inputs(model)
    assert_near(other(*inputs), model(*inputs))
    assert DISGUISES[disguise](model.double().train()).unembed.weight.dtype == torch.float64
    assert DISGUISES[disguise](model).training
    model.float().eval()
    assert other.config.changed(n_heads=model.config.n_heads) == model.config
    assert not {*map(id, other.parameters())} & {*map(id, model.parameters())}
    assert before.keys() == model.state_dict().keys()
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    n_matrices = sum(parameter.ndim > 1 for parameter in model.parameters())
    assert sum(parameter.ndim > 1 for parameter in other.parameters()) == n_matrices  # tied ones stay tied


def test_a_rotation_leaves_no_one_hot_code_and_permuted_heads_take_their_patterns_with_them():
    model = copy.deepcopy(H).double()  # of numbers up to 10, float32 keeps little more than the required 1e-5
    other = rotated(model, seed=1)
    assert_near(other(TEXTS), model(TEXTS))
    embedding = other.get_parameter("decoder.embed.weight")
    assert int((embedding.abs() > 1e-3).sum()) > 0.9 * embedding.numel()
    assert composition(other) == pytest.approx(composition(H), abs=1e-6)
    patterns, permuted = (acts_of(model, name("pattern", 0)) for model in (H, permuted_heads(H, 0, [1, 0])))
    assert_near(permuted[:, [1, 0]], patterns)


def test_decoys_look_sharply_and_have_no_effect():
    other = with_decoys(H, 3, seed=2)
    for layer in range(2):
        pattern, result = (acts_of(other, name(stem, layer)) for stem in ("pattern", "result"))
        assert_near(pattern[:, :2], acts_of(H, name("pattern", layer)))
        assert not result[:, 2:].any() and float(pattern[:, 2:].amax(dim=-1).mean()) > 0.8
        weights = tc.weights(other, layer, 3, "decoder")
        assert weights.w_o.any() and not weights.w_v.any()
    key = f"{name('z', 0).removesuffix('hook_z')}q.weight"
    again, with_another_seed = with_decoys(H, 3, seed=2), with_decoys(H, 3, seed=4)
    assert torch.equal(again.state_dict()[key], other.state_dict()[key])
    assert not torch.equal(with_another_seed.state_dict()[key], other.state_dict()[key])


def test_a_duplicate_looks_alike_and_halves_the_output():
    other = with_duplicate(H, 1, 0)
    for head in (0, 2):
        assert_near(acts_of(other, name("pattern", 1))[:, head], acts_of(H, name("pattern", 1))[:, 0])
        assert_near(acts_of(other, name("result", 1))[:, head], acts_of(H, name("result", 1))[:, 0] / 2)
    assert not acts_of(other, name("result", 0))[:, 2].any()


def test_noise_is_as_large_as_asked_and_leaves_biases():
    model = shaken_model(odd_config(**ONE_STACK["decoder with MLP"]))
    other = noisy(model, 0.5, seed=1)
    for (key, value), after in zip(model.named_parameters(), other.parameters(), strict=True):
        if value.ndim == 1:
            assert torch.equal(value, after)
        else:
            assert float((after - value).std() / value.std()) == pytest.approx(0.5, rel=0.1), key
    assert torch.equal(noisy(model, 0.5, seed=1).unembed.weight, other.unembed.weight)
    assert not torch.equal(noisy(model, 0.5, seed=2).unembed.weight, other.unembed.weight)
    rotation = random_rotation(9, seed=1)
    assert torch.equal(rotation, random_rotation(9, seed=1)) and not torch.equal(rotation, random_rotation(9, seed=2))
    little, much = (loss(noisy(H, scale)(TEXTS), TEXTS) for scale in (0.01, 0.5))
    assert little < 0.01 < 0.1 < much


def test_roles_follow_a_rotation_and_are_unknown_once_heads_are_renumbered():
    model, _ = example("shuffle_dyck_2")
    assert roles(rotated(model)) == roles(with_decoys(model, 1)) == roles(model)
    with pytest.raises(ProgramError, match="was not compiled"):
        roles(permuted_heads(model, 0, [3, 2, 1, 0]))


SHARED_HEADS = "heads can only be added, split or reordered in a model with one stack"
NOT_THERE = "it has 2 layers of 2 heads, counted from 0"
REFUSALS: dict[str, tuple[str, Callable[[], object]]] = {
    "gains": ("of gain 1; this model has norm layer", lambda: rotated(varied_model("the paper's"))),
    "waves": ("sinusoidal positions", lambda: rotated(shaken_model(small_config(norm="none", norm_position="pre")))),
    "two stacks": (SHARED_HEADS, lambda: with_decoys(varied_model("no norm"), 1)),
    "groups": (SHARED_HEADS, lambda: with_duplicate(varied_model("encoder, buckets, groups"), 0, 0)),
    "slopes": (SHARED_HEADS, lambda: permuted_heads(varied_model("decoder, alibi, window"), 0, [0, 1, 2])),
    "gains by head": (SHARED_HEADS, lambda: permuted_heads(varied_model("decoder, q/k norm"), 0, [0, 1, 2])),
    "no head": (NOT_THERE, lambda: with_duplicate(H, 0, 2)),
    "below 0": (NOT_THERE, lambda: with_duplicate(H, 0, -1)),
    "half an order": ("name each head from 0 to 1 once", lambda: permuted_heads(H, 0, [0])),
    "too few decoys": ("must be at least 0, got -1", lambda: with_decoys(or_model().model, -1)),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_cannot_be_disguised_is_refused(case: str):
    text, disguise = REFUSALS[case]
    with pytest.raises(ConfigError, match=text):
        disguise()
