"""One head on many texts: the distribution of a measure, and the texts with the highest, lowest and mean values."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from headlight.analysis.heads.many_texts import MEASURES, HeadOnText, HeadOverTexts
from headlight.analysis.heads.measure_texts import MEASURE_TEXTS
from headlight.analysis.heads.table import matrix_csv
from headlight.figures.bars.spread import texts_spread
from headlight.language import say, say_message, say_number
from pages.explore.compare import view_fields
from pages.explore.compare.data import ComparisonData
from pages.explore.compare.samples import MOST_LINES, n_pasted, texts_of
from pages.explore.compare.sides import Side
from pages.shared import cache, prose, readings
from pages.shared.glossary.links import definitions
from pages.shared.heads import head_in_words
from pages.shared.lines import in_a_line
from pages.shared.recipe import Expression, Print, each, literal, named, through, value_of
from transformer_core.errors import HeadlightError, mark
from transformer_core.text.interface import Given, in_one_line

N_TOLD = 3  # texts at each end, and in the middle
PATIENCE = 0.4  # s, before a progress bar appears
HEIGHT, HEIGHT_ALONE = 240, 340  # px
KINDS = {
    "examples": mark("The model’s examples"),
    "corpus": mark("Held-out texts of its corpus"),
    "list": mark("Your own list"),
}


def show(data: ComparisonData) -> None:
    """Draw the choices, the distribution of the measure over the texts, and the most telling texts."""
    _choices()
    if view_fields.TEXTS.value == "list":
        _paste(takes_pairs=data.a.weights.takes_pairs)
    try:
        texts = texts_of(data.a.weights, view_fields.TEXTS.value)
    except HeadlightError as error:
        prose.note(prose.sentence(error))
        return
    measure = view_fields.MEASURE.value
    recipes = _recipes(data, texts, tell=True)
    with st.container(key="hl-compare-texts"):
        left, right = st.columns([6, 6], gap="large")
    measures_of: dict[str, HeadOverTexts] = value_of(recipes)
    with left:
        for side in _sides(data):
            if side.letter in measures_of:
                _spread(data, side, measures_of, recipes[side.letter])
    if not measures_of:
        return
    if "A" in measures_of:
        with right:
            _telling(measures_of["A"], measure)
    words = say(
        "each dot is a text, placed by {measure}. A narrow cluster: the head behaves the same on every text. "
        "Outliers: texts worth a look. The buttons put a text into the bar above.",
        measure=say(MEASURE_TEXTS[measure].inline),
    )
    prose.look_for(words, definitions(MEASURE_TEXTS[measure].term))


def code(data: ComparisonData) -> list[Print]:
    """Return the lines that print what is shown.

    Raises:
        HeadlightError: there are no texts.
    """
    recipes = _recipes(data, texts_of(data.a.weights, view_fields.TEXTS.value))
    return [*data.outputs, *(line for over in recipes.values() for line in _printed(over))]


def _printed(over: Expression) -> list[Print]:
    measure = view_fields.MEASURE.value
    return [Print(over.values(measure), "[text]"), Print(over.measures[measure])]


def _choices() -> None:
    with st.container(horizontal=True, gap="medium", key="hl-compare-texts-bar", vertical_alignment="center"):
        view_fields.TEXTS.segmented(say("Texts"), [*KINDS], name=lambda kind: say(KINDS[kind]))
        view_fields.MEASURE.selectbox(
            say("Measure"),
            MEASURES,
            name=lambda name: say(MEASURE_TEXTS[name].title),
            label_visibility="collapsed",
            width=240,
        )


def _paste(*, takes_pairs: bool) -> None:
    view_fields.LIST.text_area(
        say("Texts, one per line"),
        height=140,
        placeholder=say("One text per line, then press Ctrl+Enter"),
        shown=view_fields.listed(),
        take=view_fields.take_list,
        help=say("‖ separates the two texts of a pair") if takes_pairs else None,
    )
    if (n := n_pasted()) > MOST_LINES:
        prose.note(say("The list has {n:,} texts; only the first {most} are used.", n=n, most=MOST_LINES))
    if view_fields.LONG_LIST.value and not view_fields.LIST.value:
        prose.note(
            say(
                "This list has more than {n:,} characters, too many for a link: links to this page leave it out.",
                n=view_fields.MOST_LISTED,
            )
        )


def _sides(data: ComparisonData) -> list[Side]:
    """Return side A, and side B unless it has the same model and head."""
    differ = (data.a.source, data.a.head) != (data.b.source, data.b.head)
    return [data.a, data.b] if differ else [data.a]


def _recipes(data: ComparisonData, texts: Sequence[Given], *, tell: bool = False) -> dict[str, Expression]:
    """Return the measures of each side's head as code, by letter, omitting a side that can read none of the texts.

    `tell`: show why some cannot be read.
    """
    recipes = {}
    for side in _sides(data):
        measures_of, troubles = _measured(side, texts)
        if troubles and tell:
            prose.note(
                say(
                    "{letter} failed on {n_troubles} of {n} texts: {trouble}.",
                    letter=side.letter,
                    n_troubles=len(troubles),
                    n=len(texts),
                    trouble=troubles[0],
                )
            )
        if measures_of:
            recipes[side.letter] = _over(side, measures_of)
    return recipes


def _over(side: Side, measures_of: list[HeadOnText]) -> Expression:
    """Return the measures of a side's head over all texts as code; `measures_of`: those already computed."""
    measured = side.source.forward(each("text", [one.text for one in measures_of], partial(_on, side)))
    on_texts = named(f"on_texts{side.ending}", through(measured, lambda _: measures_of))
    return named(f"over_texts{side.ending}", literal(HeadOverTexts).of(on_texts))


def _measured(side: Side, texts: Sequence[Given]) -> tuple[list[HeadOnText], list[str]]:
    """Return the measures of a side's head on each readable text, and an error message for each other text."""
    measures_of, troubles = [], []
    began, place = time.monotonic(), st.empty()
    for i, text in enumerate(texts):
        if time.monotonic() - began > PATIENCE:
            note = say("{letter}: running text {i} of {n} …", letter=side.letter, i=i + 1, n=len(texts))
            place.progress(i / len(texts), text=prose.plain(note))
        try:
            measures_of.append(_measured_on(side, text))
        except HeadlightError as error:
            troubles.append(say_message(error))
    place.empty()
    return measures_of, troubles


def _measured_on(side: Side, text: Given) -> HeadOnText:
    """Return the measures of a side's head on one text, cached for all sessions."""
    on_text = _on(side, text)
    changed = side.source.forward(on_text)  # the model run is under the same interventions
    measured: HeadOnText = value_of(
        cache.kept(mark("head measures per text"), through(changed, lambda _: value_of(on_text)))
    )
    return measured


def _on(side: Side, text: Any) -> Expression:
    """Return the measures of a side's head on a text, or on an expression for a text, as code."""
    reading = readings.call_of(side.loaded, side.source, text, None, readings.max_tokens(side.weights.config))
    model_run = through(reading, lambda _: readings.read(side.source, text))
    return literal(HeadOnText).in_run(text, model_run, side.head)


def _spread(data: ComparisonData, side: Side, measures_of: Mapping[str, HeadOverTexts], recipe: Expression) -> None:
    """Draw the distribution of the measure over the texts of one side, on the same axis as the other side's."""
    measure, over = view_fields.MEASURE.value, measures_of[side.letter]
    values, unit = over.values(measure), say(MEASURE_TEXTS[measure].unit)
    given, texts = zip(*((text.text, in_one_line(text.text)) for text in over.texts), strict=True)
    highest = max(float(np.nan_to_num(other.values(measure)).max(initial=0)) for other in measures_of.values())
    spreads = {letter: other.measures[measure] for letter, other in measures_of.items()}
    levels = {
        say("mean of {letter}", letter=letter): s.mean for letter, s in spreads.items() if s and letter != side.letter
    }
    figure = texts_spread(
        values,
        texts,
        measure=say(MEASURE_TEXTS[measure].inline),
        unit=unit,
        limits=(0.0, 1.0 if not unit else max(1.05 * highest, 0.1)),
        levels=levels,
        chosen=given.index(data.a.text) if data.a.text in given else None,
        title=f"{side.letter}: {side.name}, {head_in_words(*side.head)}",
        height=HEIGHT if len(measures_of) > 1 else HEIGHT_ALONE,
    )
    names = [f"{i} {text}" for i, text in enumerate(texts)]
    data.draw(
        figure,
        name=f"texts-{measure}-{side.letter}",
        key=f"compare-texts-{side.letter}",
        csv=lambda: matrix_csv(values[:, None], "text", names, "measure", [measure], "value"),
        arrays=lambda: {measure: values, "texts": np.array(texts, dtype=np.str_)},
        code=_printed(recipe),
    )
    if spread := spreads[side.letter]:
        note = say_number(
            spread.n_texts,
            "{letter}: mean {mean:.2f}{unit}, standard deviation {deviation:.2f}, over {n} text.",
            "{letter}: mean {mean:.2f}{unit}, standard deviation {deviation:.2f}, over {n} texts.",
            letter=side.letter,
            mean=spread.mean,
            unit=f" {unit}" if unit else "",
            deviation=spread.deviation,
        )
        prose.small(note)


def _telling(measured: HeadOverTexts, measure: str) -> None:
    """Draw the texts on which the measure is highest, lowest, and nearest to the mean, each as a button."""
    spread = measured.measures[measure]
    if spread is None:
        prose.note(say("No query in these texts has more than one allowed key."))
        return
    known = sorted(
        (text for text in measured.texts if getattr(text, measure) is not None),
        key=lambda text: getattr(text, measure),
    )
    nearest = sorted(known, key=lambda text: abs(getattr(text, measure) - spread.mean))
    groups = {
        mark("Highest"): known[::-1][:N_TOLD],
        mark("Lowest"): known[:N_TOLD],
        mark("Most typical"): nearest[:N_TOLD],
    }
    for name, texts in groups.items():
        prose.html("<p class='hl-subtitle'>{}</p>", say(name))
        with st.container(key=f"hl-compare-telling-{name.split()[0].lower()}", gap=None):
            for i, text in enumerate(texts):
                _text(text, getattr(text, measure), f"compare-text-{name}-{i}")


def _text(text: HeadOnText, value: float, key: str) -> None:
    query, key_token = text.strongest_labels
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        prose.html("<span class='hl-compare-number'>{:.2f}</span>", value, width="content")
        st.button(
            prose.plain(in_a_line(in_one_line(text.text))),
            key=key,
            type="tertiary",
            help=prose.plain(
                say(
                    "Open this text; its maximum weight is “{query}” → “{key}” {weight:.2f}",
                    query=query,
                    key=key_token,
                    weight=text.strongest_weight,
                )
            ),
            on_click=view_fields.open_text,
            args=(text.text,),
        )
