"""Token embeddings: rows of the matrix, times sqrt(d_model) if configured; and those of segments."""

import math

import pytest
import torch

from tests.model.building import ENCODER, odd_config
from transformer_core.model.embeddings import SegmentEmbedding, TokenEmbedding


@pytest.mark.parametrize("is_scaled, scale", [(True, math.sqrt(48)), (False, 1.0)])
def test_tokens_are_rows_times_the_root_of_the_width_where_that_is_asked_for(is_scaled: bool, scale: float):
    embed = TokenEmbedding(odd_config(scale_embeddings=is_scaled), vocab_size=37)
    torch.nn.init.normal_(embed.weight)
    tokens = torch.tensor([[1, 5, 5], [0, 36, 2]])
    torch.testing.assert_close(embed(tokens), embed.weight[tokens] * scale)


def test_segments_are_rows_of_their_own():
    embed = SegmentEmbedding(odd_config(**ENCODER, n_segments=3))
    torch.nn.init.normal_(embed.weight)
    assert embed.weight.shape == (3, 48)
    segments = torch.tensor([[0, 0, 2], [1, 1, 1]])
    assert torch.equal(embed(segments), embed.weight[segments])
