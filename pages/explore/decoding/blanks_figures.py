"""The figures of a text with blanks: the predictions for each blank, and the attention of one mask token."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.figures import TokenGrid, row_bars
from headlight.figures.bars.label_bars import blank_bars
from headlight.language import say
from pages.explore.decoding import blanks_data, view_fields
from pages.explore.decoding.blanks_data import BlanksData, all_at_once
from pages.shared import prose
from pages.shared.answer import probability
from pages.shared.drawing import draw, looks
from pages.shared.recipe import Expression, Print, Unwritten, call, each, literal, named, value_of
from pages.shared.view.fields import Kept
from transformer_core.errors import mark

if TYPE_CHECKING:
    from transformer_core.decoding.filling import BlankPrediction

_TOKEN = Kept("blanks-token")  # chosen for the selected blank
N_BARS = 6  # candidates drawn per blank
MOST_DRAWN = 12  # blanks whose candidates are drawn
N_OFFERED = 24  # candidates in the list to choose from
HEIGHT = 250  # px, of the attention figure
MAXIMUM = mark("<b>Maximum attention</b> ({whose}): {told}.")
LOOKS = mark("blank {place} → “{token}” {weight:.2f}")


def candidates(data: BlanksData) -> None:
    """Draw the predictions for each blank, from before it was filled; of many, only the most certain open ones."""
    places, steps, n_open = _places(data), data.steps, len(data.state.blanks)
    blanks, labels, probabilities = _predictions(data)
    title = say("Predictions for each blank")
    if n_open and len(places) < len(data.tree.masks):
        title = say("Predictions for each blank: the {n} most confident of {n_open}", n=len(places), n_open=n_open)
    figure = call(
        blank_bars,
        probabilities,
        labels,
        names=[say("blank {place}", place=place) for place in places],
        entropies=call(np.array, each("blank", blanks, lambda blank: blank.entropy)),
        next_one=None if data.next_place is None else places.index(data.next_place),
        filled={i for i, place in enumerate(places) if place in steps},
        title=title,
        width=Unwritten(760),
    )
    log_probs = each("blank", blanks, lambda blank: blank.log_probs)
    draw(
        figure,
        *printed(data),
        title=title,
        name=f"{data.card.name}-blanks",
        key="blanks-bars",
        csv=lambda: _csv(places, value_of(labels), value_of(probabilities)),
        arrays=lambda: {"places": np.array(places), "log_probs": np.stack(value_of(log_probs))},
        model=data.card.path,
    )


def _predictions(data: BlanksData) -> tuple[Expression, Expression, Expression]:
    """Return the predictions for the drawn blanks, and the labels and probabilities of their best tokens, as code."""
    label = data.recipe.tokenizer.labels
    blanks = named("blanks", each("place", _places(data), data.blank_recipe))
    best = named("best", each("blank", blanks, lambda blank: blank.candidates(N_BARS)))
    labels = each("of_blank", best, lambda of_blank: each("one", of_blank, lambda one: label([one.token])[0]))
    probabilities = each(
        "of_blank", best, lambda of_blank: call(np.array, each("one", of_blank, lambda one: one.probability))
    )
    return blanks, named("labels", labels), named("probabilities", probabilities)


def printed(data: BlanksData) -> list[Print]:
    """Return the lines that print the predictions for each blank, and the log-probability of the filled tokens."""
    lines = [Print(_predictions(data)[1:]), Print(data.filling_recipe.total_log_prob, "nats")]
    if data.beside is not None:
        lines += [Print(all_at_once(data.recipe, data.filling_recipe).total_log_prob, "nats, all at once")]
    return lines


def _places(data: BlanksData) -> list[int]:
    """Return the blanks whose candidates are drawn: all, or the most certain open ones if there are too many."""
    masks, surest = data.tree.masks, [blank.position for blank in data.state.certain_first]
    is_all = len(masks) <= MOST_DRAWN or not surest
    return sorted((masks if is_all else surest)[:MOST_DRAWN])


def one_blank(data: BlanksData) -> None:
    """Draw one blank: the choice of another token, and the attention of its mask token."""
    blank, steps = data.blank(data.place), data.steps
    chosen = steps[data.place].chosen if data.place in steps else None
    offered = {one.token: one for one in (*blank.candidates(N_OFFERED), *([chosen] if chosen else ()))}
    with st.container(key="hl-blanks-choice", horizontal=True, vertical_alignment="bottom", gap="small"):
        blanks_data.PLACE.selectbox(
            say("Blank"),
            data.tree.masks,
            name=lambda place: f"{place}, {say('filled') if place in steps else say('open')}",
            shown=data.place,
            width=120,
        )
        _TOKEN.selectbox(
            say("Fill with"),
            [*offered],
            name=lambda token: f"{data.label(token)} {probability(offered[token].probability)}",
            shown=chosen.token if chosen else None,
            take=lambda token: _choose_token(data.place, token),
            placeholder=say("Choose or type"),
            accept_new_options=True,
        )
        view_fields.choose_aim(data.card.config.n_encoder_layers, data.card.config.n_heads)
    _looks(data, blank)


def _looks(data: BlanksData, blank: "BlankPrediction") -> None:
    """Draw the attention of one blank, and say which token each open blank attends to most."""
    aim, place = view_fields.aim(data.card.config.n_encoder_layers), blank.position
    labels = data.labels(data.at.before(place))
    whose = {
        "": say("L{layer}.H{head}", layer=aim.layer, head=aim.head),
        "layer": say("L{layer}, mean over heads", layer=aim.layer),
        "all": say("mean of all heads"),
    }[aim.mean]
    row = named("row", literal(aim).of(data.blank_recipe(place).rows))
    title = say("Attention from blank {place}: {whose}", place=place, whose=whose)
    figure = call(
        row_bars,
        row.astype(np.float64),
        call(
            TokenGrid,
            labels[place : place + 1],
            labels,
            first_query=place,
            key_name=say("key: text"),
            **looks(460, HEIGHT),
        ),
        title=title,
    )
    names = [f"{key} {label}" for key, label in enumerate(labels)]
    draw(
        figure,
        Print(row, "[key]"),
        title=title,
        name=f"{data.card.name}-blank{place}-looks",
        key="blanks-looks",
        csv=lambda: matrix_csv(value_of(row)[None], "blank", [str(place)], "key", names, "weight"),
        arrays=lambda: {"row": value_of(row), "key_tokens": np.array(labels)},
        model=data.card.path,
    )
    text, result = data.labels(data.at), []
    for other in data.state.blanks.values():
        key, weight = other.most_attended(aim)
        token = prose.markup("<bdi>{}</bdi>", text[key])
        if other.is_finite:
            result.append(prose.say_markup(LOOKS, place=other.position, token=token, weight=weight))
    if result:
        prose.small(prose.say_markup(MAXIMUM, whose=whose, told=prose.joined(", ", result)))


def _csv(places: Sequence[int], labels: Sequence[Sequence[str]], values: Sequence[np.ndarray]) -> str:
    """Return one CSV line for each drawn candidate."""
    rows = [
        (place, rank, label, value)
        for place, of_blank, probabilities in zip(places, labels, values, strict=True)
        for rank, (label, value) in enumerate(zip(of_blank, probabilities.tolist(), strict=True))
    ]
    table = pd.DataFrame(rows, columns=["place", "rank", "token", "probability"])
    return table.to_csv(index=False, lineterminator="\r\n")


def _choose_token(place: int, chosen: int | str | None) -> None:
    """Fill a blank with the token that was chosen or the word that was typed."""
    if chosen is not None:
        blanks_data.ask((place, chosen))
