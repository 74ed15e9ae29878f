"""Sweeps, against one whole forward for each component."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.analysis.interventions.small_models import base_of, last_attention, model_of, sources_of, tensors_of, text_of
from transformer_core.analysis.interventions import (
    Ablation,
    Component,
    Metric,
    Patch,
    Stack,
    head_components,
    read_base,
    residual_components,
    sweep,
)
from transformer_core.analysis.interventions.records import STEMS
from transformer_core.programs.hand_wired import copying_pair, or_model
from transformer_core.text.ids import IdTokenizer

OTHER = text_of(7, seed=5)
SWEPT = ["the paper's", "buckets", "decoder, rotary", "decoder, parallel"]


@pytest.mark.parametrize("variation", SWEPT)
@pytest.mark.parametrize("kind", ["heads", "residual"])
def test_each_result_is_that_of_a_whole_forward_with_one_patch(variation: str, kind: str):
    (model, tokenizer), base = model_of(variation), base_of(variation)
    metric = base.metric(1)
    config, inputs = model.config, tensors_of(base)
    components = [*(head_components if kind == "heads" else residual_components)(config, base, metric)][::5]
    patch = Patch(component=components[0], text=OTHER, direction="noising", continuation="same")
    results = [*sweep(model, tokenizer, base, components, template=patch, metric=metric, sources=sources_of(variation))]
    other = [torch.tensor([ids]) for ids in sources_of(variation).run(OTHER, "same", here=base.run).inputs]
    with torch.no_grad(), tc.capture(model, "*") as acts:
        model(*other)
    with torch.no_grad():
        before = model(*inputs)[0, metric.position]
    for result in results:
        where = result.component
        name = tc.site(STEMS[where.kind], layer=where.layer, attention=where.attention)
        edit = tc.patch({name: acts[name]}, heads=where.heads, positions=where.positions)
        with torch.no_grad(), tc.intervene(model, {name: edit}):
            after = model(*inputs)[0, metric.position]
        assert metric.other is not None
        for logits, measured in ((before, result.before), (after, result.after)):
            assert measured == pytest.approx(float(logits[metric.token] - logits[metric.other]), abs=1e-4)
    assert [result.component for result in results] == components
    assert max(abs(result.change) for result in results) > 1e-3


@pytest.mark.parametrize("variation", SWEPT)
def test_components_are_all_heads_and_all_places_that_can_matter(variation: str):
    model, _ = model_of(variation)
    base, config = base_of(variation), model.config
    metric = base.metric(1)
    heads = [*head_components(config, base, metric)]
    n_target = metric.position + 1
    n_positions = {"encoder": len(base.run.source), "decoder": n_target, "cross": n_target}
    has = [name for name in n_positions if config.has_encoder or name == "decoder"]
    assert len(set(heads)) == len(heads) == sum(2 * config.n_heads * n_positions[name] for name in has)
    whole = [*head_components(config, base, metric, attentions=["decoder"], by_position=False)]
    assert [(each.layer, each.heads) for each in whole] == [(i, (h,)) for i in range(2) for h in range(config.n_heads)]
    stacks = [name for name in has if name != "cross"]
    residual = [*residual_components(config, base, metric)]
    assert len(set(residual)) == len(residual) == sum(2 * n_positions[name] for name in stacks)


def test_a_later_position_of_the_decoder_has_no_effect():
    """So leaving them out of the sweep loses nothing."""
    (model, tokenizer), base = model_of("decoder"), base_of("decoder")
    late = [
        Component(kind="resid_pre", attention="decoder", layer=layer, positions=(position,))
        for layer in (0, 1)
        for position in range(base.outputs.positions[0] + 1, len(base.run.inputs[0]))
    ]
    zero = Ablation(component=late[0], method="zero")
    results = [*sweep(model, tokenizer, base, late, template=zero, metric=base.metric(0))]
    assert len(results) > 2 and all(result.change == 0 for result in results)


def test_a_sweep_can_be_left_at_any_time():
    (model, tokenizer), base = model_of("decoder"), base_of("decoder")
    with torch.no_grad():
        plain = model(*tensors_of(base))
    results = sweep(
        model,
        tokenizer,
        base,
        head_components(model.config, base),
        template=Ablation(component=Component(kind="head", attention="decoder", layer=0), method="zero"),
    )
    next(results)
    with torch.no_grad():
        assert torch.equal(model(*tensors_of(base)), plain)
        next(results)
        results.close()
        assert torch.equal(model(*tensors_of(base)), plain)


def test_an_equal_source_changes_nothing():
    for variation in SWEPT:
        (model, tokenizer), base = model_of(variation), base_of(variation)
        name = last_attention(model.config)
        components = [*head_components(model.config, base, attentions=[name])][::3]
        patch = Patch(component=components[0], text=base.text, direction="denoising")
        results = sweep(model, tokenizer, base, components, template=patch, sources=sources_of(variation))
        assert all(result.change == 0 for result in results)


# What is known of hand-wired models


def swept(model: tc.Transformer, ids: list[int], given: Stack) -> dict[tuple[int, int], float]:
    """The effect of each head that is set to 0, in nats of log-probability, by (layer, head)."""
    tokenizer = IdTokenizer.of(model.config)
    base = read_base(model, tokenizer, " ".join(map(str, ids)), max_new_tokens=0)
    results = sweep(
        model,
        tokenizer,
        base,
        head_components(model.config, base, by_position=False),
        template=Ablation(component=Component(kind="head", attention="decoder", layer=0), method="zero"),
        metric=Metric(position=len(ids) - 2, token=ids[1]),
        given=given,
    )
    return {(each.component.layer, (each.component.heads or (0,))[0]): each.change for each in results}


def off(layer: int, head: int) -> Stack:
    return Stack(
        entries=(
            Ablation(component=Component(kind="head", attention="decoder", layer=layer, heads=(head,)), method="zero"),
        )
    )


def test_the_effect_of_an_or_gates_head_grows_once_the_other_one_is_off():
    ids = [0, 5, 5, 3, 7, 2, 2, 1]
    alone, given = (swept(or_model().model, ids, stack) for stack in (Stack(), off(0, 0)))
    assert alone[0, 0] == alone[0, 1] == pytest.approx(-0.1799, abs=1e-3)
    assert given[0, 1] == pytest.approx(-2.3014, abs=1e-3)
    assert given[0, 0] == 0


def test_a_backup_head_shows_only_under_co_ablation():
    ids = [0, 5, 5, 3, 7, 2, 2, 1]
    alone, given = (swept(copying_pair().model, ids, stack) for stack in (Stack(), off(0, 0)))
    np.testing.assert_allclose([*alone.values()], 0, atol=1e-6)
    assert given[1, 0] == pytest.approx(-2.3014, abs=1e-3)
