"""How long to train on a text of one's own: not much longer than it has to teach, nor than a person waits."""

from dataclasses import dataclass, replace
from math import floor, log10

from transformer_core.training.config import TrainingConfig

MOST_EPOCHS = 100  # beyond it, a small model on a small text only learns it by heart
MOST_SECONDS = 20 * 60.0  # of a first training on this machine
LEAST_STEPS = 400  # with fewer, hardly anything is learnt


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """A training, and why it is shorter than the preset's."""

    training: TrainingConfig
    usual_steps: int  # of the preset
    is_for_time: bool  # it would take too long; else the corpus is small

    @property
    def is_shorter(self) -> bool:
        """Whether it has fewer steps than the preset."""
        return self.training.steps < self.usual_steps


def suggest(usual: TrainingConfig, *, n_rows: int, seconds_per_step: float) -> Suggestion:
    """Return a preset's training with as many steps as suit a corpus and this machine, never more than it has.

    Args:
        usual: the preset's.
        n_rows: pairs, or windows of texts, an epoch.
        seconds_per_step: on this machine; 0: not known, or a GPU.
    """
    for_corpus = MOST_EPOCHS * n_rows / usual.batch_size
    for_time = MOST_SECONDS / seconds_per_step if seconds_per_step else float("inf")
    n_steps = max(LEAST_STEPS, min(for_corpus, for_time))
    steps = min(usual.steps, _round(n_steps) if n_steps < usual.steps else usual.steps)
    training = usual
    if steps < usual.steps:
        training = replace(
            usual,
            steps=steps,
            warmup_steps=max(1, min(usual.warmup_steps, steps // 5)),
            evaluate_every=max(1, min(usual.evaluate_every, steps // 4)),
        )
    return Suggestion(
        training=training,
        usual_steps=usual.steps,
        is_for_time=for_time < for_corpus,
    )


def _round(number: float) -> int:
    """Return a number with two digits, such as 430 or 1,800; never more than it was."""
    unit = 10 ** (floor(log10(number)) - 1)
    return int(number // unit * unit)
