"""The paper's formulas in plain Python and float64: loops over positions and heads, no torch in the arithmetic.

The oracle of the model's tests. Slow, and so simple that it can be read against the paper.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

import transformer_core as tc

Array = NDArray[np.float64]
Allowed = Callable[[int, int, int], bool]
"""(batch, query, key) -> may attend."""


def where(mask: Tensor) -> Allowed:
    """What a boolean mask [batch query key] allows."""
    return lambda b, query, key: bool(mask[b, query, key])


class Weights:
    """The parameters of a module by name, as float64; `inside` narrows to a part."""

    def __init__(self, values: Mapping[str, Array], prefix: str = "") -> None:
        self._values, self._prefix = values, prefix

    @classmethod
    def of(cls, module: nn.Module) -> "Weights":
        state = module.state_dict()
        return cls({name: value.double().numpy() for name, value in state.items()})

    def inside(self, part: str) -> "Weights":
        return Weights(self._values, f"{self._prefix}{part}.")

    def __getitem__(self, name: str) -> Array:
        return self._values[self._prefix + name]

    def linear(self, part: str, x: Array) -> Array:
        """x W^T + b, with the weight as torch keeps it: [out, in]."""
        bias = self._values.get(f"{self._prefix}{part}.bias")
        product = x @ self[f"{part}.weight"].T
        return product if bias is None else product + bias


def attention(q: Array, k: Array, v: Array, allowed: Allowed) -> tuple[Array, Array]:
    """Eq. (1) for one head, cell by cell: (pattern [batch query key], z [batch query d_head])."""
    n_batch, n_queries, d_head = q.shape
    n_keys = k.shape[1]
    pattern, z = np.zeros((n_batch, n_queries, n_keys)), np.zeros((n_batch, n_queries, v.shape[-1]))
    for b in range(n_batch):
        for i in range(n_queries):
            scores = {
                j: sum(q[b, i, c] * k[b, j, c] for c in range(d_head)) / math.sqrt(d_head)
                for j in range(n_keys)
                if allowed(b, i, j)
            }
            highest = max(scores.values(), default=0.0)
            total = sum(math.exp(score - highest) for score in scores.values())
            for j, score in scores.items():
                pattern[b, i, j] = math.exp(score - highest) / total
                z[b, i] += pattern[b, i, j] * v[b, j]
    return pattern, z


def multi_head_attention(
    weights: Weights, query_input: Array, key_value_input: Array, n_heads: int, allowed: Allowed
) -> Array:
    """Sec. 3.2.2: Concat(head_1, ..., head_h) W_O."""
    q = weights.linear("q", query_input)
    k, v = weights.linear("k", key_value_input), weights.linear("v", key_value_input)
    d_head = q.shape[-1] // n_heads
    heads = [slice(head * d_head, (head + 1) * d_head) for head in range(n_heads)]
    z = [attention(q[..., head], k[..., head], v[..., head], allowed)[1] for head in heads]
    return weights.linear("out", np.concatenate(z, axis=-1))


def layer_norm(weights: Weights, x: Array, eps: float) -> Array:
    """Ba et al. 2016, with the biased variance, and eps inside the root."""
    mean = x.sum(axis=-1, keepdims=True) / x.shape[-1]
    variance = ((x - mean) ** 2).sum(axis=-1, keepdims=True) / x.shape[-1]
    return (x - mean) / np.sqrt(variance + eps) * weights["weight"] + weights["bias"]


def feed_forward(weights: Weights, x: Array) -> Array:
    """Eq. (2)."""
    return weights.linear("down", np.maximum(0.0, weights.linear("up", x)))


def sinusoid(pos: int, column: int, d_model: int, base: float = 10000.0) -> float:
    """Sec. 3.5: PE(pos, 2i) is the sine, PE(pos, 2i + 1) the cosine, of pos / base^(2i / d_model)."""
    pair = column // 2
    angle = pos / base ** (2 * pair / d_model)
    return math.sin(angle) if column % 2 == 0 else math.cos(angle)


def embedding(weights: Weights, tokens: NDArray[np.int64], d_model: int) -> Array:
    """Sec. 3.4 and 3.5: token embedding times sqrt(d_model), plus positions."""
    positions = [[sinusoid(pos, column, d_model) for column in range(d_model)] for pos in range(tokens.shape[1])]
    return weights["embed.weight"][tokens] * math.sqrt(d_model) + np.array(positions)


def stack(
    model: tc.Transformer,
    name: str,
    tokens: NDArray[np.int64],
    memory: Array | None = None,
    src: NDArray[np.int64] | None = None,
) -> Array:
    """Final states [batch pos d_model] of the encoder or the decoder, in either norm position."""
    config, weights = model.config, Weights.of(model).inside(name)
    is_pre_norm = config.norm_position == "pre"

    def norm(part: Weights, x: Array) -> Array:
        return layer_norm(part, x, config.layer_norm_eps)

    def residual(x: Array, sublayer: Callable[[Array], Array], ln: Weights) -> Array:
        return x + sublayer(norm(ln, x)) if is_pre_norm else norm(ln, x + sublayer(x))

    def attend(part: Weights, query_input: Array, key_value_input: Array, allowed: Allowed) -> Array:
        return multi_head_attention(part, query_input, key_value_input, config.n_heads, allowed)

    def may_see(b: int, query: int, key: int) -> bool:
        return (name == "encoder" or key <= query) and bool(tokens[b, key] != config.pad_id)

    def source_is_real(b: int, query: int, key: int) -> bool:
        return src is not None and bool(src[b, key] != config.pad_id)

    def attend_to_itself(part: Weights, h: Array) -> Array:
        return attend(part, h, h, may_see)

    def attend_to_memory(part: Weights, h: Array) -> Array:
        assert memory is not None
        return attend(part, h, memory, source_is_real)

    x = embedding(weights, tokens, config.d_model)
    for i in range(config.n_encoder_layers if name == "encoder" else config.n_decoder_layers):
        block = weights.inside(f"blocks.{i}")
        x = residual(x, partial(attend_to_itself, block.inside("self_attn")), block.inside("ln1"))
        if memory is not None:
            x = residual(x, partial(attend_to_memory, block.inside("cross_attn")), block.inside("ln_cross"))
        x = residual(x, partial(feed_forward, block.inside("mlp")), block.inside("ln2"))
    return norm(weights.inside("ln_final"), x) if is_pre_norm else x


def encoder_decoder(model: tc.Transformer, src: NDArray[np.int64], tgt: NDArray[np.int64]) -> Array:
    """Logits [batch tgt vocab] of a model of the paper's parts."""
    final = stack(model, "decoder", tgt, stack(model, "encoder", src), src)
    return Weights.of(model).linear("unembed", final)


def one_stack(model: tc.Transformer, tokens: NDArray[np.int64]) -> Array:
    """Logits [batch pos vocab] of one of the paper's stacks alone."""
    name = "decoder" if model.config.architecture == "decoder_only" else "encoder"
    return Weights.of(model).linear("unembed", stack(model, name, tokens))
