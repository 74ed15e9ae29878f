"""From a request to a job: a new run, or one to resume."""

import platform
import shlex
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from transformer_core.checkpoints.folder import real_path
from transformer_core.config import SPECIAL_TOKEN_FIELDS, ModelConfig
from transformer_core.corpora import CorpusReading, load_corpus
from transformer_core.corpora.batching import refuse_stride
from transformer_core.corpora.corpus import Corpus
from transformer_core.corpora.corpus_tokenizer import tokenizer_of
from transformer_core.corpora.reading import AS_MADE
from transformer_core.corpora.storage.token_store import fingerprint_of_tokenizer, special_token
from transformer_core.devices import choose_device
from transformer_core.errors import ConfigError, Message, RunError
from transformer_core.model.presets import PRESETS
from transformer_core.model.transformer import build
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.guidance import check_guidance
from transformer_core.training.presets import preset_training
from transformer_core.training.processes import ALONE, Processes
from transformer_core.training.run.directory import RunDirectory, RunProgress
from transformer_core.training.run.job import Job, explained, is_short_of_memory, reported
from transformer_core.training.run.request import RunRequest, Settings

_CORPUS_SEED = 0  # the generated corpora are the same for every run; `--seed` is the training's


def begin(
    path: Path,
    *,
    corpus_name: str,
    preset: str,
    settings: Settings,
    device: str = "cpu",
    processes: Processes = ALONE,
) -> Job:
    """Begin a run in a new folder; its status is "queued" until `work` begins.

    Args:
        path: the folder, which is created.
        corpus_name: name for `load_corpus`.
        preset: a name of `PRESETS` and `TRAININGS`.
        settings: differences from the preset.
        device: where to train; the initial weights are the same everywhere.
        processes: the processes that train together.

    Raises:
        RunError: the folder is taken, or cannot be written; or there is too little memory for the model.
        ConfigError: a setting is invalid.
        CorpusError: the corpus is unknown, or a pair is too long for the model.
    """
    place = choose_device(device)
    processes.join(place)
    processes.first_alone(lambda: RunDirectory.refuse_if_taken(path))
    request, corpus, tokenizer = processes.first_first(lambda: new_request(path, corpus_name, preset, settings))
    try:
        model = build(request.model, seed=request.training.seed).to(place)
    except (MemoryError, RuntimeError) as error:
        if not is_short_of_memory(error):
            raise
        raise RunError(
            "there is not enough memory for this model; choose a smaller d_model, d_ff or vocab_size, or fewer layers"
        ) from error
    job = Job(RunDirectory(path, request), corpus, tokenizer, model, processes=processes)
    processes.first_alone(job.directory.create)  # only now: a run that cannot begin leaves no folder
    return job


def new_request(path: Path, corpus_name: str, preset: str, settings: Settings) -> tuple[RunRequest, Corpus, Tokenizer]:
    """Return the request of a new run, with its corpus and tokenizer; nothing is written.

    Raises:
        ConfigError: a setting is invalid.
        CorpusError: the corpus is unknown.
    """
    training = replace(preset_training(preset, corpus_name), **settings.training)
    reading = CorpusReading(**settings.reading)
    if training.compile and reading.division != "stream":
        raise ConfigError(
            "compile only pays off when all sequences have the same length, because each new length "
            "takes a minute to compile; set division=stream for one continuous text, or leave out "
            "compile"
        )
    corpus = load_corpus(corpus_name, seed=_CORPUS_SEED, reading=reading)
    shape = PRESETS[preset](corpus.vocab_size).changed(**settings.model)
    tokenizer = tokenizer_of(corpus, shape.architecture)
    model = replace(
        shape,
        vocab_size=tokenizer.vocab_size,
        pad_id=tokenizer.pad_id,
        bos_id=special_token(tokenizer.bos_id, "<bos>"),
        eos_id=special_token(tokenizer.eos_id, "<eos>"),
    )
    refuse_stride(training.stride, corpus.train, max_seq_len=model.max_seq_len)
    check_guidance(training, model, corpus)
    request = RunRequest(
        corpus=corpus_name,
        corpus_seed=_CORPUS_SEED,
        corpus_fingerprint=corpus.fingerprint,
        reading=reading,
        tokenizer_fingerprint=fingerprint_of_tokenizer(tokenizer) if corpus.tokenizer_source else "",
        preset=preset,
        model=model,
        training=training,
        command=command(path, corpus_name, preset, model, training, reading),
        versions={"python": platform.python_version()}
        | {package: version(package) for package in ("torch", "numpy", "tokenizers", "safetensors")},
    )
    return request, corpus, tokenizer


def go_on(
    path: Path,
    *,
    corpus_name: str | None,
    preset: str | None,
    settings: Settings,
    device: str = "cpu",
    processes: Processes = ALONE,
) -> Job:
    """Resume a run from its last save, or from the start if it was never saved.

    Args:
        path: the folder.
        corpus_name: None, or the corpus of the run.
        preset: None, or the preset of the run.
        settings: those of the run; only `steps` may differ, unless the schedule depends on it.
        device: where to train; may differ from before.
        processes: the processes that train together; their number may differ from before.

    Raises:
        RunError: there is no run, another process works on it, its settings differ, or its files are damaged.
    """
    place = choose_device(device)
    processes.join(place)
    directory = RunDirectory.open(path)
    request = directory.request
    _refuse_changes(request, corpus_name, preset, settings)
    corpus = processes.first_first(lambda: corpus_of(request))
    if corpus.fingerprint != request.corpus_fingerprint:
        raise RunError(
            "the corpus {corpus!r} has changed since {path} was started, so the run cannot be "
            "resumed; start a new one in another folder",
            corpus=request.corpus,
            path=path,
        )
    steps = settings.training.get("steps", request.training.steps)
    if steps != request.training.steps:
        _refuse_other_steps(request.training, steps, directory.progress())
        training = replace(request.training, steps=steps)
        request = extended_request(request, path, training)
    processes.first_alone(directory.claim)

    def rewind() -> None:
        if request != directory.request:
            directory.extend(request)
        progress = directory.progress()
        directory.rewind(step=-1 if progress is None else progress.step)

    def step_done() -> int:
        status = directory.status()
        return 0 if status is None else status.step

    def write(why: Message) -> None:
        if processes.is_first:
            directory.write_status("failed", step=step_done(), reason=why)

    try:
        with reported(lambda error: explained(error, directory, step=step_done()), write):
            processes.first_alone(rewind)
            directory.request = request
            return _job_as_saved(directory, corpus, place, processes)
    except Exception:
        if processes.is_first:
            directory.release()
        raise


def _job_as_saved(directory: RunDirectory, corpus: Corpus, place: torch.device, processes: Processes) -> Job:
    """Return the job of a claimed run in its last saved state."""
    request = directory.request
    saved = processes.first_first(directory.read_last)
    if saved is None:
        tokenizer = tokenizer_of(corpus, request.model.architecture)
        if corpus.tokenizer_source and fingerprint_of_tokenizer(tokenizer) != request.tokenizer_fingerprint:
            raise RunError(
                "the tokenizer {source} has changed since this run was started, so it cannot be resumed; "
                "start a new run in another folder",
                source=corpus.tokenizer_source,
            )
        model = build(request.model, seed=request.training.seed).to(place)
        return Job(directory, corpus, tokenizer, model, processes=processes)
    job = Job(directory, corpus, saved.tokenizer, saved.model.to(place), processes=processes)
    job.optimizer.load(saved.optimizer_tensors)
    job.batches.seek(saved.progress.position)
    job.step, job.seconds = saved.progress.step, saved.progress.seconds
    job.metrics = saved.card["metrics"]
    return job


def extended_request(request: RunRequest, path: Path, training: TrainingConfig) -> RunRequest:
    """Return the request of the same run with another training configuration and its command."""
    again = command(path, request.corpus, request.preset, request.model, training, request.reading)
    return replace(request, training=training, command=again)


def command(
    path: Path, corpus_name: str, preset: str, model: ModelConfig, training: TrainingConfig, reading: CorpusReading
) -> str:
    """Return the command that reproduces a run."""
    words = ["python", "-m", "transformer_core", "train", "--corpus", corpus_name, "--preset", preset]
    words += ["--run", f"runs/{real_path(path).name}"]
    of_preset = PRESETS[preset](model.vocab_size)
    usual = of_preset.to_dict() | preset_training(preset, corpus_name).to_dict() | asdict(AS_MADE)
    if (model.d_model, model.n_heads) != (of_preset.d_model, of_preset.n_heads):
        usual |= {"d_head": 0, "n_kv_heads": 0}  # their defaults follow from the other two fields
    for name, value in (model.to_dict() | training.to_dict() | asdict(reading)).items():
        if value != usual[name] and name not in SPECIAL_TOKEN_FIELDS:  # these come from the tokenizer
            words += [f"--{name}", str(value)] if name in ("steps", "seed") else ["--set", f"{name}={_written(value)}"]
    return shlex.join(words)


def _written(value: Any) -> str:
    """Return a setting in the syntax of `--set`."""
    if isinstance(value, str):
        return value  # a path may have capitals
    if isinstance(value, tuple):
        return ",".join(f"{step}:{factor!r}" for step, factor in value)
    return str(value).lower()


def corpus_of(request: RunRequest) -> Corpus:
    """Return the corpus of a run.

    Raises:
        CorpusError: it does not exist any more.
    """
    return load_corpus(request.corpus, seed=request.corpus_seed, reading=request.reading)


def _refuse_changes(request: RunRequest, corpus_name: str | None, preset: str | None, settings: Settings) -> None:
    """Check that the settings given on resuming are those of the run; only `steps` may differ."""
    requested = {"corpus": corpus_name, "preset": preset, **settings.model, **settings.training, **settings.reading}
    begun = {"corpus": request.corpus, "preset": request.preset}
    begun |= request.model.to_dict() | request.training.to_dict() | asdict(request.reading)
    for name, value in requested.items():
        if name != "steps" and value != begun[name] and not (name in ("corpus", "preset") and value is None):
            raise RunError(
                "this run was started with {name} = {begun}, which cannot be changed to {value}; leave "
                "it out to resume, or start a new run in another folder",
                name=name,
                begun=begun[name],
                value=value,
            )


def _refuse_other_steps(training: TrainingConfig, steps: int, progress: RunProgress | None) -> None:
    """Check that a run may change its number of steps, which must not affect the steps already done."""
    if progress is None:
        return
    if steps <= progress.step:
        raise RunError(
            "this run has already trained {n:,} steps; to train longer, set --steps to a larger number", n=progress.step
        )
    if training.schedule == "cosine":
        raise RunError(
            "this run's learning rate schedule ends at step {last:,}, so it cannot be extended; "
            "start a new run with --steps {steps}",
            last=training.steps,
            steps=steps,
        )
