"""Where a decoder looked while it wrote: against one watched forward over what was written."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from transformer_core.decoding.looking import Aim, weights, written_weights
from transformer_core.decoding.session import DecodingSession

WRITTEN = [5, 9, 4, 7]


@pytest.fixture(scope="module")
def model() -> tc.Transformer:
    config = tc.ModelConfig(
        architecture="encoder_decoder",
        vocab_size=13,
        d_model=12,
        d_ff=16,
        n_heads=3,
        n_encoder_layers=1,
        n_decoder_layers=2,
        max_seq_len=16,
        dropout=0.0,
    )
    return tc.build(config, seed=3).eval()


@pytest.mark.parametrize("kind", ["cross", "decoder"])
@pytest.mark.parametrize("mean", ["", "layer", "all"])
def test_rows_of_what_was_written(model: tc.Transformer, kind: str, mean: str):
    src = torch.tensor([[5, 6, 7, 8, 2]])
    session = DecodingSession(model, src)
    at = session.fork(*WRITTEN)
    aim = Aim(layer=1, head=2, mean=mean)  # type: ignore[arg-type]
    found = written_weights(at.written(), kind, aim)  # type: ignore[arg-type]

    attention = "cross_attn" if kind == "cross" else "self_attn"
    with torch.inference_mode(), tc.capture(model, f"decoder.*.{attention}.hook_pattern") as acts:
        model(src, torch.tensor([[model.config.bos_id, *WRITTEN[:-1]]]))
    patterns = [acts[f"decoder.blocks.{layer}.{attention}.hook_pattern"][0].numpy() for layer in range(2)]
    heads = {"": [patterns[1][2]], "layer": [*patterns[1]], "all": [*patterns[0], *patterns[1]]}[mean]
    np.testing.assert_allclose(found, sum(heads) / len(heads), atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-6)


def test_a_decoder_alone_looks_at_no_source():
    config = tc.ModelConfig(
        architecture="decoder_only",
        vocab_size=13,
        d_model=8,
        d_ff=16,
        n_heads=2,
        n_encoder_layers=0,
        n_decoder_layers=1,
        max_seq_len=16,
        dropout=0.0,
        tie_embeddings="none",
    )
    session = DecodingSession(tc.build(config).eval(), torch.tensor([[4, 5, 6]]))
    assert session.at.prediction is not None
    assert weights(session.at.prediction, "cross", Aim(layer=0, head=0)).shape == (0,)
    assert weights(session.at.prediction, "decoder", Aim(layer=0, head=1)).shape == (3,)
    assert written_weights([], "decoder", Aim(layer=0, head=0)).shape == (0, 0)
