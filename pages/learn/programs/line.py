"""The chosen line: its attention pattern, what it reads and writes in the residual stream, and a mistake in it."""

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.figures import TokenGrid, attention_heatmap
from headlight.figures.heatmaps.number_panels import number_panels
from headlight.language import say
from headlight.programs.layout import Subspace
from headlight.programs.mutations import mutations
from headlight.programs.roles import roles
from pages.learn.programs import view_fields
from pages.learn.programs.data import CompiledProgram, ProgramsData
from pages.shared import prose
from pages.shared.drawing import draw, looks
from pages.shared.recipe import Expression, Print, call, value_of
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.programs.program_run import LineRun

HEIGHT = 360  # px of a figure
ROW, AROUND = 16, 110  # px: height of a direction of the residual stream; height of everything around them
WIDTH = 440  # px, the width that the layout assumes
LEAST_HELD = 1e-3  # smallest maximum of a direction that is drawn
KINDS = {  # what a head of each kind attends to
    "same_token": mark("Attends to tokens that are the same as the query’s (a duplicate-token head)."),
    "induction": mark("Attends to the token after an earlier occurrence of the query’s token (an induction head)."),
    "uniform": mark("Attends to all tokens equally."),
    "fixed": mark("Attends to the same keys from every query."),
    "none": mark("No key is selected, so it attends to <bos> alone."),
    "other": mark("Attends to the keys for which the predicate is true."),
}
COUNTS = mark("It also attends to <bos>: the weight there, 1 / (1 + n), shows how many keys are selected.")
SINK = mark("Where no key is selected, it attends to <bos>, which holds the default.")
READS = mark("Reads {read} in the residual stream, and writes {written}, directions {first} to {last}.")
READS_ONE = mark("Reads {read} in the residual stream, and writes {written}, direction {first}.")
READS_ONLY = mark("Reads {read} in the residual stream.")
NO_EFFECT = mark(
    "On this input, this mistake changes nothing: all values, outputs and patterns are the same as without it. Try "
    "another mistake, or another input."
)
NO_HEAD = mark("No head is needed for this line: it acts on each token separately.")


def show(data: ProgramsData) -> None:
    """Draw the line: its description, its pattern, and its subspaces or, with a mistake, the changed pattern."""
    line = data.line
    _mistake(data)
    with st.container(key="hl-programs-line"):
        words, first, second = st.columns([1, 1.6, 1.6], gap="medium")
        with words:
            _words(data, line)
        if not line.is_used:
            return
        if not line.heads:
            with first:
                _subspaces(data, line)
            return
        with first:
            _pattern(data.as_written, line, say("L{layer}.H{head} as written", **_head(line)), "as-written")
        with second:
            if data.with_mistake is None:
                _subspaces(data, line)
            else:
                changed = data.with_mistake.run.line(line.number)
                if changed.heads:
                    title = say("L{layer}.H{head} with the mistake", **_head(changed))
                    _pattern(data.with_mistake, changed, title, "with-mistake")


def code(data: ProgramsData) -> list[Print]:
    """Return the lines that print the outputs and the pattern."""
    run = data.shown.run_recipe
    lines = [Print(run.output, "of the program"), Print(run.predicted, "of the model")]
    heads = data.shown.run.line(data.line.number).heads
    return [*lines, *(Print(run.patterns[head], "[query, key]") for head in heads[:1])]


def _head(line: "LineRun") -> dict[str, int]:
    layer, head = line.heads[0]
    return {"layer": layer, "head": head}


def _words(data: ProgramsData, line: "LineRun") -> None:
    prose.subheading(say("Line {number}: {name}", number=line.number, name=line.name))
    if not line.is_used:
        prose.text(say("The output does not need this line, so it is not compiled."))
        return
    as_written = _head_words(data.as_written, line)
    mistake = data.with_mistake
    changed = _head_words(mistake, mistake.run.line(line.number)) if mistake else as_written
    if changed == as_written:
        prose.text(as_written)
    else:
        prose.text(say("As written: {words}", words=as_written))
        prose.text(say("With the mistake: {words}", words=changed))
    *read, last = line.subspaces
    if line.is_selector:
        prose.text(say(READS_ONLY, read=_names([*read, last])))
        return
    ends = {"first": last.start, "last": last.start + last.size - 1}
    prose.text(say(READS if last.size > 1 else READS_ONE, read=_names(read), written=_names([last]), **ends))


def _head_words(compiled: CompiledProgram, line: "LineRun") -> str:
    if not line.heads:
        return say(NO_HEAD)
    role = roles(compiled.model[0])[line.heads[0]]
    attends = _offset(role.offset or 0) if role.kind == "offset" else say(KINDS[role.kind])
    return attends if role.kind == "none" else f"{attends} {say(COUNTS if role.counts else SINK)}"


def _offset(offset: int) -> str:
    if offset == 0:
        return say("Attends to the query’s own position.")
    if offset == 1:
        return say("Attends to the previous token (a previous-token head).")
    if offset > 0:
        return say("Attends to the token {n} positions back.", n=offset)
    return (
        say("Attends to the next token.")
        if offset == -1
        else say("Attends to the token {n} positions later.", n=-offset)
    )


def _names(spaces: "list[Subspace]") -> str:
    return ", ".join(say("“{word}”", word=space.name) for space in spaces)


def _mistake(data: ProgramsData) -> None:
    source, mistake = data.line.source, str(view_fields.MISTAKE.value)
    equivalents = view_fields.EXAMPLES[view_fields.PROGRAM.value].equivalents
    offered = [line for line in mutations(source) if line not in equivalents]
    own = [mistake] if mistake and mistake not in offered else []
    with st.container(key="hl-programs-mistake", horizontal=True, vertical_alignment="bottom", gap="small"):
        view_fields.MISTAKE.selectbox(
            say("A mistake in line {number}", number=data.line.number),
            ["", *offered, *own],
            name=lambda line: _difference(source, line) if line else say("None: as written"),
            part="offered",
            width=310,
        )
        view_fields.MISTAKE.text(
            say("Or write the line yourself"),
            shown=mistake or source,
            take=lambda typed: view_fields.MISTAKE.set("" if typed.strip() == source else typed.strip()),
            part="typed",
        )
    if data.error is not None:
        prose.warning(prose.sentence(data.error))
    if data.with_mistake and data.with_mistake.run.agrees_with(data.as_written.run):
        prose.note(say(NO_EFFECT))


def _difference(source: str, changed: str) -> str:
    """Return the part of a line that a mistake has changed, with some context."""
    edits = [edit for edit in SequenceMatcher(None, source, changed, False).get_opcodes() if edit[0] != "equal"]
    first = changed.rfind(" ", 0, max(0, edits[0][3] - 10)) + 1
    last = changed.find(" ", edits[-1][4] + 3) % (len(changed) + 1)  # the end of the line if no space follows
    return f"{'… ' if first else ''}{changed[first:last]}{' …' if last < len(changed) else ''}"


def draw_pattern(weights: Expression, labels: Expression, *, is_causal: bool, title: str, **options: Any) -> None:
    """Draw what a head attends to on the input.

    Args:
        weights: its pattern.
        labels: of its tokens.
        is_causal: later keys are masked.
        title: of the figure.
        options: as for `draw`.
    """
    pattern, names = value_of((weights, labels))
    mask = call(np.tri, len(names), dtype=bool) if is_causal else None
    draw(
        call(
            attention_heatmap, weights, call(TokenGrid, labels, labels, **looks(WIDTH, HEIGHT)), title=title, mask=mask
        ),
        Print(weights, "[query, key]"),
        title=title,
        csv=lambda: matrix_csv(pattern, "query", names, "key", names, "weight"),
        arrays=lambda: {"pattern": pattern, "tokens": np.array(names)},
        view=view_fields.in_words,
        **options,
    )


def _pattern(compiled: CompiledProgram, line: "LineRun", title: str, name: str) -> None:
    run = compiled.run_recipe
    draw_pattern(
        run.patterns[line.heads[0]],
        run.labels,
        is_causal=compiled.program.is_causal,
        title=title,
        name=f"pattern-line-{line.number}-{name}",
        key=f"programs-{name}",
        model=None,
        link="programs",
    )


def _subspaces(data: ProgramsData, line: "LineRun") -> None:
    """Draw the contents of the line's subspaces after it has been computed."""
    run = data.as_written.run
    directions, labels = list[int](), list[str]()
    for space in line.subspaces:
        held = run.subspace(space, line.state)
        names = [space.name] if space.is_numerical else [f"{space.name} = {value}" for value in space.values]
        for direction, (name, row) in enumerate(zip(names, held, strict=True), space.start):
            if np.abs(row).max() >= LEAST_HELD:
                directions.append(direction)
                labels.append(name)
    if not directions:
        return
    recipe = data.as_written.run_recipe
    shown = recipe.residual[line.state].T[directions]
    table: np.ndarray = value_of(shown)
    title = say("Subspaces of the residual stream after layer {layer}", layer=max(0, (line.state - 1) // 2))
    draw(
        call(
            number_panels,
            {"": shown},
            call(
                TokenGrid,
                labels,
                recipe.labels,
                query_name=say("direction"),
                key_name=say("position"),
                **looks(WIDTH, max(HEIGHT, AROUND + ROW * len(directions))),
            ),
            title=title,
            diverging=bool((table <= -LEAST_HELD).any()),
        ),
        Print(shown, "[direction, position]"),
        title=title,
        name=f"subspaces-line-{line.number}",
        key="programs-subspaces",
        csv=lambda: matrix_csv(table, "direction", labels, "position", run.labels, "value"),
        arrays=lambda: {"values": table, "directions": np.array(labels), "tokens": np.array(run.labels)},
        model=None,
        view=view_fields.in_words,
    )
