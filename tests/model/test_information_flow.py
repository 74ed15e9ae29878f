"""Which output can know of which input: nothing of later targets, nothing of padding, all of the source."""

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.model.building import PAD, odd_config, random_tokens, shaken_model

NORM_POSITIONS = pytest.mark.parametrize("norm_position", ["post", "pre"])
POSITIONS = pytest.mark.parametrize("positions", ["sinusoidal_interleaved", "sinusoidal_halves", "learned"])


def moved(before: Tensor, after: Tensor) -> list[bool]:
    """Which positions of a batch of one have changed by more than 1e-6."""
    return ((before - after).abs().amax(dim=-1)[0] > 1e-6).tolist()


@NORM_POSITIONS
@pytest.mark.parametrize("changed", range(6))
def test_a_target_token_moves_its_own_output_and_later_ones_only(norm_position: str, changed: int):
    model = shaken_model(odd_config(norm_position=norm_position))
    src, tgt = random_tokens([7], vocab_size=37), random_tokens([6], vocab_size=37)
    other = tgt.clone()
    other[0, changed] = tgt[0, changed] % 36 + 1
    assert moved(model(src, tgt), model(src, other)) == [pos >= changed for pos in range(6)]


def test_no_gradient_flows_from_an_output_to_a_later_target():
    model = shaken_model(odd_config())
    src, tgt = random_tokens([7], vocab_size=37), random_tokens([6], vocab_size=37)
    for pos in range(6):
        with tc.capture(model, "decoder.hook_embed", detach=False) as acts:
            logits = model(src, tgt)
        (gradient,) = torch.autograd.grad(logits[0, pos].square().sum(), acts["decoder.hook_embed"])
        assert (gradient[0].abs().amax(dim=-1) > 0).tolist() == [earlier <= pos for earlier in range(6)]


@NORM_POSITIONS
@pytest.mark.parametrize("changed", [0, 3, 6])
def test_a_source_token_moves_the_whole_memory_and_every_output(norm_position: str, changed: int):
    """The look-ahead mask belongs on the decoder's self-attention, not on the encoder or the cross-attention."""
    model = shaken_model(odd_config(norm_position=norm_position))
    src, tgt = random_tokens([7], vocab_size=37), random_tokens([6], vocab_size=37)
    other = src.clone()
    other[0, changed] = src[0, changed] % 36 + 1
    assert all(moved(model.encode(src), model.encode(other)))
    assert all(moved(model(src, tgt), model(other, tgt)))


def test_each_attention_s_mask():
    """Rows are queries. The source is 3 tokens and 1 of padding, the target 2 tokens and 1 of padding."""
    model = shaken_model(odd_config(n_encoder_layers=1, n_decoder_layers=1))
    src, tgt = torch.tensor([[5, 6, 7, PAD]]), torch.tensor([[1, 8, PAD]])
    with tc.capture(model, "*.hook_mask") as acts:
        model(src, tgt)
    masks = {name: mask.int().tolist()[0][0] for name, mask in acts.items()}
    assert masks == {
        "encoder.blocks.0.self_attn.hook_mask": [[1, 1, 1, 0]] * 4,
        "decoder.blocks.0.self_attn.hook_mask": [[1, 0, 0], [1, 1, 0], [1, 1, 0]],
        "decoder.blocks.0.cross_attn.hook_mask": [[1, 1, 1, 0]] * 3,
    }


@NORM_POSITIONS
@POSITIONS
def test_padding_never_changes_a_result(norm_position: str, positions: str):
    """Each pair alone, and the same pair in a batch with longer ones."""
    model = shaken_model(odd_config(norm_position=norm_position, positions=positions))
    src_lengths, tgt_lengths = [9, 1, 4, 24, 2], [3, 12, 1, 2, 24]
    src, tgt = random_tokens(src_lengths, vocab_size=37), random_tokens(tgt_lengths, vocab_size=37, seed=1)
    memory, logits = model.encode(src), model(src, tgt)
    for i, (n_src, n_tgt) in enumerate(zip(src_lengths, tgt_lengths, strict=True)):
        alone_src, alone_tgt = src[i : i + 1, :n_src], tgt[i : i + 1, :n_tgt]
        torch.testing.assert_close(memory[i, :n_src], model.encode(alone_src)[0], rtol=0, atol=1e-5)
        torch.testing.assert_close(logits[i, :n_tgt], model(alone_src, alone_tgt)[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("n_padding", [1, 2, 5, 15])
def test_more_padding_is_no_difference(n_padding: int):
    model = shaken_model(odd_config())
    src, tgt = random_tokens([7], vocab_size=37), random_tokens([6], vocab_size=37)
    padded_src = torch.nn.functional.pad(src, (0, n_padding), value=PAD)
    padded_tgt = torch.nn.functional.pad(tgt, (0, n_padding), value=PAD)
    padded = model(padded_src, padded_tgt)[:, :6]
    torch.testing.assert_close(padded, model(src, tgt), rtol=0, atol=1e-5)


def test_the_embedding_of_padding_is_never_read():
    model = shaken_model(odd_config())
    src, tgt = random_tokens([7, 3], vocab_size=37), random_tokens([2, 6], vocab_size=37)
    before = model(src, tgt)[..., 1:]  # without the logit of the padding itself, which is tied to its embedding
    with torch.no_grad():
        model.decoder.embed.weight[PAD] += 100.0
    after = model(src, tgt)[..., 1:]
    torch.testing.assert_close(after[tgt != PAD], before[tgt != PAD], rtol=0, atol=1e-6)


def test_a_source_of_nothing_but_padding_gives_finite_numbers():
    model = shaken_model(odd_config()).train()
    src, tgt = random_tokens([5, 0], vocab_size=37), random_tokens([4, 0], vocab_size=37)
    with tc.capture(model, "*.hook_pattern") as acts:
        model(src, tgt)
    assert torch.equal(acts["encoder.blocks.0.self_attn.hook_pattern"][1], torch.zeros(3, 5, 5))
    logits = model(src, tgt)
    logits.square().mean().backward()
    assert logits.isfinite().all()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name


def test_without_a_padding_token_each_token_counts():
    model = shaken_model(odd_config(pad_id=None))
    src, tgt = torch.tensor([[5, 0, 0]]), torch.tensor([[1, 0, 4]])
    assert all(moved(model(src, tgt), model(torch.tensor([[5, 0, 3]]), tgt)))


@pytest.mark.parametrize("n_src, n_tgt", [(1, 1), (1, 24), (24, 1), (13, 5)])
def test_one_model_takes_every_length(n_src: int, n_tgt: int):
    """A published mistake: a mask that is built once, for one length."""
    model = shaken_model(odd_config())
    logits = model(random_tokens([n_src], vocab_size=37), random_tokens([n_tgt], vocab_size=37))
    assert logits.shape == (1, n_tgt, 37) and logits.isfinite().all()
