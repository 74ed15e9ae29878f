"""What the model's modules give in float64 is what the formulas written out in NumPy give."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.analysis.walkthrough.numpy_block import Given, recompute
from tests.analysis.walkthrough.numpy_formulas import Weights
from tests.analysis.walkthrough.small_walks import KINDS, each_place, inputs_of, model_of
from tests.model.building import odd_config, shaken_model
from transformer_core.analysis.walkthrough import walk
from transformer_core.analysis.walkthrough.outline import Outline

pytestmark = pytest.mark.slow

HELD_IN_FLOAT32 = ("sinusoidal", "rotary", "alibi")  # tables that the model rounds, whatever it computes in


@each_place
def test_numpy_says_the_same(kind: str, attention: str, layer: int):
    config = odd_config(**KINDS[kind])
    model = shaken_model(config).double()
    inputs = inputs_of(kind)
    with torch.inference_mode(), tc.capture(model, "*") as acts:
        model(*(torch.tensor([tokens]) for tokens in inputs))
    outline = Outline.of(config, attention=attention, layer=layer, head=2)
    side = {"source": inputs[0], "target": inputs[-1]}

    def seen(site: str) -> np.ndarray:
        return acts[site][0].numpy()

    needs_memory = outline.is_cross or outline.is_followed_by_cross
    given = Given(
        queries=side[outline.attention.queries_from],
        keys=side[outline.attention.keys_from],
        source=inputs[0],
        x=seen(outline.sites()["x"] or ""),
        memory=seen(outline.memory_site) if needs_memory else None,
        x_parts={site: seen(site) for site in outline.origin_of_x().sites},
        memory_parts={site: seen(site) for site in outline.origin_of_memory().sites} if outline.is_cross else {},
    )
    weights = Weights({name: value.numpy() for name, value in model.state_dict().items()})
    expected = recompute(outline, weights, given)
    found = walk(model, inputs, attention=attention, layer=layer, head=2)._recomputed
    assert list(found.values) == list(expected.values)
    tolerance = 1e-6 if config.positions.startswith(HELD_IN_FLOAT32) else 1e-11
    for name, values in found.values.items():
        assert values.dtype == np.float64
        assert values == pytest.approx(expected.values[name], rel=tolerance, abs=tolerance), name
    for heads, of_numpy in ((found.attention, expected.attention), (found.cross, expected.cross)):
        assert (heads is None) == (of_numpy is None)
        if heads is not None and of_numpy is not None:
            assert heads.pattern == pytest.approx(of_numpy.pattern, rel=tolerance, abs=tolerance)
            assert heads.v == pytest.approx(of_numpy.v, rel=tolerance, abs=tolerance)
    assert (found.bias is None) == (expected.attention.bias is None)
    if found.bias is not None:
        assert found.bias == pytest.approx(expected.attention.bias, rel=1e-6, abs=1e-6)


def test_the_model_stays_as_it_was():
    """It is a copy that computes in float64."""
    model = model_of("the paper's")
    walk(model, inputs_of("the paper's"), attention="cross", layer=1, head=0)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_what_a_person_does_to_a_module_is_in_the_proof():
    """A module that somebody replaced is copied with the rest, and its numbers are proved like the others."""
    model = shaken_model(odd_config(**KINDS["decoder, rotary"]))
    mlp = model.get_submodule("decoder.blocks.1.mlp")
    mlp.down = torch.nn.Sequential(mlp.down, torch.nn.Tanh())
    there = walk(model, inputs_of("decoder, rotary"), attention="decoder", layer=1, head=0)
    assert np.abs(there.quantities["mlp_out"].values).max() < 1
    assert there.proof().holds
