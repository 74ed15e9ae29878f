"""Disguises against what they must not change: logits, the effects of heads, where heads look."""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.german import in_german
from tests.model.building import DECODER, ENCODER, odd_config, random_inputs, shaken_model, small_config, varied_model
from tests.programs.compiled_examples import example
from tests.programs.texts import N_RANDOM, loss, repeated_texts
from transformer_core.analysis.heads.composition import composition_scores
from transformer_core.errors import ConfigError, ProgramError
from transformer_core.programs import EXAMPLES, INPUTS, roles
from transformer_core.programs.disguise import (
    noisy,
    permuted_heads,
    random_rotation,
    rotated,
    with_decoys,
    with_duplicate,
)
from transformer_core.programs.hand_wired import induction_model, or_model

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


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def with_unit_gains(model: tc.Transformer) -> tc.Transformer:
    for name, parameter in model.named_parameters():
        if model.config.norm == "rms" and (".ln" in name or "norm" in name):
            parameter.fill_(1)
    return model


def assert_near(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=0, atol=1e-5)


def name(stem: str, layer: int) -> str:
    return tc.site(stem, layer=layer, attention="decoder")


# Any model computes the same


@pytest.mark.parametrize("changes", ONE_STACK)
@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_disguise_keeps_the_function_and_the_given_model(disguise: str, changes: str):
    model = with_unit_gains(shaken_model(odd_config(**ONE_STACK[changes])))
    before = copy.deepcopy(model.state_dict())
    other = DISGUISES[disguise](model)
    inputs = random_inputs(model)
    assert_near(other(*inputs), model(*inputs))
    assert other.config.changed(n_heads=model.config.n_heads) == model.config
    assert not {*map(id, other.parameters())} & {*map(id, model.parameters())}
    assert before.keys() == model.state_dict().keys()
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    n_matrices = sum(parameter.ndim > 1 for parameter in model.parameters())
    assert sum(parameter.ndim > 1 for parameter in other.parameters()) == n_matrices  # tied ones stay tied


def test_the_dtype_and_the_mode_stay():
    model = shaken_model(odd_config(**ONE_STACK["decoder with MLP"])).double().train()
    for disguise in DISGUISES.values():
        other = disguise(model)
        assert other.training
        assert {parameter.dtype for parameter in other.parameters()} == {torch.float64}


def test_the_program_is_kept_where_heads_keep_their_numbers():
    model = copy.deepcopy(H)
    vars(model)["program"] = program = object()
    kept = (rotated(model), with_decoys(model, 1), with_duplicate(model, 0, 0), noisy(model, 0.1))
    assert all(type(vars(other)["program"]) is type(program) for other in kept)
    assert "program" not in vars(permuted_heads(model, 0, [1, 0]))
    assert vars(model)["program"] is program


def test_two_stacks_can_be_rotated_and_shaken():
    for variation in ("no norm", "buckets"):
        model = with_unit_gains(varied_model(variation))
        inputs = random_inputs(model)
        assert_near(rotated(model)(*inputs), model(*inputs))
        assert_near(noisy(model, 0.0)(*inputs), model(*inputs))


# The induction circuit: outputs, effects and roles


@torch.no_grad()
def effects_and_roles(model: tc.Transformer) -> dict[tuple[int, int], Tensor]:
    """By head: nats of three ablations, and its mean share on the previous token and as an induction head."""
    base, measured = loss(model(TEXTS), TEXTS), {}
    with tc.capture(model, "*.hook_z", "*.hook_pattern") as acts:
        model(TEXTS)
    queries = torch.arange(N_RANDOM + 1, 2 * N_RANDOM)
    for layer in range(2):
        z, pattern = acts[name("z", layer)], acts[name("pattern", layer)]
        for head in range(model.config.n_heads):
            ablations = (
                tc.zero(heads=[head]),
                tc.replace(z.mean(dim=0), heads=[head]),
                tc.patch({name("z", layer): z.roll(-1, dims=0)}, heads=[head]),
            )
            row = [pattern[:, head, queries, queries - back].mean() for back in (1, N_RANDOM - 1)]
            for ablation in ablations:
                with tc.intervene(model, {name("z", layer): ablation}):
                    row.append(torch.tensor(loss(model(TEXTS), TEXTS) - base))
            measured[layer, head] = torch.stack([value.float() for value in row])
    return measured


TRUE_ROLES = effects_and_roles(H)


def test_a_rotation_changes_no_effect_and_no_role():
    model = copy.deepcopy(H).double()  # of numbers up to 10, float32 keeps little more than the 1e-5 that is asked
    other = rotated(model, seed=1)
    assert_near(other(TEXTS), model(TEXTS))
    for head, measured in effects_and_roles(other).items():
        assert_near(measured, TRUE_ROLES[head])
    for score, expected in zip(composition_scores(other, "decoder"), composition_scores(H, "decoder"), strict=True):
        assert score[0, :, 1].ravel().tolist() == pytest.approx(expected[0, :, 1].ravel().tolist(), abs=1e-6)
    embedding = other.get_parameter("decoder.embed.weight")
    assert int((embedding.abs() > 1e-3).sum()) > 0.9 * embedding.numel()  # no one-hot code is left


def test_permuted_heads_take_effects_and_roles_with_them():
    other = permuted_heads(permuted_heads(H, 1, [1, 0]), 0, [1, 0])
    measured = effects_and_roles(other)
    for layer, head in TRUE_ROLES:
        assert_near(measured[layer, head], TRUE_ROLES[layer, 1 - head])


def test_decoys_look_sharply_and_have_no_effect():
    other = with_decoys(H, 3, seed=2)
    measured = effects_and_roles(other)
    for head, expected in TRUE_ROLES.items():
        assert_near(measured[head], expected)
    with tc.capture(other, "*.hook_pattern", "*.hook_result") as acts:
        other(TEXTS)
    for layer in range(2):
        for head in (2, 3, 4):
            assert measured[layer, head][2:].tolist() == [0, 0, 0]
            assert not acts[name("result", layer)][:, head].any()
            assert float(acts[name("pattern", layer)][:, head].amax(dim=-1).mean()) > 0.8
            weights = tc.weights(other, layer, head, "decoder")
            assert weights.w_o.any() and not weights.w_v.any()
    again, with_another_seed = with_decoys(H, 3, seed=2), with_decoys(H, 3, seed=4)
    key = f"{name('z', 0).removesuffix('hook_z')}q.weight"
    assert torch.equal(again.state_dict()[key], other.state_dict()[key])
    assert not torch.equal(with_another_seed.state_dict()[key], other.state_dict()[key])


def test_decoys_are_sharp_in_other_models_too():
    for changes in ONE_STACK.values():
        model = with_decoys(with_unit_gains(shaken_model(odd_config(**changes))), 4)
        with tc.capture(model, "*.hook_pattern") as acts:
            model(*random_inputs(model, lengths=(12, 12)))
        for pattern in acts.values():
            assert float(pattern[:, -4:].amax(dim=-1).mean()) > 0.8


def test_a_duplicate_looks_alike_and_halves_the_output():
    other = with_duplicate(H, 1, 0)
    with tc.capture(other, "*.hook_pattern", "*.hook_result") as acts:
        other(TEXTS)
    with tc.capture(H, "*.hook_pattern", "*.hook_result") as true_acts:
        H(TEXTS)
    for head in (0, 2):
        assert_near(acts[name("pattern", 1)][:, head], true_acts[name("pattern", 1)][:, 0])
        assert_near(acts[name("result", 1)][:, head], true_acts[name("result", 1)][:, 0] / 2)
    assert not acts[name("result", 0)][:, 2].any()
    measured = effects_and_roles(other)
    assert measured[1, 0][2] < TRUE_ROLES[1, 0][2] / 10  # half of a gain of 10 nats is almost enough
    with tc.intervene(other, {name("z", 1): tc.zero(heads=[0, 2])}):
        both_off = loss(other(TEXTS), TEXTS)
    assert both_off - loss(other(TEXTS), TEXTS) == pytest.approx(float(TRUE_ROLES[1, 0][2]), abs=1e-5)


# Noise


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
    little, much = (loss(noisy(H, scale)(TEXTS), TEXTS) for scale in (0.01, 0.5))
    assert little < 0.01 < 0.1 < much


def test_a_rotation_is_orthogonal_and_of_its_seed():
    rotation = random_rotation(9, seed=1)
    torch.testing.assert_close(rotation @ rotation.T, torch.eye(9, dtype=torch.float64), rtol=0, atol=1e-12)
    assert torch.equal(rotation, random_rotation(9, seed=1))
    assert not torch.equal(rotation, random_rotation(9, seed=2))


# What cannot be disguised so


def refusal(disguise: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(ConfigError) as error:
        disguise()
    return str(error.value), in_german(error.value)


@pytest.mark.parametrize(
    "variation, word",
    [("the paper's", "layer"), ("pre-norm, no biases of norms", "layer_without_bias"), ("buckets", "rms")],
)
def test_a_norm_with_gains_cannot_be_rotated(variation: str, word: str):
    english, german = refusal(lambda: rotated(varied_model(variation)))
    assert english.endswith(f"of gain 1; this model has norm {word}")
    assert german != english and word in german


@pytest.mark.parametrize(
    "changes", [{"norm": "none", "norm_position": "pre"}, ENCODER | NO_NORM | {"unembed_transform": True}]
)
def test_what_is_no_matrix_cannot_be_rotated(changes: dict[str, Any]):
    english, german = refusal(lambda: rotated(shaken_model(small_config(**changes))))
    assert "sinusoidal positions or an unembed_transform" in english
    assert german != english


@pytest.mark.parametrize(
    "variation",
    ["no norm", "decoder, rotary", "decoder, alibi, window", "decoder, buckets", "encoder, buckets, groups"],
)
def test_heads_that_share_something_are_not_renumbered(variation: str):
    model = varied_model(variation)
    for disguise in (
        lambda: with_decoys(model, 1),
        lambda: with_duplicate(model, 0, 0),
        lambda: permuted_heads(model, 0, [0, 1, 2]),
    ):
        english, german = refusal(disguise)
        assert english.startswith("heads can only be added, split or reordered in a model with one stack")
        assert german != english


def test_heads_and_orders_that_are_not_there_are_named():
    for disguise in (
        lambda: with_duplicate(H, 0, 2),
        lambda: with_duplicate(H, 2, 0),
        lambda: with_duplicate(H, 0, -1),
    ):
        english, german = refusal(disguise)
        assert "it has 2 layers of 2 heads, counted from 0" in english
        assert german != english
    for order in ([0], [0, 0], [1, 2]):
        english, german = refusal(lambda order=order: permuted_heads(H, 0, order))
        assert english == f"the order must name each head from 0 to 1 once; got {order}"
        assert german != english
    english, german = refusal(lambda: with_decoys(or_model().model, -1))
    assert english == "the number of decoys must be at least 0, got -1"
    assert german != english


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_disguised_program_computes_the_same(name: str):
    model, tokenizer = example(name)
    rng = random.Random(0)
    for _ in range(5):
        tokens = INPUTS[name](rng)
        ids = torch.tensor([tokenizer.encode_for(" ".join(tokens), model.config.architecture)])
        with torch.inference_mode():
            expected = model(ids)[0, 1 : len(tokens) + 1].argmax(-1)
            for disguised in (rotated(model, 1), with_decoys(model, 2), with_duplicate(model, 0, 0)):
                assert torch.equal(disguised(ids)[0, 1 : len(tokens) + 1].argmax(-1), expected), tokens


def test_roles_follow_a_rotation_and_are_unknown_once_heads_are_renumbered():
    model, _ = example("shuffle_dyck_2")
    assert roles(rotated(model)) == roles(with_decoys(model, 1)) == roles(model)
    with pytest.raises(ProgramError, match="was not compiled"):
        roles(permuted_heads(model, 0, [3, 2, 1, 0]))
