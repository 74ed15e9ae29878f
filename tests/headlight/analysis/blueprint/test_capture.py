"""What was captured of a text, and the residual stream, against a plain capture."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.blueprint import capture
from headlight.analysis.blueprint.capture import CapturedText, convolution_error
from headlight.analysis.blueprint.plan import blueprint_of
from headlight.analysis.blueprint.shapes import PROBABILITIES, input_site
from tests.model.building import each_variation, odd_config, random_inputs, shaken_model, varied_model
from transformer_core.errors import SiteError
from transformer_core.instrument.sites import site_names
from transformer_core.model.feed_forward import FeedForward

INPUTS = {"encoder_decoder": ([3, 5, 8, 13, 2], [1, 9, 4]), "decoder_only": ([3, 5, 8],), "encoder_only": ([3, 5, 8],)}


@pytest.mark.parametrize(
    "variation", ["the paper's", "decoder, q/k norm", "encoder", "attention only", "decoder, rotary"]
)
def test_values_are_those_of_a_plain_capture(variation: str):
    model = varied_model(variation)
    inputs = INPUTS[model.config.architecture]
    captured = CapturedText(model, inputs)
    assert captured.n_bytes == 0
    with torch.inference_mode(), tc.capture(model, "*") as acts:
        logits = model(*(torch.tensor([tokens]) for tokens in inputs))
    for site in site_names(model)[::5]:
        np.testing.assert_allclose(captured.values(site), acts[site][0].numpy(), atol=1e-5)
    assert captured.n_bytes > 0
    np.testing.assert_allclose(captured.values(PROBABILITIES), logits[0].softmax(dim=-1).numpy(), atol=1e-6)
    assert [*captured.lengths.values()] == [len(tokens) for tokens in inputs]
    for stack, stream in captured.streams().items():
        n_layers = len(getattr(model, stack).blocks)
        n_sublayers = 1 + (stack == "decoder" and model.config.has_encoder) + (model.config.d_ff > 0)
        assert len(stream.names) == 1 + n_sublayers * n_layers
        assert stream.added.shape == (len(stream.names) - 1, captured.lengths[stack])
        for place, end in ((0, "blocks.0.hook_resid_pre"), (-1, f"blocks.{n_layers - 1}.hook_resid_post")):
            np.testing.assert_allclose(stream.sums[place], acts[f"{stack}.{end}"][0].norm(dim=-1), rtol=1e-5)
        np.testing.assert_allclose(stream.shares * stream.read[:-1], stream.added, rtol=1e-5)
        # The sum lies between the difference and the sum of the lengths that it is made of.
        assert (stream.sums[1:] <= stream.read[:-1] + stream.added + 1e-4).all()
        assert (stream.sums[1:] >= np.abs(stream.read[:-1] - stream.added) - 1e-4).all()


def test_a_site_that_is_not_there_is_named():
    with pytest.raises(SiteError, match="no site"):
        CapturedText(varied_model("the paper's"), INPUTS["encoder_decoder"]).values("decoder.hook_nothing")


def test_of_too_much_the_first_is_left_out(monkeypatch: pytest.MonkeyPatch):
    model = shaken_model(odd_config())
    captured = CapturedText(model, INPUTS["encoder_decoder"])
    first = captured.values("encoder.hook_embed")
    monkeypatch.setattr(capture, "MOST_BYTES", first.nbytes + 1)
    second = captured.values("encoder.blocks.0.hook_resid_post")
    assert captured.n_bytes == second.nbytes
    np.testing.assert_array_equal(captured.values("encoder.hook_embed"), first)


@each_variation
def test_of_every_model_the_captured_input_gives_the_captured_output(variation: str):
    model = varied_model(variation)
    boxes = [box for box in blueprint_of(model.config).boxes.values() if box.kind == "feed_forward"]
    with torch.inference_mode(), tc.capture(model, "*") as acts:
        model(*random_inputs(model))
    for box in boxes:
        network = model.get_submodule(box.module)
        assert isinstance(network, FeedForward)
        x = acts[input_site(model.config, box)][0].numpy()
        output = acts[f"{box.module.removesuffix('.mlp')}.hook_mlp_out"][0].numpy()
        assert convolution_error(network, x, output) < 1e-5 < convolution_error(network, x + 1, output)
