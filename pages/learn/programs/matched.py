"""The program's heads matched with the heads of a trained model, the last part of the Programs page."""

from typing import TYPE_CHECKING

import streamlit as st

import headlight as hl
import transformer_core as tc
from headlight.language import percent, say
from headlight.programs.program import Program
from pages.learn.programs import training
from pages.learn.programs.data import CompiledProgram
from pages.learn.programs.line import draw_pattern
from pages.shared import cache, corpora, models, prose, run_readings, runs
from pages.shared.glossary.links import definitions
from pages.shared.recipe import Expression, Print, call, named, through, value_of
from pages.shared.runs import Run
from pages.shared.view.fields import Kept
from transformer_core.corpora import load_corpus
from transformer_core.errors import HeadlightError, mark

if TYPE_CHECKING:
    from headlight.analysis.heads.program_heads import ProgramMatch

COLUMNS = (
    mark("line of the program"),
    mark("program"),
    mark("trained"),
    mark("JS distance"),
    mark("untrained"),
    mark("accuracy lost"),
    mark("better than chance?"),
)
COLUMNS_MEAN = mark(
    "Each head of the program is matched one-to-one with the trained head whose pattern is closest on {n} held-out "
    "inputs. JS distance: 0 for equal patterns, 1 for patterns that share no key. Untrained: the mean distance of "
    "the matched heads in {n_untrained} untrained models of the same size. Accuracy lost: after mean ablation of "
    "the trained head."
)
BEYOND_CHANCE = mark(
    "Better than chance: closer than in any of these untrained models, and needed (at least 1% of accuracy is lost "
    "without it). That does not make the two patterns equal: compare them."
)
LEARNED = mark(
    "The trained model has learned the task: {accuracy:.2%} of its outputs for these inputs are correct "
    "({least:.0%} or more counts as learned). Where the table says no, it solves the task in another way; the "
    "program is only one solution."
)
NOT_LEARNED = mark(
    "The trained model has not learned the task yet: {accuracy:.2%} of its outputs for these inputs are correct "
    "({least:.0%} or more counts as learned). So a no in the table does not mean another solution: train again with "
    "more steps, then compare."
)
CHOSEN = Kept("programs-matched-head", 0)  # index of a head of the program, in the order of its lines


def show(written: CompiledProgram) -> None:
    """Draw the table of matched heads and both patterns of one match; draw nothing until a training has ended."""
    run = training.training_of(written.program)
    if run is None or run.is_at_work or not runs.saved_step(run):
        return
    prose.subheading(
        say("The program’s heads and the trained heads"),
        say("heads matched by their attention patterns"),
        definitions("jensen-shannon-distance", "held-out-data"),
    )
    try:
        with st.spinner(say("Matching heads …"), show_time=True):
            match: ProgramMatch = value_of(recipe(written.program, run))
        if not match.heads:
            prose.note(say("This program needs no heads, so there is nothing to match."))
            return
        _table(match)
        _patterns(written, run, match)
        n_untrained = len(match.heads[0].untrained)
        prose.paragraph(f"{say(COLUMNS_MEAN, n=match.n_inputs, n_untrained=n_untrained)} {say(BEYOND_CHANCE)}")
        prose.paragraph(verdict(match))
    except HeadlightError as error:
        prose.warning(prose.sentence(error))


def verdict(match: "ProgramMatch") -> str:
    """Say whether the trained model has learned the task, and so what a head without a partner means."""
    from headlight.analysis.heads.program_heads import LEAST_ACCURACY

    return say(LEARNED if match.is_learned else NOT_LEARNED, accuracy=match.accuracy, least=LEAST_ACCURACY)


def recipe(program: Program, run: Run) -> Expression:
    """Return the matching as code."""
    from headlight.analysis.heads.program_heads import match_program

    compiled, tokenizer = _compiled(program)
    model, _ = _trained(run)
    corpus = named("corpus", call(load_corpus, corpora.place_of(training.corpus_of(program))))
    matching = call(match_program, compiled, model, tokenizer, corpus)
    return named("match", cache.kept(mark("matched heads"), matching))


def _compiled(program: Program) -> tuple[Expression, Expression]:
    written = call(
        Program, source=program.source, vocab=program.vocab, max_len=program.max_len, is_causal=program.is_causal
    )
    model, tokenizer = named("compiled, tokenizer", call(hl.programs.compile, written))
    return model, tokenizer


def _trained(run: Run) -> tuple[Expression, Expression]:
    version = f"{run_readings.version(run)} {runs.saved_step(run)}"
    loading = through(call(tc.load, _last(run)), lambda make: training.trained(run), version=version)
    model, tokenizer = named("trained, trained_tokenizer", loading)
    return model, tokenizer


def _last(run: Run) -> str:
    return f"{models.at_root(run.path)}/last"


def code(written: CompiledProgram) -> list[Print]:
    """Return the code that prints the matched heads; [] until a training has ended."""
    run = training.training_of(written.program)
    if run is None or run.is_at_work or not runs.saved_step(run):
        return []
    return [Print(recipe(written.program, run).heads)]


def _table(match: "ProgramMatch") -> None:
    rows = [
        (
            head.role.source,
            _name(head.program_head),
            _name(head.trained_head),
            head.distance,
            head.by_chance,
            percent(head.effect, 1),
            say("yes") if head.is_convincing else say("no"),
        )
        for head in match.heads
    ]
    cells = prose.each(
        "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{:.2f}</td><td>{:.2f}</td><td>{}</td><td>{}</td></tr>",
        rows,
    )
    prose.html("{}", prose.table([say(column) for column in COLUMNS], cells, "hl-experiment-results"))


def _patterns(written: CompiledProgram, run: Run, match: "ProgramMatch") -> None:
    heads = match.heads
    chosen = CHOSEN.value if CHOSEN.value < len(heads) else 0
    if len(heads) > 1:
        CHOSEN.segmented(
            say("Head of the program"),
            range(len(heads)),
            shown=chosen,
            name=lambda i: f"{_name(heads[i].program_head)} → {_name(heads[i].trained_head)}",
        )
    head = heads[chosen]
    program, trained = _name(head.program_head), _name(head.trained_head)
    with st.container(key="hl-programs-matched"):
        left, right = st.columns(2, gap="medium")
    with left:
        title = say("Program, {head}", head=program)
        _pattern(written, _compiled(written.program), head.program_head, title, "program")
    with right:
        title = say("Trained, {head}", head=trained)
        _pattern(written, _trained(run), head.trained_head, title, "trained", model=_last(run))


def _pattern(
    written: CompiledProgram,
    source: tuple[Expression, Expression],
    place: tuple[int, int],
    title: str,
    name: str,
    *,
    model: str | None = None,
) -> None:
    from headlight.analysis.trace.model_run import run_text

    run = named("run", call(run_text, *source, " ".join(written.tokens), max_new_tokens=0))
    attention = "decoder" if written.program.is_causal else "encoder"
    draw_pattern(
        named("pattern", run.attention_maps[attention].pattern(*place)),
        run.labels(attention)[0],
        is_causal=written.program.is_causal,
        title=title,
        name=f"pattern-{name}",
        key=f"programs-matched-{name}",
        model=model,
        link="programs-matched",
    )


def _name(place: tuple[int, int]) -> str:
    return "L{}.H{}".format(*place)
