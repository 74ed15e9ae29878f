"""The input of a diagnosis: settings, metrics and baselines, with the derived values that several rules need."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from headlight.diagnosis.curves import Curves, HeldOut, LossChange, change, read_curves
from transformer_core.cached_property import cached_property
from transformer_core.config import Architecture
from transformer_core.errors import NO_MESSAGE, Message, RunError

LossLevel = Literal["guessing", "frequency", "one_back", "beyond"]
"""The knowledge that suffices to reach a loss: none, token frequencies, the previous token, or more."""

Trend = Literal["falling", "rising", "flat"]
Severity = Literal["fine", "note", "problem"]

# The highest learning rate times d_model. The paper's base model: 7.0e-4 * 512 = 0.36 (Vaswani et al. 2017, sec. 5.3);
# GPT-3 from 125 million to 175 billion parameters: 6e-4 * 768 = 0.46 to 0.6e-4 * 12288 = 0.74 (Brown et al. 2020,
# table 2.1); the trainings of our own tiny models, of width 128: 0.39 to 0.47.
USUAL_RATE_TIMES_WIDTH = 0.4

_SURELY = 0.02  # share of an entropy by which a loss must be lower to count as below it
_SURELY_NATS = 0.05  # at least, as some hundred held-out texts are no more precise; half of small entropies
_GOOD_OUTPUTS = 0.8  # share of correct outputs from which on a model counts as having learnt its task
_GOOD_LOSS = 0.8  # of the bigram entropy: below it a text model uses much more than the previous token
_GOOD_LOSS_OF_UNIGRAM = 0.6  # of the unigram entropy, if the bigram entropy is unknown or meaningless
_FEWEST_STEPS = 8  # logged steps; fewer show no trend
_EARLY = 1 / 4  # share of all steps that the beginning lasts at most, however long the warm-up


@dataclass(frozen=True, kw_only=True)
class Case:
    """Everything that a diagnosis is based on. Unknown values (None) lead to no conclusion.

    All token counts are of the same kind: inputs, or prediction targets.

    Raises:
        RunError: a count below 1.
    """

    metrics: Sequence[Mapping[str, Any]]  # the lines of metrics.jsonl; missing and unreadable values are skipped
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
    unigram_entropy: float | None = None  # nats per held-out target, from token frequencies in training
    bigram_entropy: float | None = None  # nats per held-out target, from pairs of tokens in training
    is_stopped: bool = False  # it was stopped, and can be resumed
    failure: Message = NO_MESSAGE  # why the run failed; none where it did not

    def __post_init__(self) -> None:
        """Check the counts."""
        for name in ("steps", "vocab_size", "d_model", "warmup_steps"):
            if getattr(self, name) < 1:
                raise RunError(
                    "{name} must be at least 1 for a diagnosis, got {got}", name=name, got=getattr(self, name)
                )

    @property
    def epochs(self) -> float | None:
        """Passes over the training text so far; None if tokens were not counted."""
        if self.tokens_seen is None or not self.n_training_tokens:
            return None
        return self.tokens_seen / self.n_training_tokens

    @property
    def even_entropy(self) -> float:
        """Nats of a uniform guess over the vocabulary."""
        return math.log(self.vocab_size)

    @cached_property
    def curves(self) -> Curves:
        """The metrics as curves."""
        return read_curves(self.metrics)

    @property
    def steps_done(self) -> int:
        """The last step with any record."""
        return self.curves.steps_done

    @property
    def is_over(self) -> bool:
        """Whether all steps are done, or no more will come."""
        return self.steps_done >= self.steps or bool(self.failure)

    @property
    def is_early(self) -> bool:
        """Whether it is too early to judge: during warm-up, or before there is a curve."""
        if not self.curves.steps and not self.curves.held_out:
            return True
        beginning = min(self.warmup_steps, _EARLY * self.steps)
        return not self.is_over and (self.steps_done <= beginning or len(self.curves.steps) < _FEWEST_STEPS)

    @property
    def is_late(self) -> bool:
        """Whether a plateau is meaningful: half of the steps are done, or no more will come."""
        return self.is_over or self.steps_done >= self.steps / 2

    @property
    def is_settled(self) -> bool:
        """Whether a fault will not disappear on its own: no more steps will come, or they no longer help."""
        return self.is_over or (self.is_late and self.trend != "falling")

    @property
    def last(self) -> HeldOut | None:
        """The last measurement on held-out data."""
        return self.curves.held_out[-1] if self.curves.held_out else None

    @property
    def probes(self) -> Mapping[str, float]:
        """The last direct tests by name; see training/probes.py."""
        return next((held_out.probes for held_out in reversed(self.curves.held_out) if held_out.probes), {})

    @property
    def severity(self) -> Severity:
        """Severity of a fault that more training may fix."""
        return "problem" if self.is_settled else "note"

    @property
    def best(self) -> HeldOut | None:
        """The measurement with the lowest held-out loss, the first of several."""
        return min(self.curves.held_out, key=lambda held_out: held_out.loss, default=None)

    @cached_property
    def training_loss(self) -> float | None:
        """Upper bound of the recent mean training loss without label smoothing, in nats. None before the first."""
        losses = self.curves.losses(2 / 3 * self.steps_done, self.steps_done) or self.curves.losses(0, self.steps_done)
        return self.unsmoothed(fmean(losses)) if losses else None

    @cached_property
    def loss(self) -> float | None:
        """Held-out loss if measured, else training loss; nats per target."""
        return self.last.loss if self.last else self.training_loss

    @cached_property
    def recent(self) -> LossChange | None:
        """Change of the training loss from the second to the last third of the steps, without warm-up if possible."""
        third = self.steps_done / 3
        before_that = max(third, float(self.warmup_steps))
        now = self.curves.losses(2 * third, self.steps_done)
        after_warmup, anywhere = self.curves.losses(before_that, 2 * third), self.curves.losses(third, 2 * third)
        return change(after_warmup, now) or change(anywhere, now)

    @cached_property
    def trend(self) -> Trend | None:
        """Trend of the training loss; also falling if the held-out loss has recently reached its minimum."""
        if self.recent is None or len(self.curves.steps) < _FEWEST_STEPS:
            return None
        if self.recent.is_fall or self.has_held_out_fallen:
            return "falling"
        return "rising" if self.recent.is_rise else "flat"

    @cached_property
    def level(self) -> LossLevel | None:
        """The knowledge that suffices to reach the loss; None if the loss or the entropies are unknown."""
        loss, unigram, bigram = self.loss, self.unigram, self.bigram
        if loss is None:
            return None
        if unigram is None:
            return "guessing" if loss >= _surely_below(self.even_entropy) else None
        if loss > (unigram + self.even_entropy) / 2:
            return "guessing"
        if loss >= _surely_below(unigram):
            return "frequency"
        if bigram is not None and _surely_below(bigram) <= loss and bigram < _surely_below(unigram):
            return "one_back"
        return "beyond"

    @property
    def unigram(self) -> float | None:
        """The unigram entropy if known, at most that of a uniform guess."""
        known = _known(self.unigram_entropy)
        return None if known is None else min(known, self.even_entropy)

    @property
    def bigram(self) -> float | None:
        """The bigram entropy if known; not for masked tokens, which have neighbours on both sides."""
        return None if self.architecture == "encoder_only" else _known(self.bigram_entropy)

    @property
    def is_poor(self) -> bool:
        """Whether a table of counts would do as well."""
        return self.level in ("guessing", "frequency", "one_back")

    @cached_property
    def judged(self) -> tuple[str, float] | None:
        """The name of the most informative measure of the model's outputs, and the share that is correct."""
        if self.last is None:
            return None
        if self.last.judged is None and self.last.determined_accuracy is not None:
            return "determined_accuracy", self.last.determined_accuracy
        return self.last.judged

    @cached_property
    def is_good(self) -> bool:
        """Whether the model has learnt its task, by its outputs, or by held-out loss if outputs are not evaluated."""
        if self.judged is not None:
            return self.judged[1] >= _GOOD_OUTPUTS
        if self.last is None or self.level != "beyond" or self.unigram is None:
            return False
        if self.bigram is None:
            return self.last.loss <= _GOOD_LOSS_OF_UNIGRAM * self.unigram
        return self.last.loss <= _GOOD_LOSS * min(self.bigram, self.unigram)

    @cached_property
    def highest_rate(self) -> float | None:
        """The highest learning rate so far."""
        return max((step.learning_rate for step in self.curves.steps if step.learning_rate is not None), default=None)

    @property
    def usual_factor(self) -> float:
        """The learning-rate factor whose peak rate is the usual one for the model's width."""
        return USUAL_RATE_TIMES_WIDTH / self.d_model * (self.d_model * self.warmup_steps) ** 0.5

    @cached_property
    def rate_ratio(self) -> float | None:
        """The highest learning rate so far, relative to the usual one for the model's width."""
        if self.highest_rate is None:
            return None
        return self.highest_rate * self.d_model / USUAL_RATE_TIMES_WIDTH

    @property
    def is_rate_rising(self) -> bool:
        """Whether the learning rate is still rising, so that a low one means nothing."""
        return self.steps_done < self.warmup_steps and not self.is_over

    def unsmoothed(self, loss: int | float) -> float:
        """Return an upper bound of a label-smoothed cross-entropy without its smoothing, in nats.

        The smoothed loss is (1 - smoothing) * H + smoothing * mean over the vocabulary of -log p, and that mean is at
        least log(vocab_size), by Jensen's inequality. What remains is at most H / (1 - smoothing); the bound is exact
        without smoothing.
        """
        return max(0.0, (loss - self.label_smoothing * self.even_entropy) / (1 - self.label_smoothing))

    @property
    def has_held_out_fallen(self) -> bool:
        """Whether the held-out loss clearly improved in the last third."""
        border = 2 / 3 * self.steps_done
        before = [held_out.loss for held_out in self.curves.held_out if held_out.step <= border]
        now = [held_out.loss for held_out in self.curves.held_out if held_out.step > border]
        return bool(before and now) and min(now) < min(before) * (1 - _SURELY)


def _surely_below(entropy: int | float) -> float:
    """Return the highest loss that is clearly below an entropy."""
    return entropy - max(min(_SURELY_NATS, entropy / 2), _SURELY * entropy)


def _known(entropy: int | float | None) -> float | None:
    """Return an entropy, None for one that is not a number above 0."""
    return float(entropy) if entropy is not None and math.isfinite(entropy) and entropy > 0 else None
