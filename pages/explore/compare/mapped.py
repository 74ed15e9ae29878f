"""The heads of one side or of both as points of a plane, and the groups that they form."""

from dataclasses import dataclass
from math import isqrt

import numpy as np

from headlight.analysis.heads.likeness import ClusterName, HeadMap, clusters, head_map, name_clusters
from headlight.analysis.heads.measures import HeadName
from headlight.analysis.heads.text_measures import MEASURES, measure_text
from headlight.analysis.texts.side_by_side import distances_by_looking, distances_by_writing
from headlight.analysis.trace.attentions import ATTENTIONS
from pages.explore.compare import view_fields
from pages.explore.compare.data import ComparisonData, kept
from pages.shared.recipe import Expression, call, named, value_of
from transformer_core.errors import ConfigError, mark
from transformer_core.language import say

MOST_WORK = 1_000_000_000  # heads squared times cells of a pattern: some ten seconds
NAMED_FROM = 0.4  # share of attention from which a habit names a cluster
COMPARING = mark("Comparing all pairs of heads …")
HABITS = {  # measures of a text that are habits
    "previous": mark("previous-token heads"),
    "first": mark("attention sinks (first token)"),
    "special": mark("attention sinks (special tokens)"),
    "diagonality": mark("diagonal heads"),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Mapped:
    """The heads of a map, and what is known of them."""

    heads: list[tuple[str, HeadName]]  # with the letter of their side
    distances: np.ndarray  # [head, head]
    laid_out: HeadMap
    groups: np.ndarray  # of each head
    names: tuple[ClusterName, ...]  # of each group, by measures of a text

    @property
    def is_both(self) -> bool:
        """Whether the heads of both sides are here."""
        return len({letter for letter, _ in self.heads}) > 1


def shared_tokens(data: ComparisonData) -> tuple[Expression | None, str]:
    """Return the paired tokens of both sides' heads as code; None, and why, where A is on the map alone."""
    if view_fields.ON_MAP.value == "a":
        return None, ""
    if data.is_same and data.a.head.attention == data.b.head.attention:
        return None, say("A and B are the same model on the same text, so each head appears only once.")
    shared = data.shared(data.a.head.attention, data.b.head.attention)
    if not value_of(shared).is_telling:
        return None, say("The two sides share too few tokens for a joint map, so only the heads of A are shown.")
    return shared, ""


def mapped(data: ComparisonData, shared: Expression | None) -> Mapped:
    """Return all heads of the chosen attentions: those of A, and with paired tokens those of B too.

    Raises:
        ConfigError: there are too many heads and tokens.
    """
    sides = [*data.sides] if shared else [data.sides[0]]
    heads = [
        (side.letter, HeadName(side.head.attention, *place))
        for side, model_run in sides
        for place in np.ndindex(model_run.attention_maps[side.head.attention].shape[:2])
    ]
    n_queries, n_keys = value_of(data.attention_maps()[0]).shape[2:]
    if len(heads) ** 2 * n_queries * n_keys > MOST_WORK:
        most = isqrt(MOST_WORK // len(heads) ** 2)
        raise ConfigError(
            "a map of {n} heads is limited to texts of {most} tokens; shorten the text", n=len(heads), most=most
        )
    return Mapped(heads=heads, **value_of(map_recipes(data, shared)))


def map_recipes(data: ComparisonData, shared: Expression | None) -> dict[str, Expression]:
    """Return the fields of `Mapped` as code, but for the heads."""
    distances = named("distances", _distances(data, shared))
    groups = named("groups", call(clusters, distances))
    return {
        "distances": distances,
        "laid_out": named("laid_out", call(head_map, distances)),
        "groups": groups,
        "names": named("names", call(name_clusters, groups, _scores(data, shared), NAMED_FROM)),
    }


def _distances(data: ComparisonData, shared: Expression | None) -> Expression:
    """Return how far apart each two heads are."""
    from headlight.analysis.heads.outputs import head_outputs

    way = view_fields.ALIKE.value
    if way == "looking":
        a, b = data.attention_maps()
        distances = call(distances_by_looking, a, b if shared else None, shared)
    else:
        a, b = (
            side.forward("outputs", head_outputs, model_run.inputs)[side.head.attention]
            for side, model_run in data.sides_in_code
        )
        queries = shared.queries if shared else None
        distances = call(distances_by_writing, a, b if shared else None, queries)
    return kept(distances, waiting=say(COMPARING))


def _scores(data: ComparisonData, shared: Expression | None) -> Expression:
    """Return how much of each habit each head has, NaN where it has no meaning."""
    attentions = _attentions(data, shared)
    measured = []
    for attention, (side, model_run) in zip(attentions, data.sides_in_code, strict=False):
        special = call(np.array, model_run.special[ATTENTIONS[attention].keys_from])
        measures = call(measure_text, model_run.attention_maps[attention], special, attention=attention)
        measured.append(named(f"measures{side.ending}", measures))
    scores = {
        habit: call(np.concatenate, [of_side[habit].ravel() for of_side in measured])
        for habit in HABITS
        if all(map(MEASURES[habit].applies, attentions))
    }
    return kept(call(dict, **scores), waiting=say(COMPARING))


def _attentions(data: ComparisonData, shared: Expression | None) -> list[str]:
    """Return whose heads are on the map: the attention of A, and with paired tokens that of B."""
    return [side.head.attention for side in (data.a, data.b)][: 2 if shared else 1]
