"""The configuration of a training; that of the model is `ModelConfig`."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, Self

from transformer_core.checked_fields import (
    AboveZero,
    Count,
    CountOrZero,
    Refusal,
    Rule,
    Share,
    between,
    check_fields,
    check_together,
    is_above_zero,
    is_number,
)
from transformer_core.errors import ConfigError, Message

Schedule = Literal["paper", "cosine", "constant"]
OptimizerName = Literal["adam", "adamw"]
Precision = Literal["fp32", "bf16"]
_GUIDED_HEAD = re.compile(r"encoder\.(\d+)\.(\d+)")

RateChanges = tuple[tuple[int, float], ...]
"""Steps and factors: from each step on, the scheduled learning rate is multiplied by the factor."""

MOST_SEED = 2**32 - 1
Seed = Annotated[int, between(0, MOST_SEED)]
Stride = Annotated[
    int,
    Rule(
        lambda value: type(value) is int and value >= 1,
        Message("{name} must be a whole number of at least 1, or none for non-overlapping windows; got {value!r}"),
    ),
]
Decay = Annotated[
    float,
    Rule(lambda value: is_number(value) and value >= 0, Message("{name} must be at least 0, got {value!r}")),
]
ClipNorm = Annotated[
    float, Rule(is_above_zero, Message("{name} must be above 0, or none for no clipping; got {value!r}"))
]

_REFUSALS = (
    Refusal(
        lambda config: config.accumulate > config.batch_size,
        Message(
            "accumulate ({accumulate}) must be at most batch_size ({batch_size}), because each part "
            "needs at least one sequence"
        ),
    ),
    Refusal(
        lambda config: config.weight_decay and config.optimizer == "adam",
        Message("weight_decay ({weight_decay}) needs optimizer=adamw; the paper's Adam has no weight decay"),
    ),
    Refusal(
        lambda config: config.guided_head is not None and not _GUIDED_HEAD.fullmatch(str(config.guided_head)),
        Message(
            "guided_head must name a layer and a head of the encoder, such as encoder.1.0, or be "
            "none; got {guided_head!r}"
        ),
    ),
    Refusal(
        lambda config: config.guided_head is not None and config.compile,
        Message(
            "guided_head needs the attention pattern, which compiled models do not compute; leave "
            "out guided_head or compile"
        ),
    ),
)

_LEAST_MEASURED = 5  # fewest points for a curve of held-out measurements


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Everything that shapes a training; defaults are the paper's, unless the comment says otherwise.

    Raises:
        ConfigError: an invalid field; the message names it and says what is allowed.

    Source: Vaswani et al. 2017, sec. 5.
    """

    steps: Count  # optimizer steps
    batch_size: Count  # pairs, or pieces of texts, per step; the paper: pairs of about 25,000 tokens a side (sec. 5.1)
    stride: Stride | None = None  # tokens from one window of a running text to the next; None: a window's length
    accumulate: Count = 1  # gradient accumulation: parts of a batch, computed one after another to save memory
    warmup_steps: Count  # steps over which the learning rate rises; the paper: 4,000 (sec. 5.3)
    seed: Seed = 0  # for initial weights, data order, and dropout
    schedule: Schedule = "paper"  # the learning rate after the warm-up; "cosine": Loshchilov and Hutter 2017
    learning_rate_factor: AboveZero = 1.0  # multiplies the paper's formula (sec. 5.3, eq. (3))
    learning_rate_floor: Share = 0.0  # final rate of the cosine schedule, as a fraction of the peak
    rate_changes: RateChanges = ()  # changes during training: (step, factor of the rate from that step on)
    label_smoothing: Share = 0.1  # probability moved from the target to all other tokens (sec. 5.4)
    guided_head: str | None = None  # "encoder.1.0": layer and head that learns what pronouns refer to (guidance.py)
    guidance_weight: AboveZero = 0.05  # weight of the guided head's loss in the total loss, as in Garg et al. 2019
    optimizer: OptimizerName = "adam"  # the paper's (sec. 5.3); "adamw": Loshchilov and Hutter 2019
    weight_decay: Decay = 0.0  # of matrices, per step, multiplied by the learning rate; "adamw" only
    adam_beta1: Share = 0.9  # decay of Adam's mean of gradients (sec. 5.3)
    adam_beta2: Share = 0.98  # decay of Adam's mean of squared gradients (sec. 5.3)
    adam_eps: AboveZero = 1e-9  # added to the root of Adam's mean of squared gradients (sec. 5.3)
    clip_norm: ClipNorm | None = 1.0  # maximum L2 norm of the gradient; None: no limit. Differs: the paper names none
    precision: Precision = "fp32"  # of matrix products; "bf16": weights and sums stay fp32 (Micikevicius et al. 2018)
    compile: bool = False  # torch.compile, for running texts: the first step takes a minute, the others are faster
    film_megabytes: CountOrZero = 200  # size limit of the film's snapshots, in 10^6 bytes; 0: no film
    log_every: Count = 10  # steps between two lines of metrics.jsonl
    save_every: Count = 500  # steps between two replacements of last/
    evaluate_every: Count = 500  # steps between two held-out measurements; at most a fifth of all steps
    evaluate_pairs: Count = 256  # held-out pairs or texts per measurement; the final measurement uses all

    def __post_init__(self) -> None:
        check_fields(self)
        check_together(self, _REFUSALS)
        self._check_rate_changes()

    @property
    def guided(self) -> tuple[int, int] | None:
        """Layer and head of the guided encoder head, counted from 0; None if no head is guided."""
        if self.guided_head is None:
            return None
        _, layer, head = self.guided_head.split(".")
        return int(layer), int(head)

    @property
    def evaluation_interval(self) -> int:
        """Steps between two held-out measurements: `evaluate_every`, or fewer to get at least five, if possible."""
        return max(1, min(self.evaluate_every, self.steps // _LEAST_MEASURED))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build a configuration from plain values; raise TypeError for an unknown or missing name."""
        changes = values.get("rate_changes", ())
        return cls(**{**values, "rate_changes": tuple((step, factor) for step, factor in changes)})

    def _check_rate_changes(self) -> None:
        """Check that the changes of the learning rate have increasing steps, and factors above 0."""
        former = 0
        for step, factor in self.rate_changes:
            if type(step) is not int or step <= former:
                raise ConfigError(
                    "rate_changes must be in order of increasing steps, starting at 1 or later; got {step!r} "
                    "after {former}",
                    step=step,
                    former=former,
                )
            if not is_above_zero(factor):
                raise ConfigError(
                    "factors in rate_changes must be above 0, got {factor!r} at step {step}",
                    factor=factor,
                    step=step,
                )
            former = step
