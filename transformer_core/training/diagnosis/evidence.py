"""What a diagnosis goes by: what was measured, what was asked for, and the baselines of the corpus."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transformer_core.config import Architecture
from transformer_core.errors import NO_MESSAGE, Message, RunError


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All that a diagnosis goes by; what is not known is None, and nothing is concluded from it.

    Tokens are counted in one way throughout: those that the model is given, or those that it is to say.

    Raises:
        RunError: a count that can only be a whole number of at least 1.
    """

    metrics: Sequence[Mapping[str, Any]]  # the lines of metrics.jsonl; what is missing or unreadable is passed over
    architecture: Architecture
    steps: int  # planned
    vocab_size: int
    d_model: int
    warmup_steps: int = 1
    learning_rate_factor: float = 1.0
    label_smoothing: float = 0.0  # of the losses of steps; held-out losses are never smoothed
    dropout: float = 0.0
    n_training_tokens: int | None = None  # in one pass over the training text
    tokens_seen: int | None = None  # up to the last step
    unigram_entropy: float | None = None  # nats a held-out target, by how often each token comes in training
    bigram_entropy: float | None = None  # nats a held-out target, by which token follows which in training
    is_stopped: bool = False  # it was stopped, and can be resumed
    failure: Message = NO_MESSAGE  # why the run failed; none where it did not

    def __post_init__(self) -> None:
        """Check the counts that logarithms and quotients are taken of."""
        for name in ("steps", "vocab_size", "d_model", "warmup_steps"):
            if getattr(self, name) < 1:
                raise RunError(
                    "{name} must be at least 1 for a diagnosis, got {got}", name=name, got=getattr(self, name)
                )

    @property
    def epochs(self) -> float | None:
        """Passes over the training text so far; None where the tokens were not counted."""
        if self.tokens_seen is None or not self.n_training_tokens:
            return None
        return self.tokens_seen / self.n_training_tokens

    @property
    def even_entropy(self) -> float:
        """Nats of a guess that finds every token of the vocabulary equally probable."""
        return math.log(self.vocab_size)
