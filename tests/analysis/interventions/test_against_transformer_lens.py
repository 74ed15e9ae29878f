"""Replaced heads and whole sweeps against TransformerLens, on the same random GPT-2: where the peer is installed."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from transformer_core.analysis.interventions import (
    Ablation,
    Component,
    Entry,
    Patch,
    SourceRuns,
    Stack,
    applied,
    read_base,
    source_difference,
    sweep,
    sweep_components,
)
from transformer_core.analysis.interventions.records import Kind

TEXT, OTHER = "5 17 80 3 44 17 80", "9 21 60 3 40 11 85"
N_HEADS, LAYER, HEAD = 4, 1, 2


def replaced(name: str, head: int, new: Callable[[Tensor], Tensor], positions: slice = slice(None)) -> Any:
    """A hook of the peer's on one head at hook_z, which it keeps as [batch, pos, head * d_head]."""

    def act(value: Tensor, hook: object) -> Tensor:
        by_head = value.clone().unflatten(-1, (N_HEADS, -1)) if value.ndim == 3 else value.clone()
        by_head[:, positions, head] = new(by_head)[:, positions, head]
        return by_head.reshape(value.shape)

    return [(name, act)]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[tc.Transformer, Any, Any]:
    """The same random GPT-2 here and there, and its tokenizer here."""
    bridge = pytest.importorskip("transformer_lens.model_bridge").TransformerBridge
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("peer") / "gpt2"
    torch.manual_seed(0)
    sizes = {"n_layer": 3, "n_head": N_HEADS, "n_embd": 64, "vocab_size": 200, "n_positions": 48}
    foreign = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, bos_token_id=199, eos_token_id=199))
    with torch.no_grad():
        for parameter in foreign.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    foreign.save_pretrained(folder)
    model, tokenizer = tc.load(folder)
    peer = bridge.boot_transformers(str(folder), device="cpu", dtype=torch.float32)
    peer.eval()
    return model, tokenizer, peer


def test_heads_and_sweeps_agree(both: tuple[tc.Transformer, Any, Any]):
    model, tokenizer, peer = both
    base = read_base(model, tokenizer, TEXT, max_new_tokens=4)
    sources = SourceRuns(model, tokenizer, max_new_tokens=4)
    here, there = (torch.tensor(run.inputs) for run in (base.run, sources.run(OTHER, "same", here=base.run)))
    own = torch.tensor(sources.run(OTHER).inputs)
    site = f"blocks.{LAYER}.attn.hook_z"
    with torch.no_grad():
        caches = [peer.run_with_cache(tokens)[1] for tokens in (there, own)]

    def z_of(cache: Any, name: str) -> Tensor:
        return cache[name].unflatten(-1, (N_HEADS, -1)) if cache[name].ndim == 3 else cache[name]

    component = Component(kind="head", attention="decoder", layer=LAYER, heads=(HEAD,))
    patch = Patch(component=component, text=OTHER, direction="noising", continuation="same")
    cases: list[tuple[Entry, Any]] = [
        (Ablation(component=component, method="zero"), lambda z: torch.zeros_like(z)),
        (
            Ablation(component=component, method="mean", texts=(OTHER,)),
            lambda z: z_of(caches[1], site).mean(dim=1, keepdim=True).expand_as(z),
        ),
        (patch, lambda z: z_of(caches[0], site)),
    ]
    with torch.no_grad():
        torch.testing.assert_close(model(here), peer(here), rtol=0, atol=1e-5)
        for entry, new in cases:
            expected = peer.run_with_hooks(here, fwd_hooks=replaced(site, HEAD, new))
            with applied(model, tokenizer, Stack(entries=(entry,)), run=base.run, sources=sources):
                torch.testing.assert_close(model(here), expected, rtol=0, atol=1e-5)
            assert (expected - peer(here)).abs().max() > 0.1
        metric = base.metric()
        components = [*sweep_components(model.config, base)][::7]
        for result in sweep(model, tokenizer, base, components, template=patch, sources=sources):
            layer, (head,), (position,) = result.component.layer, *map(tuple, _where(result.component))
            name = f"blocks.{layer}.attn.hook_z"
            new = partial(_constant, z_of(caches[0], name))
            hook = replaced(name, head, new, slice(position, position + 1))
            logits = peer.run_with_hooks(here, fwd_hooks=hook)[0, metric.position]
            assert result.after == pytest.approx(metric.of(logits), abs=1e-4)


@pytest.mark.parametrize(
    ("function", "kind", "by_position"),
    [
        ("resid_pre", "resid_pre", True),
        ("resid_mid", "resid_mid", True),
        ("attn_out", "attention", True),
        ("mlp_out", "feed_forward", True),
        ("attn_head_out_by_pos", "head", True),
        ("attn_head_out_all_pos", "head", False),
        ("attn_head_q_all_pos", "query", False),
        ("attn_head_k_all_pos", "key", False),
        ("attn_head_v_all_pos", "value", False),
        ("attn_head_pattern_all_pos", "pattern", False),
    ],
)
def test_sweeps_of_each_kind_and_their_fractions_agree(
    both: tuple[tc.Transformer, Any, Any], function: str, kind: Kind, by_position: bool
):
    model, tokenizer, peer = both
    patching = pytest.importorskip("transformer_lens.patching")
    base = read_base(model, tokenizer, TEXT, max_new_tokens=0)
    here, there = (torch.tensor([[*map(int, text.split())]]) for text in (TEXT, OTHER))
    metric = base.metric()
    with torch.no_grad():
        clean, cache = peer.run_with_cache(there)
        low, high = (metric.of(logits[0, metric.position]) for logits in (peer(here), clean))

    def fraction_recovered(logits: Tensor) -> Tensor:
        return (metric.of_tensor(logits[0, metric.position]) - low) / (high - low)

    with torch.no_grad():
        expected = getattr(patching, f"get_act_patch_{function}")(peer, here, cache, fraction_recovered)
    components = [*sweep_components(model.config, base, kind, by_position=by_position)]
    patch = Patch(component=components[0], text=OTHER, direction="denoising")
    difference = source_difference(model, tokenizer, base, template=patch)
    assert difference is not None and difference == pytest.approx(high - low, abs=1e-4)
    assert len(components) == expected.numel()
    for result in sweep(model, tokenizer, base, components, template=patch):
        index = (result.component.layer, *(result.component.positions or ()), *(result.component.heads or ()))
        assert result.change / difference == pytest.approx(float(expected[index]), abs=1e-4)
    assert expected.abs().max() > 1e-3


def _constant(value: Tensor, _: Tensor) -> Tensor:
    return value


def _where(component: Component) -> tuple[tuple[int, ...], tuple[int, ...]]:
    assert component.heads is not None and component.positions is not None
    return component.heads, component.positions
