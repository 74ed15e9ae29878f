"""The quantities of a walk, taken from what was captured of a block; of the model's own run and of that in float64."""

import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from torch import Tensor, nn

from transformer_core.analysis.walkthrough.outline import Outline
from transformer_core.model.attention import MultiHeadAttention
from transformer_core.model.stack import Stack
from transformer_core.model.transformer import Transformer


def attention_of(block: nn.Module, outline: Outline) -> MultiHeadAttention:
    """Return the attention that is walked through, of its block or of a copy of it."""
    attention = block.get_submodule(outline.module.rpartition(".")[2])
    assert isinstance(attention, MultiHeadAttention), "the outline names an attention"
    return attention


def quantities_of(
    outline: Outline,
    attention: MultiHeadAttention,
    bias: Float[Tensor, "head query key"] | None,
    captured: Mapping[str, Float[Tensor, "..."]],
) -> dict[str, Float[np.ndarray, "_ _"]]:
    """Return every quantity of a walk by name, in the precision of what was captured.

    What is shown though the model never holds it by itself, such as the dot products before they are divided, is
    computed from what it holds.

    Args:
        outline: of the head.
        attention: that is walked through.
        bias: what the distance adds to the scores; None: nothing.
        captured: of the first text of a batch, on the CPU, by site.
    """
    sites = outline.sites()
    quantities = {name: of_head(outline, name, captured[site]) for name, site in sites.items() if site is not None}
    if outline.is_projected_in_steps:
        parameter = next(attention.parameters())
        read = captured[sites["x_normalized" if outline.is_pre_norm else "x"] or ""]
        looked_at = captured[sites["memory"] or ""] if outline.is_cross else read
        projections = (("q", attention.q, read, outline.head), ("k", attention.k, looked_at, outline.key_value_head))
        for name, projection, source, head in projections:
            projected = projection(source.to(parameter)).to(source).unflatten(-1, (-1, attention.d_head))
            quantities[f"{name}_projected"] = projected[0, :, head]
    scores = quantities["product"] = quantities["q"] @ quantities["k"].T
    if outline.config.scale_scores:
        scores = quantities["scaled"] = scores / math.sqrt(attention.d_head)
    if bias is not None:
        quantities["bias"] = bias[outline.head].to(scores)
        quantities["biased"] = scores + quantities["bias"]
    return {name: quantities[name].numpy() for name in sites}


def distance_bias(model: Transformer, outline: Outline, n_positions: int) -> Float[Tensor, "head query key"] | None:
    """Return what the distance adds to each head's scores, on the CPU; None: there is no such bias."""
    if not outline.has_bias:
        return None
    stack = model.get_submodule(outline.stack)
    assert isinstance(stack, Stack), "a block is part of a stack"
    bias = stack.bias_at(0, n_positions, stack.embed.weight.device)
    assert bias is not None, "the model has such a bias"
    return bias.write_out()[0].cpu()


def of_head(outline: Outline, name: str, captured: Float[Tensor, "..."]) -> Float[Tensor, "_ _"]:
    """Return what was captured of a text at the site of a quantity, of the walk's head where there are heads."""
    of_text = captured[0]
    if name.endswith("concat"):
        return of_text.transpose(0, 1).flatten(start_dim=1)
    if of_text.dim() == 2:
        return of_text
    if name == "mask":  # one for all heads
        return of_text[0]
    return of_text[outline.key_value_head if name.startswith(("k", "v")) else outline.head]
