"""A built model: which matrices it shares, how it starts, and what it refuses to read."""

import copy
from typing import Any

import pytest
import torch
from torch import nn

import transformer_core as tc
from tests.model.building import (
    DECODER,
    ENCODER,
    VARIATIONS,
    both_stacks,
    each_variation,
    odd_config,
    random_inputs,
    random_tokens,
    varied_model,
)
from transformer_core.errors import TextError
from transformer_core.model.transformer import assemble

SAME_STORAGE = {
    "three_way": {"source and target": True, "target and unembed": True},
    "target": {"source and target": False, "target and unembed": True},
    "none": {"source and target": False, "target and unembed": False},
}


def shared(model: tc.Transformer) -> dict[str, bool]:
    embeddings = [stack.embed.weight for stack in both_stacks(model)]
    source, target, unembed = (weight.data_ptr() for weight in (*embeddings, model.unembed.weight))
    return {"source and target": source == target, "target and unembed": target == unembed}


@pytest.mark.parametrize("tie_embeddings", SAME_STORAGE)
def test_tying_shares_storage(tie_embeddings: str):
    model = tc.build(odd_config(tie_embeddings=tie_embeddings))
    assert shared(model) == SAME_STORAGE[tie_embeddings]
    assert shared(copy.deepcopy(model)) == SAME_STORAGE[tie_embeddings]
    model.load_state_dict(tc.build(model.config, seed=1).state_dict())
    assert shared(model.double()) == SAME_STORAGE[tie_embeddings]


@pytest.mark.parametrize("alone", [DECODER, ENCODER], ids=["decoder", "encoder"])
@pytest.mark.parametrize("tie_embeddings", ["target", "none"])
def test_one_stack_shares_its_embedding_with_the_last_layer(alone: dict[str, Any], tie_embeddings: str):
    model = tc.build(odd_config(**alone | {"tie_embeddings": tie_embeddings}))
    stack = model.decoder or model.encoder
    assert stack is not None
    assert (stack.embed.weight is model.unembed.weight) == (tie_embeddings == "target")
    assert (model.encoder is None) == (alone is DECODER) and (model.decoder is None) == (alone is ENCODER)


@each_variation
def test_the_same_seed_gives_the_same_bits(variation: str):
    config = odd_config(**VARIATIONS[variation])
    first = tc.build(config, seed=3).state_dict()
    torch.manual_seed(99)  # the seed alone decides
    again, other = tc.build(config, seed=3).state_dict(), tc.build(config, seed=4).state_dict()
    for name, value in first.items():
        assert torch.equal(value, again[name]), name
        is_constant = value.std() == 0  # biases, and the norms' weights
        assert torch.equal(value, other[name]) == is_constant, name


SIZES = {"vocab_size": 997, "d_model": 96, "d_ff": 200, "tie_embeddings": "none", "unembed_bias": True}


@pytest.mark.parametrize(
    "changes",
    [
        {"positions": "learned"},
        {"positions": "relative_buckets", "n_relative_buckets": 500, "relative_max_distance": 999, "gated": True},
        ENCODER | {"n_segments": 70, "embedding_norm": True, "unembed_transform": True, "norm_position": "pre"},
        DECODER | {"qk_norm": True, "n_kv_heads": 1, "norm": "rms"},
    ],
    ids=["learned", "buckets", "encoder", "decoder"],
)
def test_it_starts_as_it_says(changes: dict[str, Any]):
    for name, value in tc.build(odd_config(**changes | SIZES)).state_dict().items():
        if value.ndim == 1:
            is_weight_of_norm = "norm" in name or "ln" in name
            assert torch.equal(value, torch.full_like(value, float(is_weight_of_norm and "weight" in name))), name
        elif "embed." in name or "table" in name or "position_bias" in name or name == "unembed.weight":  # normal
            assert value.std().item() == pytest.approx(96**-0.5, rel=0.1), name
            assert value.mean().abs() < 5 * 96**-0.5 / value.numel() ** 0.5, name
        else:  # uniform in +-sqrt(6 / (fan_in + fan_out)); Glorot and Bengio 2010, eq. (16)
            bound = (6 / sum(value.shape)) ** 0.5
            assert 0.99 * bound < value.abs().max() <= bound, name
            assert value.std().item() == pytest.approx(bound / 3**0.5, rel=0.05), name


@each_variation
@torch.no_grad()
def test_an_empty_model_takes_a_built_one_s_weights(variation: str):
    """Assembled without memory, filled, and tied again: the same model."""
    model = varied_model(variation)
    empty = assemble(model.config)
    assert {parameter.device.type for parameter in empty.parameters()} == {"meta"}
    assert {name: p.shape for name, p in empty.named_parameters()} == {n: p.shape for n, p in model.named_parameters()}
    empty.load_state_dict({name: value.clone() for name, value in model.state_dict().items()}, assign=True)
    empty.tie()
    assert len([*empty.parameters()]) == len([*model.parameters()])
    inputs = random_inputs(model)
    assert torch.equal(empty.eval()(*inputs), model(*inputs))


@pytest.mark.parametrize(
    "variation, expected",
    [
        ("buckets", {"encoder.position_bias.weight": (7, 3), "decoder.position_bias.weight": (7, 3)}),
        ("window", {"encoder.pos_embed.table": (24, 48), "decoder.blocks.1.mlp.gate.weight": (80, 48)}),
        ("rotary, groups", {"decoder.blocks.0.cross_attn.k.weight": (24, 48)}),
        ("decoder, q/k norm", {"decoder.blocks.0.self_attn.q_norm.weight": (30,), "decoder.ln_final.weight": (48,)}),
        ("encoder", {"encoder.segment_embed.weight": (3, 48), "encoder.embedding_norm.bias": (48,)}),
        ("encoder", {"unembed.bias": (37,), "unembed_transform.linear.weight": (48, 48)}),
    ],
)
def test_parameters_have_their_names_and_shapes(variation: str, expected: dict[str, tuple[int, ...]]):
    """Checkpoint folders, and the tables of other libraries' models, are written in these names."""
    state = assemble(odd_config(**VARIATIONS[variation])).state_dict()
    assert {name: tuple(state[name].shape) for name in expected} == expected


def test_too_long_or_empty_is_refused_with_the_numbers():
    model = tc.build(odd_config())
    fits, too_long, empty = (random_tokens([n], vocab_size=37) for n in (24, 1025, 0))
    for src, tgt in ((too_long, fits), (fits, too_long)):
        with pytest.raises(TextError, match=r"^the text has 1,025 tokens, and this model takes at most 24; shorten"):
            model(src, tgt)
    for src, tgt in ((empty, fits), (fits, empty)):
        with pytest.raises(TextError, match="give at least one"):
            model(src, tgt)


def test_each_part_has_its_dropout_probability():
    """A published mistake: a dropout argument that is accepted and never used."""
    model = tc.build(odd_config(dropout=0.3, dropout_pattern=0.2))
    probabilities = {name: part.p for name, part in model.named_modules() if isinstance(part, nn.Dropout)}
    assert {p for name, p in probabilities.items() if name.endswith("dropout_pattern")} == {0.2}
    assert {p for name, p in probabilities.items() if not name.endswith("dropout_pattern")} == {0.3}
    # Each of the 6 attentions has both kinds; each of the 4 feed-forward networks and each stack's embedding has one.
    assert len(probabilities) == 2 * 6 + 4 + 2
