"""A stack: what enters the first block, how many there are, and which sequences it refuses."""

import pytest
import torch

import transformer_core as tc
from tests.model.building import ENCODER, odd_config, random_tokens, shaken
from transformer_core.errors import TextError
from transformer_core.model.positions import sinusoidal_table
from transformer_core.model.stack import Stack


def a_stack(**changes: object) -> Stack:
    config = odd_config(**changes)
    stack = Stack(config, n_layers=3)
    for parameter in stack.parameters():
        torch.nn.init.normal_(parameter, std=0.3)  # embeddings come without numbers
    return shaken(stack)


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_embedding_plus_positions_enters_the_first_block(layout: str):
    stack, tokens = a_stack(positions=f"sinusoidal_{layout}"), random_tokens([5, 5], vocab_size=37)
    with tc.capture(stack, "hook_embed", "hook_pos_embed", "blocks.0.hook_resid_pre") as acts:
        stack(tokens, None)
    table = sinusoidal_table(5, 48, "halves" if layout == "halves" else "interleaved")
    torch.testing.assert_close(acts["hook_embed"], stack.embed.weight[tokens] * 48**0.5)
    assert torch.equal(acts["hook_pos_embed"], table.expand(2, -1, -1))
    assert torch.equal(acts["blocks.0.hook_resid_pre"], acts["hook_embed"] + acts["hook_pos_embed"])


def test_segments_are_added_and_the_sum_is_normalized():
    """Source: Devlin et al. 2019, figure 2, and its code for the normalization."""
    stack = a_stack(**ENCODER, n_segments=3, positions="learned", embedding_norm=True)
    tokens, segments = random_tokens([5, 5], vocab_size=37), torch.tensor([[0, 0, 1, 1, 2], [2, 1, 0, 1, 2]])
    with tc.capture(stack, "*") as acts:
        stack(tokens, None, segments=segments)
    torch.testing.assert_close(acts["hook_segment_embed"], stack.segment_embed.weight[segments].detach())
    whole = acts["hook_embed"] + acts["hook_pos_embed"] + acts["hook_segment_embed"]
    assert stack.embedding_norm is not None
    torch.testing.assert_close(acts["blocks.0.hook_resid_pre"], stack.embedding_norm(whole).detach())
    without, first = stack(tokens, None), stack(tokens, None, segments=torch.zeros_like(tokens))
    assert torch.equal(without, first)


@pytest.mark.parametrize("wrong", [-1, 3])
def test_segments_that_are_not_there_are_refused(wrong: int):
    stack, tokens = a_stack(**ENCODER, n_segments=3), random_tokens([5], vocab_size=37)
    segments = torch.tensor([[0, 0, 1, wrong, 2]])
    with pytest.raises(TextError, match=r"^segment ids must be from 0 to 2 in this model$"):
        stack(tokens, None, segments=segments)
    with pytest.raises(TextError, match=r"^this model has no segment embedding; leave out segments$"):
        a_stack()(tokens, None, segments=torch.zeros_like(tokens))


def test_dropout_falls_on_the_sum():
    """Source: Vaswani et al. 2017, sec. 5.4."""
    stack = a_stack(dropout=0.5).train()
    with tc.capture(stack, "hook_embed", "hook_pos_embed", "blocks.0.hook_resid_pre") as acts:
        stack(random_tokens([24] * 8, vocab_size=37), None)
    entering, whole = acts["blocks.0.hook_resid_pre"], acts["hook_embed"] + acts["hook_pos_embed"]
    torch.testing.assert_close(entering, torch.where(entering == 0, 0.0, 2 * whole))
    assert 0.45 < (entering == 0).double().mean().item() < 0.55
