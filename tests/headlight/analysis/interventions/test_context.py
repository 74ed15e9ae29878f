"""A stack on models of every variation: no bit changes where nothing should, and edits equal a computation by hand."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.interventions.context import prepare
from headlight.analysis.interventions.records import (
    STEMS,
    Ablation,
    CellEdit,
    Component,
    InterventionStack,
    Patch,
    StackEntry,
    TokenSwap,
)
from headlight.analysis.interventions.source_runs import stepwise_attention
from headlight.analysis.trace.attentions import ATTENTIONS, attentions_of
from headlight.analysis.trace.model_run import run_text
from tests.headlight.analysis.interventions.small_models import (
    base_of,
    last_attention,
    model_of,
    tensors_of,
    text_of,
)
from tests.model.building import VARIATIONS, each_variation
from transformer_core.errors import ConfigError, InterventionError, SiteError

pytestmark = pytest.mark.usefixtures("without_gradients")
OTHER = text_of(9, seed=5)
HEADS = (1,)


def logits_with(variation: str, *entries: StackEntry, step_by_step: bool = True) -> torch.Tensor:
    (model, tokenizer), base = model_of(variation), base_of(variation)
    ready = prepare(model, tokenizer, InterventionStack(entries=entries), run=base.run, sources=base.sources)
    with ready.active():
        inputs = [torch.tensor([ids]) for ids in base.run.inputs]
        if not step_by_step:
            return model(*inputs)
        with stepwise_attention(model):
            return model(*inputs)


def components(variation: str) -> Iterator[Component]:
    """A component of each kind that a model has, in its last attention."""
    config = model_of(variation)[0].config
    name: Any = last_attention(config)
    for kind in STEMS:
        stack = "decoder" if name == "cross" and kind not in ("head", "query", "pattern", "attention") else name
        stack = name if kind in ("key", "value") else stack
        heads = HEADS if kind in ("head", "query", "pattern") else (0,) if kind in ("key", "value") else None
        needs_feed_forward = kind in ("feed_forward", "resid_mid")
        if config.d_ff or not needs_feed_forward:
            yield Component(kind=kind, attention=stack, layer=1, heads=heads)  # type: ignore[arg-type]


def of(kind: Any, attention: Any = "decoder", **where: Any) -> Ablation:
    return Ablation(component=Component(kind=kind, attention=attention, **{"layer": 0} | where), method="zero")


@each_variation
def test_what_changes_nothing_changes_no_bit(variation: str):
    """Nothing, disabled entries, a patch from the same text, a factor of 1, and forbidden cells that are edited."""
    (model, _), config = model_of(variation), model_of(variation)[0].config
    plain, off = (
        logits_with(variation),
        [replace(of("head"), component=each, enabled=False) for each in components(variation)],
    )
    for entries in ((), off):
        assert torch.equal(logits_with(variation, *entries, step_by_step=False), model(*tensors_of(base_of(variation))))
    for component in components(variation):
        patch = Patch(component=component, text=str(base_of(variation).text), direction="noising")
        assert torch.equal(logits_with(variation, patch), plain), component
    name: Any = last_attention(config)
    scaled = CellEdit(attention=name, layer=1, operation="scale", number=1, cells=((1, None), (None, 0)))
    edits = [scaled, replace(scaled, cells=None)]
    if config.has_decoder:
        later = tuple((query, key) for query in range(3) for key in range(query + 1, 4))
        knock_out = CellEdit(attention="decoder", layer=0, operation="knock_out", cells=later)
        edits += [knock_out, replace(knock_out, operation="set", number=0.7)]
    for edit in edits:
        assert torch.equal(logits_with(variation, edit), plain), edit


# Edits of cells, against the pattern computed by hand

EDITS: dict[str, dict[str, Any]] = {
    "set": {"operation": "set", "number": 0.6, "cells": ((4, 1), (None, 0))},
    "set, renormalized": {"operation": "set", "number": 0.6, "cells": ((4, 1), (2, 0)), "renormalize": True},
    "scale": {"operation": "scale", "number": 3.0, "cells": ((4, None), (3, 1))},
    "scale, renormalized": {"operation": "scale", "number": 0.2, "cells": ((4, 0), (3, 1)), "renormalize": True},
    "cut": {"operation": "set", "number": 0.0, "cells": ((None, 1),)},
    "knock out": {"operation": "knock_out", "cells": ((4, 0), (None, 1), (2, None))},
    "uniform": {"operation": "uniform"},
}


def softmax_by_hand(scores: np.ndarray) -> np.ndarray:
    """Row by row; all 0 where nothing is allowed."""
    pattern = np.zeros_like(scores)
    for place in np.ndindex(scores.shape[:-1]):
        row = scores[place]
        if np.isfinite(row).any():
            exponentials = np.exp(row - row[np.isfinite(row)].max())
            pattern[place] = exponentials / exponentials.sum()
    return pattern


def edited_by_hand(scores: np.ndarray, edit: CellEdit) -> np.ndarray:
    """The pattern [head, query, key] that an edit asks for, cell by cell."""
    n_heads, n_queries, n_keys = scores.shape
    heads = range(n_heads) if edit.heads is None else edit.heads
    meant = [
        (head, query, key)
        for head in heads
        for query in range(n_queries)
        for key in range(n_keys)
        for q, k in edit.cells or ((None, None),)
        if q in (None, query) and k in (None, key) and np.isfinite(scores[head, query, key])
    ]
    scores = scores.copy()
    for place in meant:
        if edit.operation in ("knock_out", "uniform"):
            scores[place] = -np.inf if edit.operation == "knock_out" else 0.0
    pattern = softmax_by_hand(scores)
    for place in set(meant):
        if edit.operation in ("set", "scale"):
            pattern[place] = edit.number if edit.operation == "set" else pattern[place] * edit.number
    for head, query in {place[:2] for place in meant} if edit.renormalize else ():
        fixed = [key for key in range(n_keys) if (head, query, key) in meant]
        others = [key for key in range(n_keys) if key not in fixed]
        left, total = 1 - pattern[head, query, fixed].sum(), pattern[head, query, others].sum()
        if left >= 0 and total > 0:
            pattern[head, query, others] *= left / total
        else:
            pattern[head, query] /= pattern[head, query].sum()
    return pattern


EACH_WITH_THREE = [(name, [*EDITS][(i + 2 * j) % 7]) for i, name in enumerate(VARIATIONS) for j in range(3)]


@pytest.mark.parametrize(("variation", "edit"), EACH_WITH_THREE)
def test_an_edited_pattern_weighs_the_values_as_by_hand(variation: str, edit: str):
    (model, tokenizer), base = model_of(variation), base_of(variation)
    for name in attentions_of(model.config):
        entry = CellEdit(attention=name, layer=1, heads=HEADS, **EDITS[edit])  # type: ignore[arg-type]
        v, scores, pattern, z, out = (
            ATTENTIONS[name].site(1, f"hook_{stem}") for stem in ("v", "attn_scores", "pattern", "z", "attn_out")
        )
        with tc.capture(model, scores, v) as plain:
            model(*tensors_of(base))
        with (
            prepare(model, tokenizer, InterventionStack(entries=(entry,))).active(),
            tc.capture(model, pattern, z, out) as acts,
        ):
            logits = model(*tensors_of(base))
        expected = edited_by_hand(plain[scores][0].double().numpy(), entry)
        np.testing.assert_allclose(acts[pattern][0].numpy(), expected, atol=1e-6)
        values = plain[v][0].double().numpy().repeat(model.config.n_heads // model.config.n_kv_heads, axis=0)
        weighted = np.stack([expected[head] @ values[head] for head in range(len(expected))])
        np.testing.assert_allclose(acts[z][0].numpy(), weighted, atol=1e-5)
        module: Any = model.get_submodule(ATTENTIONS[name].module.format(layer=1))
        joined = np.concatenate([*weighted], axis=-1) @ module.out.weight.double().numpy().T
        joined += 0 if module.out.bias is None else module.out.bias.double().numpy()
        if module.out_norm is not None:
            joined = module.out_norm(torch.from_numpy(joined).float()).numpy()
        np.testing.assert_allclose(acts[out][0].numpy(), joined, atol=1e-5)
        with tc.intervene(model, {z: tc.replace(torch.tensor(weighted))}):
            torch.testing.assert_close(model(*tensors_of(base)), logits, rtol=0, atol=1e-4)
        assert not torch.equal(logits, logits_with(variation))


# Components, against plain tensors


@pytest.mark.parametrize("variation", ["the paper's", "rotary, groups", "decoder, parallel", "encoder"])
def test_what_a_component_is_replaced_by(variation: str):
    model, tokenizer = model_of(variation)
    for component in components(variation):
        if component.kind == "pattern":
            continue
        name = tc.site(STEMS[component.kind], layer=1, attention=component.attention)
        own = acts_at(variation, name, InterventionStack())
        there = run_text(model, tokenizer, OTHER, max_tokens=16, max_new_tokens=4)
        with stepwise_attention(model), tc.capture(model, name) as acts:
            model(*(torch.tensor([ids]) for ids in there.inputs))
        constant = tuple(torch.linspace(-1, 1, own.shape[-1]).tolist())
        replaced = [
            (Ablation(component=component, method="zero"), torch.zeros(())),
            (Ablation(component=component, method="mean", texts=(OTHER,)), acts[name].mean(dim=-2, keepdim=True)),
            (Ablation(component=component, method="constant", constant=constant), torch.tensor(constant)),
        ]
        is_meant = torch.ones_like(own, dtype=torch.bool)
        if component.heads is not None:
            is_meant[:] = False
            is_meant[:, list(component.heads)] = True
        for entry, value in replaced:
            edited = acts_at(variation, name, InterventionStack(entries=(entry,)))
            torch.testing.assert_close(edited, torch.where(is_meant, value, own), rtol=0, atol=1e-5)


def acts_at(variation: str, name: str, stack: InterventionStack) -> torch.Tensor:
    (model, tokenizer), base = model_of(variation), base_of(variation)
    with (
        stepwise_attention(model),
        prepare(model, tokenizer, stack, run=base.run, sources=base.sources).active(),
        tc.capture(model, name) as acts,
    ):
        model(*tensors_of(base))
    return acts[name]


@each_variation
def test_swapped_tokens_equal_other_input_ids(variation: str):
    (model, tokenizer), base = model_of(variation), base_of(variation)
    side = "source" if model.config.has_encoder else "target"
    swap = TokenSwap(side=side, positions=(4, 0), tokens=(9, 30))  # type: ignore[arg-type]
    ids = [list(each) for each in base.run.inputs]
    ids[0][4], ids[0][0] = 9, 30
    expected = model(*(torch.tensor([each]) for each in ids))
    ready = prepare(model, tokenizer, InterventionStack(entries=(swap,)))
    with ready.active():
        assert torch.equal(model(*(torch.tensor([each]) for each in ids)), expected)
        assert torch.equal(model(*tensors_of(base)), expected)


# The stack as a whole


def test_entries_act_in_their_order_and_source_runs_do_not_see_them():
    """The resid_pre would change what the patch takes from its source run, if it acted in that run."""
    head = Component(kind="head", attention="decoder", layer=0, heads=(0,))
    zero = Ablation(component=head, method="zero")
    constant = Ablation(component=head, method="constant", constant=(1.0,) * 16)
    name = "decoder.blocks.0.self_attn.hook_z"
    assert (acts_at("decoder", name, InterventionStack(entries=(constant, zero)))[0, 0] == 0).all()
    assert (acts_at("decoder", name, InterventionStack(entries=(zero, constant)))[0, 0] == 1).all()
    late = Component(kind="resid_post", attention="decoder", layer=1)
    patch = Patch(component=late, text=base_of("decoder").text, direction="denoising")
    stack, name = InterventionStack(entries=(of("resid_pre"), patch)), "decoder.blocks.1.hook_resid_post"
    assert torch.equal(acts_at("decoder", name, stack), acts_at("decoder", name, InterventionStack()))
    assert len(prepare(*model_of("decoder"), stack, run=base_of("decoder").run).pairings) == 1


@pytest.mark.parametrize(
    "variation, entry, complaint",
    [
        ("decoder", of("head", "cross"), "this model has no cross-attention; choose decoder self-attention"),
        ("decoder", of("head", layer=2), "no layer 2 in the decoder self-attention; the last is 1, counted from 0"),
        ("decoder", of("head", heads=(3,)), "no head 3 in this layer, which has 3; the last is 2"),
        ("decoder, rotary", of("key", heads=(1,)), "no head 1 in this layer, which has 1"),
        ("decoder, attention only", of("feed_forward"), "have no feed-forward network; choose another component"),
        ("decoder, attention only", of("resid_mid"), "have no feed-forward network"),
        ("decoder", CellEdit(attention="encoder", layer=0, operation="uniform"), "has no encoder self-attention"),
        ("decoder", TokenSwap(side="source", positions=(0,), tokens=(5,)), "a decoder-only model reads no source"),
        ("decoder", TokenSwap(side="target", positions=(0,), tokens=(37,)), "id 37 is not in the vocabulary"),
        ("decoder", TokenSwap(side="target", positions=(0,), tokens=(0,)), "token 0 is padding"),
        (
            "decoder",
            Ablation(component=of("head").component, method="constant", constant=(1.0,)),
            "needs 48 numbers and has 1; fit it",
        ),
    ],
)
def test_what_the_model_does_not_have_is_said_before_it_runs(variation: str, entry: StackEntry, complaint: str):
    model, tokenizer = model_of(variation)
    with pytest.raises(ConfigError, match=complaint):
        prepare(model, tokenizer, InterventionStack(entries=(entry,)))
    assert prepare(model, tokenizer, InterventionStack(entries=(replace(entry, enabled=False),))).hooks == {}


def test_a_source_needs_the_run_that_it_goes_into_and_a_pattern_its_shape():
    model, tokenizer = model_of("decoder")
    head = Component(kind="head", attention="decoder", layer=0)
    with pytest.raises(InterventionError, match="needs the run that receives them"):
        prepare(model, tokenizer, InterventionStack(entries=(Ablation(component=head, texts=(OTHER,)),)))
    pattern = Patch(component=replace(head, kind="pattern"), text=OTHER, direction="noising")
    with pytest.raises(InterventionError, match="can only be patched between texts of the same length"):
        prepare(model, tokenizer, InterventionStack(entries=(pattern,)), run=base_of("decoder").run)


def test_positions_after_the_text_and_a_context_without_a_forward_are_errors():
    model, tokenizer = model_of("decoder")
    far = InterventionStack(entries=(of("head", positions=(23,)),))
    with (
        pytest.raises(InterventionError, match="refers to position 23, but there were only"),
        prepare(model, tokenizer, far).active(),
    ):
        model(*tensors_of(base_of("decoder")))
    with pytest.raises(SiteError, match="no forward pass reached"), prepare(model, tokenizer, far).active():
        pass
