"""What a trial is asked for: one small task, one seed, and arms that differ in one thing, trained side by side.

A trial shows in seconds what a choice is worth: which encoding of positions, or which mask. Its models are far too
small to be kept; what is kept are its curves.
"""

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Literal, Self, get_args

from transformer_core.config import Positions
from transformer_core.errors import ConfigError

TrialKind = Literal["positions", "masks"]
MaskArm = Literal["look_ahead", "no_mask", "not_shifted"]
"""Of a decoder: as it should be; every token seen, the future too; and given the very token that it is to say."""

ARMS: Mapping[TrialKind, tuple[str, ...]] = MappingProxyType(
    {"positions": get_args(Positions), "masks": get_args(MaskArm)}
)
USUAL_ARMS: Mapping[TrialKind, tuple[str, ...]] = MappingProxyType(
    {
        "positions": ("sinusoidal_interleaved", "learned", "rotary_halves", "alibi", "none"),
        "masks": get_args(MaskArm),
    }
)
TASKS: Mapping[TrialKind, tuple[str, ...]] = MappingProxyType(
    {"positions": ("reverse", "copy", "sort"), "masks": ("reverse", "copy", "dates")}
)
USUAL_STEPS: Mapping[TrialKind, int] = MappingProxyType({"positions": 240, "masks": 300})
MOST_ARMS = 6
FEWEST_STEPS, MOST_STEPS = 20, 1000
MOST_SEED = 2**32 - 1
LONGEST_TRAINED = 8  # letters of the tasks that are made of letters
LONGEST_TRIED = 3 * LONGEST_TRAINED  # letters up to which a trial of positions asks how far each arm carries


@dataclass(frozen=True, kw_only=True)
class TrialRequest:
    """What was asked of a trial: all that its numbers depend on.

    Raises:
        ConfigError: something that makes no sense; the message says what is allowed.
    """

    kind: TrialKind
    task: str  # a corpus
    arms: tuple[str, ...]  # in the order in which they take their turns
    seed: int  # of the first weights and the order of the data, the same for all arms
    steps: int  # of each arm

    def __post_init__(self) -> None:
        """Check every field: it may come from a file."""
        if self.kind not in get_args(TrialKind):
            kinds = ", ".join(get_args(TrialKind))
            raise ConfigError("a trial is one of {kinds}; got {kind!r}", kinds=kinds, kind=self.kind)
        if self.task not in TASKS[self.kind]:
            tasks = ", ".join(TASKS[self.kind])
            raise ConfigError("the task must be one of {tasks}; got {task!r}", tasks=tasks, task=self.task)
        known = ARMS[self.kind]
        if not all(arm in known for arm in self.arms):
            wrong = next(arm for arm in self.arms if arm not in known)
            arms = ", ".join(known)
            raise ConfigError("there is no arm {wrong!r}; arms of this trial are {arms}", wrong=wrong, arms=arms)
        if not 1 <= len(self.arms) <= MOST_ARMS or len({*self.arms}) < len(self.arms):
            got = ", ".join(self.arms) or "none"
            raise ConfigError("a trial has 1 to {most} different arms; got {got}", most=MOST_ARMS, got=got)
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
        words = ["trial", self.kind, "--task", self.task, "--arms", ",".join(self.arms)]
        return [*words, "--seed", str(self.seed), "--steps", str(self.steps)]

    @property
    def command(self) -> str:
        """The command that makes the same trial again."""
        return shlex.join(["python", "-m", "transformer_core", *self.arguments])

    def to_dict(self) -> dict[str, Any]:
        """Return the request as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build a request from plain values.

        Raises:
            ConfigError, TypeError: a value is missing, unknown, or makes no sense.
        """
        arms = values.get("arms")
        return cls(**{**values, "arms": tuple(arms) if isinstance(arms, list | tuple) else ()})
