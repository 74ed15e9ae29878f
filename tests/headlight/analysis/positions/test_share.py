"""The parts of scores: they add up in every model, and are products of what they are named for."""

import math

import numpy as np
import pytest
import torch

from headlight.analysis.positions.share import ScoreParts, score_parts, shares_of_heads
from headlight.analysis.trace.attentions import attentions_of
from tests.model.building import both_stacks, random_inputs, varied_model

FOUR = ["content_content", "content_position", "position_content", "position_position", "rest"]


def inputs_of(model) -> list[list[int]]:
    return [ids[0].tolist() for ids in random_inputs(model, (7,), (5,))]


@pytest.mark.parametrize(
    "variation",
    [
        *("the paper's", "window", "rotary, groups", "decoder, q/k norm", "decoder, buckets"),
        *("decoder, attention only", "encoder, narrow embeddings, buckets too"),
    ],
)
def test_the_parts_add_up_to_the_scores_and_the_shares_to_1(variation: str):
    model = varied_model(variation)
    for attention in attentions_of(model.config):
        actual = score_parts(model, inputs_of(model), attention=attention, layer=1, head=2)
        size = float(np.abs(actual.scores).max())
        assert actual.error < 1e-4 * max(size, 1)
        assert sum(actual.shares().values()) == pytest.approx(1, abs=1e-6)
        assert actual.mask.dtype == bool and actual.mask.any()
        acts_within = attention != "cross"
        expected = {
            "rotary": ["unturned", "turning"] if acts_within else ["content_content"],
            "alibi": ["content_content", *(["distance"] if acts_within else [])],
            "relative": ["content_content", *(["distance"] if acts_within else [])],
            "none": ["content_content"],
        }
        parts = expected.get(model.config.positions.split("_")[0], FOUR)
        assert [*actual.parts] == [*parts, *(["distance"] if model.config.relative_bias else [])]


def test_in_the_first_layer_the_four_are_products_of_embeddings_and_positions():
    model = varied_model("the paper's")
    inputs = inputs_of(model)
    encoder, _ = both_stacks(model)
    attention = encoder.blocks[0].self_attn
    with torch.no_grad():
        content = encoder.embed(torch.tensor(inputs[:1]))[0]
        position = encoder.pos_embed(0, 7)
        rows = slice(16, 32)  # of head 1 of 3, 16 wide
        wanted = {
            f"{name_q}_{name_k}": ((q @ attention.q.weight[rows].T) @ (k @ attention.k.weight[rows].T).T).numpy()
            / math.sqrt(16)
            for name_q, q in (("content", content), ("position", position))
            for name_k, k in (("content", content), ("position", position))
        }
    actual = score_parts(model, inputs, attention="encoder", layer=0, head=1)
    assert not actual.is_frozen
    for name, expected in wanted.items():
        np.testing.assert_allclose(actual.parts[name], expected, atol=1e-4)
    other = score_parts(model, [[9, 8, 7, 6, 5, 4, 3], inputs[1]], attention="encoder", layer=0, head=1)
    np.testing.assert_allclose(other.parts["position_position"], actual.parts["position_position"], atol=1e-6)
    assert np.abs(other.parts["content_content"] - actual.parts["content_content"]).max() > 0.01
    assert score_parts(model, inputs, attention="encoder", layer=1, head=1).is_frozen


def test_shares_do_not_count_what_all_keys_have_in_common():
    mask = np.tril(np.ones((3, 3), dtype=bool))
    decides = np.array([[0.0, 0, 0], [1, 3, 0], [2, 0, 1]])
    common = np.tril(np.repeat([[5.0], [-7.0], [2.0]], 3, axis=1))
    actual = ScoreParts(
        scores=decides + common, parts={"content_content": decides, "rest": common}, mask=mask, is_frozen=False
    )
    assert actual.error == 0
    assert actual.shares() == pytest.approx({"content_content": 1, "rest": 0})
    flat = ScoreParts(scores=common, parts={"rest": common}, mask=mask, is_frozen=False)
    assert math.isnan(flat.shares()["rest"]) and math.isnan(flat.share_of_positions)


def test_the_share_of_every_head_is_that_of_each_by_itself():
    model = varied_model("decoder, alibi, window")
    inputs = inputs_of(model)
    actual = shares_of_heads(model, inputs, attention="decoder")
    assert actual is not None and actual.shape == (2, 3)
    for layer in range(2):
        for head in range(3):
            one = score_parts(model, inputs, attention="decoder", layer=layer, head=head).shares()
            assert actual[layer, head] == pytest.approx(one["distance"], abs=1e-5)
    assert shares_of_heads(varied_model("decoder", n_decoder_layers=25), inputs, attention="decoder") is None
