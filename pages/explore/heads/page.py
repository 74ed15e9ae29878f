"""Heads: what does every head attend to in my text?"""

import math

import numpy as np
import streamlit as st

from headlight.analysis.heads.picture import HeadPicture
from headlight.analysis.trace.cells import strongest_cell
from headlight.figures import isolate
from headlight.language import say
from pages.explore.heads import PAGE, across, controls, figure, overview, picture
from pages.explore.heads import cell as heads_cell
from pages.explore.heads.data import HeadsData, terms_of
from pages.shared import code_expander, models, prose
from pages.shared.glossary.links import definitions
from pages.shared.recipe import Print, script
from pages.shared.view import state
from transformer_core.errors import mark

LEAD = mark(
    "The attention patterns of all heads on your text: rows are query tokens, columns are key tokens. Click a head "
    "to inspect it token by token."
)
LEAD_MEDIA = mark(
    "The attention patterns of all heads on an image or a sound: rows are queries, columns are keys, each a patch or a "
    "frame. Click a head to inspect it."
)
MANY_HEADS = 8  # more of them side by side take more of the page
LOOK_FOR_WITHOUT_HEAD = mark(
    "lines next to the diagonal: heads that attend to adjacent tokens; columns that every row attends to, often the "
    "first or last: attention sinks."
)
LOOK_FOR_IN_MEDIA = {
    "image": mark(
        "heads that attend to the patches around the query, as stripes beside the diagonal; heads that attend to one "
        "object or color, wherever the query is; columns that every row attends to, often [CLS] or a plain patch of "
        "the background: attention sinks."
    ),
    "audio": mark(
        "heads that attend to neighboring frames, as a band along the diagonal; blocks: a tone or a pause whose frames "
        "attend to each other; columns that every row attends to: attention sinks."
    ),
}
LOOK_FOR = {  # by architecture and attention
    ("encoder_decoder", "encoder"): mark(
        "words that attend to a word they depend on, such as a pronoun to its noun; lines next to the diagonal: "
        "heads that attend to the previous or next token."
    ),
    ("encoder_decoder", "decoder"): mark(
        "rows that attend back to a word they must agree with. The gray cells are masked: the causal mask hides "
        "later tokens."
    ),
    ("encoder_decoder", "cross"): mark(
        "each row predicts the next target token; its strong cells are the source tokens it attends to. Where they "
        "leave the diagonal, the word order changes."
    ),
    ("decoder_only", "decoder"): mark(
        "a line just below the diagonal: a previous-token head; a strong first column: an attention sink; where the "
        "text repeats, a stripe that points to the token after the first occurrence: an induction head. The gray "
        "cells are masked (causal mask)."
    ),
    ("encoder_only", "encoder"): mark(
        "lines next to the diagonal: heads that attend to adjacent tokens; rows of mask tokens: the context used to "
        "predict the missing word; columns that every row attends to, often the first or last: attention sinks."
    ),
}


@st.fragment
def heads() -> None:
    """Draw the overview, the chosen head and its code; a click on a head reruns only this fragment."""
    card = state.card()
    data = HeadsData.current(card)
    if data is None:
        return
    with st.container(key="hl-stage"):
        left, right = st.columns([5, 7] if card.config.n_heads <= MANY_HEADS else [6, 7], gap="medium")
    with left:
        picture.show(data)
        overview.show(data)
    with right:
        controls.over_head(data)
        with st.container(key="hl-heatmap"):
            shown = figure.show(data)
    look_for(data, shown)
    if shown is not None:
        heads_cell.show(data, shown)
    across.show(data)
    output = [Print(data.recipe.output)] if data.model_run.predicts else []
    code_expander.code(lambda: script(*output, Print(data.recipe_of(data.spec).values, "[query, key]")))
    state.publish()


def look_for(data: HeadsData, shown: HeadPicture | None) -> None:
    """Say what to look for, and which query and key have the largest weight shown."""
    words = LOOK_FOR[data.model_run.architecture, data.view.attention]
    words = words if data.model_run.predicts else LOOK_FOR_WITHOUT_HEAD
    if data.card.medium and data.view.attention != "decoder":
        words = LOOK_FOR_IN_MEDIA[data.card.medium]
    terms = prose.linked(definitions(*terms_of(data)))
    lines: list[str] = [prose.markup("<b>{}</b> {}{}", say("What to look for:"), say(words), terms)]
    guided = data.card.guided_head
    if guided is not None and data.view.attention == "encoder":
        lines.append(say(models.GUIDED, layer=guided[0], head=guided[1]))
    if shown is not None and not np.isfinite(shown.values[shown.mask]).all():
        lines.append(say("The magenta cells are not finite (NaN or ∞)."))
    if shown is not None and shown.blocks is None and data.spec.quantity in ("pattern", "log"):
        cell = strongest_cell(shown.values, shown.mask)
        query, key = (isolate(label[:30]) for label in (shown.queries.labels[cell.query], shown.keys.labels[cell.key]))
        link = say("“{query}” → “{key}” {weight:.2f}", query=query, key=key, weight=cell.value)
        spec = data.spec
        is_whole_head = len(spec.heads) == 1 and not (spec.window or spec.hidden)
        what = say("Maximum weight of this head:") if is_whole_head else say("Maximum weight shown:")
        lines.append(prose.markup("<b>{}</b> {}", what, link if math.isfinite(cell.value) else say("not finite")))
    prose.html("{}", prose.each("<p class='hl-look'>{}</p>", lines))


PAGE.show(LEAD_MEDIA if state.card().medium else LEAD, heads)
