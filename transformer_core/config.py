"""The configuration of a model, with the field's usual names.

Said once, for readers who have the paper open: the paper's h is `n_heads`, its N is the number of layers, and its d_k
= d_v is `d_head`.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from typing import Any, Literal, Self, get_args

from transformer_core.errors import ConfigError

Positions = Literal["sinusoidal_interleaved", "sinusoidal_halves", "learned"]
NormPosition = Literal["post", "pre"]
Tying = Literal["three_way", "target", "none"]


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Everything that shapes an encoder-decoder Transformer; the defaults are the paper's base model.

    Raises:
        ConfigError: a field, or a combination of fields, that makes no sense; the message says which and what to do.

    Source: Vaswani et al. 2017, table 3 (base).
    """

    vocab_size: int  # tokens; one vocabulary for source and target (sec. 5.1)
    d_model: int = 512  # width of the residual stream
    d_ff: int = 2048  # width of the feed-forward layer
    n_heads: int = 8  # attention heads a layer; the paper's h
    n_encoder_layers: int = 6  # the paper's N
    n_decoder_layers: int = 6  # the paper's N
    max_seq_len: int = 512  # tokens; longest source, and longest target
    positions: Positions = "sinusoidal_interleaved"  # sec. 3.5; "learned" is table 3, row (E)
    norm_position: NormPosition = "post"  # LayerNorm(x + sublayer(x)), sec. 3.1; "pre": Xiong et al. 2020
    layer_norm_eps: float = 1e-5  # added to the variance; the paper names none, this is torch's
    tie_embeddings: Tying = (
        "three_way"  # source, target and pre-softmax matrix shared (sec. 3.4); "target": the last two
    )
    attention_bias: bool = True  # biases in the four projections; eq. of sec. 3.2.2 has none, common practice has
    dropout: float = 0.1  # probability, on each sub-layer's output and on embedding + positions (sec. 5.4)
    dropout_pattern: float = 0.0  # probability, on the attention pattern; not in the paper's text, common elsewhere
    pad_id: int | None = 0  # token that fills up shorter sequences and is never attended to; None: there is none
    bos_id: int = 1  # token that the decoder starts with
    eos_id: int = 2  # token that ends a sequence

    def __post_init__(self) -> None:
        """Check every field, and the fields against each other."""
        for name in ("vocab_size", "d_model", "d_ff", "n_heads", "n_encoder_layers", "n_decoder_layers", "max_seq_len"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigError(f"{name} must be a whole number of at least 1, got {value!r}")
        for name, choices in (("positions", Positions), ("norm_position", NormPosition), ("tie_embeddings", Tying)):
            value = getattr(self, name)
            if value not in get_args(choices):
                raise ConfigError(f"{name} must be one of {', '.join(get_args(choices))}; got {value!r}")
        if self.d_model % self.n_heads:
            fitting = _nearest_divisor(self.d_model, self.n_heads)
            raise ConfigError(
                f"d_model ({self.d_model}) must be divisible by n_heads ({self.n_heads}); use {fitting} heads"
            )
        if self.positions.startswith("sinusoidal") and self.d_model % 2:
            raise ConfigError(
                f"sinusoidal positions come in pairs of sine and cosine: d_model ({self.d_model}) must be even"
            )
        for name in ("dropout", "dropout_pattern"):
            value = getattr(self, name)
            if not is_number(value) or not 0 <= value < 1:
                raise ConfigError(f"{name} is a probability and must lie in [0, 1), got {value!r}")
        if not is_number(self.layer_norm_eps) or not self.layer_norm_eps > 0:
            raise ConfigError(f"layer_norm_eps must be a number above 0, got {self.layer_norm_eps!r}")
        if not isinstance(self.attention_bias, bool):
            raise ConfigError(f"attention_bias must be true or false, got {self.attention_bias!r}")
        for name in ("pad_id", "bos_id", "eos_id"):
            value = getattr(self, name)
            if name == "pad_id" and value is None:
                continue
            if type(value) is not int or not 0 <= value < self.vocab_size:
                raise ConfigError(f"{name} ({value!r}) must be a token of the vocabulary, 0 to {self.vocab_size - 1}")

    @property
    def d_head(self) -> int:
        """Width of one head; the paper's d_k = d_v = d_model / h."""
        return self.d_model // self.n_heads

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build a configuration from plain values.

        Raises:
            ConfigError: a key that no field has (the nearest field is named), or a value that is not allowed.
        """
        known = [field.name for field in fields(cls)]
        for key in values:
            if key not in known:
                nearest = get_close_matches(key, known, n=1)
                hint = f"did you mean {nearest[0]}?" if nearest else f"known are {', '.join(known)}"
                raise ConfigError(f"the model configuration has no field {key!r}; {hint}")
        if "vocab_size" not in values:
            raise ConfigError("the model configuration lacks vocab_size, the number of tokens")
        return cls(**values)


def is_number(value: object) -> bool:
    """Return whether `value` is a finite number and no boolean; what comes from a file can be anything."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _nearest_divisor(number: int, wanted: int) -> int:
    """Return the divisor of `number` that is nearest to `wanted`."""
    return min((d for d in range(1, number + 1) if number % d == 0), key=lambda d: abs(d - wanted))
