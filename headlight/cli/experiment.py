"""`python -m transformer_core experiment`: small models that differ in one thing, trained side by side in seconds."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING

from headlight.experiments.experiment import (
    MOST_VARIANTS,
    TASKS,
    USUAL_STEPS,
    USUAL_VARIANTS,
    VARIANTS,
    ExperimentDirectory,
    ExperimentKind,
    ExperimentRequest,
)
from transformer_core.cli.signals import StopSignals

if TYPE_CHECKING:  # they import torch
    from headlight.experiments.work import ExperimentStep, Measured

_LINE_SECONDS = 2.0  # between two lines of losses

_EXAMPLES = """\
examples:
  python -m transformer_core experiment positions
  python -m transformer_core experiment positions --task sort --variants rotary_halves,alibi,none
  python -m transformer_core experiment masks --task dates --seed 1

The same command gives the same numbers on the same machine. The models are too small to be kept; to train one
that is worth it, use `train`.
"""


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `experiment` to the commands."""
    parser = commands.add_parser(
        "experiment",
        help="train small models that differ in one thing side by side, in seconds",
        description="Train small encoder-decoders of one seed side by side, step by step in turns: under different\n"
        "encodings of positions, or with right and wrong masks; and compare them.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", choices=tuple(VARIANTS), help="what the variants differ in")
    parser.add_argument("--task", metavar="NAME", help=f"{_listed(TASKS)} (the first)")
    parser.add_argument("--variants", metavar="NAMES", help=f"up to {MOST_VARIANTS}, by commas; {_listed(VARIANTS)}")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of the weights and the data's order (0)")
    parser.add_argument(
        "--steps", metavar="N", type=int, help="of each variant (an experiment of each kind has its own)"
    )
    parser.add_argument("--folder", metavar="FOLDER", type=Path, help="where its curves are kept (nowhere)")
    parser.add_argument("--queue", action="store_true", help="wait while another experiment is at work on this machine")
    parser.set_defaults(run_command=run)


def run(options: argparse.Namespace) -> int:
    """Train all variants; return 0 when finished or asked to stop, 130 after Ctrl-C, 143 after SIGTERM."""
    request = ExperimentRequest(
        kind=options.kind,
        task=options.task or TASKS[options.kind][0],
        variants=tuple(options.variants.split(",")) if options.variants is not None else USUAL_VARIANTS[options.kind],
        seed=options.seed,
        steps=USUAL_STEPS[options.kind] if options.steps is None else options.steps,
    )
    with nullcontext(options.folder) if options.folder else TemporaryDirectory() as folder, StopSignals() as signals:
        directory = ExperimentDirectory.create(Path(folder), request)
        if not options.queue:
            _train(directory, signals)
        else:
            with directory.turn(signals.reason) as turn:  # before torch is imported
                if turn is not None:
                    _train(directory, signals)
    return 0 if signals.received is None else 128 + signals.received


def _train(directory: ExperimentDirectory, signals: StopSignals) -> None:
    """Train all variants, and print their progress."""
    print("Preparing the data and the models ...", flush=True)

    import torch

    torch.set_flush_denormal(True)  # otherwise denormal numbers take a slow path of the processor
    torch.set_num_threads(1)  # a second thread does not speed up such small matrices, and other processes need it
    from headlight.experiments.work import ExperimentStep, work

    last, next_line = 0, monotonic()
    for event in work(directory, stop_reason=signals.reason):
        last = event.step
        if not isinstance(event, ExperimentStep):
            measured = event.measured
        elif monotonic() >= next_line or event.ended:
            next_line = monotonic() + _LINE_SECONDS
            _show_step(event, directory.request.steps)
    if last:
        _show_measured(measured, last)


def _show_step(taken: "ExperimentStep", n_steps: int) -> None:
    losses = "   ".join(f"{variant} {loss:.3f}" for variant, loss in taken.losses.items())
    print(f"step {taken.step:,} of {n_steps:,}, loss in nats:   {losses}", flush=True)
    for variant, reason in taken.ended.items():
        print(f"{variant} can go no further: {reason}", file=sys.stderr)


def _show_measured(measured: "Mapping[str, Measured]", step: int) -> None:
    width = max(map(len, measured))
    print(f"after step {step:,}, on the validation set:")
    for variant, of_variant in measured.items():
        metrics = of_variant.metrics
        print(
            f"  {variant:<{width}}   loss {metrics['loss']:6.3f} nats   token accuracy {metrics['accuracy']:4.0%}   "
            f"exact match {metrics['exact_match']:4.0%}"
            + (f"   accuracy at 3x the length {of_variant.by_length[-1]:4.0%}" if len(of_variant.by_length) else "")
        )


def _listed(by_kind: Mapping[ExperimentKind, Sequence[str]]) -> str:
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in by_kind.items())
