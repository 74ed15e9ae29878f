"""Rotary positions (RoPE): queries and keys are rotated by angles proportional to their positions.

The dot product of a rotated query and a rotated key depends only on their distance.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal, Self

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_core.config import ModelConfig


def rotary_frequencies(config: ModelConfig) -> Float[Tensor, " pair"]:
    """Return the angle of each pair of dimensions, in radians per position: base^(-2i / d_rotated).

    Lower frequencies extend the context beyond the training context: "linear" lowers all of them (Chen et al. 2023),
    "llama3" and "yarn" only those with less than about one rotation in the original context, with a transition that is
    linear in the rotations ("llama3") or in the pairs ("yarn"), and "longrope" each by its own factor.

    Returns:
        float64, the highest first.

    Source: Su et al. 2021, sec. 3.2.2, eq. (15); Grattafiori et al. 2024, sec. 3.4.1, and its code, for "llama3";
    Peng et al. 2023, sec. 3.2, and its code, for "yarn"; Ding et al. 2024, sec. 3.2, for "longrope".
    Differs: YaRN's attention temperature (sec. 3.4) is in the weights of the queries.
    """
    exponent = torch.arange(0, config.n_rotated, 2, dtype=torch.float64) / config.n_rotated
    frequency = config.rotary_base**-exponent
    if config.rotary_scaling == "linear":
        return frequency / config.rotary_scaling_factor
    if config.rotary_scaling == "llama3":
        n_turns = config.rotary_original_len * frequency / (2 * math.pi)  # in the original context
        low, high = config.rotary_low_freq_factor, config.rotary_high_freq_factor
        kept = ((n_turns - low) / (high - low)).clamp(0, 1)  # 1: unchanged; 0: divided by the factor
        return frequency * (kept + (1 - kept) / config.rotary_scaling_factor)
    if config.rotary_scaling == "yarn":
        first = max(math.floor(_pair_with(config.rotary_high_freq_factor, config)), 0)
        last = min(math.ceil(_pair_with(config.rotary_low_freq_factor, config)), config.n_rotated - 1)
        pair = torch.arange(config.n_rotated // 2, dtype=torch.float64)
        kept = 1 - ((pair - first) / ((last - first) or 0.001)).clamp(0, 1)
        return frequency * (kept + (1 - kept) / config.rotary_scaling_factor)
    if config.rotary_scaling == "longrope":
        return frequency / torch.tensor(config.rotary_pair_factors, dtype=torch.float64)
    return frequency


def _pair_with(n_turns: float, config: ModelConfig) -> float:
    """Return the pair that rotates this often in the original context, as a fraction between two pairs."""
    wavelength = config.rotary_original_len / n_turns
    return config.n_rotated / 2 * math.log(wavelength / (2 * math.pi)) / math.log(config.rotary_base)


@dataclass(frozen=True, eq=False)
class Rotation:
    """The rotations of a range of positions; dimensions of a head beyond the rotated part are left unchanged.

    A pair is (x_i, x_{i + n/2}) in the layout "halves" and (x_{2i}, x_{2i+1}) in "interleaved".
    """

    cos: Float[Tensor, "pos pair"]
    sin: Float[Tensor, "pos pair"]
    layout: Literal["halves", "interleaved"]

    def rotate(self, x: Float[Tensor, "batch head pos d_head"]) -> Float[Tensor, "batch head pos d_head"]:
        """Return rotated queries or keys: (a, b) -> (a cos - b sin, a sin + b cos)."""
        n_rotated = 2 * self.cos.shape[-1]
        turning, rest = x[..., :n_rotated], x[..., n_rotated:]
        cos, sin = self.cos.to(x), self.sin.to(x)
        if self.layout == "halves":
            a, b = turning.chunk(2, dim=-1)
            turned = torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
        else:
            a, b = turning[..., 0::2], turning[..., 1::2]
            turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(start_dim=-2)
        return turned if not rest.shape[-1] else torch.cat([turned, rest], dim=-1)

    def to(self, device: torch.device | str) -> Self:
        """Return the same rotations on another device."""
        return replace(self, cos=self.cos.to(device), sin=self.sin.to(device))


class RotaryPositions:
    """The rotations of any range of positions: no parameters, and not part of a checkpoint.

    Source: Su et al. 2021, sec. 3.2 and 3.4.2; the layout "halves" is that of the GPT-NeoX code.
    """

    def __init__(self, config: ModelConfig) -> None:
        """Compute the frequencies in float64 on the CPU, regardless of the device of the model."""
        with torch.device("cpu"):
            self.frequencies = rotary_frequencies(config)
        self.layout: Literal["halves", "interleaved"] = (
            "halves" if config.positions == "rotary_halves" else "interleaved"
        )

    def __call__(self, first: int, n_positions: int, device: torch.device) -> Rotation:
        """Return the rotations of positions `first` to `first + n_positions - 1`, in float32."""
        position = torch.arange(first, first + n_positions, dtype=torch.float64, device=self.frequencies.device)
        angle = position[:, None] * self.frequencies  # [pos, pair]
        return Rotation(angle.cos().float().to(device), angle.sin().float().to(device), self.layout)
