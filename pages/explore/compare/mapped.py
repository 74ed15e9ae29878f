"""The heads of one side or of both as points of a plane, and the groups that they form."""

from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.explore.compare import view_fields
from pages.explore.compare.data import Arrays, ComparisonData
from pages.explore.compare.sides import Side
from pages.shared import models
from transformer_core.analysis import ATTENTIONS, HeadName
from transformer_core.analysis.heads.likeness import ClusterName, HeadMap, clusters, head_map, name_clusters
from transformer_core.analysis.heads.text_measures import measure_text
from transformer_core.analysis.texts.side_by_side import SharedTokens, distances_by_looking, distances_by_writing
from transformer_core.errors import ConfigError, mark
from transformer_core.language import say

if TYPE_CHECKING:
    from transformer_core.analysis import ModelRun

MOST_WORK = 1_000_000_000  # heads squared times cells of a pattern: some ten seconds
NAMED_FROM = 0.4  # share of attention from which a habit names a cluster
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
    names: tuple[ClusterName, ...]  # of each group

    @property
    def is_both(self) -> bool:
        """Whether the heads of both sides are here."""
        return len({letter for letter, _ in self.heads}) > 1


def shared_tokens(data: ComparisonData) -> tuple[SharedTokens | None, str]:
    """Return the paired tokens of both sides' heads; None, and why, where A is on the map alone."""
    if view_fields.ON_MAP.value == "a":
        return None, ""
    if data.is_same and data.a.head.attention == data.b.head.attention:
        return None, say("A and B are the same model on the same text, so each head appears only once.")
    shared = data.shared(data.a.head.attention, data.b.head.attention)
    if not shared.is_telling:
        return None, say("The two sides share too few tokens for a joint map, so only the heads of A are shown.")
    return shared, ""


def mapped(data: ComparisonData, shared: SharedTokens | None) -> Mapped:
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
    n_queries, n_keys = data.attention_maps()[0].shape[2:]
    if len(heads) ** 2 * n_queries * n_keys > MOST_WORK:
        most = isqrt(MOST_WORK // len(heads) ** 2)
        raise ConfigError(
            "a map of {n} heads is limited to texts of {most} tokens; shorten the text", n=len(heads), most=most
        )
    way = view_fields.ALIKE.value
    attentions = tuple(side.head.attention for side, _ in sides)
    found = data.kept(f"map by {way}", attentions, lambda: {"distances": _distances(data, shared, way)})
    scores = data.kept("habits", attentions, lambda: _scores(sides))
    groups = clusters(found["distances"])
    return Mapped(
        heads=heads,
        distances=found["distances"],
        laid_out=head_map(found["distances"]),
        groups=groups,
        names=name_clusters(groups, scores, NAMED_FROM),
    )


def _distances(data: ComparisonData, shared: SharedTokens | None, way: str) -> np.ndarray:
    a, b = data.attention_maps()
    with st.spinner(say("Comparing all pairs of heads …"), show_time=True):
        if way == "looking":
            return distances_by_looking(a, b if shared else None, shared)
        written_a = _written(*data.sides[0])
        if shared is None:
            return distances_by_writing(written_a, None, None)
        return distances_by_writing(written_a, _written(*data.sides[1]), shared.queries)


def _written(side: Side, model_run: "ModelRun") -> np.ndarray:
    """Return what each head of a side's attention writes on its text, [layer, head, pos, d_model].

    Raises:
        ConfigError: the text is too long.
    """
    from transformer_core.analysis.heads.outputs import head_outputs
    from transformer_core.analysis.trace.traced_forward import tensor_of

    model, _ = side.source.load()
    with models.on(side.source.device), side.source.changed(model):
        return head_outputs(model, *(tensor_of(ids, model) for ids in model_run.inputs))[side.head.attention]


def _scores(sides: "list[tuple[Side, ModelRun]]") -> Arrays:
    """Return how much of each habit each head has, NaN where it has no meaning."""
    measured = []
    for side, model_run in sides:
        attention = side.head.attention
        special = model_run.special[ATTENTIONS[attention].keys_from]
        measured.append(measure_text(model_run.attention_maps[attention], np.array(special), attention=attention))
    names = [name for name in HABITS if all(name in of_side for of_side in measured)]
    return {HABITS[name]: np.concatenate([of_side[name].ravel() for of_side in measured]) for name in names}
