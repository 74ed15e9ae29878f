"""Shapes in symbols, against what a real forward captured, and against the published walk-throughs."""

import torch

import transformer_core as tc
from headlight.analysis.blueprint.plan import blueprint_of
from headlight.analysis.blueprint.shapes import in_numbers, sizes, stages
from tests.model.building import each_variation, random_inputs, varied_model
from transformer_core.instrument.sites import site_names

LENGTHS = {"encoder": 7, "decoder": 9}


def lengths_of(config: tc.ModelConfig) -> dict[str, int]:
    return LENGTHS if config.architecture == "encoder_decoder" else {"encoder": 7, "decoder": 7}


@each_variation
def test_shapes_are_those_of_a_forward_and_every_hook_point_has_one(variation: str):
    model = varied_model(variation)
    config, plan = model.config, blueprint_of(model.config)
    with torch.inference_mode(), tc.capture(model, "*") as acts:
        model(*random_inputs(model))
    reports: set[str] = set()
    for box in plan.boxes.values():
        numbers = sizes(config, box, batch=3, lengths=lengths_of(config))
        for stage in stages(config, box):
            if stage.is_hook_point:
                assert tuple(acts[stage.site].shape) == in_numbers(stage.axes, numbers), stage
                reports.add(stage.site)
            else:
                assert all(size > 0 for size in in_numbers(stage.axes, numbers))
    idle = () if config.input_norm else ("ln1.hook_normalized", "ln2.hook_normalized")
    assert reports == {name for name in site_names(model) if not name.endswith(idle)}
