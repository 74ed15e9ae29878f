"""The plan of a model, against the modules that the model really has and the way that values really take."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

import transformer_core as tc
from headlight.analysis.blueprint.plan import Arrow, Box, all_weights, blueprint_of, n_parameters
from headlight.analysis.blueprint.shapes import stages
from headlight.figures.architecture.inventory import parameters_by_part
from tests.model.building import each_variation, odd_config, varied_model
from transformer_core.model.norms import NoNorm

ROOT = Path(__file__).resolve().parents[4]


@each_variation
def test_every_module_that_computes_is_a_box(variation: str):
    model = varied_model(variation)
    plan = blueprint_of(model.config)
    modules = dict(model.named_modules())
    there = {box.module for box in plan.boxes.values() if box.module}
    assert there <= {*modules}
    parts = ("Attention", "FeedForward", "Norm", "Embedding", "Positions", "Linear", "Block", "Transform")
    inner = ("_norm", ".q", ".k", ".v", ".out", ".up", ".down", ".gate", ".linear", ".norm")
    for name, module in modules.items():
        is_part = any(type(module).__name__.endswith(part) for part in parts)
        is_idle = isinstance(module, NoNorm) and not model.config.input_norm
        if is_part and not name.endswith(inner) and not is_idle:
            assert name in there, name
    for stack in plan.stacks:
        assert plan.layers(stack) == len(getattr(model, stack).blocks)
    assert plan.first_to_look_at() in plan.boxes


def test_the_papers_figure_has_the_papers_arrows():
    """Vaswani et al. 2017, figure 1: what goes around sub-layers, and what cross-attention reads."""
    arrows = blueprint_of(odd_config(n_encoder_layers=1, n_decoder_layers=1)).arrows
    assert {(arrow.start, arrow.end) for arrow in arrows if arrow.flow == "residual"} == {
        ("encoder.sum", "encoder.0.ln1"),
        ("encoder.0.ln1", "encoder.0.ln2"),
        ("decoder.sum", "decoder.0.ln1"),
        ("decoder.0.ln1", "decoder.0.ln_cross"),
        ("decoder.0.ln_cross", "decoder.0.ln2"),
    }
    read = {arrow.flow: arrow.start for arrow in arrows if arrow.end == "decoder.0.cross_attn"}
    assert read == {"query": "decoder.0.ln1", "key": "encoder.0.ln2", "value": "encoder.0.ln2"}


@pytest.mark.parametrize("variation", ["the paper's", "pre-norm, no biases of norms", "decoder, rotary", "encoder"])
def test_a_box_that_changes_moves_all_that_its_arrows_lead_to_and_nothing_else(variation: str):
    model = varied_model(variation)
    plan = blueprint_of(model.config)
    inputs = tuple(torch.randint(1, 37, (1, 5)) for _ in plan.stacks)
    last = {name: stages(model.config, box)[-1].site for name, box in plan.boxes.items() if reaches(model.config, box)}
    with torch.inference_mode(), tc.capture(model, "*") as before:
        model(*inputs)
    for name, site in last.items():
        with (
            torch.inference_mode(),
            tc.intervene(model, {site: tc.replace(before[site] + torch.randn_like(before[site]))}),
            tc.capture(model, "*") as after,
        ):
            model(*inputs)
        later = downstream(plan.arrows, name)
        for other, there in last.items():
            if other != name:
                moved = not torch.equal(before[there], after[there])
                assert moved == (other in later), (name, other)


def reaches(config: tc.ModelConfig, box: Box) -> bool:
    return box.kind != "layer" and stages(config, box)[-1].is_hook_point


def downstream(arrows: Sequence[Arrow], name: str) -> set[str]:
    results: set[str] = set()
    open_ends = {name}
    while open_ends:
        open_ends = {arrow.end for arrow in arrows if arrow.start in open_ends} - results
        results |= open_ends
    return results


@each_variation
def test_weights_are_the_models_own_each_at_one_box(variation: str):
    model = varied_model(variation)
    config = model.config
    parameters = dict(model.named_parameters(remove_duplicate=False))
    actual = all_weights(config)
    assert sorted(weight.name for weight in actual) == sorted(parameters)
    assert all(weight.shape == tuple(parameters[weight.name].shape) for weight in actual)
    assert n_parameters(config) == sum(p.numel() for p in model.parameters())
    assert n_parameters(config) == sum(parameters_by_part(config).values())
    for weight in actual:
        if weight.shared_with:
            assert parameters[weight.name] is parameters[weight.shared_with] and weight.n_parameters == 0
