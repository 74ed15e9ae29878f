"""A request for an experiment: one small task, one seed, and variants that differ in one thing, trained side by side.

An experiment shows within seconds what difference a choice makes: which positional encoding, or which mask. Its models
are too small to be kept; its curves are kept.
"""

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Literal, Self, get_args

from transformer_core.config import Positions
from transformer_core.errors import ConfigError

ExperimentKind = Literal["positions", "masks"]
MaskVariant = Literal["look_ahead", "no_mask", "not_shifted"]
"""Of a decoder: as it should be; every token seen, the future too; and given the very token that it is to say."""

VARIANTS: Mapping[ExperimentKind, tuple[str, ...]] = MappingProxyType(
    {"positions": get_args(Positions), "masks": get_args(MaskVariant)}
)
USUAL_VARIANTS: Mapping[ExperimentKind, tuple[str, ...]] = MappingProxyType(
    {
        "positions": ("sinusoidal_interleaved", "learned", "rotary_halves", "alibi", "none"),
        "masks": get_args(MaskVariant),
    }
)
TASKS: Mapping[ExperimentKind, tuple[str, ...]] = MappingProxyType(
    {"positions": ("reverse", "copy", "sort"), "masks": ("reverse", "copy", "dates")}
)
USUAL_STEPS: Mapping[ExperimentKind, int] = MappingProxyType({"positions": 240, "masks": 300})
MOST_VARIANTS = 6
FEWEST_STEPS, MOST_STEPS = 20, 1000
MOST_SEED = 2**32 - 1
LONGEST_TRAINED = 8  # letters of the tasks that are made of letters
LONGEST_TRIED = 3 * LONGEST_TRAINED  # letters up to which an experiment of positions asks how far each variant carries


@dataclass(frozen=True, kw_only=True)
class ExperimentRequest:
    """What was asked of an experiment: all that its numbers depend on.

    Raises:
        ConfigError: something that makes no sense; the message says what is allowed.
    """

    kind: ExperimentKind
    task: str  # a corpus
    variants: tuple[str, ...]  # in the order in which they take their turns
    seed: int  # of the first weights and the order of the data, the same for all variants
    steps: int  # of each variant

    def __post_init__(self) -> None:
        """Check every field: it may come from a file."""
        if self.kind not in get_args(ExperimentKind):
            kinds = ", ".join(get_args(ExperimentKind))
            raise ConfigError("an experiment is one of {kinds}; got {kind!r}", kinds=kinds, kind=self.kind)
        if self.task not in TASKS[self.kind]:
            tasks = ", ".join(TASKS[self.kind])
            raise ConfigError("the task must be one of {tasks}; got {task!r}", tasks=tasks, task=self.task)
        known = VARIANTS[self.kind]
        if not all(variant in known for variant in self.variants):
            wrong = next(variant for variant in self.variants if variant not in known)
            variants = ", ".join(known)
            raise ConfigError(
                "there is no variant {wrong!r}; variants of this experiment are {variants}",
                wrong=wrong,
                variants=variants,
            )
        if not 1 <= len(self.variants) <= MOST_VARIANTS or len({*self.variants}) < len(self.variants):
            got = ", ".join(self.variants) or "none"
            raise ConfigError(
                "an experiment has 1 to {most} different variants; got {got}", most=MOST_VARIANTS, got=got
            )
        if type(self.seed) is not int or not 0 <= self.seed <= MOST_SEED:
            raise ConfigError(
                "{name} must be a whole number from 0 to {most}, got {value!r}",
                name="seed",
                most=MOST_SEED,
                value=self.seed,
            )
        if type(self.steps) is not int or not FEWEST_STEPS <= self.steps <= MOST_STEPS:
            limits = {"fewest": FEWEST_STEPS, "most": MOST_STEPS, "steps": self.steps}
            raise ConfigError("steps must be a whole number from {fewest} to {most}, got {steps!r}", **limits)

    @property
    def arguments(self) -> list[str]:
        """The command line behind `python -m transformer_core`, but for the folder."""
        words = ["experiment", self.kind, "--task", self.task, "--variants", ",".join(self.variants)]
        return [*words, "--seed", str(self.seed), "--steps", str(self.steps)]

    @property
    def command(self) -> str:
        """The command that makes the same experiment again."""
        return shlex.join(["python", "-m", "transformer_core", *self.arguments])

    def to_dict(self) -> dict[str, Any]:
        """Return the request as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build a request from plain values; its `command`, which follows from them, may be among them.

        Raises:
            ConfigError, TypeError: a value is missing, unknown, or makes no sense.
        """
        fields = {name: value for name, value in values.items() if name != "command"}
        variants = values.get("variants")
        return cls(**fields | {"variants": tuple(variants) if isinstance(variants, list | tuple) else ()})
