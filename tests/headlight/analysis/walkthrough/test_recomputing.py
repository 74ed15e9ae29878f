"""What the walk recomputes in float64 is what the model gives once it computes in float64 itself."""

import numpy as np
import pytest
import torch

from headlight.analysis.walkthrough.walkthrough import walk
from tests.headlight.analysis.walkthrough.small_walks import KINDS, each_place, inputs_of
from tests.model.building import odd_config, shaken_model


@each_place
def test_a_float64_model_gives_the_recomputed_numbers(kind: str, attention: str, layer: int):
    there = walk(
        shaken_model(odd_config(**KINDS[kind])).double(), inputs_of(kind), attention=attention, layer=layer, head=2
    )
    for name, values in there.recomputed.items():
        assert values.dtype == np.float64
        largest = np.abs(values[np.isfinite(values)]).max(
            initial=1
        )  # sums of rounded numbers may be small beside these
        assert there.quantities[name].values == pytest.approx(values, rel=1e-6, abs=1e-6 * largest), name


def test_a_replaced_module_is_recomputed_too_and_the_model_stays_in_float32():
    model = shaken_model(odd_config(**KINDS["decoder, rotary"]))
    mlp = model.get_submodule("decoder.blocks.1.mlp")
    mlp.down = torch.nn.Sequential(mlp.down, torch.nn.Tanh())
    there = walk(model, inputs_of("decoder, rotary"), attention="decoder", layer=1, head=0)
    assert np.abs(there.quantities["mlp_out"].values).max() < 1
    assert there.proof().holds
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
