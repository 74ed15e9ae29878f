"""Two snapshots of a head side by side, and their difference."""

from typing import Any

import streamlit as st

from headlight.figures import attention_heatmap, difference_heatmap
from headlight.language import say
from pages.shared import prose
from pages.shared.heads import head_in_words
from pages.shared.run_figures import weights_of
from pages.shared.view import run_state
from pages.shared.view.fields import Kept
from pages.train.film import recipes
from pages.train.film.data import SnapshotData

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
    payload: dict[str, Any] = {"axes": axes, "height": None, "width": WIDTH}
    both = [
        (recipes.snapshot(data, step, name), data.head[1:], values)
        for step, name, values in zip(snapshots, "ab", (a, b), strict=True)
    ]
    for column, letter, one, step in zip(columns, "AB", both, snapshots, strict=False):
        with column:
            recipes.draw(
                data,
                attention_heatmap,
                one,
                title=say("{letter}: after step {step:,}", letter=letter, step=step),
                name=data.file_name(letter, f"step{step}"),
                key=f"film-pair-{letter}",
                model=weights_of(data.run.path, step),
                **payload,
            )
    with columns[2]:
        recipes.draw(
            data,
            difference_heatmap,
            *both,
            title="B − A",
            name=data.file_name("difference"),
            key="film-pair-difference",
            model=weights_of(data.run.path, data.step),
            **payload,
        )
    prose.look_for(
        say(
            "indigo cells, where {head} attends more after {this} than after {other}, and orange cells, where it "
            "attends less; each row of the difference sums to zero.",
            head=head_in_words(*data.head),
            this=names[1],
            other=names[0],
        )
    )
