"""The work of an experiment's process: its variants take turns, step by step, so that their curves grow together."""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from headlight.experiments.directory import ExperimentDirectory
from headlight.experiments.measure import Measured, measure
from headlight.experiments.variants import ExperimentData, Variant
from transformer_core.errors import HeadlightError, Message, RunError
from transformer_core.reasons import reason
from transformer_core.training.run.failures import is_short_of_memory, reported

_N_MEASUREMENTS = 5  # of a whole experiment, evenly spread, the last at its end


@dataclass(frozen=True, kw_only=True)
class ExperimentStep:
    """What one step of all variants showed."""

    step: int  # counted from 1
    losses: dict[str, float]  # by variant: nats per target that counts, on the batch that was learnt from
    ended: dict[str, Message] = field(default_factory=dict)  # variants that can go no further, and why


@dataclass(frozen=True, kw_only=True)
class ExperimentMeasurement:
    """What the variants are worth at a step."""

    step: int
    measured: dict[str, Measured]  # by variant


def work(
    directory: ExperimentDirectory, *, stop_reason: Callable[[], str] = lambda: ""
) -> Generator[ExperimentStep | ExperimentMeasurement]:
    """Train all variants side by side until all steps are done or a stop is requested; log and measure on the way.

    Args:
        directory: a new experiment's, claimed by this process; it is let go of at the end.
        stop_reason: asked after each step; a text means: stop for that reason.

    Yields:
        Each step of all variants, each measurement.

    Raises:
        RunError: no variant can go on, or the folder cannot be written. The experiment's status says the same.
    """
    step = 0
    try:
        with reported(
            lambda error: _explained(error, directory),
            lambda why: directory.write_status("failed", step=step, reason=why),
        ):
            for event in _train(directory, stop_reason):
                step = event.step
                yield event
    finally:
        directory.release()


def _train(
    directory: ExperimentDirectory, stop_reason: Callable[[], str]
) -> Iterator[ExperimentStep | ExperimentMeasurement]:
    request = directory.request
    directory.write_status("running", step=0)
    data = ExperimentData.of(request)
    variants = [Variant(name, request, data) for name in request.variants]
    every = max(1, request.steps // _N_MEASUREMENTS)
    yield _measure(directory, variants, data, step=0)
    directory.write_status("running", step=0)
    start = perf_counter()
    for number in range(1, request.steps + 1):
        taken = _turns(variants, number)
        ended = {variant: why.as_json() for variant, why in taken.ended.items()}
        directory.metrics.append(
            {"step": number, "loss": taken.losses, "ended": ended, "seconds": perf_counter() - start}
        )
        yield taken
        variants = [variant for variant in variants if variant.name not in taken.ended]
        if not variants:
            raise RunError("no variant can continue: {reasons}", reasons=Message.joined("; ", taken.ended.values()))
        is_last, is_stopped = number == request.steps, directory.is_asked_to_stop() or bool(stop_reason())
        directory.heartbeat("running", step=number)
        if is_last or is_stopped or number % every == 0:
            yield _measure(directory, variants, data, step=number)
        if is_stopped and not is_last:
            directory.write_status("stopped", step=number)
            return
    directory.write_status("finished", step=request.steps)


def _turns(variants: Sequence[Variant], step: int) -> ExperimentStep:
    """Let each variant do one step."""
    taken = ExperimentStep(step=step, losses={})
    for variant in variants:
        try:
            taken.losses[variant.name] = variant.step().loss
        except HeadlightError as error:
            taken.ended[variant.name] = error.message
    return taken


def _measure(
    directory: ExperimentDirectory, variants: Sequence[Variant], data: ExperimentData, *, step: int
) -> ExperimentMeasurement:
    """Measure all variants, and log it."""
    measured = {variant.name: measure(variant, data) for variant in variants}
    directory.metrics.append(
        {
            "step": step,
            "held_out": {name: dict(of_variant.metrics) for name, of_variant in measured.items()},
            "lengths": [*data.by_length],
            "by_length": {name: of_variant.by_length for name, of_variant in measured.items()},
            "samples": [[pair.source, pair.target] for pair in data.samples],
            "outputs": {name: of_variant.outputs for name, of_variant in measured.items()},
        }
    )
    return ExperimentMeasurement(step=step, measured=measured)


def _explained(error: Exception, directory: ExperimentDirectory) -> Exception:
    """Return the error to report: a clear message for a known cause, otherwise the error itself."""
    if is_short_of_memory(error):
        return RunError(
            "there is not enough memory for this experiment; choose fewer variants, or close other programs"
        )
    if isinstance(error, OSError):
        return RunError(
            "{path} cannot be written ({error}); free some disk space and start again",
            path=directory.path,
            error=reason(error),
        )
    return error
