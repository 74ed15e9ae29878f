"""The work of a training process: train, measure, take snapshots and save, in the run directory."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from time import perf_counter, sleep
from typing import Any, Literal, NamedTuple

import torch

from transformer_core.errors import NO_MESSAGE, Message, RunError
from transformer_core.training.evaluate import evaluate
from transformer_core.training.loop import StepRecord, train, what_to_try
from transformer_core.training.probes import probe
from transformer_core.training.run import commands
from transformer_core.training.run.begin import extended_request
from transformer_core.training.run.film import planned_snapshots
from transformer_core.training.run.job import Job, explained, reported
from transformer_core.training.run.queue import QueueTurn, take_place
from transformer_core.training.run.status import RunState

_MEASURING_PAIRS = Message("evaluating on {n:,} held-out pairs")
_MEASURING_TEXTS = Message("evaluating on {n:,} held-out texts")
_POLL_SECONDS = 0.05  # while paused
_LOG_SECONDS = 1.0  # slow steps are logged every second, whatever the configuration


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """Metrics on held-out pairs or texts at a step."""

    step: int
    n_items: int
    of: Literal["pairs", "texts"]
    metrics: Mapping[str, float]  # `loss` in nats per target that counts, the others in [0, 1]


Event = StepRecord | Measurement


def work(
    job: Job,
    *,
    stop_reason: Callable[[], str] = lambda: "",
    turn: QueueTurn | None = None,
    on_snapshot: Callable[[int], None] = lambda step: None,
) -> Iterator[Event]:
    """Train until all steps are done or a stop is requested; log, measure, take snapshots and save on the way.

    Args:
        job: from `begin` or `go_on`; changed in place.
        stop_reason: called after each step; a text saves and stops the run for that reason.
        turn: the run's place in the queue; None: it takes a free one if there is one.
        on_snapshot: called by the first process with the step of each new snapshot; its errors end the run.

    Yields:
        Each step and each measurement.

    Raises:
        RunError: the loss is not finite or has exploded, nothing can be saved, or there is too little memory. The
            run's status says the same.
    """
    directory = job.directory
    place = turn or (take_place() if job.processes.is_first else None)
    try:
        with reported(
            lambda error: explained(error, directory, step=job.step), lambda why: _tell(job, "failed", reason=why)
        ):
            if job.is_complete:
                _tell(job, "finished")
                return
            yield from _train(job, stop_reason, on_snapshot)
    finally:
        if place is not None:
            place.release()
        if job.processes.is_first:
            directory.release()


def _train(job: Job, stop_reason: Callable[[], str], on_snapshot: Callable[[int], None]) -> Iterator[Event]:
    torch.set_flush_denormal(True)  # otherwise, tiny probabilities and gradients take a slow path of the processor
    directory, first = job.directory, job.processes.is_first
    unlogged: dict[str, Any] = {}  # the last step until it is logged
    last_logged = perf_counter()

    def log() -> None:
        nonlocal last_logged
        if unlogged:
            directory.metrics.append(unlogged)
            unlogged.clear()
            last_logged = perf_counter()

    control = RunControl(job, stop_reason, lambda: _take_snapshot(job, on_snapshot, is_asked=True), log)
    if first:
        directory.film.begin(job.model, job.tokenizer, job.card())
    _tell(job, "running")
    n_bytes = sum(parameter.nbytes for parameter in job.model.parameters())
    training = directory.request.training
    snapshots = planned_snapshots(training.steps, snapshot_bytes=n_bytes, megabytes=training.film_megabytes)
    if job.step in snapshots and job.step not in directory.film.snapshots():
        _take_snapshot(job, on_snapshot)
    session_start, seconds_before = perf_counter(), job.seconds

    def clock() -> float:
        return seconds_before + perf_counter() - session_start - control.paused_seconds

    signal = ControlSignal()
    while not job.is_complete and not signal.stop:
        config = directory.request.training
        steps = train(
            job.model, job.batches, config, optimizer=job.optimizer, steps_done=job.step, processes=job.processes
        )
        for record in steps:
            job.step, job.seconds = record.step, clock()
            is_measured = job.is_complete or job.step % config.evaluation_interval == 0
            is_due = job.step == 1 or job.step % config.log_every == 0 or is_measured
            if first:
                unlogged.clear()
                unlogged.update((name, value) for name, value in asdict(record).items() if value is not None)
                unlogged["seconds"] = round(job.seconds, 3)
                if is_due or perf_counter() - last_logged > _LOG_SECONDS:
                    log()
            yield record
            if job.step in snapshots:
                _take_snapshot(job, on_snapshot)
            if is_measured:
                yield _measure(job)
            signal = ControlSignal()
            if not job.is_complete:
                signal = job.processes.agree(control.between_steps() if first else signal)
            job.seconds = clock()
            if first:
                directory.heartbeat(step=job.step)
                if signal.stop or job.is_complete or job.step % config.save_every == 0:
                    job.save()
            if signal.rate_factor is not None:
                _change_rate(job, signal.rate_factor)
            if signal.stop or signal.rate_factor is not None:
                break
        steps.close()
    if signal.stop:
        if snapshots and job.step not in snapshots:  # the film ends with the model that is saved
            _take_snapshot(job, on_snapshot)
        _tell(job, "stopped", reason=signal.stop)
    else:
        _tell(job, "finished")


def _take_snapshot(job: Job, on_snapshot: Callable[[int], None], *, is_asked: bool = False) -> None:
    """Add a snapshot to the film, within its size limit."""
    if job.processes.is_first:
        film, training = job.directory.film, job.directory.request.training
        is_new = job.step not in film.snapshots()
        film.add(job.step, job.model, is_asked=is_asked)
        film.thin(megabytes=training.film_megabytes, steps=training.steps)
        if is_new:
            on_snapshot(job.step)


def _measure(job: Job) -> Measurement:
    """Measure on held-out items: on all of them at the end, and on an evenly spaced sample before."""
    held_out, n_items = job.corpus.held_out, job.directory.request.training.evaluate_pairs
    pairs = held_out if job.is_complete else held_out[:: max(1, len(held_out) // n_items)][:n_items]
    kind: Literal["pairs", "texts"] = "pairs" if job.corpus.is_pairs else "texts"
    if job.processes.is_first:
        n = len(pairs)
        _tell(job, "running", reason=Message(_MEASURING_PAIRS if job.corpus.is_pairs else _MEASURING_TEXTS, n=n))
        guided = job.directory.request.training.guided
        job.metrics = _finite(evaluate(job.model, job.tokenizer, job.corpus, pairs, guided=guided))
        tested = _finite(probe(job.model, job.tokenizer, job.probed_batch(), pairs))
        held_out_metrics = {f"held_out_{name}": value for name, value in job.metrics.items()}
        probes = {f"probe_{name}": value for name, value in tested.items()}
        job.directory.metrics.append({"step": job.step, "held_out_pairs": len(pairs)} | held_out_metrics | probes)
        _tell(job, "running")
    job.metrics = job.processes.agree(job.metrics)
    if job.is_complete and "loss" not in job.metrics:
        raise RunError(
            "the last update, at step {step:,}, broke the model: its loss on held-out data is not a finite number. "
            "{way_out}",
            step=job.step,
            way_out=what_to_try(job.directory.request.training),
        )
    return Measurement(step=job.step, n_items=len(pairs), of=kind, metrics=job.metrics)


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    """Return only the finite values; if any is not finite, the next step fails and gives the reason."""
    return {name: value for name, value in values.items() if math.isfinite(value)}


def _change_rate(job: Job, factor: float) -> None:
    """Multiply the scheduled learning rate from the next step on, replacing later changes, and record it."""
    request = job.directory.request
    past = (change for change in request.training.rate_changes if change[0] <= job.step)
    changes = (*past, (job.step + 1, factor))
    training = replace(request.training, rate_changes=changes)
    request = extended_request(request, job.directory.path, training)
    if job.processes.is_first:
        job.directory.extend(request)
    job.directory.request = request


def _tell(job: Job, state: RunState, *, reason: Message = NO_MESSAGE) -> None:
    """Write the status if this is the first process."""
    if job.processes.is_first:
        job.directory.write_status(state, step=job.step, reason=reason)


class ControlSignal(NamedTuple):
    """How to continue; the same in all processes."""

    stop: Message = NO_MESSAGE  # the reason to stop, if any
    rate_factor: float | None = None  # multiplies the scheduled learning rate from now on; None: unchanged


@dataclass
class RunControl:
    """Executes the commands to a run, in the first of its processes."""

    job: Job
    stop_reason: Callable[[], str]  # called after each step; a text stops the run for that reason
    take_snapshot: Callable[[], None]  # adds a snapshot to the film
    log: Callable[[], None]  # logs the last step if it is not logged yet, so that a paused run is consistent
    paused_seconds: float = 0.0
    _is_paused: bool = False
    _n_single: int = 0  # steps before the next pause

    def between_steps(self) -> ControlSignal:
        """Execute commands, wait while the run is paused, and return how to continue."""
        stop, directory = NO_MESSAGE, self.job.directory
        rate_factor: float | None = None
        waits_since: float | None = None
        while True:
            for command in commands.take(directory.path):
                if command.name == "stop":
                    stop = Message("stopped by the user")
                elif command.name == "learning-rate":
                    rate_factor = command.value
                else:
                    self._do(command)
            stop = stop or Message(self.stop_reason())
            if stop or not self._is_paused or self._n_single:
                break
            if waits_since is None:
                waits_since = perf_counter()
                self.log()
                self.job.save()  # nothing is lost, whatever happens during the pause
                directory.write_status("paused", step=self.job.step)
            directory.heartbeat("paused", step=self.job.step)
            sleep(_POLL_SECONDS)
        if stop:
            self.log()
        self._n_single = max(0, self._n_single - 1)
        if waits_since is not None:
            self.paused_seconds += perf_counter() - waits_since
            if not self._is_paused and not stop:
                directory.write_status("running", step=self.job.step)
        return ControlSignal(stop=stop, rate_factor=rate_factor)

    def _do(self, command: commands.Command) -> None:
        match command.name:
            case "pause":
                self._is_paused, self._n_single = True, 0
            case "resume":
                self._is_paused, self._n_single = False, 0
            case "step":  # pauses a running run after these steps
                self._is_paused = True
                self._n_single += max(1, int(command.value))
            case "snapshot":
                self.take_snapshot()
            case "look":
                self.job.directory.film.look(self.job.step, self.job.model)
