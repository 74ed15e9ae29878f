"""The film of one training: the text, all heads with their player, the chosen head, and what belongs to them."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import streamlit as st

from headlight.figures import attention_heatmap, difference_heatmap
from headlight.language import localized, say, say_message
from pages.components.overview import FilmStrip, head_overview
from pages.shared import code_expander, prose, run_readings, runs, ticking
from pages.shared.heads import head_in_words
from pages.shared.model_bar import TEXT_BOXES, left_out
from pages.shared.runs import Run
from pages.shared.view import run_state
from pages.shared.view.fields import Kept
from pages.train import heads_over_time
from pages.train.film import film_readings, learning, recipes, seeds
from pages.train.film import head as film_head
from pages.train.film.film_readings import FilmRead, SnapshotData
from transformer_core.config import ModelConfig
from transformer_core.errors import HeadlightError, TextError, mark

if TYPE_CHECKING:
    from headlight.analysis.training.head_history import Appearance, HeadHistory

COMPARISON, _OTHER_STEP = Kept("film-comparison"), Kept("film-other-step")
NOTHING, SNAPSHOTS, TRAININGS = mark("Nothing"), mark("Two snapshots"), mark("Two trainings")
WIDTH = 360  # px: layout width of each of two snapshots
MANY_HEADS = 8  # above this number, the side-by-side views take a larger part of the page


@ticking.fragment
def show(name: str, snapshots: tuple[int, ...]) -> None:
    """Draw the film of a run with its snapshot and head; a choice in it redraws only this part of the page."""
    run = runs.find(name)
    if run is None:
        st.rerun()
    _data(run, snapshots)
    run_state.publish()


def _data(run: Run, snapshots: tuple[int, ...]) -> None:
    config = runs.configurations(run)[0]
    run_state.SHOWN_HEAD.fit(config)
    with st.container(key="hl-film-bar"):
        left, right = st.columns([5, 7], gap="medium")
    remarks, progress = st.container(key="hl-film-remarks"), st.container(key="hl-film-progress")
    with left:
        _text(run, config)
    if not run_state.TEXT.value:
        prose.note(say("Type a text above to run it through every snapshot."))
        return
    try:
        with progress:
            read = _read(run, snapshots)
    except HeadlightError as error:
        what = (
            say("This text cannot be read") if isinstance(error, TextError) else say("These snapshots cannot be shown")
        )
        with remarks:
            prose.warning(f"{what}: {say_message(error)}.")
        return
    text = _remarks(read)
    wanted, steps = run_state.SNAPSHOT.value, read.reading.steps
    place = len(steps) - 1 if wanted is None else read.reading.place(min(wanted, int(steps[-1])))
    run_state.SNAPSHOT.set(int(steps[place]))
    if text:
        with remarks:
            prose.note(" ".join(text))
    data = SnapshotData(run=run, read=read, place=place, head=run_state.SHOWN_HEAD.value)
    history: HeadHistory | None = None
    events: list[Appearance] = []
    try:
        history, events = heads_over_time.history_of(run)
    except HeadlightError as error:
        prose.caption(say("The head measurements cannot be read: {error}.", error=error))
    film_head.teacher_forcing(data)
    many = read.reading.patterns[data.head.attention].shape[2] > MANY_HEADS
    with st.container(key="hl-film-stage"):
        overview, heatmap = st.columns([6, 7] if many else [5, 7], gap="medium")
    with overview, st.container(key="hl-film-overview"):
        _overview(data, events)
    with heatmap, st.container(key="hl-film-heatmap"):
        film_head.heatmap(data)
    with right:  # late: it loads the model of this snapshot
        film_head.says(data)
    film_head.look_for(data)
    code_expander.code(lambda: film_head.code(data))
    with st.container(key="hl-film-below"):
        left, right = st.columns([7, 5], gap="medium")
    with left:
        if history is not None:
            heads_over_time.draw(
                run,
                history,
                events,
                page="film",
                about=say("one line per head, measured on held-out texts"),
                key=run_state.FILM_HEADS,
                chosen=data.head,
                snapshot=data.step,
            )
    with right:
        learning.loss(data, events)
        learning.appearances(data, events)
    _compare(data)


def _text(run: Run, config: ModelConfig) -> None:
    """Draw the text input, which starts with an example of the corpus."""
    if not run_state.TEXT.value:
        with suppress(HeadlightError):
            run_state.TEXT.set(next(iter(run_readings.examples(run)), ""))
    label, placeholder = TEXT_BOXES[config.architecture]
    run_state.TEXT.text_line(say(label), placeholder=say(placeholder), label_visibility="collapsed")


def _read(run: Run, snapshots: Sequence[int]) -> FilmRead:
    """Return the text read at all snapshots, showing the progress while it takes long."""
    bars: list[st.delta_generator.DeltaGenerator] = []

    def tell(n_read: int, n: int, step: int) -> None:
        if not bars:
            bars.append(st.progress(0.0))
        bars[0].progress(n_read / n, say("Step {step:,}: {n_read} of {n} snapshots", step=step, n_read=n_read, n=n))

    with st.spinner(say("Reading the text …"), show_time=True):
        read = film_readings.read(run, snapshots, run_state.TEXT.value, run_state.TARGET.value, tell)
    for bar in bars:
        bar.empty()
    return read


def _remarks(read: FilmRead) -> list[str]:
    reading, remarks = read.reading, []
    if read.damaged:
        text = ", ".join(localized(snapshot.step) for snapshot in read.damaged[:8])
        more = say(" and {n} more", n=len(read.damaged) - 8) if len(read.damaged) > 8 else ""
        remarks.append(
            say(
                "Snapshots of step {told}{more} are damaged and skipped; the others are unaffected.",
                told=text,
                more=more,
            )
        )
    remarks += left_out(reading.fixed)
    if read.n_left_out:
        remarks.append(
            say(
                "A browser can hold {n} of these snapshots; {n_left_out} are left out.",
                n=len(reading.steps),
                n_left_out=read.n_left_out,
            )
        )
    if any(size > read.side for mask in reading.masks.values() for size in mask.shape[1:]):
        remarks.append(
            say("Each cell of the small maps shows the maximum over several cells; the large map shows every cell.")
        )
    return remarks


def _overview(data: SnapshotData, events: "Sequence[Appearance]") -> None:
    reading = data.read.reading
    pictures, strongest = film_readings.pictures(data.read)
    steps = [int(step) for step in reading.steps]
    head_overview(
        pictures,
        run_state.SHOWN_HEAD,
        key=run_state.FILM_OVERVIEW,
        film=FilmStrip(
            steps=steps,
            step=steps[data.place],
            strongest=strongest,
            labels={name: film_readings.labels(reading.fixed, name) for name in reading.patterns},
            lines=learning.lines(data),
            marks=learning.marks(steps, events),
            on_snapshot=run_state.on_snapshot,
        ),
    )


def _compare(data: SnapshotData) -> None:
    """Draw two snapshots or two trainings side by side."""
    other = run_state.OTHER.value
    others = seeds.comparable(data.run, runs.available(), other)
    chosen = SNAPSHOTS if other.isdecimal() else TRAININGS if other else NOTHING
    prose.subheading(say("Compare"), say("the chosen head"))
    steps = data.read.reading.steps
    other_step = str(int(steps[-1] if data.place == 0 else steps[0]))  # the trained model or the untrained one
    first = {NOTHING: "", SNAPSHOTS: other_step, TRAININGS: next(iter(others), data.run.name)}
    COMPARISON.segmented(
        say("Compare"), [*first], name=say, shown=chosen, take=lambda name: run_state.OTHER.set(first[name])
    )
    if chosen == SNAPSHOTS:
        _two_snapshots(data)
    elif chosen == TRAININGS:
        seeds.show(data, others)


def _two_snapshots(data: SnapshotData) -> None:
    """Draw A, the other snapshot; B, the chosen one; and B minus A."""
    reading = data.read.reading
    steps = [int(step) for step in reading.steps]
    wanted = int(run_state.OTHER.value)
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
    snapshots = steps[place], data.step
    names = tuple(say("step {step:,}", step=step) for step in snapshots)
    a, b = data.pattern(place), data.pattern(data.place)
    with st.container(key="hl-film-three"):
        columns = st.columns(3, gap="small")
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
                of=(data.run, step),
                width=WIDTH,
            )
    with columns[2]:
        recipes.draw(
            data,
            difference_heatmap,
            *both,
            title="B − A",
            name=data.file_name("difference"),
            key="film-pair-difference",
            width=WIDTH,
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
