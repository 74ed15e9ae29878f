"""The numbers of a walk are the model's."""

from functools import cache

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.walkthrough.walkthrough import walk
from tests.headlight.analysis.walkthrough.small_walks import KINDS, each_place, inputs_of, model_of, walked
from tests.model.building import odd_config, shaken_model
from transformer_core.errors import ConfigError, TextError


@cache
def everything(kind: str) -> tc.Activations:
    with torch.inference_mode(), tc.capture(model_of(kind), "*") as acts:
        model_of(kind)(*(torch.tensor([tokens]) for tokens in inputs_of(kind)))
    return acts


@each_place
def test_what_has_a_site_is_what_a_plain_capture_sees_there(kind: str, attention: str, layer: int):
    acts, config = everything(kind), model_of(kind).config
    n_shared = config.n_kv_heads
    for name, quantity in walked(kind, attention, layer).quantities.items():
        if quantity.site is None:
            continue
        seen = acts[quantity.site][0].float()
        if name in ("concat", "cross_concat"):
            seen = torch.cat(list(seen), dim=-1)
        elif name == "mask":
            seen = seen[0]
        elif seen.dim() == 3:
            seen = seen[2 * n_shared // 3 if name[0] in "kv" else 2]
        # a sum that another set of watched sites makes the model compute in another order is the same but for rounding
        assert np.allclose(quantity.values, seen.numpy(), rtol=1e-5, atol=1e-5), name
        assert quantity.values.dtype == np.float32


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attention": "sideways"}, "attention must be one of encoder, decoder, cross; got 'sideways'"),
        ({"layer": 2}, "no layer 2 in the cross-attention; the last is 1"),
        ({"head": 3}, "no head 3 in this layer, which has 3; the last is 2"),
    ],
)
def test_what_is_not_there_is_refused(changes: dict[str, str | int], message: str):
    place: dict[str, str | int] = {"attention": "cross", "layer": 0, "head": 0}
    with pytest.raises(ConfigError, match=message):
        walk(model_of("the paper's"), inputs_of("the paper's"), **{**place, **changes})  # type: ignore[arg-type]


def test_a_source_without_its_target_is_refused():
    with pytest.raises(TextError, match="takes a source and a target"):
        walk(model_of("the paper's"), inputs_of("the paper's")[:1], attention="encoder", layer=0, head=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_models_of_other_precisions_are_walked_and_proved(dtype: torch.dtype):
    model = shaken_model(odd_config(**KINDS["decoder, rotary"])).to(dtype)
    proof = walk(model, inputs_of("decoder, rotary"), attention="decoder", layer=1, head=0).proof()
    assert proof.dtype == str(dtype).removeprefix("torch.")
    assert proof.holds
    assert proof.largest > 0
