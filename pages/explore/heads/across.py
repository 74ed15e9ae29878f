"""Across layers: from which input tokens the final state of each position may come."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from headlight.analysis.heads.table import pattern_arrays, pattern_csv
from headlight.figures import TokenGrid, attention_heatmap
from headlight.language import say
from pages.explore.heads import view_fields
from pages.explore.heads.data import HeadsData
from pages.shared import cache, prose
from pages.shared.drawing import draw
from pages.shared.glossary.links import definitions
from pages.shared.heads import SIDE_NAMES
from pages.shared.recipe import Expression, Print, call, named, value_of
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.flow.rollout import Method, Part

ABREAST = 2  # figures in a row
USUAL = "rollout"
TITLES = {"rollout": mark("Attention rollout"), "flow": mark("Attention flow")}
ASSUMPTIONS = {
    "rollout": mark(
        "Rollout averages the heads of a layer, weights the residual stream by ½ in every layer, and ignores "
        "feed-forward layers and value norms: it tracks attention, not what the model computes from it."
    ),
    "flow": mark(
        "Flow averages the heads of a layer, weights the residual stream by ½ in every layer, and ignores feed-forward "
        "layers and value norms. It is the maximum flow from each token on its own, so a row can sum to more than 1."
    ),
}
TOO_LONG = {
    "rollout": mark("Attention rollout is limited to texts of {most} tokens; this one has {n:,}. Use a shorter text."),
    "flow": mark(
        "Attention flow is limited to texts of {most} tokens; this one has {n:,}. Use a shorter text, or attention "
        "rollout."
    ),
}
FOLLOWING = {
    "rollout": mark("Computing attention rollout …"),
    "flow": mark("Computing attention flow …"),
}


def show(data: HeadsData) -> None:
    """Draw the attention accumulated across layers, if the section is expanded."""
    with view_fields.ACROSS.expander(
        say("Attention rollout and flow"),
        icon=":material/layers:",
        shown=bool(view_fields.ACROSS.value),
        take=lambda is_open: view_fields.ACROSS.set(USUAL if is_open else ""),
        part="unfolded",
    ):
        if not view_fields.ACROSS.value:
            return
        view_fields.ACROSS.segmented(say("Method"), [*TITLES], name=lambda name: say(TITLES[name]))
        _draw(data, view_fields.ACROSS.value)


def _draw(data: HeadsData, method: "Method") -> None:
    """Draw a map of final positions by input tokens for each pair of sides, such as source to target."""
    from headlight.analysis.flow.rollout import MOST_TOKENS, follow

    n_tokens = max(max(attention_maps.shape[2:]) for attention_maps in data.model_run.attention_maps.values())
    if n_tokens > MOST_TOKENS[method]:
        prose.note(say(TOO_LONG[method], most=MOST_TOKENS[method], n=n_tokens))
        return
    result = named("parts", cache.kept(mark("attention rollout and flow"), call(follow, data.recipe, method)))
    with st.spinner(say(FOLLOWING[method]), show_time=True):
        parts = value_of(result)
    for first in range(0, len(parts), ABREAST):
        for place, column in enumerate(st.columns(ABREAST, gap="medium"), first):
            if place < len(parts):
                with column:
                    _part(data, method, parts[place], result[place])
    about = prose.markup("<b>{}</b> {}", say("Assumptions:"), say(ASSUMPTIONS[method]))
    prose.paragraph(about, definitions("attention-rollout", "attention-flow"))


def _part(data: HeadsData, method: str, part: "Part", expression: Expression) -> None:
    """Draw a part; `expression` is its recipe."""
    names = {side: say(SIDE_NAMES[data.model_run.architecture, side]) for side in (part.of, part.side)}
    queries, keys = getattr(data.model_run, part.of), getattr(data.model_run, part.side)
    title = say("{method}: {side} → {of}", method=say(TITLES[method]), of=names[part.of], side=names[part.side])
    grid = call(
        TokenGrid,
        getattr(data.recipe, part.of),
        getattr(data.recipe, part.side),
        query_name=say("final states ({of})", of=names[part.of]),
        key_name=say("inputs ({of})", of=names[part.side]),
    )
    table = (part.values.astype(np.float32), queries, keys, part.mask)
    draw(
        call(attention_heatmap, expression.values.astype(np.float32), grid, title=title, mask=expression.mask),
        Print(expression.values, "[query, key]"),
        title=title,
        name=f"{data.view.model}-{method}-{part.of}-{part.side}",
        key=f"heads-across-{part.of}-{part.side}",
        csv=lambda: pattern_csv(*table),
        arrays=lambda: pattern_arrays(*table),
        model=data.card.path,
        height=None,
    )
