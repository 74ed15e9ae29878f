"""A map of all heads of A, or of A and B: those that look, or write, alike lie near each other."""

import html

import numpy as np
import streamlit as st

from pages.explore.compare import view_fields
from pages.explore.compare.code import changed, opening
from pages.explore.compare.data import ComparisonData
from pages.explore.compare.mapped import Mapped, mapped, shared_tokens
from pages.explore.compare.sides import head_title
from pages.shared import prose
from pages.shared.glossary.links import definitions
from pages.shared.style import theme
from transformer_core.analysis import ATTENTIONS, HeadName
from transformer_core.analysis.heads.likeness import MIXED, ClusterName
from transformer_core.analysis.heads.table import matrix_csv
from transformer_core.errors import ConfigError, mark
from transformer_core.figures.categories import category_hues
from transformer_core.figures.heatmaps.head_map import head_map_figure
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
CODE = """
from transformer_core.analysis.heads.likeness import clusters, head_map
{imports}

{distances}
print(head_map(distances).points)
print(clusters(distances))
"""


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
        "heads of {attention} that lie close together behave alike; an isolated head does something unique. A "
        "cluster is named after the highest mean score of its heads, where that is clear. Distance: {distance}; the "
        "plane shows only part of it.",
        attention=say(ATTENTIONS[attention].inline),
        distance=say(ABOUT[view_fields.ALIKE.value]),
    )
    prose.look_for(words, definitions("head-map", TERMS[view_fields.ALIKE.value]))


def code(data: ComparisonData) -> str:
    """Return the lines that compute what is shown."""
    shared, _ = shared_tokens(data)
    a, b = data.a.head.attention, data.b.head.attention
    sides = [data.a, data.b] if shared else [data.a]
    labels = [data.labels_in_code(i, repr(attention)) for i, attention in enumerate((a, b))]
    if view_fields.ALIKE.value == "looking":
        imports = "from transformer_core.analysis.texts.side_by_side import SharedTokens, distances_by_looking"
        tokens = f"SharedTokens.of({labels[0]}, {labels[1]})" if shared else None
        given = f"a.attention_maps[{a!r}], {f'b.attention_maps[{b!r}]' if shared else None}, {tokens}"
        distances = f"distances = distances_by_looking({given})  # [head, head], in [0, 1]"
    else:
        imports = (
            "from transformer_core.analysis.heads.outputs import head_outputs\n"
            "from transformer_core.analysis.texts.side_by_side import distances_by_writing\n"
            "from transformer_core.analysis.texts.token_alignment import align_tokens\n"
            "from transformer_core.analysis.trace.traced_forward import tensor_of"
        )
        outputs = [
            line
            for side in sides
            for line in changed(
                side,
                "written_{0} = head_outputs(model_{0}, *(tensor_of(ids, model_{0}) for ids in {0}.inputs))".format(
                    side.letter.lower()
                ),
            )
        ]
        positions = f"align_tokens({labels[0]}[0], {labels[1]}[0])" if shared else None
        given = f"written_a[{a!r}], {f'written_b[{b!r}]' if shared else None}, {positions}"
        distances = "\n".join([*outputs, f"distances = distances_by_writing({given})  # [head, head], (1 - CKA)^0.5"])
    return opening(*sides) + CODE.format(imports=imports, distances=distances)


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
        theme=theme(),
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
    habit = say(name.habit)
    return habit if name.habit == MIXED or name.mean is None else f"{habit}, {name.mean:.2f}"


def _clusters(data: ComparisonData, found: Mapped) -> None:
    """Draw the clusters, each head with a button that opens it."""
    hues = category_hues(len(found.names))
    for number, (name, hue) in enumerate(zip(found.names, hues, strict=True)):
        members = [head for head, group in zip(found.heads, found.groups.tolist(), strict=True) if group == number]
        st.html(
            f"<div class='hl-compare-cluster'><i style='background:{hue}'></i>{number + 1}: "
            f"{html.escape(_called(name))}<span>{say_number(len(members), '{n} head', '{n} heads')}</span></div>"
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
                st.html(f"<span class='hl-small'>{more}</span>", width="content")
