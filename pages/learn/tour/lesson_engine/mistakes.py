"""Models with a mistake in them: those that published walk-throughs of the paper make, each run for real.

A mistake is a context in which a model computes wrongly (an intervention, another number, a small wrong function), or
a wrong way to draw what was right. The shipped model itself stays as it is: where a part has to be exchanged, a copy
of it is.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transformer_core.errors import ConfigError, mark
from transformer_core.hooks import HookPoint
from transformer_core.instrument.intervene import intervene
from transformer_core.instrument.sites import Site
from transformer_core.model.attention import MultiHeadAttention
from transformer_core.model.block import Block
from transformer_core.model.masks import causal_mask
from transformer_core.model.norms import LayerNorm
from transformer_core.model.sdpa import Mask
from transformer_core.model.transformer import Transformer

DROPOUT = 0.5  # what an argument that nobody uses comes to
SEED = 0


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """What is done wrongly, and how."""

    title: str  # as one of the answers to "what is wrong here?"; said
    copied: Callable[[Transformer], Transformer] = lambda model: model  # the model that is run
    running: Callable[[Transformer], AbstractContextManager[None]] = lambda model: nullcontext()
    has_axes_swapped: bool = False  # of patterns, when they are drawn
    has_roles_swapped: bool = False  # in cross-attention: queries of the encoder, keys and values of the decoder
    is_in_training: bool = False  # of the six words


@contextmanager
def _dropped_patterns(model: Transformer) -> Iterator[None]:
    """Weigh values by patterns of which half was dropped, as in training, and keep those."""
    generator = torch.Generator().manual_seed(SEED)

    def drop(pattern: Tensor, site: Site) -> Tensor:
        kept = torch.rand(pattern.shape, generator=generator).to(pattern.device) >= DROPOUT
        return pattern * kept / (1 - DROPOUT)

    with intervene(model, {"*.hook_pattern": drop}):
        yield


def _allow_all(mask: Tensor, site: Site) -> Tensor:
    return torch.ones_like(mask)


@contextmanager
def _mask_on_cross(model: Transformer) -> Iterator[None]:
    """Hide what comes later from the decoder's second attention, and not from its first."""

    def hide_later(mask: Tensor, site: Site) -> Tensor:
        n_queries, n_keys = mask.shape[-2:]
        longest = max(n_queries, n_keys)
        return mask & causal_mask(longest, device=mask.device)[:n_queries, :n_keys]

    edits = {"decoder.*.self_attn.hook_mask": _allow_all}
    if model.config.has_encoder:
        edits["decoder.*.cross_attn.hook_mask"] = hide_later
    with intervene(model, edits):
        yield


@contextmanager
def _padding_not_masked(model: Transformer) -> Iterator[None]:
    """Let every query attend to the padding of the source, in the encoder and in cross-attention."""
    with intervene(model, {"encoder.*.hook_mask": _allow_all, "*.cross_attn.hook_mask": _allow_all}):
        yield


@contextmanager
def _without_positions(model: Transformer) -> Iterator[None]:
    """Add nothing to the embeddings: the positional encoding was computed, and its sum with them thrown away."""

    def nothing(added: Tensor, site: Site) -> Tensor:
        return torch.zeros_like(added)

    with intervene(model, {"*.hook_pos_embed": nothing}):
        yield


@contextmanager
def _heads_reshaped(model: Transformer) -> Iterator[None]:
    """Put the heads together by a reshape alone, without moving their axis behind that of the queries."""

    def mix(z: Tensor, site: Site) -> Tensor:
        n_batch, n_heads, n_queries, d_head = z.shape
        rows = z.reshape(n_batch, n_queries, n_heads, d_head)  # what z.reshape(n_batch, n_queries, -1) holds
        return rows.transpose(1, 2)

    with intervene(model, {"*.hook_z": mix}):
        yield


@contextmanager
def _softmax_twice(model: Transformer) -> Iterator[None]:
    """Hand on probabilities as if they were logits."""

    def normalize(logits: Tensor, site: Site) -> Tensor:
        return logits.softmax(dim=-1)

    with intervene(model, {"hook_logits": normalize}):
        yield


class BlockWithoutResidual(Block):
    """LayerNorm(Sublayer(x)): a sub-layer replaces its input, to which it should be added."""

    def _add(self, x: Tensor, sublayer: Callable[[Tensor], Tensor], norm: nn.Module, resid: HookPoint) -> Tensor:
        return resid(sublayer(norm(x))) if self.is_pre_norm else norm(resid(sublayer(x)))


def _without_residual(model: Transformer) -> Transformer:
    """Return a copy with `BlockWithoutResidual` instead of each block."""
    return _with_parts_of(model, Block, BlockWithoutResidual)


def _scaled_by_d_model(model: Transformer) -> Transformer:
    """Return a copy whose scores are divided by sqrt(d_model)."""
    wrong = copy.deepcopy(model)
    for module in wrong.modules():
        if isinstance(module, MultiHeadAttention):
            module.scale = model.config.d_model**-0.5
    return wrong


class UnbiasedNorm(LayerNorm):
    """(x - mean) / (standard deviation + eps), with the unbiased standard deviation: not the formula that is cited."""

    def forward(self, x: Tensor) -> Tensor:
        """Return what is not quite normalized."""
        normalized = (x - x.mean(dim=-1, keepdim=True)) / (x.std(dim=-1, keepdim=True) + self.eps)
        scaled = normalized * self.weight
        return self.hook_normalized(scaled if self.bias is None else scaled + self.bias)


def _unbiased_norms(model: Transformer) -> Transformer:
    """Return a copy with `UnbiasedNorm` in the place of each normalization."""
    return _with_parts_of(model, LayerNorm, UnbiasedNorm)


class SwappedCrossAttention(MultiHeadAttention):
    """Cross-attention with its roles swapped: the encoder's output asks, and the decoder's states answer."""

    def forward(
        self, query_input: Tensor, key_value_input: Tensor, mask: Mask | None = None, *rest: object, **more: object
    ) -> Tensor:
        """Return a row for each token of the source; the mask, which is one of the source's keys, does not fit.

        Raises:
            ConfigError: source and target differ in length, so that the rows cannot be added to the decoder's.
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


def _swapped_roles(model: Transformer) -> Transformer:
    """Return a copy with `SwappedCrossAttention` in each of the decoder's blocks."""
    wrong = copy.deepcopy(model)
    assert wrong.decoder is not None, "a model without a decoder has no cross-attention"
    for block in wrong.decoder.blocks:
        block.cross_attn.__class__ = SwappedCrossAttention
    return wrong


def _with_parts_of(model: Transformer, right: type, wrong: type) -> Transformer:
    copied = copy.deepcopy(model)
    for module in copied.modules():
        if type(module) is right:
            module.__class__ = wrong
    return copied


MISTAKES: Mapping[str, Mistake] = {
    "dropped_pattern": Mistake(
        title=mark("The pattern is stored after dropout, which is still active"), running=_dropped_patterns
    ),
    "mask_on_cross": Mistake(
        title=mark("The causal mask is applied to cross-attention instead of self-attention"),
        running=_mask_on_cross,
    ),
    "axes_swapped": Mistake(title=mark("Queries and keys are swapped in the figure"), has_axes_swapped=True),
    "roles_swapped": Mistake(
        title=mark("In cross-attention, the queries come from the encoder and the keys and values from the decoder"),
        copied=_swapped_roles,
        has_roles_swapped=True,
    ),
    "scaled_by_d_model": Mistake(
        title=mark("The scores are divided by √d_model, not by √d_k"), copied=_scaled_by_d_model
    ),
    "padding_not_masked": Mistake(title=mark("Padding is not masked"), running=_padding_not_masked),
    "positions_left_out": Mistake(title=mark("The positional encoding is not added"), running=_without_positions),
    "no_residual": Mistake(title=mark("The residual connections are missing"), copied=_without_residual),
    "heads_reshaped": Mistake(
        title=mark("The heads are concatenated by a reshape, without transposing back"), running=_heads_reshaped
    ),
    "softmax_twice": Mistake(
        title=mark("The softmax is applied twice: its output is treated as logits"), running=_softmax_twice
    ),
    "unbiased_norm": Mistake(
        title=mark("Layer normalization uses the unbiased standard deviation, and adds ε outside the square root"),
        copied=_unbiased_norms,
    ),
    "targets_not_shifted": Mistake(title=mark("The targets are not shifted right"), is_in_training=True),
}
"""The mistakes by the names that lessons have for them.

Source: published walk-throughs of Vaswani et al. 2017; what the paper says is in its sections 3.1 to 3.2.3.
"""
