"""The work of an experiment's process: its variants are trained in turns and measured.

Measurements use correct masks and shifted targets, however a variant is trained: that is how a model is used.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import torch

from headlight.experiments.experiment import ExperimentDirectory
from headlight.experiments.variants import ExperimentData, Variant, as_batch
from transformer_core.corpora.batch_order import IGNORED
from transformer_core.corpora.corpus import Pair
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.errors import HeadlightError, Message, RunError
from transformer_core.model.transformer import Transformer
from transformer_core.reasons import reason
from transformer_core.text.tokenizer import OwnTokenizer
from transformer_core.training.evaluate import evaluate
from transformer_core.training.run.job import is_short_of_memory, reported

_MOST_WRITTEN = 24  # tokens of a sample
_N_MEASUREMENTS = 5  # in a whole experiment, evenly spaced, the last at its end


class Measured(NamedTuple):
    """The measurements of a variant."""

    metrics: Mapping[str, float]  # of `evaluate`: loss in nats, the others in [0, 1]
    by_length: Sequence[float]  # accuracy for each length, in [0, 1]
    outputs: Sequence[str]  # for the samples


@dataclass(frozen=True, kw_only=True)
class ExperimentStep:
    """One step of all variants."""

    step: int  # counted from 1
    losses: dict[str, float]  # by variant: nats per target that counts, on the training batch
    ended: dict[str, Message] = field(default_factory=dict)  # variants that cannot continue, and why


@dataclass(frozen=True, kw_only=True)
class ExperimentMeasurement:
    """The measurements of all variants at a step."""

    step: int
    measured: dict[str, Measured]  # by variant


def work(
    directory: ExperimentDirectory, *, stop_reason: Callable[[], str] = lambda: ""
) -> Generator[ExperimentStep | ExperimentMeasurement]:
    """Train all variants side by side until all steps are done or a stop is requested; log and measure on the way.

    Args:
        directory: of a new experiment, claimed by this process; released at the end.
        stop_reason: called after each step; a text stops for that reason.

    Yields:
        Each step of all variants, and each measurement.

    Raises:
        RunError: no variant can continue, or the folder cannot be written. The experiment's status says the same.
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
        taken = ExperimentStep(step=number, losses={})
        for variant in variants:
            try:
                taken.losses[variant.name] = variant.step().loss
            except HeadlightError as error:
                taken.ended[variant.name] = error.message
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


def _measure(
    directory: ExperimentDirectory, variants: Sequence[Variant], data: ExperimentData, *, step: int
) -> ExperimentMeasurement:
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


def measure(variant: Variant, data: ExperimentData) -> Measured:
    """Measure a variant; its model stays in training mode."""
    metrics = evaluate(variant.model, data.tokenizer, data.corpus, data.held_out)
    variant.model.eval()
    by_length = accuracy_by_length(variant.model, data.tokenizer, data.by_length)
    outputs = written(variant.model, data.tokenizer, data.samples)
    variant.model.train()
    return Measured(metrics, by_length, outputs)


@torch.inference_mode()
def accuracy_by_length(model: Transformer, tokenizer: OwnTokenizer, pairs: Mapping[int, Sequence[Pair]]) -> list[float]:
    """Return the accuracy of a model in evaluation mode for pairs of each length, in [0, 1], by teacher forcing."""
    if not pairs:
        return []
    rows = [pair for of_length in pairs.values() for pair in of_length]
    batch = as_batch(rows, tokenizer, max_seq_len=model.config.max_seq_len)
    counts = batch.targets != IGNORED  # [batch, tgt]
    is_right = (model(*batch.inputs).argmax(dim=-1) == batch.targets) & counts
    sizes = [len(of_length) for of_length in pairs.values()]
    n_right, n_targets = (marks.sum(dim=1).split(sizes) for marks in (is_right, counts))  # by length: [row]
    return [(ours.sum() / of.sum()).item() for ours, of in zip(n_right, n_targets, strict=True)]


def written(model: Transformer, tokenizer: OwnTokenizer, pairs: Sequence[Pair]) -> list[str]:
    """Return the greedy output of a model in evaluation mode for each source; at least one."""
    src = as_batch(pairs, tokenizer, max_seq_len=model.config.max_seq_len).inputs[0]
    outputs = greedy_decode(model, src, max_new_tokens=min(_MOST_WRITTEN, model.config.max_seq_len - 1)).tokens
    return [tokenizer.decode(output) for output in outputs.tolist()]
