"""A token of a tree of steps, with the prediction that follows it."""

import math
from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor

from transformer_core.decoding.prediction import Candidate, NextTokenPrediction
from transformer_core.decoding.settings import Sampling


@dataclass(kw_only=True, eq=False)
class DecodingStep:
    """A token in a tree of steps, with the model's prediction after it."""

    token: int
    position: int  # among the decoder's tokens, from 0
    parent: "DecodingStep | None" = field(repr=False)
    is_given: bool  # <bos>, or a token of the prompt
    # by token; other threads may add some at any time, so iterate over `list(children.values())`
    children: "dict[int, DecodingStep]" = field(default_factory=dict, repr=False)
    prediction: NextTokenPrediction | None = field(default=None, repr=False)  # of the next token; None until read
    kept: Float[Tensor, "layer both_heads d_head"] | None = field(default=None, repr=False)  # keys, after them values
    choices: dict[Sampling, int] = field(default_factory=dict, repr=False)  # the next token that sessions have chosen
    _chosen: Candidate | None = field(default=None, init=False, repr=False)

    @property
    def decision(self) -> NextTokenPrediction | None:
        """The prediction of this token; None for the first one, or if its parent has not been read."""
        return None if self.parent is None else self.parent.prediction

    @property
    def chosen(self) -> Candidate | None:
        """This token as a candidate of `decision`."""
        if self._chosen is None and self.decision is not None:
            self._chosen = self.decision.candidate(self.token)
        return self._chosen

    @property
    def log_prob(self) -> float:
        """In nats, given the tokens before it; 0 if there is no prediction."""
        return 0.0 if self.chosen is None else self.chosen.log_prob

    def path(self) -> "list[DecodingStep]":
        """Return all steps from the first token to this one."""
        backwards: list[DecodingStep] = []
        step: DecodingStep | None = self
        while step is not None:
            backwards.append(step)
            step = step.parent
        return backwards[::-1]

    def written(self) -> "list[DecodingStep]":
        """Return the steps of the path that were generated."""
        return [step for step in self.path() if not step.is_given]

    @property
    def total_log_prob(self) -> float:
        """Of all generated tokens up to here, in nats."""
        return math.fsum(step.log_prob for step in self.written())
