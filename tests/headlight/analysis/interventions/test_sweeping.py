"""Sweeps, against one whole forward for each component."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.interventions.base import read_base
from headlight.analysis.interventions.effect import Metric
from headlight.analysis.interventions.records import (
    OF_HEADS,
    OF_STACK,
    STEMS,
    Ablation,
    Component,
    ComponentKind,
    Continuation,
    InterventionStack,
    Patch,
)
from headlight.analysis.interventions.sweeping import Sweep, sweep_components
from headlight.analysis.trace.attentions import attentions_of
from headlight.programs.hand_wired import copying_pair, or_model
from tests.headlight.analysis.interventions.small_models import base_of, model_of, tensors_of, text_of
from transformer_core.text.ids import IdTokenizer

OTHER = text_of(7, seed=5)
HEAD_OF = {
    "encoder_decoder": Component(kind="head", attention="cross", layer=0),
    "decoder_only": Component(kind="head", attention="decoder", layer=0),
    "encoder_only": Component(kind="head", attention="encoder", layer=0),
}
EACH_KIND = ["the paper's", "rotary, groups", "decoder, rotary", "decoder, parallel", "encoder, buckets, groups"]


def metric_of(variation: str) -> Metric:
    """A logit difference in the middle of the output; of an encoder without blanks, within the text."""
    base = base_of(variation)
    return base.metric(1) if base.tokens else Metric(position=3, token=5, other=7)


PLACES = {  # where torch's own hooks see a kind of component: at a module's input or its output
    "head": ("{attention}.out", "input"),
    "pattern": ("{attention}.out", "input"),  # as pattern @ v
    "query": ("{attention}.q", "output"),
    "key": ("{attention}.k", "output"),
    "value": ("{attention}.v", "output"),
    "attention": ("{attention}", "output"),
    "feed_forward": ("{block}.mlp", "output"),
    "resid_pre": ("{block}", "input"),
}


def module_of(component: Component, template: str) -> str:
    block = f"{'encoder' if component.attention == 'encoder' else 'decoder'}.blocks.{component.layer}"
    name = "cross_attn" if component.attention == "cross" else "self_attn"
    return template.format(block=block, attention=f"{block}.{name}")


@torch.no_grad()
def hooked(
    model: tc.Transformer, inputs: list[torch.Tensor], path: str, end: str, edit: Callable[[torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """The logits of a run in which a torch hook edits what goes into a module, or comes out of it."""
    module = model.get_submodule(path)
    if end == "input":
        handle = module.register_forward_pre_hook(lambda _, args: (edit(args[0]), *args[1:]))
    else:
        handle = module.register_forward_hook(lambda _, args, output: edit(output))
    try:
        return model(*inputs)[0]
    finally:
        handle.remove()


def seen(model: tc.Transformer, inputs: list[torch.Tensor], path: str, end: str) -> torch.Tensor:
    """What goes into a module, or comes out of it."""
    values: list[torch.Tensor] = []
    hooked(model, inputs, path, end, lambda value: values.append(value) or value)  # type: ignore[func-returns-value]
    return values[0]


def naively_patched(
    model: tc.Transformer, component: Component, here: list[torch.Tensor], there: list[torch.Tensor]
) -> torch.Tensor:
    """The logits of a run with one component of another one, by nothing but torch's hooks on the modules."""
    config, (place, end) = model.config, PLACES[component.kind]
    path = module_of(component, place)
    if component.kind == "pattern":  # the other run's pattern, and this run's values
        with torch.no_grad(), tc.capture(model, "*.hook_pattern") as acts:
            model(*there)
        pattern = acts[tc.site("pattern", layer=component.layer, attention=component.attention)]
        values = seen(model, here, module_of(component, PLACES["value"][0]), "output")
        values = values.unflatten(-1, (config.n_kv_heads, -1)).transpose(1, 2)
        values = values.repeat_interleave(config.n_heads // config.n_kv_heads, dim=1)
        new = (pattern @ values).transpose(1, 2).flatten(2)
    else:
        new = seen(model, there, path, end)

    def edit(value: torch.Tensor) -> torch.Tensor:
        value = value.clone()
        width = value.shape[-1] if component.heads is None else config.d_head
        start = width * (component.heads or (0,))[0]
        for position in component.positions or range(value.shape[1]):
            value[:, position, start : start + width] = new[:, position, start : start + width]
        return value

    return hooked(model, here, path, end, edit)


@pytest.mark.parametrize("variation", EACH_KIND)
@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("by_position", [False, True])
def test_each_result_is_that_of_a_forward_with_torchs_own_hooks(variation: str, kind: ComponentKind, by_position: bool):
    (model, tokenizer), base = model_of(variation), base_of(variation)
    metric, inputs = metric_of(variation), tensors_of(base)
    components = [*sweep_components(model.config, base, kind, metric, by_position=by_position)]
    components = components[:: 5 if by_position else 1]
    patch = Patch(component=components[0], text=OTHER, direction="noising", continuation="same")
    results = [*Sweep(model, tokenizer, base, patch, metric=metric).exact(components)]
    other = [torch.tensor([ids]) for ids in base.sources.run(model, OTHER, "same", here=base.run).inputs]
    with torch.no_grad():
        before = model(*inputs)[0]
    for result in results:
        after = naively_patched(model, result.component, inputs, other)
        for logits, measured in ((before, result.before), (after, result.after)):
            assert measured == pytest.approx(metric.of(logits[metric.position]), abs=1e-4)
    assert [result.component for result in results] == components
    assert max(abs(result.change) for result in results) > 1e-3


@pytest.mark.parametrize("variation", EACH_KIND)
def test_components_are_all_parts_and_all_places_that_can_matter(variation: str):
    model, _ = model_of(variation)
    base, config, metric = base_of(variation), model.config, metric_of(variation)
    n_target = metric.position + 1
    n_of = {"encoder": len(base.run.source), "decoder": n_target, "cross": n_target}
    has: Any = [*attentions_of(config)]
    n_heads = dict.fromkeys(("head", "query", "pattern"), config.n_heads)
    n_heads |= dict.fromkeys(("key", "value"), config.n_kv_heads)
    for kind in STEMS:
        names = [name for name in has if name != "cross" or kind not in OF_STACK]
        n_keys = n_of | ({"cross": n_of["encoder"]} if kind in ("key", "value") else {})
        placed = [*sweep_components(config, base, kind, metric)]
        n_parts = n_heads.get(kind, 1)
        assert len(set(placed)) == len(placed) == sum(2 * n_parts * n_keys[name] for name in names)
        whole = [*sweep_components(config, base, kind, metric, attentions=[names[-1]], by_position=False)]
        heads = [(head,) for head in range(n_parts)] if kind in OF_HEADS else [None]
        expected = [(names[-1], layer, part, None) for layer in range(2) for part in heads]
        assert [(each.attention, each.layer, each.heads, each.positions) for each in whole] == expected


# The difference of both texts, of which a change is a fraction


@pytest.mark.parametrize("variation", EACH_KIND)
@pytest.mark.parametrize("continuation", ["own", "same"])
def test_the_difference_is_that_of_plain_forwards_on_both_texts(variation: str, continuation: Continuation):
    (model, tokenizer), base, metric = model_of(variation), base_of(variation), metric_of(variation)
    patch = Patch(component=HEAD_OF[model.config.architecture], text=OTHER, direction="denoising")
    options: dict[str, Any] = {"template": replace(patch, continuation=continuation), "metric": metric}
    difference = Sweep(model, tokenizer, base, **options).difference()
    there = base.sources.run(model, OTHER, continuation, here=base.run).inputs
    assert len(there[-1]) == len(base.run.inputs[-1])  # so the place is the same
    with torch.no_grad():
        of_source, of_base = (
            model(*inputs)[0, metric.position] for inputs in ([torch.tensor([ids]) for ids in there], tensors_of(base))
        )
    assert metric.other is not None
    gaps = [float(row[metric.token] - row[metric.other]) for row in (of_source, of_base)]
    assert difference == pytest.approx(gaps[0] - gaps[1], abs=1e-4) and abs(difference or 0) > 1e-3


def test_the_metric_of_a_shorter_text_is_read_where_its_continuation_has_the_same_token():
    (model, tokenizer), base, metric = model_of("decoder"), base_of("decoder"), metric_of("decoder")
    patch = Patch(
        component=HEAD_OF["decoder_only"], text=text_of(5, seed=5), direction="denoising", continuation="same"
    )
    difference = Sweep(model, tokenizer, base, patch, metric=metric).difference()
    (ids,) = base.run.inputs
    n_given = base.run.n_given
    shorter = [*tokenizer.encode_for(patch.text, "decoder_only"), *ids[n_given:]]
    n_fewer = len(ids) - len(shorter)
    assert n_fewer == 2 and metric.position >= n_given
    with torch.no_grad():
        of_source = metric.of(model(torch.tensor([shorter]))[0, metric.position - n_fewer])
        of_base = metric.of(model(torch.tensor([ids]))[0, metric.position])
    assert difference == pytest.approx(of_source - of_base, abs=1e-4)


def test_where_the_other_text_has_no_such_token_or_the_same_metric_there_is_no_fraction():
    (model, tokenizer), base = model_of("decoder"), base_of("decoder")
    beginning = " ".join(base.text.split()[:4])
    patch = Patch(component=HEAD_OF["decoder_only"], text=beginning, direction="denoising")
    for position in (2, 5):  # read by both, up to rounding; and after the other one's end
        metric = Metric(position=position, token=5, other=7)
        assert Sweep(model, tokenizer, base, patch, metric=metric).difference() is None
    assert Sweep(model, tokenizer, base, replace(patch, text=base.text)).difference() is None


# What is known of hand-wired models


def swept(model: tc.Transformer, ids: list[int], given: InterventionStack) -> dict[tuple[int, int], float]:
    """The effect of each head that is set to 0, in nats of log-probability, by (layer, head)."""
    tokenizer = IdTokenizer.of(model.config)
    base = read_base(model, tokenizer, " ".join(map(str, ids)), max_new_tokens=0)
    zero = Ablation(component=Component(kind="head", attention="decoder", layer=0), method="zero")
    metric = Metric(position=len(ids) - 2, token=ids[1])
    results = Sweep(model, tokenizer, base, zero, metric=metric, given=given).exact(
        sweep_components(model.config, base, by_position=False)
    )
    return {(each.component.layer, (each.component.heads or (0,))[0]): each.change for each in results}


def off(layer: int, head: int) -> InterventionStack:
    return InterventionStack(
        entries=(
            Ablation(component=Component(kind="head", attention="decoder", layer=layer, heads=(head,)), method="zero"),
        )
    )


def test_the_effect_of_an_or_gates_head_grows_once_the_other_one_is_off():
    ids = [0, 5, 5, 3, 7, 2, 2, 1]
    alone, given = (swept(or_model().model, ids, stack) for stack in (InterventionStack(), off(0, 0)))
    assert alone[0, 0] == alone[0, 1] == pytest.approx(-0.1799, abs=1e-3)
    assert given[0, 1] == pytest.approx(-2.3014, abs=1e-3)
    assert given[0, 0] == 0


def test_a_backup_head_shows_only_under_co_ablation():
    ids = [0, 5, 5, 3, 7, 2, 2, 1]
    alone, given = (swept(copying_pair().model, ids, stack) for stack in (InterventionStack(), off(0, 0)))
    np.testing.assert_allclose([*alone.values()], 0, atol=1e-6)
    assert given[1, 0] == pytest.approx(-2.3014, abs=1e-3)
