"""Train on the program's task, a part of the Programs page: start a training, watch it, keep its model."""

from hashlib import blake2b
from typing import TYPE_CHECKING

import streamlit as st

from headlight.language import say
from headlight.programs.corpus import PREFIX, STEPS, train_arguments
from headlight.programs.examples import EXAMPLES, example_of
from headlight.programs.program import Program
from pages.learn.programs.data import CompiledProgram
from pages.shared import models, prose, run_commands, run_readings, runs, ticking
from pages.shared.runs import Run
from pages.shared.view.fields import Kept
from pages.train.train import keep
from transformer_core.errors import HeadlightError, RunError, mark
from transformer_core.reasons import reason
from transformer_core.training.config import MOST_SEED

if TYPE_CHECKING:
    from transformer_core.model.transformer import Transformer
    from transformer_core.text.tokenizer import Tokenizer

LEAD = mark(
    "Does a model that is trained on the same task learn the same heads? It has as many layers as the program "
    "needs, and at least four heads per layer; it starts from random weights and sees only inputs and outputs."
)
PROMISE = mark("Trains on random inputs; about {seconds} seconds on two cores. It continues if you leave this page.")
TICK = 1.0  # seconds between updates while a training runs
FEWEST_STEPS, MOST_STEPS, STEPS_OF_A_CLICK = 100, 10_000, 100
_READY, _STEP, _LAYER = 5.0, 0.008, 0.008  # seconds: until the first step; per step; per step and layer

STARTED = Kept("programs-started", ("", ""))  # the corpus and the name of the training that was started here last
NOTE = Kept("programs-training-note", "")  # the error of a click, shown at the next rerun
SEED, N_STEPS = Kept("programs-training-seed", 0), Kept("programs-training-steps", STEPS)


def show(written: CompiledProgram) -> None:
    """Draw the controls to start a training, and the training on this program's task if there is one."""
    runs.launcher().warm_up()
    prose.subheading(say("Train a model on the same task"))
    prose.paragraph(say(LEAD))
    run = training_of(written.program)
    with st.container():
        _start(written, run)
        if note := NOTE.pop():
            prose.warning(note)
    if run is not None:
        with st.container():
            _watch(run)


def training_of(program: Program) -> Run | None:
    """Return the training on a program's task that was started here, or else the newest on this machine."""
    corpus, (of, name) = corpus_of(program), STARTED.value
    if of == corpus and (started := runs.find(name)) is not None:
        return started
    of_this = (run for run in runs.available().values() if (run.request or {}).get("corpus") == corpus)
    return next(of_this, None)


def corpus_of(program: Program) -> str:
    """Return the corpus of a program's task, as `--corpus` takes it."""
    example = example_of(program)
    if example:
        return f"{PREFIX}{example}"
    parts = (*program.lines.values(), *program.vocab, str(program.max_len), str(program.is_causal))
    name = blake2b("\n".join(parts).encode(), digest_size=6).hexdigest()
    return f"{PREFIX}{models.at_root(runs.folder() / '.programs' / name)}"


def _start(written: CompiledProgram, run: Run | None) -> None:
    config = written.model[0].config
    is_at_work = run is not None and run.is_at_work
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="hl-programs-train"):
        N_STEPS.number(say("Steps"), FEWEST_STEPS, MOST_STEPS, step=STEPS_OF_A_CLICK, width=130)
        SEED.number(say("Seed"), 0, MOST_SEED, width=110)
        st.button(
            say("Train now"),
            key="programs-train",
            type="primary",
            icon=":material/play_arrow:",
            disabled=is_at_work,
            on_click=_begin,
            args=(written.program,),
        )
        seconds = _READY + N_STEPS.value * (_STEP + _LAYER * max(config.n_encoder_layers, config.n_decoder_layers))
        prose.small(say(PROMISE, seconds=5 * max(1, round(seconds / 5))))


def _begin(program: Program) -> None:
    corpus = corpus_of(program)
    try:
        _write(corpus, program)
        name = run_commands.free_name(f"program-{example_of(program) or corpus[-4:]}")
        run_commands.start(name, train_arguments(corpus, program, steps=int(N_STEPS.value), seed=int(SEED.value)))
    except HeadlightError as error:
        NOTE.set(say("The training did not start: {reason}.", reason=error))
    else:
        STARTED.set((corpus, name))


def _write(corpus: str, program: Program) -> None:
    """Save a program that is not an example to the file that its training reads.

    Raises:
        RunError: the folder cannot be written.
    """
    from headlight.programs.checkpoint import write_program

    place = corpus.removeprefix(PREFIX)
    if place in EXAMPLES:
        return
    try:
        write_program(models.ROOT / place, program)
    except OSError as error:
        raise RunError(
            "the program cannot be written to {path} ({error}); free some disk space, and try again",
            path=place,
            error=reason(error),
        ) from error


def _watch(run: Run) -> None:
    """Show the state of a training and its accuracy; once it has saved a model, offer to keep it."""
    if run.is_at_work:
        ticking.look_again(after=TICK)
    words, color = runs.STATES[run.state]
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="hl-programs-run"):
        prose.badge(say(words), color)
        prose.small(_how_far(run))
        if run.state in ("running", "paused", "queued"):
            st.button(say("Stop"), key="programs-train-stop", icon=":material/stop:", on_click=_stop, args=(run,))
    if run.is_at_work and run.n_steps:
        st.progress(min(1.0, run.step / run.n_steps))
    if run.state == "failed":
        prose.warning(prose.sentence(run.reason))
    step = None if run.is_at_work else runs.saved_step(run)
    if step:
        with st.expander(
            say("Save the trained model, so that it is available on every page"), icon=":material/inventory_2:"
        ):
            keep.offer(run, step)


def _how_far(run: Run) -> str:
    if not run.n_steps:
        return say("Starting: generating inputs and initializing the weights.")
    accuracy = accuracy_of(run)
    far = {"name": run.name, "step": run.step, "n": run.n_steps}
    if accuracy is None:
        return say("{name}: step {step:,} of {n:,}", **far)
    return say(
        "{name}: step {step:,} of {n:,}, {accuracy:.1%} of the outputs for held-out inputs correct",
        **far,
        accuracy=accuracy,
    )


def accuracy_of(run: Run) -> float | None:
    """Return the share of correct outputs at the last measurement; None before the first."""
    try:
        records = runs.records(run)
    except HeadlightError:
        return None
    return next((float(of["held_out_accuracy"]) for of in reversed(records) if "held_out_accuracy" in of), None)


def _stop(run: Run) -> None:
    try:
        run_commands.ask(run, "stop")
    except HeadlightError as error:
        NOTE.set(say("The training did not stop: {reason}.", reason=error))


def trained(run: Run) -> "tuple[Transformer, Tokenizer]":
    """Return the model that a training saved last, and its tokenizer.

    Raises:
        HeadlightError: there is none.
    """
    return run_readings.source(run, runs.saved_step(run) or 0).load()
