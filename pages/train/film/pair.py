"""Two snapshots of a head side by side, and their difference."""

from typing import Any

import streamlit as st

from pages.components.figures import live_figure
from pages.shared import prose
from pages.shared.view import run_state
from pages.shared.view.fields import Kept
from pages.train.film.data import SnapshotData, head_in_words
from transformer_core.analysis.heads.table import pattern_csv
from transformer_core.figures import attention_heatmap, difference_heatmap
from transformer_core.language import say

_OTHER_STEP = Kept("film-other-step")
WIDTH = 360  # px that each picture is laid out for


def default(data: SnapshotData) -> str:
    """Return the snapshot to compare with at first: the untrained model, or the trained one."""
    steps = data.read.reading.steps
    return str(int(steps[-1] if data.place == 0 else steps[0]))


def show(data: SnapshotData) -> None:
    """Draw A, the other snapshot; B, the chosen one; and B minus A."""
    reading = data.read.reading
    steps = [int(step) for step in reading.steps]
    wanted = int(data.view.other)
    place = reading.place(wanted)
    run_state.OTHER.set(str(steps[place]))
    if wanted != steps[place]:
        prose.note(
            say(
                "The film has no snapshot at step {step}, so A is step {nearest:,}.",
                step=str(wanted)[:20],
                nearest=steps[place],
            )
        )
    _OTHER_STEP.select_slider(
        say("A, to compare with B, step {step:,}", step=data.step),
        steps,
        name=lambda step: say("step {step:,}", step=step),
        shown=steps[place],
        take=lambda step: run_state.OTHER.set(str(step)),
    )
    if place == data.place:
        prose.paragraph(say("A and B are the same snapshot; move one of the two sliders."))
        return
    axes, snapshots = data.axes, (steps[place], data.step)
    names = tuple(say("step {step:,}", step=step) for step in snapshots)
    a, b = data.pattern(place), data.pattern(data.place)
    with st.container(key="hl-film-three"):
        columns = st.columns(3, gap="small")
    for column, letter, pattern, step in zip(columns, "AB", (a, b), snapshots, strict=False):
        with column:
            title = say("{letter}: after step {step:,}", letter=letter, step=step)
            _figure(
                attention_heatmap(pattern, title=title, width=WIDTH, **axes),
                data.file_name(letter, f"step{step}"),
                pattern,
                axes,
                f"film-pair-{letter}",
            )
    with columns[2]:
        figure = difference_heatmap(a, b, title="B − A", names=("A", "B"), width=WIDTH, **axes)
        _figure(figure, data.file_name("difference"), b - a, axes, "film-pair-difference")
    prose.look_for(_in_words(data, *names))


def _in_words(data: SnapshotData, other: str, this: str) -> str:
    return say(
        "indigo cells, where {head} attends more after {this} than after {other}, and orange cells, where it attends "
        "less; each row of the difference sums to zero.",
        head=head_in_words(*data.head),
        this=this,
        other=other,
    )


def _figure(figure: Any, name: str, values: Any, axes: dict[str, Any], key: str) -> None:
    csv = pattern_csv(values, axes["query_tokens"], axes["key_tokens"], axes["mask"])
    live_figure(figure, name=name, csv=csv, key=key)
