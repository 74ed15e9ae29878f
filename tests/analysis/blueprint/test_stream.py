"""The residual stream, against a plain capture, and its identities."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.model.building import varied_model
from transformer_core.analysis.blueprint.capture import CapturedText

INPUTS = {"encoder_decoder": ([3, 5, 8, 13, 2], [1, 9, 4]), "decoder_only": ([3, 5, 8],), "encoder_only": ([3, 5, 8],)}


SOME = ("the paper's", "decoder, q/k norm", "encoder", "attention only", "decoder, rotary")
some_variations = pytest.mark.parametrize("variation", SOME)


@some_variations
def test_the_stream_is_measured_where_it_passes(variation: str):
    model = varied_model(variation)
    inputs = INPUTS[model.config.architecture]
    captured = CapturedText(model, inputs)
    with torch.inference_mode(), tc.capture(model, "*") as acts:
        model(*(torch.tensor([tokens]) for tokens in inputs))
    for stack, stream in captured.streams().items():
        blocks = getattr(model, stack).blocks
        n_sublayers = 1 + (stack == "decoder" and model.config.has_encoder) + (model.config.d_ff > 0)
        assert len(stream.names) == 1 + n_sublayers * len(blocks)
        assert stream.added.shape == (len(stream.names) - 1, captured.lengths[stack])
        begins = acts[f"{stack}.blocks.0.hook_resid_pre"][0].norm(dim=-1).numpy()
        ends = acts[f"{stack}.blocks.{len(blocks) - 1}.hook_resid_post"][0].norm(dim=-1).numpy()
        np.testing.assert_allclose(stream.sums[0], begins, rtol=1e-5)
        np.testing.assert_allclose(stream.sums[-1], ends, rtol=1e-5)
        np.testing.assert_allclose(stream.shares * stream.read[:-1], stream.added, rtol=1e-5)
        # The sum lies between the difference and the sum of the lengths that it is made of.
        assert (stream.sums[1:] <= stream.read[:-1] + stream.added + 1e-4).all()
        assert (stream.sums[1:] >= np.abs(stream.read[:-1] - stream.added) - 1e-4).all()
