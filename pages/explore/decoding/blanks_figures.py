"""The blanks of a text in pictures: what may stand in each open one, and where the mask of one of them looks."""

import csv
import html
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.components import figures
from pages.explore.decoding import aim as decoding_aim
from pages.explore.decoding import blanks_data
from pages.explore.decoding.blanks_data import N_BARS, BlanksData, before
from pages.shared import export
from pages.shared.answer import probability
from pages.shared.style import theme
from pages.shared.view import state
from pages.shared.view.fields import Kept
from transformer_core.analysis.heads.table import matrix_csv
from transformer_core.figures.bars.blank_bars import blank_bars
from transformer_core.figures.bars.row_bars import row_bars
from transformer_core.language import say

if TYPE_CHECKING:
    from transformer_core.decoding.filling import BlankPrediction

_TOKEN = Kept("blanks-token")  # in a blank
MOST_DRAWN = 12  # blanks whose candidates are drawn
N_OFFERED = 24  # candidates in the list to choose from
HEIGHT = 250  # px, of where a mask looks
LOOKED = """
from transformer_core.decoding.looking import Aim

blank = tree.read(filling.first({n})).blanks[{place}]
row = {aim!r}.of(blank.rows)
print(row)  # [key]: where the mask looks
"""


def candidates(data: BlanksData) -> None:
    """Draw what may stand in each blank, or might have before it was filled; of many, in the most certain open ones."""
    masks, steps = data.given.tree.masks, data.steps
    n_open = len(data.state.blanks)
    is_all = len(masks) <= MOST_DRAWN or not n_open
    surest = [blank.position for blank in data.state.certain_first]
    places = sorted((masks if is_all else surest)[:MOST_DRAWN])
    blanks = [data.blank(place) for place in places]
    found = [blank.candidates(N_BARS) for blank in blanks]
    values = [np.array([one.probability for one in of_blank]) for of_blank in found]
    labels = [[data.label(one.token) for one in of_blank] for of_blank in found]
    if is_all:
        title = say("Predictions for each blank")
    else:
        title = say("Predictions for each blank: the {n} most confident of {n_open}", n=len(places), n_open=n_open)
    figure = blank_bars(
        values,
        labels,
        names=[say("blank {place}", place=place) for place in places],
        entropies=np.array([blank.entropy for blank in blanks]),
        next_one=places.index(surest[0]) if surest else None,
        filled={i for i, place in enumerate(places) if place in steps},
        title=title,
        theme=theme(),
        width=760,
    )
    name = f"{data.card.name}-blanks"

    def files() -> Mapping[str, bytes]:
        return export.files(
            name=name,
            csv=lambda: _csv(places, labels, values),
            arrays=lambda: {"places": np.array(places), "log_probs": np.stack([blank.log_probs for blank in blanks])},
            code=data.code(),
            state=state.in_words(),
            model=data.card.path,
        )

    figures.live_figure(figure, name=name, key="blanks-bars", files=files, height=figure.layout.height)


def one_blank(data: BlanksData) -> None:
    """Draw one blank: another token for it, and where its mask looks."""
    blank, steps = data.blank(data.place), data.steps
    chosen = steps[data.place].chosen if data.place in steps else None
    offered = {one.token: one for one in (*blank.candidates(N_OFFERED), *([chosen] if chosen else ()))}
    with st.container(key="hl-blanks-choice", horizontal=True, vertical_alignment="bottom", gap="small"):
        blanks_data.PLACE.selectbox(
            say("Blank"),
            data.given.tree.masks,
            name=lambda place: f"{place}, {say('filled') if place in steps else say('open')}",
            shown=data.place,
            take=blanks_data.look_at,
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
        decoding_aim.choose(data.card.config.n_encoder_layers, data.card.config.n_heads)
    _looks(data, blank)


def _looks(data: BlanksData, blank: "BlankPrediction") -> None:
    """Draw where the mask of one blank looks, and say what every open one looks at most."""
    aim, filled_before = data.aim, before(data.at, blank.position)
    labels = data.labels(filled_before)
    whose = {
        "": say("L{layer}.H{head}", layer=aim.layer, head=aim.head),
        "layer": say("L{layer}, mean over heads", layer=aim.layer),
        "all": say("mean of all heads"),
    }[aim.mean]
    row = aim.of(blank.rows)
    figure = row_bars(
        row.astype(np.float64),
        labels,
        query=blank.position,
        query_token=labels[blank.position],
        title=say("Attention from blank {place}: {whose}", place=blank.position, whose=whose),
        key_name=say("key: text"),
        theme=theme(),
        width=460,
        height=HEIGHT,
    )
    name = f"{data.card.name}-blank{blank.position}-looks"
    names = [f"{place} {label}" for place, label in enumerate(labels)]

    def files() -> Mapping[str, bytes]:
        looked = LOOKED.format(n=len(filled_before.steps), place=blank.position, aim=aim)
        return export.files(
            name=name,
            csv=lambda: matrix_csv(row[None], "blank", [str(blank.position)], "key", names, "weight"),
            arrays=lambda: {"row": row, "key_tokens": np.array(labels)},
            code=data.code() + looked,
            state=state.in_words(),
            model=data.card.path,
        )

    figures.live_figure(figure, name=name, key="blanks-looks", files=files, height=HEIGHT)
    text, told = data.labels(data.at), []
    for place, other in data.state.blanks.items():
        key, weight = other.looks_most_at(aim)
        token = f"<bdi>{html.escape(text[key])}</bdi>"
        told.append(say("blank {place} → “{token}” {weight:.2f}", place=place, token=token, weight=weight))
    if told:
        most = say("<b>Maximum attention</b> ({whose}): {told}.", whose=whose, told=", ".join(told))
        st.html(f"<p class='hl-small'>{most}</p>")


def _csv(places: Sequence[int], labels: Sequence[Sequence[str]], values: Sequence[np.ndarray]) -> str:
    """Return a line for each candidate that is drawn."""
    lines = io.StringIO()
    table = csv.writer(lines)
    table.writerow(("place", "rank", "token", "probability"))
    for place, of_blank, probabilities in zip(places, labels, values, strict=True):
        for rank, (label, value) in enumerate(zip(of_blank, probabilities.tolist(), strict=True)):
            table.writerow((place, rank, label, value))
    return lines.getvalue()


def _choose_token(place: int, chosen: int | str | None) -> None:
    """A token was chosen for a blank, or a word typed."""
    if chosen is not None:
        blanks_data.ask((place, chosen))
