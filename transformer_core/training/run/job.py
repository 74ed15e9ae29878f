"""A training job: its folder, data, model, optimizer and progress; and messages for errors that end it."""

import errno
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from transformer_core.corpora.batch_order import Batch
from transformer_core.corpora.batching import batches_for
from transformer_core.corpora.corpus import Corpus
from transformer_core.errors import HeadlightError, Message, RunError
from transformer_core.instrument.finite import not_finite_weights, note_on_weights
from transformer_core.model.transformer import Transformer
from transformer_core.reasons import reason
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.training.loop import what_to_try
from transformer_core.training.optimizer import Adam
from transformer_core.training.probes import N_PROBED
from transformer_core.training.processes import ALONE, Processes
from transformer_core.training.run.directory import NotSavedError, RunDirectory, RunProgress, SavedRun


@dataclass(eq=False)
class Job:
    """A run being trained: created by `begin` or `go_on`, and trained by `work`."""

    directory: RunDirectory
    corpus: Corpus
    tokenizer: Tokenizer
    model: Transformer  # on its device, trained in place
    processes: Processes = ALONE  # only the first one writes
    step: int = field(default=0, init=False)  # steps done
    seconds: float = field(default=0.0, init=False)  # of this session and earlier ones
    metrics: Mapping[str, float] = field(default_factory=dict, init=False)  # of the last measurement

    def __post_init__(self) -> None:
        request, model = self.directory.request, self.model
        self.optimizer = Adam(model, request.training)
        self.batches = batches_for(
            self.corpus.train,
            self.tokenizer,
            model.config.architecture,
            max_seq_len=model.config.max_seq_len,
            batch_size=request.training.batch_size,
            seed=request.training.seed,
            stride=request.training.stride,
            with_antecedents=request.training.guided is not None,
        )

    def probed_batch(self) -> Batch:
        """Return a training batch, the same at each call."""
        return next(
            batches_for(
                self.corpus.train[:N_PROBED],
                self.tokenizer,
                self.model.config.architecture,
                max_seq_len=self.model.config.max_seq_len,
                batch_size=N_PROBED,
                seed=self.directory.request.training.seed,
            )
        )

    @property
    def is_complete(self) -> bool:
        """Whether all steps are done."""
        return self.step >= self.directory.request.training.steps

    def card(self) -> dict[str, Any]:
        """Return the card of the current model."""
        request, architecture = self.directory.request, self.model.config.architecture
        training = request.training
        guidance = {"guided_head": training.guided_head, "guidance_weight": training.guidance_weight}
        title: str | dict[str, Any] = self.corpus.title
        if architecture == "encoder_only":
            title = Message("{title}, masked", title=title).as_json()
        return {
            "name": self.corpus.name,
            "kind": architecture.replace("_", "-"),
            "title": title,
            "description": self.corpus.description.as_json(),
            "corpus": {
                "name": request.corpus,
                "fingerprint": request.corpus_fingerprint,
                "seed": request.corpus_seed,
                "reading": asdict(request.reading),
            },
            "examples": list(self.corpus.examples_for(architecture)),
            "trained": {
                "steps": self.step,
                "seed": training.seed,
                "minutes": round(self.seconds / 60, 2),
                "command": request.command,
            }
            | (guidance if training.guided is not None else {}),
            "metrics": dict(self.metrics),
            "parameters": sum(parameter.numel() for parameter in self.model.parameters()),
            "versions": dict(request.versions),
        }

    def save(self) -> None:
        """Replace `last/` with the current state.

        Raises:
            RunError: weights are not finite, the disk is full, or the folder cannot be written; `last/` is unchanged.
        """
        if note := note_on_weights(not_finite_weights(self.model)):
            raise RunError(
                "the update at step {step:,} broke the model. {note} {way_out}",
                step=self.step,
                note=note,
                way_out=what_to_try(self.directory.request.training),
            )
        progress = RunProgress(step=self.step, seconds=self.seconds, position=self.batches.position)
        self.directory.save(SavedRun(self.model, self.tokenizer, self.card(), self.optimizer.tensors(), progress))


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # safetensors raises the last one for all of them
_NO_MEMORY = ("memory", "bad_alloc", "can't start new thread")  # in a RuntimeError of torch or Python


def is_short_of_memory(error: Exception) -> bool:
    """Return whether an error means that there is too little memory."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    words = str(error).lower()
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and any(w in words for w in _NO_MEMORY))


@contextmanager
def reported(explain: Callable[[Exception], Exception], write: Callable[[Message], None]) -> Iterator[None]:
    """Write the message of an error raised in this context, and raise the error that `explain` returns for it."""
    try:
        yield
    except Exception as error:
        failure = explain(error)
        with suppress(OSError):  # the first failure is the one to report
            write(reason(failure))
        if failure is error:
            raise
        raise failure from error


def explained(error: Exception, directory: RunDirectory, *, step: int) -> Exception:
    """Return the error to report after some steps: a clear message for a known cause, otherwise the error itself."""
    progress = None
    with suppress(HeadlightError, OSError):
        progress = directory.progress()
    if progress is None:
        saved = Message("No checkpoint has been saved yet")
    else:
        saved = Message("The checkpoint of step {step:,} is intact", step=progress.step)
    if is_short_of_memory(error):
        training = directory.request.training
        return RunError(
            "there is not enough memory for step {step:,}. {saved}. Start a new run with a smaller "
            "batch_size (now {batch_size:,}), more gradient accumulation (accumulate, now "
            "{accumulate}), or a smaller model",
            step=step + 1,
            saved=saved,
            batch_size=training.batch_size,
            accumulate=training.accumulate,
        )
    if isinstance(error, OSError):
        is_full = error.errno in _NO_ROOM
        what = Message("the disk is full") if is_full else reason(error)
        return RunError(
            "{path} cannot be written: {what}. {saved}; free some disk space, then continue with --resume",
            path=directory.path,
            what=what,
            saved=saved,
        )
    if isinstance(error, RunError) and not isinstance(error, NotSavedError):
        return type(error)(Message.joined(". ", (error, saved)))
    return error
