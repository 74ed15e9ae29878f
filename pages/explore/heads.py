"""Heads: what does every head attend to in my text?"""

import html
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.shared import code, components, models, overviews, readings, state
from pages.shared.models import ModelCard
from pages.shared.state import View
from transformer_core.analysis import ATTENTIONS, pattern_csv
from transformer_core.figures import THEMES, attention_heatmap, isolate

if TYPE_CHECKING:
    from transformer_core.analysis import Reading

LEAD = (
    "Every head of every layer, on your text. In each picture a row is a token that asks (query) and a column a token "
    "that it may look at (key). Choose a head to read it token by token."
)
MANY_HEADS = 8  # more of them side by side take more of the page
NAMES = {  # of queries and keys, by architecture and by where they come from
    ("encoder_decoder", "source"): "the text",
    ("encoder_decoder", "target"): "the decoder's input",
    ("decoder_only", "target"): "the text",
    ("encoder_only", "source"): "the text",
}
LOOK_FOR = {  # by architecture and attention
    ("encoder_decoder", "encoder"): "words that fetch what they depend on, as a pronoun its noun; lines beside the "
    "diagonal look one word back or ahead.",
    ("encoder_decoder", "decoder"): "rows that reach back to a word that they must agree with. No row may look to its "
    "right: the gray cells lie in the future.",
    ("encoder_decoder", "cross"): "each row is about to write the next word, and its strong cells are where it reads; "
    "steps off the diagonal change the word order.",
    ("decoder_only", "decoder"): "a line just below the diagonal: each token looks at the one before it; a dark first "
    "column: a head with nothing to fetch rests there; where something is said twice, a stripe in the second half that "
    "points to what came after it the first time (induction). The gray cells lie in the future.",
    ("encoder_only", "encoder"): "lines beside the diagonal look at the neighbours; the rows of the masks gather what "
    "speaks for the missing word; columns that every row looks at, often the ends, are where heads rest.",
}
CODE = """
site = {site!r}
with torch.inference_mode(), tc.capture(model, site) as acts:
    {logits}model({inputs})
pattern = acts[site][0, {head}]  # [query, key]: head {head} of layer {layer}

{said}print(pattern)
"""
SAID = {
    "encoder_decoder": "print(tokenizer.decode(tokens[0]))\n",
    "decoder_only": "print(tokenizer.decode(tokens[0]))\n",
    "encoder_only": "best = logits[0].argmax(dim=-1)\nprint(tokenizer.labels(best[tokens[0] == tokenizer.mask_id]))\n",
}


def page() -> None:
    """Draw the page, in the order of all pages."""
    st.html(f"<h1 class='hl-title'>Heads</h1><p class='hl-lead'>{html.escape(LEAD)}</p>")
    if state.current().text:
        heads()


@st.fragment
def heads() -> None:
    """Draw the overview, the chosen head and its code; a click on a head draws only this again."""
    card = models.available()[state.current().model]
    state.fit(card)
    view, reading = state.current(), readings.current(card)
    if reading is None:
        return
    with st.container(key="hl-stage"):
        left, right = st.columns([5, 7] if card.config.n_heads <= MANY_HEADS else [6, 7], gap="medium")
    with left, st.container(key="hl-overview"):
        overview(card, view)
    with right, st.container(key="hl-heatmap"):
        heatmap(view, reading)
    look_for(view, reading)
    with st.expander("Show the code", icon=":material/code:"):
        st.code(code_of(card, view, reading), language="python")
    state.publish()


def overview(card: ModelCard, view: View) -> None:
    """Draw all heads of every attention that the model has."""
    what = (card.path, card.version, view.text, view.target, view.device, view.precision)
    groups, thumbnails = overview_of(*what)
    components.head_overview(
        groups=groups,
        levels=thumbnails,
        chosen={state.ATTENTION: view.attention, state.LAYER: view.layer, state.HEAD: view.head},
        version=repr(what),
        key=state.OVERVIEW,
        on_chosen=state.on_head,
    )


@st.cache_data(max_entries=64, show_spinner=False)
def overview_of(
    path: str, version: str, text: str, target: str | None, device: str, precision: str
) -> tuple[list[dict[str, Any]], bytes]:
    """Return what the overview shows: its groups, and one byte a cell."""
    return overviews.of(readings.read(path, version, text, target, device, precision))


def heatmap(view: View, reading: "Reading") -> None:
    """Draw the chosen head."""
    attention = ATTENTIONS[view.attention]
    queries, keys = reading.labels(view.attention)
    pattern, mask = reading.patterns[view.attention][view.layer, view.head], reading.masks[view.attention]
    figure = attention_heatmap(
        pattern,
        queries,
        keys,
        title=f"Attention pattern: {attention.title.lower()}, layer {view.layer}, head {view.head}",
        mask=mask,
        query_name=f"query: {NAMES[reading.architecture, attention.queries_from]}",
        key_name=f"key: {NAMES[reading.architecture, attention.keys_from]}{own_part(reading)}",
        theme=THEMES.get(st.context.theme.type or "light", THEMES["light"]),
    )
    components.live_figure(
        figure,
        name=f"{view.model}-{view.attention}-layer{view.layer}-head{view.head}",
        csv=pattern_csv(pattern, queries, keys, mask),
        key=state.HEATMAP,
    )


def own_part(reading: "Reading") -> str:
    """Return where in the text the model began to write, if it went on from a prompt."""
    written = reading.target[reading.n_given :]
    if reading.architecture != "decoder_only" or not written:
        return ""
    return f", the model’s own from {reading.n_given} “{isolate(written[0])}” on"


def look_for(view: View, reading: "Reading") -> None:
    """Say in one line what is worth looking for, and this head's strongest link."""
    link = overviews.strongest_link(reading, view.attention, view.layer, view.head)
    st.html(
        f"<p class='hl-look'><b>What to look for:</b> {html.escape(LOOK_FOR[reading.architecture, view.attention])}</p>"
        f"<p class='hl-look'><b>The strongest link of this head:</b> {html.escape(link)}</p>"
    )


def code_of(card: ModelCard, view: View, reading: "Reading") -> str:
    """Return the lines that compute the chosen pattern."""
    has_said = reading.architecture != "encoder_only" or bool(reading.blanks)
    return code.opening(card, view, reading) + CODE.format(
        site=ATTENTIONS[view.attention].site(view.layer),
        inputs=code.INPUTS[reading.architecture],
        logits="logits = " if reading.blanks else "",
        layer=view.layer,
        head=view.head,
        said=SAID[reading.architecture] if has_said else "",
    )


page()
