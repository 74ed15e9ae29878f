"""Sweeps, against one whole forward for each component."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.analysis.interventions.small_models import base_of, model_of, sources_of, tensors_of, text_of
from transformer_core.analysis.interventions.comparison import read_base
from transformer_core.analysis.interventions.context import applied
from transformer_core.analysis.interventions.metric import Metric
from transformer_core.analysis.interventions.records import (
    OF_HEADS,
    OF_STACK,
    STEMS,
    Ablation,
    Component,
    Continuation,
    Kind,
    Patch,
    Stack,
)
from transformer_core.analysis.interventions.sweeping import source_difference, sweep, sweep_components
from transformer_core.analysis.trace.attentions import attentions_of
from transformer_core.programs.hand_wired import copying_pair, or_model
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


@pytest.mark.parametrize("variation", EACH_KIND)
@pytest.mark.parametrize("kind", [kind for kind in STEMS if kind not in ("resid_mid", "resid_post")])
@pytest.mark.parametrize("by_position", [False, True])
def test_each_result_is_that_of_a_forward_with_its_patch_alone(variation: str, kind: Kind, by_position: bool):
    (model, tokenizer), base, sources = model_of(variation), base_of(variation), sources_of(variation)
    metric = metric_of(variation)
    components = [*sweep_components(model.config, base, kind, metric, by_position=by_position)]
    components = components[:: 5 if by_position else 1]
    patch = Patch(component=components[0], text=OTHER, direction="noising", continuation="same")
    results = [*sweep(model, tokenizer, base, components, template=patch, metric=metric, sources=sources)]
    assert [result.component for result in results] == components
    for result in results:
        for entries, measured in (((), result.before), ((replace(patch, component=result.component),), result.after)):
            with torch.no_grad(), applied(model, tokenizer, Stack(entries=entries), run=base.run, sources=sources):
                logits = model(*tensors_of(base))[0]
            assert measured == pytest.approx(metric.of(logits[metric.position]), abs=1e-4)
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
    difference = source_difference(model, tokenizer, base, **options, sources=sources_of(variation))
    there = sources_of(variation).run(OTHER, continuation, here=base.run).inputs
    assert len(there[-1]) == len(base.run.inputs[-1])  # so the place is the same
    with torch.no_grad():
        of_source, of_base = (
            model(*inputs)[0, metric.position] for inputs in ([torch.tensor([ids]) for ids in there], tensors_of(base))
        )
    assert metric.other is not None
    gaps = [float(row[metric.token] - row[metric.other]) for row in (of_source, of_base)]
    assert difference == pytest.approx(gaps[0] - gaps[1], abs=1e-4) and abs(difference or 0) > 1e-3


def test_where_the_other_text_has_no_such_token_or_the_same_metric_there_is_no_fraction():
    (model, tokenizer), base = model_of("decoder"), base_of("decoder")
    beginning = " ".join(base.text.split()[:4])
    patch = Patch(component=HEAD_OF["decoder_only"], text=beginning, direction="denoising")
    for position in (2, 5):  # read by both, up to rounding; and after the other one's end
        metric = Metric(position=position, token=5, other=7)
        assert source_difference(model, tokenizer, base, template=patch, metric=metric) is None
    assert source_difference(model, tokenizer, base, template=replace(patch, text=base.text)) is None


# What is known of hand-wired models


def swept(model: tc.Transformer, ids: list[int], given: Stack) -> dict[tuple[int, int], float]:
    """The effect of each head that is set to 0, in nats of log-probability, by (layer, head)."""
    tokenizer = IdTokenizer.of(model.config)
    base = read_base(model, tokenizer, " ".join(map(str, ids)), max_new_tokens=0)
    results = sweep(
        model,
        tokenizer,
        base,
        sweep_components(model.config, base, by_position=False),
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
