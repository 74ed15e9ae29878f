"""Models with a mistake from published walk-throughs of the paper, each actually run.

A mistake edits activations, exchanges parts of a copy of the model, or draws correct values in a wrong way. The shipped
model itself is never changed.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transformer_core.errors import ConfigError, mark
from transformer_core.hooks import HookPoint
from transformer_core.instrument.sites import Site
from transformer_core.model.attention import MultiHeadAttention
from transformer_core.model.block import Block
from transformer_core.model.masks import causal_mask
from transformer_core.model.norms import LayerNorm
from transformer_core.model.sdpa import Mask
from transformer_core.model.transformer import Transformer

DROPOUT = 0.5  # for the effect of an argument that is ignored
SEED = 0
Edits = Mapping[str, Callable[[Tensor, Site], Tensor]]  # by site


@dataclass(frozen=True)
class Mistake:
    """An error in an implementation of the paper."""

    title: str  # marked; one of the answers to "what is wrong here?"
    edits: Callable[[Transformer], Edits] = lambda model: {}  # edits of the model's activations
    copied: Callable[[Transformer], Transformer] = lambda model: model  # the model that is run
    has_axes_swapped: bool = False  # figures draw patterns transposed
    has_roles_swapped: bool = False  # in cross-attention: queries of the encoder, keys and values of the decoder
    is_in_training: bool = False  # the mistake concerns the six words' training


def _dropped_patterns(model: Transformer) -> Edits:
    """Drop half of each pattern's weights, as dropout does in training, before they are captured and applied to v."""
    generator = torch.Generator().manual_seed(SEED)

    def drop(pattern: Tensor, site: Site) -> Tensor:
        kept = torch.rand(pattern.shape, generator=generator).to(pattern.device) >= DROPOUT
        return pattern * kept / (1 - DROPOUT)

    return {"*.hook_pattern": drop}


def _allow_all(mask: Tensor, site: Site) -> Tensor:
    return torch.ones_like(mask)


def _mask_on_cross(model: Transformer) -> Edits:
    """Apply the causal mask to the decoder's cross-attention instead of its self-attention."""

    def hide_later(mask: Tensor, site: Site) -> Tensor:
        n_queries, n_keys = mask.shape[-2:]
        longest = max(n_queries, n_keys)
        return mask & causal_mask(longest, device=mask.device)[:n_queries, :n_keys]

    cross = {"decoder.*.cross_attn.hook_mask": hide_later} if model.config.has_encoder else {}
    return {"decoder.*.self_attn.hook_mask": _allow_all, **cross}


def _heads_reshaped(z: Tensor, site: Site) -> Tensor:
    """Concatenate the heads by a reshape alone, without first moving the head axis after the query axis."""
    n_batch, n_heads, n_queries, d_head = z.shape
    return z.reshape(n_batch, n_queries, n_heads, d_head).transpose(1, 2)  # as in z.reshape(n_batch, n_queries, -1)


class BlockWithoutResidual(Block):
    """LayerNorm(Sublayer(x)): a sub-layer replaces its input, to which it should be added."""

    def _add(self, x: Tensor, sublayer: Callable[[Tensor], Tensor], norm: nn.Module, resid: HookPoint) -> Tensor:
        return resid(sublayer(norm(x))) if self.is_pre_norm else norm(resid(sublayer(x)))


def _scaled_by_d_model(model: Transformer) -> Transformer:
    """Return a copy whose scores are divided by sqrt(d_model)."""
    wrong = copy.deepcopy(model)
    for module in wrong.modules():
        if isinstance(module, MultiHeadAttention):
            module.scale = model.config.d_model**-0.5
    return wrong


class UnbiasedNorm(LayerNorm):
    """(x - mean) / (standard deviation + eps), with the unbiased standard deviation: not the cited formula."""

    def forward(self, x: Tensor) -> Tensor:
        """Return vectors whose normalization is slightly off."""
        normalized = (x - x.mean(dim=-1, keepdim=True)) / (x.std(dim=-1, keepdim=True) + self.eps)
        scaled = normalized * self.weight
        return self.hook_normalized(scaled if self.bias is None else scaled + self.bias)


class SwappedCrossAttention(MultiHeadAttention):
    """Cross-attention with its roles swapped: the encoder's output asks, and the decoder's states answer."""

    def forward(
        self, query_input: Tensor, key_value_input: Tensor, mask: Mask | None = None, *rest: object, **more: object
    ) -> Tensor:
        """Return one row per source token; the mask is ignored, since it masks source keys, not target keys.

        Raises:
            ConfigError: source and target differ in length, so the rows cannot be added to the decoder's states.
        """
        if query_input.shape != key_value_input.shape:
            raise ConfigError(
                "with swapped inputs, cross-attention outputs one row per source token ({n_source}), but "
                "the decoder has {n_target} tokens; choose a text with the same number of tokens on both "
                "sides",
                n_source=key_value_input.shape[1],
                n_target=query_input.shape[1],
            )
        return super().forward(key_value_input, query_input)


def _with_parts_of(model: Transformer, correct: type, wrong: type, name: str = "") -> Transformer:
    """Return a copy in which the modules of one class whose names end in `name` are replaced by another class."""
    copied = copy.deepcopy(model)
    for path, module in copied.named_modules():
        if type(module) is correct and path.endswith(name):
            module.__class__ = wrong
    return copied


MISTAKES: Mapping[str, Mistake] = {
    "dropped_pattern": Mistake(
        mark("The pattern is stored after dropout, which is still active"), edits=_dropped_patterns
    ),
    "mask_on_cross": Mistake(
        mark("The causal mask is applied to cross-attention instead of self-attention"), edits=_mask_on_cross
    ),
    "axes_swapped": Mistake(mark("Queries and keys are swapped in the figure"), has_axes_swapped=True),
    "roles_swapped": Mistake(
        mark("In cross-attention, the queries come from the encoder and the keys and values from the decoder"),
        copied=lambda model: _with_parts_of(model, MultiHeadAttention, SwappedCrossAttention, "cross_attn"),
        has_roles_swapped=True,
    ),
    "scaled_by_d_model": Mistake(mark("The scores are divided by √d_model, not by √d_k"), copied=_scaled_by_d_model),
    "padding_not_masked": Mistake(
        mark("Padding is not masked"),
        edits=lambda model: {"encoder.*.hook_mask": _allow_all, "*.cross_attn.hook_mask": _allow_all},
    ),
    "positions_left_out": Mistake(
        mark("The positional encoding is not added"),
        edits=lambda model: {"*.hook_pos_embed": lambda added, site: torch.zeros_like(added)},
    ),
    "no_residual": Mistake(
        mark("The residual connections are missing"),
        copied=lambda model: _with_parts_of(model, Block, BlockWithoutResidual),
    ),
    "heads_reshaped": Mistake(
        mark("The heads are concatenated by a reshape, without transposing back"),
        edits=lambda model: {"*.hook_z": _heads_reshaped},
    ),
    "softmax_twice": Mistake(
        mark("The softmax is applied twice: its output is treated as logits"),
        edits=lambda model: {"hook_logits": lambda logits, site: logits.softmax(dim=-1)},
    ),
    "unbiased_norm": Mistake(
        mark("Layer normalization uses the unbiased standard deviation, and adds ε outside the square root"),
        copied=lambda model: _with_parts_of(model, LayerNorm, UnbiasedNorm),
    ),
    "targets_not_shifted": Mistake(mark("The targets are not shifted right"), is_in_training=True),
}
"""The mistakes by the names that lessons have for them.

Source: published walk-throughs of Vaswani et al. 2017; what the paper says is in its sections 3.1 to 3.2.3.
"""
