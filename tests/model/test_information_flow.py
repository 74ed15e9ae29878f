"""Which output can know of which input: nothing of later targets, nothing of padding, all of the source."""

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.model.building import (
    PAD,
    VARIATIONS,
    each_variation,
    odd_config,
    random_inputs,
    random_tokens,
    shaken_model,
    varied_model,
)

WRITING = pytest.mark.parametrize("variation", [name for name in VARIATIONS if not name.startswith("encoder")])
READING = pytest.mark.parametrize("variation", [name for name in VARIATIONS if not name.startswith("decoder")])


def moved(before: Tensor, after: Tensor) -> list[list[bool]]:
    """For each text of a batch, which positions have changed by more than 1e-6."""
    return ((before - after).abs().amax(dim=-1) > 1e-6).tolist()


def each_changed(tokens: Tensor) -> Tensor:
    """One text in as many rows as it has tokens: in row i another token, not padding, is at position i.

    It is to be compared with the text itself in as many rows: a batch of another size may be rounded otherwise.
    """
    n = tokens.shape[1]
    return torch.where(torch.eye(n, dtype=torch.bool), tokens % 36 + 1, tokens)


def within(reach: int, n: int) -> Tensor:
    """Which positions [changed, out] are no farther from each other than `reach`."""
    places = torch.arange(n)
    return (places - places[:, None]).abs() <= reach


def reach_of_two_layers(config: tc.ModelConfig) -> int | None:
    """How far two layers of a window carry; None where one of them has none."""
    return None if config.layers_without_window or not config.sliding_window else 2 * (config.sliding_window - 1)


@WRITING
@torch.no_grad()
def test_a_target_token_moves_its_own_output_and_later_ones_only(variation: str):
    """As far as two layers of a sliding window carry it."""
    model = varied_model(variation)
    *src, tgt = random_inputs(model, [6], [6])
    *sources, targets = (tokens.expand(6, -1) for tokens in (*src, tgt))
    reach = reach_of_two_layers(model.config) or 6
    expected = within(reach, 6).triu()  # rows: what was changed; columns: what has moved
    assert moved(model(*sources, targets), model(*sources, each_changed(tgt))) == expected.tolist()


@READING
@torch.no_grad()
def test_a_source_token_moves_the_whole_memory_and_every_output(variation: str):
    """The look-ahead mask belongs on the decoder's self-attention, not on the encoder or the cross-attention."""
    model = varied_model(variation)
    src, *tgt = random_inputs(model, [9], [6])
    reach = reach_of_two_layers(model.config) or 9
    source, *targets = (tokens.expand(9, -1) for tokens in (src, *tgt))
    changed = each_changed(src)
    assert moved(model.encode(source), model.encode(changed)) == within(reach, 9).tolist()
    if targets:
        assert moved(model(source, *targets), model(changed, *targets)) == [[True] * 6] * 9


def test_each_attention_s_mask():
    """Rows are queries. The source is 3 tokens and 1 of padding, the target 2 tokens and 1 of padding."""
    model = shaken_model(odd_config(n_encoder_layers=1, n_decoder_layers=1))
    src, tgt = torch.tensor([[5, 6, 7, PAD]]), torch.tensor([[1, 8, PAD]])
    assert masks_of(model, src, tgt) == {
        "encoder.blocks.0.self_attn.hook_mask": [[1, 1, 1, 0]] * 4,
        "decoder.blocks.0.self_attn.hook_mask": [[1, 0, 0], [1, 1, 0], [1, 1, 0]],
        "decoder.blocks.0.cross_attn.hook_mask": [[1, 1, 1, 0]] * 3,
    }


def masks_of(model: tc.Transformer, *inputs: Tensor) -> dict[str, list[list[int]]]:
    """The mask of every attention over a batch of one."""
    with tc.capture(model, "*.hook_mask") as acts:
        model(*inputs)
    return {name: mask.int().tolist()[0][0] for name, mask in acts.items()}


@each_variation
@torch.no_grad()
def test_padding_never_changes_a_result(variation: str):
    """Each text, or pair, alone, and the same in a batch with longer ones."""
    model = varied_model(variation)
    lengths, tgt_lengths = [9, 1, 24], [3, 24, 1]
    inputs = random_inputs(model, lengths, tgt_lengths)
    logits = model(*inputs)
    for row, of_row in enumerate(zip(lengths, tgt_lengths, strict=True)):
        alone = [tokens[row : row + 1, :n] for tokens, n in zip(inputs, of_row, strict=False)]
        expected = model(*alone)[0]
        torch.testing.assert_close(logits[row, : len(expected)], expected, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_a_decoder_may_start_with_the_token_of_the_padding():
    """Marian's and T5's do: the first token counts, and the same one after the text does not."""
    model = shaken_model(odd_config(bos_id=PAD, positions="relative_buckets", n_relative_buckets=8))
    src, tgt = random_tokens([7, 4], vocab_size=37), random_tokens([5, 3], vocab_size=37, seed=1)
    tgt[:, 0] = PAD
    masks = masks_of(model, src[1:], tgt[1:])
    assert masks["decoder.blocks.0.self_attn.hook_mask"] == [
        *([1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [1, 1, 1, 0, 0])
    ]
    alone = model(src[1:, :4], tgt[1:, :3])
    torch.testing.assert_close(model(src, tgt)[1, :3], alone[0], rtol=1e-5, atol=1e-5)


@each_variation
def test_a_text_of_nothing_but_padding_gives_finite_numbers(variation: str):
    model = varied_model(variation).train()
    inputs = random_inputs(model, [5, 0], [4, 0])
    with tc.capture(model, "*.hook_pattern") as acts:
        model(*inputs)
    first = "decoder" if model.encoder is None else "encoder"
    assert torch.equal(acts[f"{first}.blocks.0.self_attn.hook_pattern"][1], torch.zeros(model.config.n_heads, 5, 5))
    logits = model(*inputs)
    logits.square().mean().backward()
    assert logits.isfinite().all()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
