"""The formulas of a block in float64 and plain numpy: the oracle of a walk's numbers.

Nothing here is shared with the model: not its functions, not its order of summation.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import erf, expit  # type: ignore[import-untyped]

from transformer_core.analysis.walkthrough import weights as walkthrough
from transformer_core.config import Activation, ModelConfig

ACTIVATIONS: Mapping[Activation, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + erf(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x * expit(x),
}


class Weights(walkthrough.Weights):
    """The parameters of a model, and what its linear layers and normalizations do with them."""

    def linear(self, module: str, x: Float[np.ndarray, "row in"]) -> Float[np.ndarray, "row out"]:
        """Return x W^T + b, with the weight as torch keeps it: [out, in]."""
        product = x @ self[f"{module}.weight"].T
        bias = self.bias(module)
        return product if bias is None else product + bias

    def norm(self, module: str, x: Float[np.ndarray, "*axes width"], config: ModelConfig) -> np.ndarray:
        """Return (x - mean) / sqrt(variance + eps) * weight + bias, or what the model has in its place."""
        if module not in self:
            return x
        mean, deviation = norm_statistics(x, config)
        normalized = (x - mean) / deviation * self[f"{module}.weight"]
        bias = self.bias(module)
        return normalized if bias is None else normalized + bias


def norm_statistics(
    x: Float[np.ndarray, "*axes width"], config: ModelConfig
) -> tuple[Float[np.ndarray, "*axes 1"], Float[np.ndarray, "*axes 1"]]:
    """Return what a normalization takes away, 0 in "rms", and what it divides by, eps included."""
    if config.norm == "rms":
        mean_square = (x**2).mean(axis=-1, keepdims=True)
        return np.zeros_like(mean_square), np.sqrt(mean_square + config.layer_norm_eps)
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return mean, np.sqrt(variance + config.layer_norm_eps)


def softmax(scores: Float[np.ndarray, "*heads query key"]) -> Float[np.ndarray, "*heads query key"]:
    """Return each row's shares; all 0 where every score is -inf."""
    highest = scores.max(axis=-1, keepdims=True)
    exps = np.exp(scores - np.where(np.isinf(highest), 0, highest))
    total = exps.sum(axis=-1, keepdims=True)
    return np.divide(exps, total, out=np.zeros_like(exps), where=total > 0)


def rotary_angles(config: ModelConfig, n_positions: int) -> Float[np.ndarray, "pos pair"]:
    """Return by how much each pair of numbers is turned at each position, in radians.

    Source: Su et al. 2021, eq. (15); Grattafiori et al. 2024, sec. 3.4.1, for "llama3".
    """
    n_rotated = int(config.d_head * config.rotary_fraction)
    frequencies = np.array([config.rotary_base ** (-2 * pair / n_rotated) for pair in range(n_rotated // 2)])
    if config.rotary_scaling == "linear":
        frequencies = frequencies / config.rotary_scaling_factor
    elif config.rotary_scaling == "llama3":
        low, high = config.rotary_low_freq_factor, config.rotary_high_freq_factor
        wavelength = 2 * np.pi / frequencies
        kept = np.clip((config.rotary_original_len / wavelength - low) / (high - low), 0, 1)
        frequencies = kept * frequencies + (1 - kept) * frequencies / config.rotary_scaling_factor
    return np.outer(np.arange(n_positions), frequencies)


def rotary_pairs(config: ModelConfig) -> tuple[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"]]:
    """Return the dimensions of a head that are turned together: the first ones of all pairs, and the second ones."""
    n_pairs = int(config.d_head * config.rotary_fraction) // 2
    if config.positions == "rotary_halves":
        return np.arange(n_pairs), np.arange(n_pairs) + n_pairs
    return 2 * np.arange(n_pairs), 2 * np.arange(n_pairs) + 1


def turn(x: Float[np.ndarray, "*heads pos d_head"], config: ModelConfig) -> Float[np.ndarray, "*heads pos d_head"]:
    """Return queries or keys, each pair (a, b) turned to (a cos - b sin, a sin + b cos)."""
    angles = rotary_angles(config, x.shape[-2])
    first, second = rotary_pairs(config)
    turned = x.copy()
    turned[..., first] = x[..., first] * np.cos(angles) - x[..., second] * np.sin(angles)
    turned[..., second] = x[..., first] * np.sin(angles) + x[..., second] * np.cos(angles)
    return turned


def alibi_slope(head: int, n_heads: int) -> float:
    """Return how fast a head's scores fall with the distance.

    Source: Press et al. 2022, sec. 3 and, where the number of heads is no power of two, its code.
    """
    below = 1 << (n_heads.bit_length() - 1)
    if head < below:
        return 2 ** (-8 * (head + 1) / below)
    return 2 ** (-8 * (2 * (head - below) + 1) / (2 * below))


def relative_buckets(
    config: ModelConfig, n_queries: int, n_keys: int, *, is_causal: bool
) -> Int[np.ndarray, "query key"]:
    """Return which trained number each distance of query and key has.

    Where a bucket ends is computed in float32, as it was when the numbers were trained.

    Source: Raffel et al. 2020, sec. 2.1, and its code.
    """
    distance = np.arange(n_keys)[None, :] - np.arange(n_queries)[:, None]
    n_buckets = config.n_relative_buckets if is_causal else config.n_relative_buckets // 2
    far = np.maximum(-distance, 0) if is_causal else np.abs(distance)
    n_near = n_buckets // 2
    logarithm = np.log(np.maximum(far, 1).astype(np.float32) / np.float32(n_near))
    part = logarithm / np.float32(math.log(config.relative_max_distance / n_near))
    shared = n_near + (part * np.float32(n_buckets - n_near)).astype(np.int64)
    bucket = np.where(far < n_near, far, np.minimum(shared, n_buckets - 1))
    return bucket if is_causal else bucket + np.where(distance > 0, n_buckets, 0)


def allowed_cells(
    config: ModelConfig, keys: tuple[int, ...], n_queries: int, *, is_causal: bool, is_cross: bool
) -> Bool[np.ndarray, "query key"]:
    """Return which query may look at which key.

    Args:
        config: of the model.
        keys: the tokens that are looked at.
        n_queries: tokens that look.
        is_causal: a query is kept from what comes after it.
        is_cross: keys are another text's, where nothing but padding is hidden.
    """
    is_real = np.array([config.pad_id is None or token != config.pad_id for token in keys])
    if is_causal and config.pad_id == config.bos_id:
        is_real[0] = True  # some decoders start with the token of the padding
    query, key = np.arange(n_queries)[:, None], np.arange(len(keys))[None, :]
    allowed = np.broadcast_to(is_real, (n_queries, len(keys))).copy()
    if is_causal:
        allowed &= key <= query
    if config.sliding_window is not None and not is_cross:
        allowed &= np.abs(query - key) < config.sliding_window
    return allowed
