"""All commands: those of the library, with head scores in every training, and those of the laboratory."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from headlight.cli import checkpoints, experiment, inspect, launch, show
from transformer_core.cli import main as library
from transformer_core.cli.main import PROGRAM, Commands
from transformer_core.errors import RunError

if TYPE_CHECKING:
    from transformer_core.training.run.job import Job

N_FILMED = 8  # held-out items on which the heads are scored at each snapshot


def add_commands(commands: Commands) -> None:
    """Add all commands."""
    library.add_commands(commands, HeadObserver())
    launch.add_command(commands, lambda arguments: library.run(arguments, PROGRAM, add_commands))
    for command in (show, inspect, experiment, checkpoints):
        command.add_command(commands)


def main(arguments: Sequence[str], program: str = PROGRAM) -> int:
    """Run a command; return its exit status, as `transformer_core.cli.main.main` does."""
    return library.main(arguments, program, add_commands)


def run_process(arguments: Sequence[str], program: str = PROGRAM) -> int:
    """Run a command in a separate process; return its exit status."""
    return library.run_process(arguments, program, add_commands)


class HeadObserver:
    """Scores heads while a model is trained, and when it is saved."""

    def at_snapshots(self, job: "Job") -> Callable[[int], None]:
        """Return a function that scores all heads after a step, and appends the scores to the run."""
        from headlight.analysis.heads.meter import HeadMeter
        from headlight.analysis.training.head_history import HeadHistory

        meter = cache(lambda: HeadMeter(job.model.config, job.tokenizer, job.corpus.held_out[:N_FILMED]))
        return lambda step: job.directory.film.heads.append(HeadHistory.to_record(step, meter().measure(job.model)))

    def after_saving(self, run: Path, folder: Path) -> None:
        """Score the heads of a saved model, and write the scores into its card."""
        from headlight.cli.describing import describe_heads

        print("Scoring its heads, for its card ...", flush=True)
        try:
            describe_heads(run, folder)
        except RunError as error:
            print(f"Note: {error}. The model is saved and complete; its card has no head scores.")
