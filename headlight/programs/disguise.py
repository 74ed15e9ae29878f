"""Disguises: other weights for the same function, so that a method cannot rely on the layout of a model's weights.

Each of them returns a new model and leaves the given one unchanged.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_core.config import ModelConfig
from transformer_core.errors import ConfigError
from transformer_core.model.attention import MultiHeadAttention
from transformer_core.model.embeddings import SegmentEmbedding, TokenEmbedding
from transformer_core.model.feed_forward import FeedForward
from transformer_core.model.norms import RMSNorm
from transformer_core.model.positions import LearnedPositions
from transformer_core.model.transformer import Transformer, assemble

_DECOY_SPREAD = 20.0  # standard deviation of a decoy's scores, in nats: its patterns are nearly one-hot


def random_rotation(d_model: int, seed: int) -> Float[Tensor, "d_model d_model"]:
    """Return a random orthogonal matrix, uniformly distributed; float64.

    Source: Stewart 1980, by the QR decomposition of a Gaussian matrix with the signs of R's diagonal taken out.
    """
    generator = torch.Generator().manual_seed(seed)
    q, r = torch.linalg.qr(torch.randn(d_model, d_model, dtype=torch.float64, generator=generator))
    return q * r.diagonal().sign()


@torch.no_grad()
def rotated(model: Transformer, seed: int = 0) -> Transformer:
    """Return the model with its whole residual stream rotated, x R for x: no subspace is a set of columns any more.

    Args:
        model: without normalization, or with RMS normalization of gain 1; everything else that reads or writes it is a
            matrix.
        seed: of `random_rotation`.

    Raises:
        ConfigError: a rotation would change what the model computes.
    """
    config = model.config
    gains = [
        module.weight
        for name, module in model.named_modules()
        if isinstance(module, RMSNorm) and not name.endswith(("q_norm", "k_norm"))  # of the stream, not of a head
    ]
    if config.norm.startswith("layer") or any(bool((gain != 1).any()) for gain in gains):
        raise ConfigError(
            "a residual stream can only be rotated without normalization, or with RMS normalization of gain 1; "
            "this model has norm {norm}",
            norm=config.norm,
        )
    if config.positions.startswith("sinusoidal") or config.unembed_transform or config.d_embed:
        raise ConfigError(
            "a residual stream with sinusoidal positions or an unembed_transform cannot be rotated; use a model "
            "with other positions and without unembed_transform"
        )
    model = copy.deepcopy(model)
    rotation = random_rotation(config.d_model, seed)
    done: set[Tensor] = set()  # tied matrices are listed more than once

    def rotate(parameter: Tensor | None, *, is_column: bool = False) -> None:
        if parameter is not None and parameter not in done:
            done.add(parameter)
            value = parameter.double()
            parameter.copy_(rotation.T @ value if is_column else value @ rotation)

    for module in model.modules():
        if isinstance(module, TokenEmbedding | SegmentEmbedding):
            rotate(module.weight)
        elif isinstance(module, LearnedPositions):
            rotate(module.table)
        elif isinstance(module, MultiHeadAttention | FeedForward):
            for name, linear in module.named_children():
                if isinstance(linear, nn.Linear):
                    is_writing = name in ("out", "down")
                    rotate(linear.weight, is_column=is_writing)
                    rotate(linear.bias if is_writing else None)
    if config.unembed:
        rotate(model.unembed.weight)
    return model


@torch.no_grad()
def with_decoys(model: Transformer, n: int, seed: int = 0) -> Transformer:
    """Return the model with decoys after the heads of each layer: heads with sharp, arbitrary patterns and value 0.

    With `qk_norm` they are only as sharp as normalized queries and keys can be.

    Args:
        model: with one stack, one key-value head per head, and no position its own bias for each head.
        n: decoys per layer; they get the highest numbers, and the other heads keep theirs.
        seed: of the random matrices W_Q, W_K and W_O; W_V is 0.

    Raises:
        ConfigError: heads cannot be added to the model, or n is below 0.
    """
    if n < 0:
        raise ConfigError("the number of decoys must be at least 0, got {n}", n=n)
    first = model.config.n_heads
    spread = _score_spread(model)
    model = _with_idle_heads(model, n)
    generator = torch.Generator().manual_seed(seed)
    for attention in _attentions(model):
        q, k, _, out, *_ = _by_head(attention)
        for weight in (q, k, out):
            drawn = torch.randn(weight[first:].shape, generator=generator, dtype=torch.float64)
            weight[first:] = drawn / math.sqrt(model.config.d_model)
        q[first:] *= _DECOY_SPREAD / (spread * attention.scale)
    return model


@torch.no_grad()
def with_duplicate(model: Transformer, layer: int, head: int) -> Transformer:
    """Return the model with a head split in two: the second has the highest number, and each writes half.

    Other layers get a head with zero weights, since all layers need the same number of heads; it attends uniformly
    unless positions act inside attention, and writes nothing.

    Args:
        model: as for `with_decoys`.
        layer: from 0.
        head: from 0.

    Raises:
        ConfigError: heads cannot be added to the model, or it has no such head.
    """
    _check_head(model, layer, head)
    model = _with_idle_heads(model, 1)
    attention = _attentions(model)[layer]
    by_heads = _by_head(attention)
    by_heads[3][head] /= 2  # W_O
    for by_head in by_heads:
        by_head[-1] = by_head[head]
    return model


@torch.no_grad()
def permuted_heads(model: Transformer, layer: int, order: Sequence[int]) -> Transformer:
    """Return the model with the heads of a layer in another order.

    It loses the program that it was compiled from, whose lines refer to the old numbers of the heads.

    Args:
        model: as for `with_decoys`.
        layer: from 0.
        order: at index i, the previous number of the new head i.

    Raises:
        ConfigError: the model's heads cannot be told apart by their numbers alone, it has no such layer, or the order
            does not name each head once.
    """
    _check_can_renumber(model.config)
    _check_head(model, layer, 0)
    if sorted(order) != [*range(model.config.n_heads)]:
        raise ConfigError(
            "the order must name each head from 0 to {last} once; got {order}",
            last=model.config.n_heads - 1,
            order=[*order],
        )
    model = copy.deepcopy(model)
    vars(model).pop("program", None)
    attention = _attentions(model)[layer]
    for by_head in _by_head(attention):
        by_head.copy_(by_head[[*order]])
    return model


@torch.no_grad()
def noisy(model: Transformer, scale: float, seed: int = 0) -> Transformer:
    """Return the model with Gaussian noise on every matrix; biases and the gains of norms are left unchanged.

    Unlike the other disguises, it changes the function, more so the larger the noise. A compiled program, whose
    thresholds are steep, may give other outputs from a scale of 1e-4 on; a copying head tolerates 1e-2.

    Args:
        model: any.
        scale: standard deviation of the noise, as a multiple of that of the matrix's own entries; at least 0.
        seed: of the noise.
    """
    model = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():  # a tied matrix is given once
        if parameter.ndim > 1:
            noise = torch.randn(parameter.shape, generator=generator).to(parameter)
            parameter.add_(noise * (scale * parameter.std(correction=0)))
    return model


def _attentions(model: Transformer) -> list[MultiHeadAttention]:
    """Return the attention of each layer of a model with one stack."""
    return [module for module in model.modules() if isinstance(module, MultiHeadAttention)]


def _check_can_renumber(config: ModelConfig) -> None:
    """Check that no head shares its rows and columns of the four projections with another."""
    if (
        config.architecture == "encoder_decoder"
        or config.n_kv_heads != config.n_heads
        or config.has_position_bias
        or config.qk_norm_scope != "shared"
    ):
        raise ConfigError(
            "heads can only be added, split or reordered in a model with one stack, one key-value head per head, "
            "positions other than alibi and relative_buckets, and qk_norm_scope shared"
        )


def _check_head(model: Transformer, layer: int, head: int) -> None:
    n_layers = model.config.n_encoder_layers + model.config.n_decoder_layers
    if not (0 <= layer < n_layers and 0 <= head < model.config.n_heads):
        raise ConfigError(
            "the model has no head L{layer}.H{head}; it has {n_layers} layers of {n_heads} heads, counted from 0",
            layer=layer,
            head=head,
            n_layers=n_layers,
            n_heads=model.config.n_heads,
        )


def _with_idle_heads(model: Transformer, n: int) -> Transformer:
    """Return a copy with n more heads in each layer, after the others, all of whose weights are 0."""
    _check_can_renumber(model.config)
    n_heads = model.config.n_heads + n
    larger = assemble(replace(model.config, n_heads=n_heads, n_kv_heads=n_heads), device="cpu")
    larger.to(next(model.parameters())).train(model.training)
    state = model.state_dict()
    for name, value in larger.state_dict().items():
        value.zero_()
        value[tuple(slice(length) for length in state[name].shape)] = state[name]
    for name, noted in vars(model).items():
        vars(larger).setdefault(name, noted)  # such as the program that it was compiled from
    return larger


def _by_head(attention: MultiHeadAttention) -> list[Tensor]:
    """Return views of the weights of an attention, which may be written on.

    They are W_Q, W_K, W_V [head, d_head, d_model] and W_O [head, d_model, d_head]; and the biases of q, k and v
    [head, d_head], where there are some.
    """
    inputs, by_head = (attention.q, attention.k, attention.v), (-1, attention.d_head)
    out = attention.out.weight.detach().unflatten(1, by_head).transpose(0, 1)
    biases = [linear.bias.detach().unflatten(0, by_head) for linear in inputs if linear.bias is not None]
    return [*(linear.weight.detach().unflatten(0, by_head) for linear in inputs), out, *biases]


def _score_spread(model: Transformer) -> float:
    """Return the approximate standard deviation of x W_Q W_K^T y for matrices of variance 1 / d_model, in nats.

    It is |x| |y| sqrt(d_head) / d_model, with the length of the embedding of a token and a position, which later layers
    can only add to; where there is a norm, of what is normalized.
    """
    config = model.config
    if config.norm != "none":
        return math.sqrt(config.d_head)
    squared = 0.0
    for module in model.modules():
        if isinstance(module, TokenEmbedding):
            squared += float((module.weight * module.scale).square().sum(dim=-1).mean())
        elif isinstance(module, LearnedPositions):
            squared += float(module.table.square().sum(dim=-1).mean())
    return squared * math.sqrt(config.d_head) / config.d_model
