"""The work of a training process: from what is asked to a trained model, all of it written to the run directory."""

import platform
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from transformer_core.config import Architecture, ModelConfig
from transformer_core.corpora import load_corpus
from transformer_core.corpora.batching import batches_for
from transformer_core.corpora.corpus import Corpus
from transformer_core.devices import choose_device
from transformer_core.errors import RunError
from transformer_core.model.presets import PRESETS
from transformer_core.model.transformer import Transformer, build
from transformer_core.text.tokenizer import OwnTokenizer, Tokenizer, train_tokenizer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.evaluate import evaluate
from transformer_core.training.loop import StepRecord, train
from transformer_core.training.optimizer import load_optimizer_tensors, optimizer_tensors, paper_adam
from transformer_core.training.presets import TRAININGS
from transformer_core.training.run_directory import Progress, RunDirectory, RunRequest
from transformer_core.weights.checkpoint import save

_CORPUS_SEED = 0  # the generated corpora are the same for every run; `--seed` is the training's


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a person sets apart from the preset; the names are fields of the two configurations."""

    model: Mapping[str, Any] = field(default_factory=dict)  # fields of ModelConfig
    training: Mapping[str, Any] = field(default_factory=dict)  # fields of TrainingConfig


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What the model was worth on held-out pairs at a step."""

    step: int
    n_pairs: int  # or texts
    metrics: Mapping[str, float]  # `loss` in nats per target that counts, the others in [0, 1]


class Job:
    """One run at work: its folder, its data, its model, and how far it has come."""

    def __init__(
        self,
        directory: RunDirectory,
        corpus: Corpus,
        tokenizer: Tokenizer,
        model: Transformer,
    ) -> None:
        """Join a run's folder with its data and its model, at step 0."""
        request = directory.request
        self.directory = directory
        self.corpus = corpus
        self.tokenizer = tokenizer
        self.model = model
        self.optimizer = paper_adam(model, request.training)
        self.batches = batches_for(
            corpus.train,
            tokenizer,
            model.config.architecture,
            max_seq_len=model.config.max_seq_len,
            batch_size=request.training.batch_size,
            seed=request.training.seed,
        )
        self.step = 0  # steps done
        self.seconds = 0.0  # spent by this session and those before it
        self.metrics: Mapping[str, float] = {}  # of the last measurement

    @property
    def is_complete(self) -> bool:
        """Whether all steps are done."""
        return self.step >= self.directory.request.training.steps

    def card(self) -> dict[str, Any]:
        """Return the card of the model as it is now."""
        request, architecture = self.directory.request, self.model.config.architecture
        return {
            "name": self.corpus.name,
            "kind": architecture.replace("_", "-"),
            "title": f"{self.corpus.title}, with gaps" if architecture == "encoder_only" else self.corpus.title,
            "description": self.corpus.description,
            "corpus": {
                "name": request.corpus,
                "fingerprint": request.corpus_fingerprint,
                "seed": request.corpus_seed,
            },
            "examples": list(self.corpus.examples_for(architecture)),
            "trained": {
                "steps": self.step,
                "seed": request.training.seed,
                "minutes": round(self.seconds / 60, 2),
                "command": request.command,
            },
            "metrics": dict(self.metrics),
            "parameters": sum(parameter.numel() for parameter in self.model.parameters()),
            "versions": dict(request.versions),
        }


def begin(path: Path, *, corpus_name: str, preset: str, settings: Settings, device: str = "cpu") -> Job:
    """Begin a run in a new folder.

    Args:
        path: the folder; it is made.
        corpus_name: as `load_corpus` knows it.
        preset: a name of `PRESETS` and `TRAININGS`.
        settings: what differs from the preset.
        device: where to train; the first weights are the same everywhere.

    Raises:
        RunError: the folder is taken, or cannot be written.
        ConfigError: a setting that makes no sense.
        CorpusError: an unknown corpus, or a pair that is longer than the model takes.
    """
    RunDirectory.refuse_if_taken(path)
    place = choose_device(device)
    training = replace(TRAININGS[preset](corpus_name), **settings.training)
    corpus = load_corpus(corpus_name, seed=_CORPUS_SEED)
    asked = replace(PRESETS[preset](corpus.vocab_size), **settings.model)
    tokenizer = _tokenizer_of(corpus, asked.architecture)
    model_config = replace(
        asked,
        vocab_size=tokenizer.vocab_size,
        pad_id=tokenizer.pad_id,
        bos_id=tokenizer.bos_id,
        eos_id=tokenizer.eos_id,
    )
    request = RunRequest(
        corpus=corpus_name,
        corpus_seed=_CORPUS_SEED,
        corpus_fingerprint=corpus.fingerprint,
        preset=preset,
        model=model_config,
        training=training,
        command=_command(path, corpus_name, preset, model_config, training),
        versions={"python": platform.python_version()}
        | {package: version(package) for package in ("torch", "numpy", "tokenizers", "safetensors")},
    )
    job = Job(RunDirectory(path, request), corpus, tokenizer, build(model_config, seed=training.seed).to(place))
    job.directory.create()  # only now: a run that cannot begin leaves no folder
    return job


def go_on(path: Path, *, corpus_name: str | None, preset: str | None, settings: Settings, device: str = "cpu") -> Job:
    """Go on with the run of a folder, from its last save, or from the start if it was never saved.

    Args:
        path: the folder.
        corpus_name: None, or the corpus of the run.
        preset: None, or the preset of the run.
        settings: as the run has them; `steps` alone may differ, to train longer, unless the schedule depends on it.
        device: where to train; it may be another one than before.

    Raises:
        RunError: there is no run, another process works on it, something differs from what the run was begun with, or
            its files are damaged.
    """
    place = choose_device(device)
    directory = RunDirectory.open(path)
    request = directory.request
    _refuse_changes(request, corpus_name, preset, settings)
    corpus = load_corpus(request.corpus, seed=request.corpus_seed)
    if corpus.fingerprint != request.corpus_fingerprint:
        raise RunError(
            f"the corpus {request.corpus!r} is no longer the one that {path} was begun with, so the run cannot go on; "
            f"begin a new one in another folder"
        )
    steps = settings.training.get("steps", request.training.steps)
    if steps != request.training.steps:
        _refuse_other_steps(request.training, steps, directory.progress())
    directory.claim()
    if steps != request.training.steps:
        training = replace(request.training, steps=steps)
        command = _command(path, request.corpus, request.preset, request.model, training)
        directory.extend(replace(request, training=training, command=command))
    saved = directory.read_last()
    directory.rewind_metrics(step=0 if saved is None else saved.progress.step)
    if saved is None:
        tokenizer = _tokenizer_of(corpus, request.model.architecture)
        return Job(directory, corpus, tokenizer, build(request.model, seed=request.training.seed).to(place))
    job = Job(directory, corpus, saved.tokenizer, saved.model.to(place))
    load_optimizer_tensors(job.model, job.optimizer, saved.optimizer_tensors)
    job.batches.seek(saved.progress.position)
    job.step, job.seconds = saved.progress.step, saved.progress.seconds
    job.metrics = saved.card["metrics"]
    return job


def work(job: Job, *, stop_reason: Callable[[], str] = lambda: "") -> Iterator[StepRecord | Measurement]:
    """Train until all steps are done or somebody wants to stop; log, measure and save on the way.

    Args:
        job: from `begin` or `go_on`; changed in place.
        stop_reason: asked after each step; a text means: save, and stop for that reason.

    Yields:
        Each step, and each measurement.

    Raises:
        RunError: the loss is not a number any more, or nothing can be saved; the run's status says the same.
    """
    directory, config = job.directory, job.directory.request.training
    if job.is_complete:
        directory.write_status("finished", step=job.step)
        return
    torch.set_flush_denormal(True)  # small probabilities and gradients else take a slow path of the processor
    directory.write_status("running", step=job.step)
    session_start, seconds_before = perf_counter(), job.seconds
    try:
        for record in train(job.model, job.batches, config, optimizer=job.optimizer, steps_done=job.step):
            job.step, job.seconds = record.step, seconds_before + perf_counter() - session_start
            directory.heartbeat(step=job.step)
            if job.step == 1 or job.step % config.log_every == 0 or job.is_complete:
                directory.append_metrics(asdict(record))
            yield record
            if job.is_complete or job.step % config.evaluate_every == 0:
                yield _measure(job)
                job.seconds = seconds_before + perf_counter() - session_start
            reason = "" if job.is_complete else stop_reason()
            if reason or job.is_complete or job.step % config.save_every == 0:
                _save(job)
            if reason:
                directory.write_status("stopped", step=job.step, reason=reason)
                return
        directory.write_status("finished", step=job.step)
    except Exception as error:
        with suppress(OSError):  # of the two, the first failure is the one to tell
            directory.write_status("failed", step=job.step, reason=str(error) or type(error).__name__)
        if isinstance(error, OSError):
            raise RunError(
                f"{directory.path} cannot be written ({error}); make room, then go on with --resume"
            ) from error
        raise


def keep(job: Job, folder: Path, *, heads: Sequence[Mapping[str, Any]] = ()) -> None:
    """Write the model as it is now, with its card, as a checkpoint folder; an older checkpoint there is replaced.

    Args:
        job: at work, or done.
        folder: where.
        heads: what is known of the model's heads, for the card.

    Raises:
        CheckpointError: the folder holds something else.
        RunError: the folder cannot be written.
    """
    try:
        card = job.card() | {"name": folder.resolve().name} | ({"heads": list(heads)} if heads else {})
        save(folder, job.model, job.tokenizer, card)
    except OSError as error:
        raise RunError(
            f"{folder} cannot be written ({error.strerror}); --resume with another --keep tries again"
        ) from error


def _tokenizer_of(corpus: Corpus, architecture: Architecture) -> OwnTokenizer:
    """Return the tokenizer of a corpus: one vocabulary of both sides, of what is trained on; a mask for an encoder."""
    return train_tokenizer(
        corpus.training_texts(),
        kind=corpus.tokenizer_kind,
        vocab_size=corpus.vocab_size,
        mask=architecture == "encoder_only",
    )


def _measure(job: Job) -> Measurement:
    """Measure on held-out pairs: on all of them at the end, before that on some, spread evenly."""
    held_out, n_pairs = job.corpus.held_out, job.directory.request.training.evaluate_pairs
    pairs = held_out if job.is_complete else held_out[:: max(1, len(held_out) // n_pairs)][:n_pairs]
    job.metrics = evaluate(job.model, job.tokenizer, job.corpus, pairs)
    held_out_metrics = {f"held_out_{name}": value for name, value in job.metrics.items()}
    job.directory.append_metrics({"step": job.step, "held_out_pairs": len(pairs)} | held_out_metrics)
    return Measurement(step=job.step, n_pairs=len(pairs), metrics=job.metrics)


def _save(job: Job) -> None:
    progress = Progress(step=job.step, seconds=job.seconds, position=job.batches.position)
    tensors = optimizer_tensors(job.model, job.optimizer)
    job.directory.save(job.model, job.tokenizer, job.card(), tensors, progress)


def _refuse_changes(request: RunRequest, corpus_name: str | None, preset: str | None, settings: Settings) -> None:
    """Check that what is asked on resuming is what the run was begun with; `steps` is free."""
    asked = {"corpus": corpus_name, "preset": preset} | dict(settings.model) | dict(settings.training)
    begun = {"corpus": request.corpus, "preset": request.preset} | request.model.to_dict() | request.training.to_dict()
    for name, value in asked.items():
        if name != "steps" and value != begun[name] and not (name in ("corpus", "preset") and value is None):
            raise RunError(
                f"this run was begun with {name} = {begun[name]}, which cannot change to {value} on the way; "
                f"leave it out to go on, or begin a new run in another folder"
            )


def _refuse_other_steps(training: TrainingConfig, steps: int, progress: Progress | None) -> None:
    """Check that a run may be asked for another number of steps: that its past would have been the same."""
    if progress is None:
        return
    if steps <= progress.step:
        raise RunError(
            f"this run has done {progress.step:,} steps already; to train longer, --steps must be more than that"
        )
    if training.schedule == "cosine":
        raise RunError(
            f"this run's learning rate falls to 0 at step {training.steps:,}, so with more steps it would have been "
            f"another run; begin a new one with --steps {steps}"
        )


def _command(path: Path, corpus_name: str, preset: str, model: ModelConfig, training: TrainingConfig) -> str:
    """Return the command that makes the same run again, without what only this machine has."""
    words = ["python", "-m", "transformer_core", "train", "--corpus", corpus_name, "--preset", preset]
    words += ["--run", f"runs/{path.resolve().name}"]
    usual = PRESETS[preset](model.vocab_size).to_dict() | TRAININGS[preset](corpus_name).to_dict()
    for name, value in (model.to_dict() | training.to_dict()).items():
        if value != usual[name] and name not in ("pad_id", "bos_id", "eos_id"):  # those are the tokenizer's
            words += [f"--{name}", str(value)] if name in ("steps", "seed") else ["--set", f"{name}={value}".lower()]
    return shlex.join(words)
