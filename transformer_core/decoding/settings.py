"""Sampling settings; does not import torch, so that pages load quickly."""

import math
from dataclasses import dataclass, fields
from numbers import Real

from transformer_core.arguments import NUMBER, check_kind
from transformer_core.errors import ConfigError, Message


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the next token is chosen; by default, drawn from the model's distribution.

    The filters are applied in the order of the fields, each to the result of the previous one.
    """

    repetition_penalty: float = 1.0  # positive logits of earlier tokens are divided by it, negative ones multiplied
    temperature: float = 1.0  # logits are divided by it; 0: greedy decoding
    top_k: int = 0  # keep the k most probable tokens; 0: all
    top_p: float = 1.0  # nucleus: keep the smallest set of most probable tokens that reaches this probability
    min_p: float = 0.0  # drop tokens less probable than this fraction of the most probable one
    seed: int = 0  # of the draws

    def __post_init__(self) -> None:
        for field in fields(self):
            check_kind(field.name, getattr(self, field.name), Real, NUMBER)
        checks = (
            (
                self.repetition_penalty,
                0.01 <= self.repetition_penalty <= 100,
                Message("repetition_penalty ({value}) must be from 0.01 to 100; 1 is off"),
            ),
            (
                self.temperature,
                self.temperature == 0 or 0.001 <= self.temperature <= 1000,
                Message("temperature ({value}) must be 0 (greedy decoding) or from 0.001 to 1000"),
            ),
            (self.top_k, self.top_k >= 0, Message("top_k ({value}) must be 0 or above; 0 keeps all tokens")),
            (
                self.top_p,
                0 < self.top_p <= 1,
                Message("top_p ({value}) must be above 0 and at most 1; 1 keeps all tokens"),
            ),
            (self.min_p, 0 <= self.min_p <= 1, Message("min_p ({value}) must be from 0 to 1; 0 keeps all tokens")),
        )
        for value, is_valid, refusal in checks:
            if not is_valid or not math.isfinite(value):
                raise ConfigError(refusal, value=value)


GREEDY = Sampling(temperature=0.0)
