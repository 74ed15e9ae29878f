"""`python -m transformer_core train`: train a model in its own folder; stop and resume at any time."""

import argparse
import os
import shlex
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from transformer_core.cli.progress import TrainingProgress, duration
from transformer_core.cli.settings import MODEL_FIELDS, READING_FIELDS, TRAINING_FIELDS, JoinedPaths, parse_settings
from transformer_core.cli.signals import StopSignals
from transformer_core.corpora import CORPORA
from transformer_core.errors import ConfigError
from transformer_core.model.presets import PRESETS
from transformer_core.training.run.queue import QueueTurn, turn_of

if TYPE_CHECKING:  # they import torch
    from transformer_core.training.processes import Processes
    from transformer_core.training.run.job import Job
    from transformer_core.training.run.request import Settings

_EXAMPLES = """\
examples:
  python -m transformer_core train --corpus en-fr --preset tiny --run runs/first
  python -m transformer_core train --run runs/first --resume
  python -m transformer_core train --corpus stories --preset tiny-decoder --run runs/stories
  python -m transformer_core train --corpus train.en train.fr --run runs/pairs
  python -m transformer_core train --corpus copy --run runs/copy --steps 400 --set n_heads=2 --set dropout=0.1

  python -m transformer_core train --run runs/first --keep checkpoints/first

Ctrl-C saves and stops; --resume continues with exactly the losses of an uninterrupted run.
With only --run and --keep nothing is trained: the run's last saved model is kept, whether the run is finished, stopped,
paused or running.
The same command gives the same model on the same machine.
"""


class Observer(Protocol):
    """Measurements that another package adds to a training."""

    def at_snapshots(self, job: "Job") -> Callable[[int], None]:
        """Return a function that is called after each snapshot, with its step."""

    def after_saving(self, run: Path, folder: Path) -> None:
        """Describe the model that was saved in `folder` from a run."""


def add_command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", observer: Observer | None = None
) -> None:
    """Add `train` to the commands."""
    parser = commands.add_parser(
        "train",
        help="train a model in its own folder; stop and resume at any time",
        description="Train a Transformer on a corpus: an encoder-decoder on pairs, a decoder or an encoder on texts.",
        epilog=(
            f"settings of the model:\n{_listed(MODEL_FIELDS)}\n\n"
            f"settings of the training:\n{_listed(TRAINING_FIELDS)}\n\n"
            f"how the corpus is read:\n{_listed(READING_FIELDS)}\n\n{_EXAMPLES}"
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--corpus",
        metavar="NAME",
        nargs="+",
        action=JoinedPaths,
        help=f"what to train on: {', '.join(CORPORA)}; or text files, tables (.jsonl, .json, .csv, .tsv, .parquet), "
        "two parallel files (train.en train.fr) or a folder; or program:reverse, the task of an example program, or "
        "program:FOLDER, of a compiled model",
    )
    parser.add_argument(
        "--preset",
        metavar="NAME",
        choices=tuple(PRESETS),
        help=f"the model's size, and its training (tiny): {', '.join(PRESETS)}",
    )
    parser.add_argument("--run", metavar="FOLDER", type=Path, required=True, help="the folder of this training")
    parser.add_argument("--steps", metavar="N", type=int, help="optimizer steps (those of the preset)")
    parser.add_argument("--seed", metavar="N", type=int, help="of initial weights, order of the data, and dropout (0)")
    parser.add_argument("--device", metavar="NAME", default="cpu", help="cpu, cuda, cuda:1, mps, or auto (cpu)")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="any setting below; may be given several times"
    )
    parser.add_argument(
        "--queue", action="store_true", help="wait while this machine runs its maximum number of other trainings"
    )
    parser.add_argument("--resume", action="store_true", help="resume the training in FOLDER from its last save")
    parser.add_argument(
        "--keep",
        metavar="FOLDER",
        type=Path,
        help="when finished, save the model there, to use and share; with only --run, save that run's last model",
    )
    parser.set_defaults(run_command=run, observer=observer)


def run(options: argparse.Namespace) -> int:
    """Train; return 0 when finished, 130 after Ctrl-C, 143 after SIGTERM."""
    settings = parse_settings(options.set)
    flags = {name: getattr(options, name) for name in ("steps", "seed") if getattr(options, name) is not None}
    settings = replace(settings, training={**settings.training, **flags})
    if options.corpus is None and not options.resume:
        asks_for_more = options.preset or options.set or flags
        if options.keep is not None and not asks_for_more and (options.run / "run.json").is_file():
            return _keep(options)  # only save the model of an existing run
        raise ConfigError("--corpus is missing; for example --corpus en-fr, or --resume to continue a run")
    if not options.queue:
        return _in_processes(options, settings, None)
    if os.environ.get("WORLD_SIZE", "1") != "1":
        raise ConfigError("--queue is for single-process training; leave it out with torchrun")
    with StopSignals() as signals, turn_of(options.run, signals.reason) as turn:  # before torch is imported
        if turn is not None:
            return _in_processes(options, settings, turn)
    print("Stopped while queued.")
    return 0 if signals.received is None else 128 + signals.received


def _in_processes(options: argparse.Namespace, settings: "Settings", turn: QueueTurn | None) -> int:
    """Train in this process, together with any others that torchrun started."""
    from transformer_core.training.processes import OtherProcessError, Processes

    processes = Processes.from_environment()
    try:
        return _run(options, settings, processes, turn)
    except OtherProcessError:
        if processes.is_first:
            raise
        return 2  # the first process reports it


def _run(options: argparse.Namespace, settings: "Settings", processes: "Processes", turn: QueueTurn | None) -> int:
    """Train in this process, alone or with others; only the first one prints."""
    tell: Callable[[str], None] = partial(print, flush=True) if processes.is_first else lambda line: None
    tell("Preparing the corpus and the model ...")

    from transformer_core.checkpoints.checkpoint import refuse_to_replace
    from transformer_core.training.run.begin import begin, go_on

    if options.keep is not None:
        refuse_to_replace(options.keep)
    request: dict[str, Any] = {"corpus_name": options.corpus, "settings": settings, "processes": processes}
    request["device"] = processes.device(options.device)
    with StopSignals(speaks=processes.is_first) as signals:
        if options.resume:
            job = go_on(options.run, preset=options.preset, **request)
        else:
            job = begin(options.run, preset=options.preset or "tiny", **request)
        _train(job, signals, turn=turn, tell=tell, observer=options.observer)
    processes.leave()
    if not processes.is_first:
        return 0
    folder = _quoted(options.run)
    if not job.is_complete:
        print(f"Stopped after step {job.step:,}; all is saved. Continue with:")
        print(f"  python -m transformer_core train --run {folder} --resume")
        if job.step:
            print("Or save its model as it is now:")
            kept = _quoted(options.keep or Path("checkpoints", options.run.name))
            print(f"  python -m transformer_core train --run {folder} --keep {kept}")
        return 0 if signals.received is None else 128 + signals.received
    print(f"Finished: {job.step:,} steps in {duration(job.seconds)}.")
    if options.keep is not None:
        return _keep(options)
    kept = options.run / "last"
    print(f"The model is in {_quoted(kept)}. Try it:")
    print(_trying(kept))
    return 0


def _keep(options: argparse.Namespace) -> int:
    """Save the model of a run, then let the observer describe it."""
    from transformer_core.training.run.directory import keep_run

    step = keep_run(options.run, options.keep)
    print(f"The model of step {step:,} is saved in {_quoted(options.keep)}. Try it:")
    print(_trying(options.keep), flush=True)
    if options.observer is not None:
        options.observer.after_saving(options.run, options.keep)
    return 0


def _trying(folder: Path) -> str:
    """Return a command that runs a model on the first of its examples."""
    from transformer_core.checkpoints.checkpoint import read_card

    example = next(iter(read_card(folder).get("examples", ())), "")
    return f"  python -m transformer_core decode {_quoted(folder)} {shlex.quote(str(example))}"


def _quoted(path: Path | str) -> str:
    return shlex.quote(str(path))


def _train(
    job: "Job",
    signals: StopSignals,
    *,
    turn: QueueTurn | None,
    tell: Callable[[str], None],
    observer: Observer | None,
) -> None:
    """Train, and print the progress."""
    from transformer_core.training.loop import StepRecord
    from transformer_core.training.run.worker import Measurement, work

    request, n_steps = job.directory.request, job.directory.request.training.steps
    n_parameters = job.card()["parameters"]
    tell(f"{request.corpus}, {request.preset}: {n_parameters:,} parameters, {n_steps:,} steps, in {job.directory.path}")
    if job.processes.size > 1:
        tell(f"{job.processes.size} processes learn from each batch together.")
    if job.step:
        tell(f"Resuming after step {job.step:,}.")
    on_snapshot = observer.at_snapshots(job) if observer is not None else lambda step: None
    with TrainingProgress(n_steps) as progress:
        for event in work(job, stop_reason=signals.reason, turn=turn, on_snapshot=on_snapshot):
            if not job.processes.is_first:
                continue
            if isinstance(event, StepRecord):
                progress.show_step(event)
            elif isinstance(event, Measurement):
                progress.show_measurement(event)


def _listed(names: Iterable[str]) -> str:
    """Return names as indented lines."""
    return textwrap.fill(", ".join(names), width=100, initial_indent="  ", subsequent_indent="  ")
