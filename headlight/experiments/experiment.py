"""A request for an experiment: one small task, one seed, and variants that differ in one thing, trained side by side.

An experiment shows within seconds what difference a choice makes: which positional encoding, or which mask. Its models
are too small to be kept; its curves are kept.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from transformer_core.checked_fields import Refusal, check_fields, check_together
from transformer_core.config import Positions
from transformer_core.errors import Message
from transformer_core.training.config import Seed

ExperimentKind = Literal["positions", "masks"]
MaskVariant = Literal["look_ahead", "no_mask", "not_shifted"]
"""Of a decoder: as it should be; every token seen, the future too; and given the very token that it is to say."""

VARIANTS: Mapping[ExperimentKind, tuple[str, ...]] = {
    "positions": get_args(Positions),
    "masks": get_args(MaskVariant),
}
USUAL_VARIANTS: Mapping[ExperimentKind, tuple[str, ...]] = {
    "positions": ("sinusoidal_interleaved", "learned", "rotary_halves", "alibi", "none"),
    "masks": get_args(MaskVariant),
}
TASKS: Mapping[ExperimentKind, tuple[str, ...]] = {
    "positions": ("reverse", "copy", "sort"),
    "masks": ("reverse", "copy", "dates"),
}
USUAL_STEPS: Mapping[ExperimentKind, int] = {"positions": 240, "masks": 300}
MOST_VARIANTS = 6
FEWEST_STEPS, MOST_STEPS = 20, 1000
LONGEST_TRAINED = 8  # letters of the tasks that are made of letters
LONGEST_TRIED = 3 * LONGEST_TRAINED  # letters up to which an experiment of positions asks how far each variant carries


_REFUSALS = (
    Refusal(
        lambda request: request.kind not in get_args(ExperimentKind),
        Message("the experiment must be one of {kinds}; got {kind!r}", kinds=", ".join(get_args(ExperimentKind))),
    ),
    Refusal(
        lambda request: request.task not in TASKS[request.kind],
        Message("the task must be one of {tasks}; got {task!r}"),
        {"tasks": lambda request: ", ".join(TASKS[request.kind])},
    ),
    Refusal(
        lambda request: not all(variant in VARIANTS[request.kind] for variant in request.variants),
        Message("there is no variant {wrong!r}; the variants of this experiment are {variants}"),
        {
            "wrong": lambda request: next(name for name in request.variants if name not in VARIANTS[request.kind]),
            "variants": lambda request: ", ".join(VARIANTS[request.kind]),
        },
    ),
    Refusal(
        lambda request: not 1 <= len({*request.variants}) == len(request.variants) <= MOST_VARIANTS,
        Message("an experiment has 1 to {most} different variants; got {got}", most=MOST_VARIANTS),
        {"got": lambda request: ", ".join(request.variants) or "none"},
    ),
    Refusal(
        lambda request: type(request.steps) is not int or not FEWEST_STEPS <= request.steps <= MOST_STEPS,
        Message(
            "steps must be a whole number from {fewest} to {most}, got {steps!r}", fewest=FEWEST_STEPS, most=MOST_STEPS
        ),
    ),
)


@dataclass(frozen=True, kw_only=True)
class ExperimentRequest:
    """What was asked of an experiment: all that its numbers depend on.

    Raises:
        ConfigError: something that makes no sense; the message says what is allowed.
    """

    kind: ExperimentKind
    task: str  # a corpus
    variants: tuple[str, ...]  # in the order in which they take their turns
    seed: Seed  # of the first weights and the order of the data, the same for all variants
    steps: int  # of each variant

    def __post_init__(self) -> None:
        """Check every field: it may come from a file."""
        check_together(self, _REFUSALS)
        check_fields(self)

    @property
    def arguments(self) -> list[str]:
        """The command line behind `python -m transformer_core`, but for the folder."""
        words = ["experiment", self.kind, "--task", self.task, "--variants", ",".join(self.variants)]
        return [*words, "--seed", str(self.seed), "--steps", str(self.steps)]

    @property
    def command(self) -> str:
        """The command that makes the same experiment again."""
        return shlex.join(["python", "-m", "transformer_core", *self.arguments])

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build a request from plain values; its `command`, which follows from them, may be among them.

        Raises:
            ConfigError, TypeError: a value is missing, unknown, or makes no sense.
        """
        fields = {name: value for name, value in values.items() if name != "command"}
        variants = values.get("variants")
        return cls(**fields | {"variants": tuple(variants) if isinstance(variants, list | tuple) else ()})
