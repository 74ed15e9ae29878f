"""The configuration of a training: how long, on how much, how fast; the model's shape is `ModelConfig`."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from transformer_core.config import is_number
from transformer_core.errors import ConfigError

Schedule = Literal["paper", "cosine"]
Precision = Literal["fp32", "bf16"]


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Everything that shapes a training; what has a default is as in the paper, unless the comment says otherwise.

    Raises:
        ConfigError: a field that makes no sense; the message says which and what is allowed.

    Source: Vaswani et al. 2017, sec. 5.
    """

    steps: int  # optimizer steps
    batch_size: int  # pairs, or pieces of texts, a step; the paper: pairs of about 25,000 tokens a side (sec. 5.1)
    warmup_steps: int  # steps over which the learning rate rises; the paper: 4,000 (sec. 5.3)
    seed: int = 0  # of the first weights, the order of the data, and dropout
    schedule: Schedule = "paper"  # the learning rate after the warm-up; "cosine": Loshchilov and Hutter 2017
    learning_rate_factor: float = 1.0  # times the paper's formula (sec. 5.3, eq. (3))
    label_smoothing: float = 0.1  # probability moved from the target to all other tokens (sec. 5.4)
    adam_beta1: float = 0.9  # decay of Adam's mean of gradients (sec. 5.3)
    adam_beta2: float = 0.98  # decay of Adam's mean of squared gradients (sec. 5.3)
    adam_eps: float = 1e-9  # added to the root of Adam's second mean (sec. 5.3)
    clip_norm: float | None = 1.0  # longest gradient, L2 norm over all; None: any. Differs: the paper names none
    precision: Precision = "fp32"  # of the products; "bf16": weights and sums stay fp32 (Micikevicius et al. 2018)
    log_every: int = 10  # steps between two lines of metrics.jsonl
    save_every: int = 500  # steps between two replacements of last/
    evaluate_every: int = 500  # steps between two measurements on held-out pairs
    evaluate_pairs: int = 256  # held-out pairs, or texts, of such a measurement; the one at the end takes them all

    def __post_init__(self) -> None:
        """Check every field."""
        for name in (
            "steps",
            "batch_size",
            "warmup_steps",
            "log_every",
            "save_every",
            "evaluate_every",
            "evaluate_pairs",
        ):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigError(f"{name} must be a whole number of at least 1, got {value!r}")
        if type(self.seed) is not int or not 0 <= self.seed < 2**32:
            raise ConfigError(f"seed must be a whole number from 0 to {2**32 - 1}, got {self.seed!r}")
        if self.schedule not in get_args(Schedule):
            raise ConfigError(f"schedule must be one of {', '.join(get_args(Schedule))}; got {self.schedule!r}")
        if self.precision not in get_args(Precision):
            raise ConfigError(f"precision must be one of {', '.join(get_args(Precision))}; got {self.precision!r}")
        for name in ("label_smoothing", "adam_beta1", "adam_beta2"):
            value = getattr(self, name)
            if not is_number(value) or not 0 <= value < 1:
                raise ConfigError(f"{name} must lie in [0, 1), got {value!r}")
        for name in ("learning_rate_factor", "adam_eps"):
            value = getattr(self, name)
            if not is_number(value) or not value > 0:
                raise ConfigError(f"{name} must be above 0, got {value!r}")
        if self.clip_norm is not None and not (is_number(self.clip_norm) and self.clip_norm > 0):
            raise ConfigError(f"clip_norm must be above 0, or none for no clipping; got {self.clip_norm!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, for JSON."""
        return asdict(self)
