"""The second opinion is right: it agrees with the model in float64 far beyond float32."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.analysis.walkthrough.small_walks import KINDS, each_place, inputs_of
from tests.model.building import odd_config, shaken_model
from transformer_core.analysis.walkthrough.arithmetic import Weights
from transformer_core.analysis.walkthrough.outline import Outline
from transformer_core.analysis.walkthrough.recomputing import Given, recompute

pytestmark = pytest.mark.slow

HELD_IN_FLOAT32 = ("sinusoidal", "rotary", "alibi")  # tables that the model rounds, whatever it computes in


@each_place
def test_in_float64_the_model_says_the_same(kind: str, attention: str, layer: int):
    config = odd_config(**KINDS[kind])
    model = shaken_model(config).double()
    inputs = inputs_of(kind)
    with torch.inference_mode(), tc.capture(model, "*") as acts:
        model(*(torch.tensor([tokens]) for tokens in inputs))
    outline = Outline.of(config, attention=attention, layer=layer, head=2)
    side = {"source": inputs[0], "target": inputs[-1]}
    sites = outline.sites()

    def seen(site: str) -> np.ndarray:
        return acts[site][0].numpy()

    needs_memory = outline.is_cross or outline.is_followed_by_cross
    given = Given(
        queries=side[outline.attention.queries_from],
        keys=side[outline.attention.keys_from],
        source=inputs[0],
        x=seen(sites["x"] or ""),
        memory=seen(outline.memory_site) if needs_memory else None,
        x_parts={site: seen(site) for site in outline.origin_of_x().sites},
        memory_parts={site: seen(site) for site in outline.origin_of_memory().sites} if outline.is_cross else {},
    )
    weights = Weights({name: value.numpy() for name, value in model.state_dict().items()})
    found = recompute(outline, weights, given)
    assert list(found.values) == list(sites)
    tolerance = 1e-6 if config.positions.startswith(HELD_IN_FLOAT32) else 1e-11
    for name, site in sites.items():
        if site is None or name == "mask":
            continue
        model_says = seen(site)
        if name in ("concat", "cross_concat"):
            model_says = np.concatenate(list(model_says), axis=-1)
        elif model_says.ndim == 3:
            model_says = model_says[outline.key_value_head if name[0] in "kv" else 2]
        assert found.values[name] == pytest.approx(model_says, rel=tolerance, abs=tolerance), name
