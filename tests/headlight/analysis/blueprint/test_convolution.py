"""The feed-forward network as convolutions, against the network itself and against plain loops."""

import torch

import transformer_core as tc
from headlight.analysis.blueprint.convolution import convolution_error
from headlight.analysis.blueprint.plan import blueprint_of
from headlight.analysis.blueprint.shapes import input_site
from tests.model.building import each_variation, random_inputs, varied_model
from transformer_core.model.feed_forward import FeedForward


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
