"""Where a decoder looked while it wrote: against one watched forward over what was written."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.model.building import DECODER, odd_config, shaken_model
from transformer_core.decoding.looking import Aim, weights, written_weights
from transformer_core.decoding.session import DecodingSession

WRITTEN = [5, 9, 4, 7]


@pytest.mark.parametrize("kind", ["cross", "decoder"])
@pytest.mark.parametrize("mean", ["", "layer", "all"])
def test_rows_of_what_was_written(kind: str, mean: str):
    model, src = shaken_model(odd_config()), torch.tensor([[5, 6, 7, 8, 2]])
    at = DecodingSession(model, src).fork(*WRITTEN)
    aim = Aim(layer=1, head=2, mean=mean)  # type: ignore[arg-type]
    found = written_weights(at.written(), kind, aim)  # type: ignore[arg-type]

    attention = "cross_attn" if kind == "cross" else "self_attn"
    with torch.inference_mode(), tc.capture(model, f"decoder.*.{attention}.hook_pattern") as acts:
        model(src, torch.tensor([[model.config.bos_id, *WRITTEN[:-1]]]))
    patterns = [acts[f"decoder.blocks.{layer}.{attention}.hook_pattern"][0].numpy() for layer in range(2)]
    heads = {"": [patterns[1][2]], "layer": [*patterns[1]], "all": [*patterns[0], *patterns[1]]}[mean]
    np.testing.assert_allclose(found, sum(heads) / len(heads), atol=1e-6)


def test_a_decoder_alone_looks_at_no_source():
    session = DecodingSession(shaken_model(odd_config(**DECODER)), torch.tensor([[4, 5, 6]]))
    assert session.at.prediction is not None
    assert weights(session.at.prediction, "cross", Aim(layer=0, head=0)).shape == (0,)
    assert weights(session.at.prediction, "decoder", Aim(layer=0, head=1)).shape == (3,)
    assert written_weights([], "decoder", Aim(layer=0, head=0)).shape == (0, 0)
