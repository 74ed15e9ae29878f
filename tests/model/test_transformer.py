"""The whole model against torch.nn.Transformer with the same weights, and against the paper's formulas by hand."""

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor, nn

import transformer_core as tc
from tests.model import by_hand
from tests.model.building import PAD, odd_config, random_tokens, shaken_model
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
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
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

    final = twin(
        embedded(src, model.encoder.embed.weight),
        embedded(tgt, model.decoder.embed.weight),
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
    torch.testing.assert_close(logits, twin_logits(torch_twin(model), model, src, tgt), rtol=0, atol=1e-5)
    with tc.capture(model):
        torch.testing.assert_close(model(src, tgt), logits, rtol=0, atol=1e-5)


@NORM_POSITIONS
def test_torch_s_gradients(norm_position: str):
    """Of a loss over real target positions, for every weight that both have, and the shared embedding."""
    model = shaken_model(odd_config(norm_position=norm_position, tie_embeddings="none", dropout=0.0)).train()
    twin = torch_twin(model)
    src, tgt = random_tokens([11, 3, 6], vocab_size=37), random_tokens([2, 9, 9], vocab_size=37, seed=1)
    labels = torch.randint(0, 37, tgt.shape)

    def gradients(logits: Tensor) -> Mapping[str, Tensor]:
        model.zero_grad()
        twin.zero_grad()
        loss = nn.functional.cross_entropy(logits[tgt != PAD], labels[tgt != PAD])
        loss.backward()
        return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}

    ours = gradients(model(src, tgt))
    assert set(ours) == {name for name, _ in model.named_parameters()}
    shared_by_both = gradients(twin_logits(twin, model, src, tgt))
    assert set(shared_by_both) == {"encoder.embed.weight", "decoder.embed.weight", "unembed.weight"}
    for name, gradient in shared_by_both.items():
        torch.testing.assert_close(ours[name], gradient, rtol=1e-5, atol=1e-5)
    compared = 0
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        for i, block in enumerate(stack.blocks):
            assert isinstance(block, Block)
            for parameter in block.parameters():
                assert parameter.grad is None  # the twin has weights of its own
                parameter.data = ours_at(ours, model, parameter)
            for name, gradient in block_state(f"{side}.layers.{i}", block).items():
                theirs = twin.get_parameter(name).grad
                assert theirs is not None
                torch.testing.assert_close(gradient.detach(), theirs, rtol=1e-5, atol=1e-5)
                compared += 1
    assert compared == 2 * 12 + 2 * 18


def ours_at(gradients: Mapping[str, Tensor], model: nn.Module, parameter: nn.Parameter) -> Tensor:
    return next(gradients[name] for name, value in model.named_parameters() if value is parameter)


@NORM_POSITIONS
@pytest.mark.parametrize("tie_embeddings", ["three_way", "none"])
def test_the_whole_forward_by_hand(norm_position: str, tie_embeddings: str):
    """Embedding, positions, every layer and the logits, in loops and float64; one source is padding only."""
    model = shaken_model(odd_config(norm_position=norm_position, tie_embeddings=tie_embeddings)).double()
    src, tgt = random_tokens([4, 2, 0], vocab_size=37), random_tokens([3, 5, 2], vocab_size=37, seed=1)
    expected = torch.from_numpy(by_hand.encoder_decoder(model, src.numpy(), tgt.numpy()))
    # The model's table of positions is kept in float32, so float64 goes no further than that.
    torch.testing.assert_close(model(src, tgt).detach(), expected, rtol=0, atol=1e-6)


def test_encode_and_decode_are_the_forward():
    model = shaken_model(odd_config())
    src, tgt = random_tokens([7, 4], vocab_size=37), random_tokens([5, 5], vocab_size=37)
    memory = model.encode(src)
    assert memory.shape == (2, 7, 48)
    assert torch.equal(model.decode(tgt, memory, src), model(src, tgt))


@pytest.mark.parametrize("architecture", ["encoder_decoder", "decoder_only", "encoder_only"])
def test_the_final_states_are_what_the_last_layer_makes_logits_of(architecture: str):
    n_encoder_layers, n_decoder_layers = int(architecture != "decoder_only"), int(architecture != "encoder_only")
    layers = {"n_encoder_layers": n_encoder_layers, "n_decoder_layers": n_decoder_layers}
    model = shaken_model(odd_config(architecture=architecture, tie_embeddings="none", scale_logits=True, **layers))
    texts = [random_tokens([7, 4], vocab_size=37), random_tokens([5, 9], vocab_size=37, seed=1)]
    texts = texts if architecture == "encoder_decoder" else texts[:1]
    with torch.no_grad(), tc.capture(model) as acts:
        states = model.final_states(*texts)
    assert "hook_logits" not in acts and states.shape == (2, texts[-1].shape[1], 48)
    torch.testing.assert_close(states @ model.unembed.weight.T / 48**0.5, model(*texts))


def test_in_training_there_is_dropout_and_in_evaluation_none():
    model = shaken_model(odd_config(dropout=0.3))
    src, tgt = random_tokens([7], vocab_size=37), random_tokens([5], vocab_size=37)
    assert torch.equal(model(src, tgt), model(src, tgt))
    model.train()
    assert not torch.equal(model(src, tgt), model(src, tgt))
