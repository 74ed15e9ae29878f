"""The whole model against torch.nn.Transformer with the same weights."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import transformer_core as tc
from tests.model import by_hand
from tests.model.building import (
    DECODER,
    ENCODER,
    PAD,
    both_stacks,
    each_variation,
    odd_config,
    random_inputs,
    random_tokens,
    shaken_model,
    varied_model,
)
from transformer_core.errors import TextError
from transformer_core.model.attention import MultiHeadAttention
from transformer_core.model.block import Block

NORM_POSITIONS = pytest.mark.parametrize("norm_position", ["post", "pre"])


def named(prefix: str, module: nn.Module) -> dict[str, Tensor]:
    return {f"{prefix}.{name}": value for name, value in module.named_parameters()}


def attention_state(prefix: str, attention: MultiHeadAttention) -> dict[str, Tensor]:
    parts = (attention.q, attention.k, attention.v)
    return {
        f"{prefix}.in_proj_weight": torch.cat([part.weight for part in parts]),
        f"{prefix}.in_proj_bias": torch.cat([part.bias for part in parts]),
        **named(f"{prefix}.out_proj", attention.out),
    }


def block_state(prefix: str, block: Block) -> dict[str, Tensor]:
    """Our block under torch's names; a decoder's norms are counted in the order of its sub-layers."""
    norms = [block.ln1, block.ln2]
    state = attention_state(f"{prefix}.self_attn", block.self_attn)
    if block.has_cross_attention:
        norms.insert(1, block.ln_cross)
        state |= attention_state(f"{prefix}.multihead_attn", block.cross_attn)
    for i, norm in enumerate(norms, start=1):
        state |= named(f"{prefix}.norm{i}", norm)
    return state | named(f"{prefix}.linear1", block.mlp.up) | named(f"{prefix}.linear2", block.mlp.down)


def torch_twin(model: tc.Transformer) -> nn.Transformer:
    """Torch's own with the same weights; without last norms in post-norm, as in the paper and unlike its default."""
    c = model.config
    is_pre_norm = c.norm_position == "pre"
    sizes = (c.d_model, c.n_heads, c.d_ff, 0.0)
    encoder_layer = nn.TransformerEncoderLayer(*sizes, batch_first=True, norm_first=is_pre_norm)
    decoder_layer = nn.TransformerDecoderLayer(*sizes, batch_first=True, norm_first=is_pre_norm)
    norms = [nn.LayerNorm(c.d_model) if is_pre_norm else None for _ in range(2)]
    twin = nn.Transformer(
        c.d_model,
        c.n_heads,
        custom_encoder=nn.TransformerEncoder(
            encoder_layer, c.n_encoder_layers, norm=norms[0], enable_nested_tensor=False
        ),
        custom_decoder=nn.TransformerDecoder(decoder_layer, c.n_decoder_layers, norm=norms[1]),
        batch_first=True,
    )
    state: dict[str, Tensor] = {}
    for side, stack in zip(("encoder", "decoder"), both_stacks(model), strict=True):
        for i, block in enumerate(stack.blocks):
            assert isinstance(block, Block)
            state |= block_state(f"{side}.layers.{i}", block)
        if stack.ln_final is not None:
            state |= named(f"{side}.norm", stack.ln_final)
    twin.load_state_dict(state)
    return twin.train()  # without dropout; in evaluation torch takes another path, which zeroes padded positions


def twin_logits(twin: nn.Transformer, model: tc.Transformer, src: Tensor, tgt: Tensor) -> Tensor:
    """Torch's own between our embeddings and our last layer, with torch's masks: True = may not attend."""

    def embedded(tokens: Tensor, weight: Tensor) -> Tensor:
        d_model = weight.shape[1]
        positions = [[by_hand.sinusoid(pos, i, d_model) for i in range(d_model)] for pos in range(tokens.shape[1])]
        return weight[tokens] * d_model**0.5 + torch.tensor(positions)

    encoder, decoder = both_stacks(model)
    final = twin(
        embedded(src, encoder.embed.weight),
        embedded(tgt, decoder.embed.weight),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(tgt.shape[1]) != 0,
        src_key_padding_mask=src == PAD,
        tgt_key_padding_mask=tgt == PAD,
        memory_key_padding_mask=src == PAD,
    )
    return final @ model.unembed.weight.T


@NORM_POSITIONS
@pytest.mark.parametrize(
    "src_lengths, tgt_lengths",
    [([7, 7], [5, 5]), ([11, 3, 6], [2, 9, 9]), ([1, 13], [8, 1]), ([24], [24])],
    ids=["no padding", "padding on both sides", "lengths of one", "the longest"],
)
def test_torch_s_transformer(norm_position: str, src_lengths: list[int], tgt_lengths: list[int]):
    model = shaken_model(odd_config(norm_position=norm_position, n_decoder_layers=3))
    src, tgt = random_tokens(src_lengths, vocab_size=37), random_tokens(tgt_lengths, vocab_size=37, seed=1)
    logits = model(src, tgt)
    torch.testing.assert_close(logits, twin_logits(torch_twin(model), model, src, tgt), rtol=1e-5, atol=1e-5)
    with tc.capture(model, "*"):
        torch.testing.assert_close(model(src, tgt), logits, rtol=1e-5, atol=1e-5)


@NORM_POSITIONS
def test_torch_s_gradients(norm_position: str):
    """For the weights that both read: what reaches them came back through all blocks."""
    model = shaken_model(odd_config(norm_position=norm_position, tie_embeddings="none", dropout=0.0)).train()
    src, tgt = random_tokens([11, 3, 6], vocab_size=37), random_tokens([2, 9, 9], vocab_size=37, seed=1)
    labels = torch.randint(0, 37, tgt.shape)
    shared = [*(stack.embed.weight for stack in both_stacks(model)), model.unembed.weight]
    for ours, theirs in zip(
        *(
            torch.autograd.grad(nn.functional.cross_entropy(logits[tgt != PAD], labels[tgt != PAD]), shared)
            for logits in (model(src, tgt), twin_logits(torch_twin(model), model, src, tgt))
        ),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("alone", [{}, DECODER, ENCODER], ids=["encoder-decoder", "decoder", "encoder"])
@torch.no_grad()
def test_the_final_states_are_what_the_last_layer_makes_logits_of(alone: dict[str, Any]):
    model = shaken_model(odd_config(**alone | {"tie_embeddings": "none", "scale_logits": True, "unembed_bias": True}))
    inputs = random_inputs(model)
    with tc.capture(model, "*") as acts:
        states = model.final_states(*inputs)
    assert "hook_logits" not in acts and states.shape == (3, inputs[-1].shape[1], 48)
    expected = states / 48**0.5 @ model.unembed.weight.T + model.unembed.bias
    torch.testing.assert_close(expected, model(*inputs))


@torch.no_grad()
def test_capped_logits_are_the_formula():
    """Source: Bello et al. 2016, app. A.2."""
    model = varied_model("decoder, no final norm", logit_cap=4.0)
    (tokens,) = random_inputs(model)
    growth = np.exp((model.final_states(tokens) @ model.unembed.weight.T).numpy() / 2.0)
    expected = 4.0 * (growth - 1) / (growth + 1)
    np.testing.assert_allclose(model(tokens).numpy(), expected, atol=1e-6)
    assert 3.0 < np.abs(expected).max() < 4.0


@torch.no_grad()
def test_the_masked_token_head():
    """Norm(activation(x W + b)), then the embedding's matrix and a bias. Source: the code of Devlin et al. 2019."""
    model, tokens = varied_model("encoder"), random_tokens([7, 4], vocab_size=37)
    segments = torch.tensor([[0, 0, 1, 1, 2, 2, 2], [2, 1, 0, 0, 0, 0, 0]])
    x = model.encode(tokens, segments=segments).double()
    weights = {name: value.double() for name, value in model.state_dict().items()}
    assert model.unembed.weight is model.get_parameter("encoder.embed.weight")
    x = x @ weights["unembed_transform.linear.weight"].T + weights["unembed_transform.linear.bias"]
    x = x * 0.5 * (1 + torch.erf(x / 2**0.5))
    x = (x - x.mean(dim=-1, keepdim=True)) / (x.var(dim=-1, keepdim=True, correction=0) + 1e-5).sqrt()
    x = x * weights["unembed_transform.norm.weight"] + weights["unembed_transform.norm.bias"]
    expected = x @ weights["encoder.embed.weight"].T + weights["unembed.bias"]
    torch.testing.assert_close(model(tokens, segments=segments), expected.float(), rtol=1e-5, atol=1e-5)
    assert not torch.allclose(model(tokens), expected.float(), atol=1e-2)  # in segments of one kind


def test_what_a_model_takes_is_said_where_it_is_given_something_else():
    two, decoder, encoder = (shaken_model(odd_config(**alone)) for alone in ({}, DECODER, ENCODER))
    tokens = random_tokens([4], vocab_size=37)
    with pytest.raises(TextError, match=r"^this model is encoder-decoder and takes a source and a target$"):
        two(tokens)
    with pytest.raises(TextError, match=r"^this model is decoder-only and takes one text$"):
        decoder(tokens, tokens)
    with pytest.raises(TextError, match=r"^this model is encoder-only and takes one text$"):
        encoder(tokens, tokens)
    with pytest.raises(TextError, match=r"^this model is decoder-only; it has no encoder$"):
        decoder.encode(tokens)
    with pytest.raises(TextError, match=r"^this model is encoder-only; it has no decoder$"):
        encoder.decode(tokens)
    with pytest.raises(TextError, match=r"^this model is decoder-only: its decoder takes no memory and no source$"):
        decoder.decode(tokens, two.encode(tokens), tokens)
    for given in ({}, {"memory": two.encode(tokens)}, {"src": tokens}):
        with pytest.raises(TextError, match=r"is encoder-decoder: its decoder needs the memory and the source$"):
            two.decode(tokens, **given)
    for model in (two, decoder):
        with pytest.raises(TextError, match=r"^this model has no segment embedding; leave out segments$"):
            model(*random_inputs(model), segments=random_inputs(model)[0])


@each_variation
def test_without_dropout_training_is_evaluation(variation: str):
    """Other products, the same numbers and gradients."""
    model = varied_model(variation, dropout=0.0)
    inputs, gradients, logits = random_inputs(model), {}, {}
    for is_training in (True, False):
        logits[is_training] = model.train(is_training)(*inputs)
        gradients[is_training] = torch.autograd.grad(logits[is_training].square().mean(), [*model.parameters()])
    torch.testing.assert_close(logits[True], logits[False], rtol=0, atol=2e-5)
    for in_training, in_evaluation in zip(gradients[True], gradients[False], strict=True):
        torch.testing.assert_close(in_training, in_evaluation, rtol=1e-3, atol=1e-5)


@each_variation
def test_every_parameter_counts(variation: str):
    """None is built and never used."""
    model = varied_model(variation)
    model(*random_inputs(model)).square().mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name


@each_variation
@torch.no_grad()
def test_half_of_the_bits_give_nearly_the_same(variation: str):
    model = varied_model(variation)
    inputs = random_inputs(model)
    exact, halved = model(*inputs), model.to(torch.bfloat16)(*inputs)
    assert halved.dtype == torch.bfloat16
    assert (halved - exact).abs().mean() < 0.03 * exact.abs().mean()  # one rounding is 2^-9
