"""A map of all heads of A, or of A and B: those that look, or write, alike lie near each other."""

import numpy as np
import streamlit as st

from headlight.analysis.heads.likeness import MIXED, ClusterName
from headlight.analysis.heads.measures import HeadName
from headlight.analysis.heads.table import matrix_csv
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures.heatmaps.head_map import head_map_figure
from headlight.figures.hues import category_hues
from pages.explore.compare import view_fields
from pages.explore.compare.data import ComparisonData
from pages.explore.compare.mapped import HABITS, Mapped, map_recipes, mapped, shared_tokens
from pages.explore.compare.sides import head_title
from pages.shared import prose
from pages.shared.glossary.links import definitions
from pages.shared.recipe import Print
from transformer_core.errors import ConfigError, mark
from transformer_core.language import say, say_number

HEIGHT = 520  # px
MOST_OPENED = 24  # heads of a cluster that have a button
WAYS = {"looking": mark("attention patterns"), "writing": mark("head outputs")}
WHOSE = {"both": mark("A and B"), "a": mark("A only")}
ABOUT = {
    "looking": mark("Jensen-Shannon distance of their rows (base 2)"),
    "writing": mark("(1 − CKA)^½ of their outputs to the residual stream"),
}
TERMS = {"looking": "jensen-shannon-distance", "writing": "cka"}  # where these are defined


def show(data: ComparisonData) -> None:
    """Draw the choices, the map, and the clusters with their heads."""
    _choices()
    attention = data.a.head.attention
    shared, remark = shared_tokens(data)
    if remark:
        prose.note(remark)
    try:
        found = mapped(data, shared)
    except ConfigError as error:
        prose.note(prose.sentence(error))
        return
    with st.container(key="hl-compare-map"):
        left, right = st.columns([7, 5], gap="medium")
    with left:
        _map(data, found)
    with right, st.container(key="hl-compare-clusters", gap="small"):
        _clusters(data, found)
    words = say(
        "heads of {attention} that are close together behave alike; an isolated head behaves unlike any other. A "
        "cluster is named after the highest mean score of its heads, where that is clear. Distance: {distance}; the "
        "plane shows only part of it.",
        attention=say(ATTENTIONS[attention].inline),
        distance=say(ABOUT[view_fields.ALIKE.value]),
    )
    prose.look_for(words, definitions("head-map", TERMS[view_fields.ALIKE.value]))


def code(data: ComparisonData) -> list[Print]:
    """Return the lines that print what is shown."""
    shared, _ = shared_tokens(data)
    recipes = map_recipes(data, shared)
    return [
        *data.outputs,
        Print(recipes["distances"], "[head, head], in [0, 1]"),
        Print(recipes["laid_out"].points, "[head, axis]"),
        Print(recipes["groups"], "[head]"),
        Print(recipes["names"]),
    ]


def _choices() -> None:
    with st.container(horizontal=True, gap="medium", key="hl-compare-map-bar"):
        for field, names, label in (
            (view_fields.ALIKE, WAYS, say("Compare by")),
            (view_fields.ON_MAP, WHOSE, say("Heads of")),
        ):
            field.segmented(prose.plain(label), [*names], name=lambda name: prose.plain(say({**WAYS, **WHOSE}[name])))


def _short(letter: str, head: HeadName) -> str:
    """Return a head's name as points of the map have it, after the letter of its side where both have points."""
    return f"{letter} L{head.layer}.H{head.head}".strip()


def _map(data: ComparisonData, found: Mapped) -> None:
    labels = [_short(letter if found.is_both else "", head) for letter, head in found.heads]
    names = [f"A: {data.a.name}", f"B: {data.b.name}"] if found.is_both else []
    figure = head_map_figure(
        found.laid_out.points,
        labels,
        words=[f"{letter}: {head_title(head)}" for letter, head in found.heads],
        clusters=found.groups,
        cluster_names=[f"{number + 1}: {_called(name)}" for number, name in enumerate(found.names)],
        models=np.array([letter == "B" for letter, _ in found.heads], dtype=int) if found.is_both else None,
        model_names=names,
        kept=found.laid_out.kept,
        chosen=found.heads.index(("A", data.a.head)),
        title=say("Head map by {way}", way=say(WAYS[view_fields.ALIKE.value])),
        height=HEIGHT,
    )
    data.draw(
        figure,
        name=f"map-{view_fields.ALIKE.value}",
        key="compare-map",
        csv=lambda: matrix_csv(found.distances, "head", labels, "other_head", labels, "distance"),
        arrays=lambda: {"distances": found.distances, "points": found.laid_out.points, "clusters": found.groups},
        code=code(data),
        height=HEIGHT,
    )


def _called(name: ClusterName) -> str:
    """Return the name of a cluster with its score."""
    habit = say(HABITS.get(name.habit, name.habit))
    return habit if name.habit == MIXED or name.mean is None else f"{habit}, {name.mean:.2f}"


def _clusters(data: ComparisonData, found: Mapped) -> None:
    """Draw the clusters, each head with a button that opens it."""
    hues = category_hues(len(found.names))
    for number, (name, hue) in enumerate(zip(found.names, hues, strict=True)):
        members = [head for head, group in zip(found.heads, found.groups.tolist(), strict=True) if group == number]
        prose.html(
            "<div class='hl-compare-cluster'><i style='background:{}'></i>{}: {}<span>{}</span></div>",
            *(hue, number + 1, _called(name), say_number(len(members), "{n} head", "{n} heads")),
        )
        with st.container(horizontal=True, gap="small", key=f"hl-compare-cluster-{number}"):
            for letter, head in members[:MOST_OPENED]:
                st.button(
                    prose.plain(_short(letter if found.is_both else "", head)),
                    key=f"compare-map-{letter}-{view_fields.head_in_words(head)}",
                    help=prose.plain(say("Open {letter}’s {head}", letter=letter, head=head_title(head))),
                    on_click=view_fields.open_on,
                    args=(letter, head),
                )
            if len(members) > MOST_OPENED:
                more = say("and {n} more", n=len(members) - MOST_OPENED)
                prose.html("<span class='hl-small'>{}</span>", more, width="content")
