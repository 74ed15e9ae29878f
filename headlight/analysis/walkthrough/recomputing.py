"""Recompute the block of a walk with a float64 copy of the model's own modules."""

import math
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from headlight.analysis.trace.dropout import drop
from headlight.analysis.walkthrough.outline import DROPPED, Origin, Outline
from transformer_core.instrument.capture import capture
from transformer_core.model.attention import MultiHeadAttention, soft_cap
from transformer_core.model.stack import Stack
from transformer_core.model.transformer import Transformer

Captured = Mapping[str, Tensor]


@dataclass(frozen=True, kw_only=True, eq=False)
class AllHeads:
    """Values of all heads of one attention that the formulas need."""

    pattern: Float[np.ndarray, "head query key"]
    v: Float[np.ndarray, "kv_head key d_head"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Recomputed:
    """Every quantity of a walk in float64, and the attentions that they came from."""

    values: Mapping[str, Float[np.ndarray, "_ _"]]  # by quantity
    attention: AllHeads
    cross: AllHeads | None  # the one that comes next in the block
    bias: Float[np.ndarray, "head query key"] | None  # distance bias of the scores; None: no bias
    intervened: Mapping[str, Bool[np.ndarray, "_ _"]]  # by quantity: numbers that a hook set, if any
    is_attention_intervened: bool  # a hook set numbers inside the attention, in any head


def sites_to_recompute(outline: Outline) -> set[str]:
    """Return the sites to capture for recomputing a block."""
    own = outline.self_attention
    sites = {*own.origin_of_x().sites, f"{own.module}.hook_mask"}
    if own.is_followed_by_cross:
        sites |= {*own.origin_of_memory().sites, f"{own.cross}.hook_mask"}
    return sites


def recompute(model: Transformer, outline: Outline, captured: Captured) -> Recomputed:
    """Return the quantities of a walk as the model's own modules compute them in float64, on the CPU.

    The block starts from the sum of activations captured before it, and so does the encoder's output it attends to.
    Interventions that always act in the model (`with_interventions`) act here too.

    Args:
        model: whose modules are copied.
        outline: of the head.
        captured: the model's own activations at `sites_to_recompute`, by site.
    """
    own, stack = outline.self_attention, model.get_submodule(outline.stack)
    assert isinstance(stack, Stack), "a block is part of a stack"
    origin = own.origin_of_x()
    handed_on = _origin(model, origin, captured)
    x = _through_hook(model, origin, handed_on)
    inputs: list[Tensor | None] = [x, captured[f"{own.module}.hook_mask"].cpu()]
    memory: dict[str, Tensor] = {}
    if own.is_followed_by_cross:
        origin = own.origin_of_memory()
        memory = {outline.memory_site: _through_hook(model, origin, _origin(model, origin, captured))}
        inputs += [*memory.values(), captured[f"{own.cross}.hook_mask"].cpu()]
    rotary, bias = stack.rotary_in(outline.layer), stack.bias_at(0, x.shape[1], x.device)
    rotation = None if rotary is None else rotary(0, x.shape[1], x.device)
    path = f"{outline.block}."
    attentions = {outline.module} | ({outline.cross} if outline.is_followed_by_cross else set())
    sites = {site for site in outline.sites.values() if site is not None and site not in memory}
    sites |= {f"{module}.hook_{stem}" for module in attentions for stem in ("pattern", "v")}
    block = in_float64(model.get_submodule(outline.block))
    before: dict[str, Tensor] = {}  # by site, the value before its interventions
    for site in sites:
        point = block.get_submodule(site.removeprefix(path))
        point.register_forward_pre_hook(partial(_note, before, site), prepend=True)
    with capture(block, *(site.removeprefix(path) for site in sites)) as activations:
        block(*inputs, rotation=rotation, bias=bias)
    before[f"{outline.block}.hook_resid_pre"] = handed_on
    known = memory | {f"{path}{site}": value.double() for site, value in activations.items()}
    biases = distance_bias(model, outline, x.shape[1])

    def of_all_heads(module: str) -> AllHeads:
        return AllHeads(pattern=known[f"{module}.hook_pattern"][0].numpy(), v=known[f"{module}.hook_v"][0].numpy())

    return Recomputed(
        values=quantities_of(outline, block, biases, known),
        attention=of_all_heads(outline.module),
        cross=of_all_heads(outline.cross) if outline.is_followed_by_cross else None,
        bias=None if biases is None else biases.double().numpy(),
        intervened=_intervened(outline, before, known),
        is_attention_intervened=any(
            not torch.equal(value, known[site])
            for site, value in before.items()
            if site.startswith(f"{outline.module}.hook_")
        ),
    )


def _note(before: dict[str, Tensor], site: str, _: nn.Module, values: tuple[Tensor]) -> None:
    before[site] = values[0].double()


def _intervened(outline: Outline, before: Captured, after: Captured) -> dict[str, Bool[np.ndarray, "_ _"]]:
    """Return, by quantity, which numbers the interventions at its hook point changed; only quantities with any."""
    results = {}
    for name, site in outline.sites.items():
        if site is not None and site in before:
            is_set = of_head(outline, name, before[site]) != of_head(outline, name, after[site])
            if is_set.any():
                results[name] = is_set.numpy()
    return results


def in_float64(module: nn.Module) -> nn.Module:
    """Return a copy of a module that computes in float64, on the CPU: some accelerators have no float64."""
    return deepcopy(module).to("cpu", torch.float64)


def _origin(model: Transformer, origin: Origin, captured: Captured) -> Float[Tensor, "1 pos d_model"]:
    """Return a sum of captured activations, normalized where the model does so."""
    summed = torch.stack([captured[site].cpu().double() for site in origin.sites]).sum(dim=0)
    then = origin.norm or origin.projection
    return summed if then is None else in_float64(model.get_submodule(then))(summed)


def _through_hook(model: Transformer, origin: Origin, value: Float[Tensor, "1 pos d_model"]) -> Tensor:
    """Return a value after the interventions at the hook point that it passes through, if any."""
    return value if origin.hook_point is None else in_float64(model.get_submodule(origin.hook_point))(value)


def attention_of(block: nn.Module, outline: Outline) -> MultiHeadAttention:
    """Return the walk's attention module from its block or from a copy of the block."""
    attention = block.get_submodule(outline.module.rpartition(".")[2])
    assert isinstance(attention, MultiHeadAttention), "the outline names an attention"
    return attention


def quantities_of(
    outline: Outline,
    block: nn.Module,
    bias: Float[Tensor, "head query key"] | None,
    captured: Mapping[str, Float[Tensor, "..."]],
) -> dict[str, Float[np.ndarray, "_ _"]]:
    """Return every quantity of a walk by name, in the precision of what was captured.

    Quantities that the model never materializes, such as the dot products before they are divided, are computed from
    captured ones.

    Args:
        outline: of the head.
        block: the block of the walk.
        bias: distance bias of the scores; None: no bias.
        captured: activations of the first text of a batch, on the CPU, by site.
    """
    sites, attention = outline.sites, attention_of(block, outline)
    quantities = {name: of_head(outline, name, captured[site]) for name, site in sites.items() if site is not None}
    if outline.is_projected_in_steps:
        read = captured[sites[outline.read] or ""]
        looked_at = captured[sites["memory"] or ""] if outline.is_cross else read
        projections = (("q", attention.q, read, outline.head), ("k", attention.k, looked_at, outline.key_value_head))
        for name, projection, source, head in projections:
            projected = _applied(projection, source).unflatten(-1, (-1, attention.d_head))
            quantities[f"{name}_projected"] = projected[0, :, head]
    scores = quantities["product"] = quantities["q"] @ quantities["k"].T
    if outline.config.scale_scores:
        scores = quantities["scaled"] = scores / math.sqrt(attention.d_head)
    if bias is not None:
        quantities["bias"] = bias[outline.head].to(scores)
        quantities["biased"] = scores + quantities["bias"]
        scores = quantities["biased"]
    if (cap := outline.config.score_cap) is not None:
        quantities["capped"] = soft_cap(scores, cap)
    for name, (module, read_by_it) in _PROJECTED.items():
        if name in sites:
            path = module.format(attention=outline.module.rpartition(".")[2])
            quantities[name] = _applied(block.get_submodule(path), quantities[read_by_it])
    for name, of in DROPPED.items():
        if name in sites and outline.dropout_seed is not None:
            site = sites[of] or ""
            values = drop(captured[site][0].numpy(), site=site, rate=outline.rates.after(of), seed=outline.dropout_seed)
            quantities[name] = of_head(outline, of, torch.from_numpy(values)[None])
    return {name: quantities[name].numpy() for name in sites}


_PROJECTED = {  # of what is normalized before it is added: the module in the block, and its input
    "attn_projected": ("{attention}.out", "concat"),
    "cross_projected": ("cross_attn.out", "cross_concat"),
    "mlp_projected": ("mlp.down", "mlp_post"),
}


def _applied(module: nn.Module, x: Tensor) -> Tensor:
    """Return a module's output in the precision of its input."""
    return module(x.to(next(module.parameters()))).to(x)


def distance_bias(model: Transformer, outline: Outline, n_positions: int) -> Float[Tensor, "head query key"] | None:
    """Return the position bias of each head's scores, on the CPU; None if there is none."""
    if not outline.has_bias:
        return None
    stack = model.get_submodule(outline.stack)
    assert isinstance(stack, Stack), "a block is part of a stack"
    bias = stack.bias_at(0, n_positions, stack.embed.weight.device)
    assert bias is not None, "the model has such a bias"
    return bias.write_out()[0].cpu()


def of_head(outline: Outline, name: str, captured: Float[Tensor, "..."]) -> Float[Tensor, "_ _"]:
    """Return the captured value of a quantity, of the walk's head if it has heads."""
    of_text = captured[0]
    if name.endswith("concat"):
        return of_text.transpose(0, 1).flatten(start_dim=1)
    if of_text.dim() == 2:
        return of_text
    if name == "mask":  # one for all heads
        return of_text[0]
    return of_text[outline.key_value_head if name.startswith(("k", "v")) else outline.head]
