"""Experiments: one small task, one seed, and variants that differ in one thing, trained side by side in seconds.

The models are too small to be saved; the folder of an experiment keeps its curves:

```
experiment.json the request, and its command
status.json     as that of a run: queued | running | stopped | finished | failed (with the reason), pid, heartbeat, step
metrics.jsonl   one line per step with the loss of every variant; at some steps another line with measurements of all
commands/       stop
```
"""

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from transformer_core.checked_fields import Refusal, between, check_fields, check_together
from transformer_core.config import Positions
from transformer_core.errors import Message, RunError
from transformer_core.training.config import Seed
from transformer_core.training.run import commands
from transformer_core.training.run.queue import QueueTurn, wait_for_place
from transformer_core.training.run.records import read_request
from transformer_core.training.run.status import WorkDirectory

ExperimentKind = Literal["positions", "masks"]
MaskVariant = Literal["look_ahead", "no_mask", "not_shifted"]
"""Of a decoder: correct; without a causal mask; and with unshifted targets as inputs."""

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
REQUEST = "experiment.json"
LINE = "experiments"  # a separate queue: experiments are short, and need not wait for runs that take hours
AT_ONCE = 1
MOST_VARIANTS = 6
FEWEST_STEPS, MOST_STEPS = 20, 1000
LONGEST_TRAINED = 8  # letters in tasks of letters
LONGEST_TRIED = 3 * LONGEST_TRAINED  # letters in the longest measurement of an experiment of positions


_REFUSALS = (
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
)


@dataclass(frozen=True, kw_only=True)
class ExperimentRequest:
    """Everything that the numbers of an experiment depend on.

    Raises:
        ConfigError: a field makes no sense; the message says what is allowed.
    """

    kind: ExperimentKind
    task: str  # a corpus
    variants: tuple[str, ...]  # trained in this order
    seed: Seed  # of the initial weights and the order of the data, the same for all variants
    steps: Annotated[int, between(FEWEST_STEPS, MOST_STEPS)]  # of each variant

    def __post_init__(self) -> None:
        """Check every field."""
        check_fields(self)
        check_together(self, _REFUSALS)

    @property
    def arguments(self) -> list[str]:
        """The arguments of `python -m transformer_core`, without the folder."""
        words = ["experiment", self.kind, "--task", self.task, "--variants", ",".join(self.variants)]
        return [*words, "--seed", str(self.seed), "--steps", str(self.steps)]

    @property
    def command(self) -> str:
        """The command that reproduces the experiment."""
        return shlex.join(["python", "-m", "transformer_core", *self.arguments])

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build a request from plain values; a `command` among them is ignored.

        Raises:
            ConfigError, TypeError: a value is missing, unknown, or makes no sense.
        """
        fields = {name: value for name, value in values.items() if name != "command"}
        variants = values.get("variants")
        return cls(**fields | {"variants": tuple(variants) if isinstance(variants, list | tuple) else ()})


class ExperimentDirectory(WorkDirectory):
    """An experiment's folder: `create` makes a new one for this process, `open` finds one to read."""

    gone = Message(
        "its process ended unexpectedly: it was killed, ran out of memory, or the machine was restarted; start it again"
    )

    def __init__(self, path: Path, request: ExperimentRequest) -> None:
        super().__init__(path)
        self.request = request

    @classmethod
    def create(cls, path: Path, request: ExperimentRequest) -> Self:
        """Create and claim the folder of a new experiment.

        Raises:
            RunError: the folder is not empty, or cannot be written.
        """
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise RunError("{path} is not empty; choose another folder for the experiment", path=path)
        directory = cls(path, request)
        taken = Message("another process has just started an experiment in {path}; choose another folder")
        directory.begin(REQUEST, asdict(request) | {"command": request.command}, taken=taken)
        return directory

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the directory of an existing experiment.

        Raises:
            RunError: the folder contains no experiment, or its request cannot be read.
        """
        missing = Message("{path} does not contain an experiment")
        return cls(path, read_request(path / REQUEST, ExperimentRequest.from_dict, missing=missing))

    @contextmanager
    def turn(self, stop_reason: Callable[[], str]) -> Iterator[QueueTurn | None]:
        """Wait for the place of experiments, and release it at the end; None after a request to stop.

        Args:
            stop_reason: polled while waiting; a text ends the wait.
        """

        def is_wanted(n_before: int) -> bool:
            self.heartbeat("queued", step=0, reason=Message(str(n_before)))
            return not stop_reason() and not self.is_asked_to_stop()

        turn = wait_for_place(is_wanted=is_wanted, line=LINE, most=AT_ONCE)
        try:
            if turn is None:
                self.write_status("stopped", step=0)
                self.release()
            yield turn
        finally:
            if turn is not None:
                turn.release()

    def is_asked_to_stop(self) -> bool:
        """Return whether a stop was requested; the command is consumed."""
        return bool(commands.take(self.path, names=("stop",)))
