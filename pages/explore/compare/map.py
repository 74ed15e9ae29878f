"""A map of all heads of A, or of A and B: heads with similar patterns, or outputs, lie close together."""

from dataclasses import dataclass
from math import isqrt

import numpy as np
import streamlit as st

from headlight.analysis.heads.likeness import ClusterName, HeadMap, clusters, head_map, name_clusters
from headlight.analysis.heads.measures import HeadName
from headlight.analysis.heads.table import matrix_csv
from headlight.analysis.heads.text_measures import applies, measure_text
from headlight.analysis.texts.side_by_side import distances_by_looking, distances_by_writing
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures.heatmaps.head_map import head_map_figure
from headlight.figures.theme import category_hues
from headlight.language import localized, say, say_number
from pages.explore.compare import view_fields
from pages.explore.compare.data import ComparisonData, kept
from pages.explore.compare.sides import Side
from pages.shared import prose
from pages.shared.glossary.links import definitions
from pages.shared.heads import head_in_words
from pages.shared.recipe import Expression, Print, call, named, value_of
from transformer_core.errors import ConfigError, mark

HEIGHT = 520  # px
MOST_OPENED = 24  # heads of a cluster that have a button
WAYS = {"looking": mark("attention patterns"), "writing": mark("head outputs")}
WHOSE = {"both": mark("A and B"), "a": mark("A only")}
ABOUT = {
    "looking": mark("Jensen-Shannon distance of their rows (base 2)"),
    "writing": mark("(1 − CKA)^½ of their outputs to the residual stream"),
}
TERMS = {"looking": "jensen-shannon-distance", "writing": "cka"}  # glossary entries of the distances
MOST_WORK = 1_000_000_000  # heads squared times cells of a pattern; takes about ten seconds
NAMED_FROM = 0.4  # minimum score at which a habit names a cluster
COMPARING = mark("Comparing all pairs of heads …")
HABITS = {  # text measures that name clusters
    "previous": mark("previous-token heads"),
    "first": mark("attention sinks (first token)"),
    "special": mark("attention sinks (special tokens)"),
    "diagonality": mark("diagonal heads"),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class MappedHeads:
    """The heads of a map, with their distances, positions and clusters."""

    heads: list[tuple[str, HeadName]]  # with the letter of their side
    distances: np.ndarray  # [head, head]
    laid_out: HeadMap
    groups: np.ndarray  # of each head
    names: tuple[ClusterName, ...]  # of each group, by measures of a text

    @property
    def is_both(self) -> bool:
        """Whether the map has heads of both sides."""
        return len({letter for letter, _ in self.heads}) > 1


def show(data: ComparisonData) -> None:
    """Draw the choices, the map, and the clusters with their heads."""
    _choices(has_outputs=not data.is_viewed)
    attention = data.a.head.attention
    shared, remark = shared_tokens(data)
    if remark:
        prose.note(remark)
    try:
        on_map = mapped(data, shared)
    except ConfigError as error:
        prose.note(prose.sentence(error))
        return
    with st.container(key="hl-compare-map"):
        left, right = st.columns([7, 5], gap="medium")
    with left:
        _map(data, on_map)
    with right, st.container(key="hl-compare-clusters", gap="small"):
        _clusters(data, on_map)
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


def _choices(*, has_outputs: bool) -> None:
    """Draw the choices; heads are compared by their outputs only where the core computes them."""
    if not has_outputs:
        view_fields.ALIKE.set("looking")
    by_output = [(view_fields.ALIKE, WAYS, say("Compare by"))] if has_outputs else []
    with st.container(horizontal=True, gap="medium", key="hl-compare-map-bar"):
        for field, names, label in (*by_output, (view_fields.ON_MAP, WHOSE, say("Heads of"))):
            field.segmented(prose.plain(label), [*names], name=lambda name: prose.plain(say({**WAYS, **WHOSE}[name])))


def _short(letter: str, head: HeadName) -> str:
    """Return the label of a head on the map; `letter`: its side, or "" if only one side is shown."""
    return f"{letter} L{head.layer}.H{head.head}".strip()


def _map(data: ComparisonData, on_map: MappedHeads) -> None:
    labels = [_short(letter if on_map.is_both else "", head) for letter, head in on_map.heads]
    names = [f"A: {data.a.name}", f"B: {data.b.name}"] if on_map.is_both else []
    figure = head_map_figure(
        on_map.laid_out.points,
        labels,
        words=[f"{letter}: {head_in_words(*head)}" for letter, head in on_map.heads],
        clusters=on_map.groups,
        cluster_names=[f"{number + 1}: {_called(name)}" for number, name in enumerate(on_map.names)],
        models=np.array([letter == "B" for letter, _ in on_map.heads], dtype=int) if on_map.is_both else None,
        model_names=names,
        kept=on_map.laid_out.kept,
        chosen=on_map.heads.index(("A", data.a.head)),
        title=say("Head map by {way}", way=say(WAYS[view_fields.ALIKE.value])),
        height=HEIGHT,
    )
    data.draw(
        figure,
        name=f"map-{view_fields.ALIKE.value}",
        key="compare-map",
        csv=lambda: matrix_csv(on_map.distances, "head", labels, "other_head", labels, "distance"),
        arrays=lambda: {"distances": on_map.distances, "points": on_map.laid_out.points, "clusters": on_map.groups},
        code=code(data),
    )


def _called(name: ClusterName) -> str:
    if name.habit is None or name.mean is None:
        return say("mixed")
    return f"{say(HABITS[name.habit])}, {localized(name.mean, '.2f')}"


def _clusters(data: ComparisonData, on_map: MappedHeads) -> None:
    """Draw the clusters, each head with a button that opens it."""
    hues = category_hues(len(on_map.names))
    for number, (name, hue) in enumerate(zip(on_map.names, hues, strict=True)):
        members = [head for head, group in zip(on_map.heads, on_map.groups.tolist(), strict=True) if group == number]
        prose.html(
            "<div class='hl-compare-cluster'><i style='background:{}'></i>{}: {}<span>{}</span></div>",
            *(hue, number + 1, _called(name), say_number(len(members), "{n} head", "{n} heads")),
        )
        with st.container(horizontal=True, gap="small", key=f"hl-compare-cluster-{number}"):
            for letter, head in members[:MOST_OPENED]:
                st.button(
                    prose.plain(_short(letter if on_map.is_both else "", head)),
                    key=f"compare-map-{letter}-{view_fields.written_head(head)}",
                    help=prose.plain(say("Open {letter}’s {head}", letter=letter, head=head_in_words(*head))),
                    on_click=view_fields.open_on,
                    args=(letter, head),
                )
            if len(members) > MOST_OPENED:
                more = say("and {n} more", n=len(members) - MOST_OPENED)
                prose.html("<span class='hl-small'>{}</span>", more, width="content")


def shared_tokens(data: ComparisonData) -> tuple[Expression | None, str]:
    """Return the paired tokens of both sides' heads as code; None and the reason if the map shows only A."""
    if view_fields.ON_MAP.value == "a":
        return None, ""
    if data.is_same and data.a.head.attention == data.b.head.attention:
        return None, say("A and B are the same model on the same text, so each head appears only once.")
    shared = data.shared(data.a.head.attention, data.b.head.attention)
    if not value_of(shared).is_telling:
        return None, say("The two sides share too few tokens for a joint map, so only the heads of A are shown.")
    return shared, ""


def mapped(data: ComparisonData, shared: Expression | None) -> MappedHeads:
    """Return all heads of the chosen attentions: A's heads, and B's too if the tokens are paired.

    Raises:
        ConfigError: there are too many heads and tokens.
    """
    heads = [
        (side.letter, HeadName(side.head.attention, *place))
        for side in _sides(data, shared)
        for place in np.ndindex(value_of(side.attention_maps).shape[:2])
    ]
    n_queries, n_keys = value_of(data.a.attention_maps).shape[2:]
    if len(heads) ** 2 * n_queries * n_keys > MOST_WORK:
        most = isqrt(MOST_WORK // len(heads) ** 2)
        raise ConfigError(
            "a map of {n} heads is limited to texts of {most} tokens; shorten the text", n=len(heads), most=most
        )
    return MappedHeads(heads=heads, **value_of(map_recipes(data, shared)))


def map_recipes(data: ComparisonData, shared: Expression | None) -> dict[str, Expression]:
    """Return the fields of `MappedHeads`, except the heads, as code."""
    distances = named("distances", _distances(data, shared))
    groups = named("groups", call(clusters, distances))
    return {
        "distances": distances,
        "laid_out": named("laid_out", call(head_map, distances)),
        "groups": groups,
        "names": named("names", call(name_clusters, groups, _scores(data, shared), NAMED_FROM)),
    }


def _distances(data: ComparisonData, shared: Expression | None) -> Expression:
    from headlight.analysis.heads.outputs import head_outputs

    if view_fields.ALIKE.value == "looking":
        a, b = (side.attention_maps for side in data.sides)
        distances = call(distances_by_looking, a, b if shared else None, shared)
    else:
        a, b = (side.forward("outputs", head_outputs, side.recipe.inputs)[side.head.attention] for side in data.sides)
        distances = call(distances_by_writing, a, b if shared else None, shared.queries if shared else None)
    return kept(distances, waiting=say(COMPARING))


def _scores(data: ComparisonData, shared: Expression | None) -> Expression:
    """Return the score of each head for each habit as code; NaN where it is undefined."""
    sides, measured = _sides(data, shared), []
    attentions = [side.head.attention for side in sides]
    for attention, side in zip(attentions, sides, strict=True):
        special = call(np.array, side.recipe.special[ATTENTIONS[attention].keys_from])
        measures = call(measure_text, side.attention_maps, special, attention=attention)
        measured.append(named(f"measures{side.ending}", measures))
    scores = {
        habit: call(np.concatenate, [of_side[habit].ravel() for of_side in measured])
        for habit in HABITS
        if all(applies(habit, attention) for attention in attentions)
    }
    return kept(call(dict, **scores), waiting=say(COMPARING))


def _sides(data: ComparisonData, shared: Expression | None) -> tuple[Side, ...]:
    """Return the sides whose heads are on the map: A, and B too if the tokens are paired."""
    return data.sides if shared else (data.a,)
