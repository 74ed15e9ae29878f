"""Token embeddings: rows of the matrix, times sqrt(d_model) where that is asked for; and those of segments."""

import math

import torch

from tests.model.building import ENCODER, odd_config, shaken
from transformer_core.model.embeddings import SegmentEmbedding, TokenEmbedding


def test_by_hand():
    embed = TokenEmbedding(odd_config(vocab_size=4, d_model=4, n_heads=1))
    embed.load_state_dict({"weight": torch.arange(16.0).reshape(4, 4)})
    expected = torch.tensor([[[16.0, 18.0, 20.0, 22.0], [0.0, 2.0, 4.0, 6.0]]])  # rows 2 and 0, times 2
    assert torch.equal(embed(torch.tensor([[2, 0]])), expected)


def test_the_scale_is_the_root_of_the_width():
    embed = TokenEmbedding(odd_config())
    torch.nn.init.normal_(embed.weight)
    tokens = torch.tensor([[1, 5, 5], [0, 36, 2]])
    torch.testing.assert_close(embed(tokens), embed.weight[tokens] * math.sqrt(48))


def test_only_the_tokens_that_are_read_learn():
    embed = TokenEmbedding(odd_config())
    torch.nn.init.normal_(embed.weight)
    shaken(embed)(torch.tensor([[3, 3, 7]])).sum().backward()
    assert embed.weight.grad is not None
    expected = torch.zeros(37)
    expected[3], expected[7] = 2 * math.sqrt(48), math.sqrt(48)
    torch.testing.assert_close(embed.weight.grad, expected[:, None].expand(37, 48))


def test_not_scaled_they_are_the_rows():
    embed = TokenEmbedding(odd_config(scale_embeddings=False))
    torch.nn.init.normal_(embed.weight)
    tokens = torch.tensor([[1, 5, 5], [0, 36, 2]])
    assert torch.equal(embed(tokens), embed.weight[tokens])


def test_segments_are_rows_of_their_own():
    embed = SegmentEmbedding(odd_config(**ENCODER, n_segments=3))
    torch.nn.init.normal_(embed.weight)
    assert embed.weight.shape == (3, 48)
    segments = torch.tensor([[0, 0, 2], [1, 1, 1]])
    assert torch.equal(embed(segments), embed.weight[segments])
