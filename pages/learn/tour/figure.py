"""A live figure of a chapter, found by its name in the catalogue, with its sliders."""

from contextlib import suppress
from typing import Any

import streamlit as st

from headlight.language import language, localized, say
from pages.learn.tour import lessons, view_fields
from pages.learn.tour.lesson_engine.catalogue import KINDS
from pages.learn.tour.lesson_engine.drawn import FigureData, LessonTable, Plot, Strip
from pages.learn.tour.lesson_engine.evidence import Evidence
from pages.learn.tour.lesson_engine.figure_kind import Slider
from pages.learn.tour.lesson_engine.lesson import FigureSpec, Lesson
from pages.learn.tour.lesson_engine.six_words import STEPS
from pages.shared import drawing, prose
from pages.shared.recipe import Print, call, named, through
from pages.shared.view.fields import Kept
from transformer_core.errors import HeadlightError

TOLD_EVERY = 8  # steps of a training


def show(lesson: Lesson, spec: FigureSpec, evidence: Evidence, name: str) -> None:
    """Draw a figure.

    Args:
        lesson: that it belongs to.
        spec: which figure, with its parameters.
        evidence: the lesson's numbers.
        name: distinguishes it from the chapter's other figures.

    Raises:
        LessonError: it cannot be drawn from this model and text.
    """
    kind, key = KINDS[spec.kind], f"tour-{lesson.name}-{name}"
    is_trained = not kind.trains or _training(lesson, spec, key)
    if spec.kind == "loss" and not is_trained:
        return
    data = data_of(lesson, spec, evidence, name, is_trained=is_trained)
    drawn = kind.draw(data)
    with st.container(key=f"hl-tour-figure-{name}", gap="small"):
        if isinstance(drawn, Plot):
            _plot(data, drawn, key=key, name=f"{lesson.name}-{name}")
        elif isinstance(drawn, Strip):
            prose.html("{}", strip_markup(drawn))
        else:
            prose.html("{}", table_markup(drawn))
        if sliders := kind.sliders_of(spec):
            _sliders(sliders, key)


def data_of(lesson: Lesson, spec: FigureSpec, evidence: Evidence, name: str, *, is_trained: bool) -> FigureData:
    """Return the data of a figure, with the values of its sliders in this session; arguments as for `show`."""
    moved = {
        slider.name: float(Kept(f"tour-{lesson.name}-{name}-{slider.name}", slider.start).value)
        for slider in KINDS[spec.kind].sliders_of(spec)
    }
    return FigureData(lesson=lesson, spec=spec, evidence=evidence, moved=moved, is_trained=is_trained)


def _plot(data: FigureData, drawn: Plot, *, key: str, name: str) -> None:
    """Draw a plot with its downloads; the saved code redraws the lesson's figure."""
    lesson = data.lesson
    place = next(place for place, part in enumerate(lesson.parts) if part is data.spec)
    payload: dict[str, Any] = {
        "moved": dict(data.moved),
        "is_trained": data.is_trained,
        "seed": view_fields.seed(lesson.name) or 0,
        "n_answered": len(view_fields.answers(lesson.name)),
    }
    again = call(lessons.draw_figure, lesson.name, place, **payload, of_language=language())
    recipe = named("plot", through(again, lambda _: drawn))
    card = None
    with suppress(HeadlightError):
        card = lessons.card_of(lesson)
    reads = {} if card is None else {"text": lessons.text_of(lesson, card)}
    drawing.draw(
        recipe.figure,
        Print(recipe.arrays(), "the columns of the table, by name"),
        title=lesson.title,
        name=name,
        key=key,
        csv=lambda: drawn.csv,
        arrays=drawn.arrays,
        model=None if card is None else card.path,
        view=lambda: {"lesson": lesson.name, "figure": str(place)} | reads,
        state_of=lambda: payload,
        height=int(drawn.figure.layout.height or 400),
    )


def _sliders(sliders: tuple[Slider, ...], key: str) -> None:
    columns = st.columns(len(sliders))
    for column, slider in zip(columns, sliders, strict=True):
        is_whole = slider.step == int(slider.step)
        number = int if is_whole else float
        column.slider(
            say(slider.label),
            min_value=number(slider.low),
            max_value=number(slider.high),
            value=number(slider.start),
            step=number(slider.step),
            key=f"{key}-{slider.name}",
        )


def _training(lesson: Lesson, spec: FigureSpec, key: str) -> bool:
    """Train the six-word model if a person requested it, showing progress; return whether it was requested."""
    seed = view_fields.seed(lesson.name)
    is_wanted = view_fields.wants_training(lesson.name)
    if spec.kind == "distributions":
        st.button(
            say("Train now") if not is_wanted else say("Train again from a new random initialization"),
            key=f"{key}-train",
            type="primary" if not is_wanted else "secondary",
            icon=":material/model_training:",
            on_click=view_fields.train,
            args=(lesson.name,),
        )
    if not is_wanted:
        return False
    place = st.empty()

    def tell(step: int, loss: float) -> None:
        if step % TOLD_EVERY == 0:
            text = say("Step {step}: loss {loss} nats per token", step=step, loss=localized(loss, ".2f"))
            place.progress(min(step / STEPS, 1.0), text=prose.plain(text))

    trained = lessons.evidence_of(lesson, seed=seed or 0, on_step=tell)
    trained.six_words(spec.parameters.get("smoothing", 0.0))
    place.empty()
    return True


def strip_markup(strip: Strip) -> prose.Markup:
    """Return tokens in a row as HTML."""
    notes = strip.notes or ("",) * len(strip.labels)
    weights = [min(weight, 1.0) for weight in strip.weights or (0.0,) * len(strip.labels)]
    return prose.markup(
        "<figure class='hl-tour-strip'><figcaption>{}</figcaption><div>{}</div></figure>",
        strip.title,
        prose.each(
            "<span style='--hl-p:{:.3f}'><bdi>{}</bdi><small>{}</small></span>",
            zip(weights, strip.labels, notes, strict=True),
        ),
    )


def table_markup(table: LessonTable) -> prose.Markup:
    """Return words and numbers in rows as HTML."""
    codes = table.codes or ("",) * len(table.rows)
    rows = [
        (
            "hl-marked" if place == table.marked else "",
            name,
            prose.markup("<code>{}</code>", code) if code else "",
            prose.each("<td>{}</td>", cells),
        )
        for place, ((name, *cells), code) in enumerate(zip(table.rows, codes, strict=True))
    ]
    return prose.markup(
        "<div class='hl-tour-table'><table><caption>{}</caption><thead><tr>{}</tr></thead>"
        "<tbody>{}</tbody></table></div>",
        table.title,
        prose.each("<th>{}</th>", table.columns),
        prose.each("<tr class='{}'><td>{}{}</td>{}</tr>", rows),
    )
