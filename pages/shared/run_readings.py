"""The cached reading of a text by the model of a run, as it is now or as it was at a moment of its film."""

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from pages.shared import models, readings, runs
from pages.shared.runs import Run
from pages.shared.sources import Source
from transformer_core.errors import HeadlightError

if TYPE_CHECKING:
    from transformer_core.analysis import Reading
    from transformer_core.model.transformer import Transformer
    from transformer_core.text.interface import Tokenizer
    from transformer_core.training.film import Film


def film(run: Run) -> "Film":
    """Return the film of a run."""
    from transformer_core.training.film import Film

    return Film(run.path)


def newest_step(run: Run) -> int | None:
    """Return the step of the newest weights that can be looked at, and ask a run at work for newer ones.

    None: there are none yet.

    Raises:
        HeadlightError: the run's folder is damaged, or cannot be written.
    """
    if run.state in ("running", "paused"):
        runs.ask(run, "look")
    saved = runs.directory(run).progress()
    steps = [film(run).step_now(), *film(run).moments()[-1:], None if saved is None else saved.step]
    known = [step for step in steps if step is not None]
    return max(known) if known else None


def read(run: Run, step: int, text: str) -> "Reading":
    """Return what the model of a run said to a text after a step, and every head's pattern.

    Raises:
        HeadlightError: these weights are not there any more, or the text cannot be read.
    """
    return readings.read(Source(str(run.path), version(run), step=step), text)


def load(run: Run, step: int) -> "tuple[Transformer, Tokenizer]":
    """Return the model of a run as it was after a step, and its tokenizer.

    Raises:
        HeadlightError: these weights are not there any more.
    """
    return load_at(str(run.path), version(run), step)


def examples(run: Run) -> tuple[str, ...]:
    """Return good texts for the model of a run.

    Raises:
        HeadlightError: the film has not begun.
    """
    return _examples(str(run.path), version(run))


@st.cache_data(max_entries=64, show_spinner=False)
def _examples(path: str, version: str) -> tuple[str, ...]:
    from transformer_core.weights.checkpoint import read_card

    return tuple(map(str, read_card(Path(path) / "film").get("examples", ())))


def load_at(path: str, version: str, step: int) -> "tuple[Transformer, Tokenizer]":
    """Return the model of a run as it was after a step, and its tokenizer.

    Args:
        path: the run's folder.
        version: tells two runs apart that had the same folder one after the other.
        step: which weights.

    Raises:
        HeadlightError: these weights are not there any more.
    """
    return models.loaded(("run", path, version, step), lambda: _load(path, step))


def _load(path: str, step: int) -> "tuple[Transformer, Tokenizer]":
    import transformer_core as tc
    from transformer_core.training.film import Film
    from transformer_core.training.run_directory import RunDirectory

    run_film = Film(Path(path))
    with models.on(models.CPU):
        if step in run_film.moments():
            return run_film.load(step)
        if run_film.step_now() == step:
            now, model, tokenizer = run_film.load_now()
            if now == step:
                return model, tokenizer
        progress = RunDirectory.open(Path(path)).progress()
        if progress is not None and progress.step == step:
            return tc.load(Path(path) / "last")
    raise HeadlightError("the weights of step {step:,} were replaced by newer ones; look again", step=step)


def version(run: Run) -> str:
    """Return what tells two runs apart that had the same name one after the other."""
    request = run.request or {}
    return f"{request.get('corpus_fingerprint', '')}-{request.get('command', '')}"
