"""The attention rows of a decoder: against one captured forward pass over the generated tokens."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.model.building import DECODER, odd_config, shaken_model
from transformer_core.decoding.decoding_step import Aim, attention_weights, written_weights
from transformer_core.decoding.session import DecodingSession

WRITTEN = [5, 9, 4, 7]


@pytest.mark.parametrize("kind", ["cross", "decoder"])
@pytest.mark.parametrize("mean", ["", "layer", "all"])
def test_rows_of_generated_tokens(kind: str, mean: str):
    model, src = shaken_model(odd_config()), torch.tensor([[5, 6, 7, 8, 2]])
    at = DecodingSession(model, src).fork(*WRITTEN)
    aim = Aim(layer=1, head=2, mean=mean)  # type: ignore[arg-type]
    weights = written_weights(at.written(), kind, aim)  # type: ignore[arg-type]

    attention = "cross_attn" if kind == "cross" else "self_attn"
    with torch.inference_mode(), tc.capture(model, f"decoder.*.{attention}.hook_pattern") as acts:
        model(src, torch.tensor([[model.config.bos_id, *WRITTEN[:-1]]]))
    patterns = [acts[f"decoder.blocks.{layer}.{attention}.hook_pattern"][0].numpy() for layer in range(2)]
    heads = {"": [patterns[1][2]], "layer": [*patterns[1]], "all": [*patterns[0], *patterns[1]]}[mean]
    np.testing.assert_allclose(weights, sum(heads) / len(heads), atol=1e-6)


def test_decoder_only_models_have_no_cross_attention():
    session = DecodingSession(shaken_model(odd_config(**DECODER)), torch.tensor([[4, 5, 6]]))
    assert session.at.prediction is not None
    assert attention_weights(session.at.prediction, "cross", Aim(layer=0, head=0)).shape == (0,)
    assert attention_weights(session.at.prediction, "decoder", Aim(layer=0, head=1)).shape == (3,)
    assert written_weights([], "decoder", Aim(layer=0, head=0)).shape == (0, 0)
