"""Rotary positions as turning dials, and the dot product of query and key by distance."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from headlight.figures.curves.lines import Line
from headlight.language import say
from pages.learn import head_choice
from pages.learn.positions import view_fields
from pages.learn.positions.components import dials as component
from pages.learn.positions.data import MOST_TURNED, PositionsData
from pages.learn.positions.drawing import draw_curves
from pages.shared import prose
from pages.shared.glossary.links import definitions
from pages.shared.recipe import value_of
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.positions.relative import Dials

KEY_OF_DIALS = "positions-dials"
USUAL_PLACES = (24, 12)
VECTORS = {"same": mark("same vector as query and key"), "model": mark("the head’s query and key")}
LOOK = mark(
    "the first pairs rotate fast, the last hardly at all. Play moves query and key together: all hands rotate, but "
    "the angle between the two hands of a pair stays the same, and so does the dot product. Only the distance counts: "
    "drag one hand or move one slider, and the product changes."
)
LOOK_MODEL = mark(
    "these are a query and a key of the chosen head before rotation. At their tokens’ positions, the product is the "
    "head’s score; move them to see which distances this pair prefers."
)


def show(data: PositionsData) -> None:
    """Draw the dials, and below them the dot product at every distance."""
    is_model = data.is_of_model
    with st.container(key="hl-positions-vectors", horizontal=True, gap="small", vertical_alignment="bottom"):
        if data.has_own_vectors:
            view_fields.VECTORS.segmented(
                say("What is rotated"),
                [*VECTORS],
                name=lambda name: say(VECTORS[name]),
                label_visibility="visible",
                shown="model" if is_model else "same",
            )
        tokens = _tokens(data) if is_model else None
    layer = data.view.head_name.layer
    if is_model and not data.card.config.at_layer(layer).has_rotary_positions:
        prose.note(say("Layer {layer} has no rotary positions; choose a head of another layer.", layer=layer))
        return
    dials: Dials = value_of(data.dials)
    n, (of_query, of_key) = data.n, dials.hands
    query, key = (min(place, n - 1) for place in view_fields.PLACES.value or tokens or USUAL_PLACES)
    component.turning_dials(
        speeds=dials.speeds,
        query=of_query,
        key_vector=of_key,
        rest=dials.rest,
        scale=dials.scale,
        places=(query, key),
        n_positions=n,
        names=(say("query at"), say("key at")),
        key=KEY_OF_DIALS,
        on_places=lambda: _moved(n),
    )
    _by_distance(data, dials, n, query - key)
    if not tokens and data.width == MOST_TURNED and (view_fields.WIDTH.value or 0) > MOST_TURNED:
        prose.small(say("Showing {n} dimensions of this head.", n=MOST_TURNED))
    prose.look_for(say(LOOK_MODEL if tokens else LOOK), definitions("rope"))


def _tokens(data: PositionsData) -> tuple[int, int]:
    """Draw the choices of the query's and the key's token and of the head; return the places of the tokens."""
    assert data.model_run is not None, "without a text there are no tokens"
    labels = data.model_run.labels(data.view.attention)[0]
    tokens = data.chosen_tokens
    for which, (label, part) in enumerate(((say("Query of"), "query"), (say("Key of"), "key"))):
        view_fields.TOKENS.selectbox(
            label,
            range(len(labels)),
            name=lambda place: f"{place} {labels[place]}",
            width=170,
            shown=tokens[which],
            take=partial(_choose_token, tokens, which),
            part=part,
        )
    head_choice.head(data.card)
    return tokens


def _choose_token(tokens: tuple[int, int], which: int, place: int | None) -> None:
    """Choose the token of the query or of the key, and reset both positions to those of the tokens."""
    if place is not None:
        chosen = (place, tokens[1]) if which == 0 else (tokens[0], place)
        view_fields.PLACES.set(None)
        view_fields.TOKENS.set(chosen)


def _moved(n: int) -> None:
    places = component.sent_places(KEY_OF_DIALS, n)
    if places is not None:
        view_fields.PLACES.set(places)


def _by_distance(data: PositionsData, dials: "Dials", n: int, distance: int) -> None:
    """Draw the dot product at every distance, with the current distance marked."""
    distances = np.arange(1 - n, n)
    products = dials.products(distances)
    query, key = dials.hands
    draw_curves(
        data,
        distances,
        [Line(name="", values=products, words=say("distance {x}: product {y}"))],
        name="turned",
        axis="distance",
        arrays={"distance": distances, "product": products, "speeds": dials.speeds, "query": query, "key": key},
        columns=("product",),
        quantity="value",
        title=say("Dot product of query and key by distance"),
        x_title=say("query position minus key position"),
        y_title=say("dot product"),
        marks={"": distance},
        width=900,
        height=250,
    )
