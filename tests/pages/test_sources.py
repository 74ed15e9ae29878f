"""Where a model comes from, and the heads ablated in it: against interventions that are written out."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import transformer_core as tc
from headlight.analysis.interventions.records import InterventionStack
from headlight.analysis.interventions.stacks import to_json
from headlight.analysis.trace.attentions import ATTENTIONS
from pages.explore.compare.ablation import ablation
from pages.shared import models
from pages.shared.sources import Source
from tests.pages.train.small_films import STEPS, save_run
from transformer_core.errors import HeadlightError

pytestmark = pytest.mark.usefixtures("three_kinds_here")
TOKENS: dict[str, tuple[torch.Tensor, ...]] = {
    "en-fr": (torch.tensor([[4, 7, 5, 9, 2]]), torch.tensor([[1, 6, 8]])),
    "tales": (torch.arange(40, 52)[None],),
    "gaps": (torch.tensor([[4, 7, 5, 9, 2]]),),
}
CHANGED: dict[str, list[tuple[str, int, int]]] = {  # heads that are changed: of several attentions and layers
    "en-fr": [("encoder", 1, 3), ("decoder", 0, 0), ("cross", 1, 2), ("cross", 1, 0)],
    "tales": [("decoder", 0, 1), ("decoder", 0, 3)],
    "gaps": [("encoder", 2, 0), ("encoder", 0, 1)],
}


def source_of(name: str, stack: InterventionStack) -> Source:
    return replace(Source.of(models.available()[name]), stack=to_json(stack))


@torch.inference_mode()
def outputs(model: tc.Transformer, name: str, interventions: Any = None) -> tuple[torch.Tensor, tc.Activations]:
    """The logits and every pattern of a forward, with interventions that are written out."""
    with tc.intervene(model, interventions or {}), tc.capture(model, "*.hook_pattern", "*.hook_mask") as acts:
        logits = model(*TOKENS[name])
    return logits, acts


@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize("method", ["zero", "uniform"])
def test_an_ablation_is_that_of_each_head_that_it_names(name: str, method: str):
    """With zero ablation z is 0; with uniform attention a head attends equally to all allowed keys."""
    source = source_of(name, ablation(method, CHANGED[name]))
    model, _ = replace(source, stack="").load()
    plain, masks = outputs(model, name)

    def change(attention: str, layer: int) -> Any:
        heads = [head for where, at, head in CHANGED[name] if (where, at) == (attention, layer)]

        def changed(value: torch.Tensor, site: tc.Site) -> torch.Tensor:
            if method == "zero":
                value[:, heads] = 0
            else:
                mask = masks[ATTENTIONS[attention].site(layer, "hook_mask")].expand(1, 1, *value.shape[2:]).float()
                value[:, heads] = mask / mask.sum(dim=-1, keepdim=True)
            return value

        return changed

    hook = "hook_z" if method == "zero" else "hook_pattern"
    by_hand = {ATTENTIONS[where].site(layer, hook): change(where, layer) for where, layer, _ in CHANGED[name]}
    expected, patterns = outputs(model, name, by_hand)
    actual, seen = outputs(source.load()[0], name)
    torch.testing.assert_close(actual, expected)
    assert not torch.allclose(actual, plain)
    torch.testing.assert_close(outputs(model, name)[0], plain)  # the model itself is unchanged
    for site in patterns if method == "uniform" else ():
        torch.testing.assert_close(seen[site], patterns[site])


def test_a_snapshot_of_a_run_has_the_weights_of_its_film(tmp_path: Path):
    result = save_run(tmp_path / "run")
    for step, expected in zip(STEPS, result, strict=True):
        source = Source(str(tmp_path / "run"), "first", step=step)
        model, _ = source.load()
        assert source.load()[0] is model  # once for all sessions
        for name, weight in expected.state_dict().items():  # films are in half precision
            torch.testing.assert_close(model.state_dict()[name], weight, rtol=0, atol=0.01)
        changed, _ = replace(source, stack=to_json(ablation("zero", [("cross", 0, 1)]))).load()
        with torch.inference_mode(), tc.capture(changed, "*.cross_attn.hook_z") as acts:
            changed(torch.tensor([[4, 5, 6]]), torch.tensor([[1, 4]]))
        assert not acts["decoder.blocks.0.cross_attn.hook_z"][:, 1].any()
        assert acts["decoder.blocks.0.cross_attn.hook_z"][:, 0].any()
    with pytest.raises(HeadlightError, match="the weights of step 7 were replaced"):
        Source(str(tmp_path / "run"), "first", step=7).load()
