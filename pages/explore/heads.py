"""Heads: what does every head attend to in my text?"""

import html
from typing import Any

import streamlit as st

from pages.shared import components, models, readings, state
from pages.shared.models import ModelCard
from pages.shared.state import View
from transformer_core.analysis import ATTENTIONS, Reading, pattern_csv, strongest_cell
from transformer_core.figures import THEMES, attention_heatmap, isolate, levels

LEAD = (
    "Every head of every layer, on your text. In each picture a row is a token that asks (query) and a column a token "
    "that it may look at (key). Choose a head to read it token by token."
)
NAMES = {"source": "the text", "target": "the decoder's input"}
LOOK_FOR = {
    "encoder": "words that fetch what they depend on, as a pronoun its noun; lines beside the diagonal look one word "
    "back or ahead.",
    "decoder": "rows that reach back to a word that they must agree with. No row may look to its right: the gray cells "
    "lie in the future.",
    "cross": "each row is about to write the next word, and its strong cells are where it reads; steps off the "
    "diagonal change the word order.",
}
CODE = """\
import torch

import transformer_core as tc

model, tokenizer = tc.load({path!r})
src = torch.tensor([{source}])
tokens = tc.greedy_decode(model, src, max_new_tokens={n_new}).tokens  # [batch, pos], <bos> first

site = {site!r}
with torch.inference_mode(), tc.capture(model, site) as acts:
    model(src, tokens[:, :-1])
pattern = acts[site][0, {head}]  # [query, key]: head {head} of layer {layer}

print(tokenizer.decode(tokens[0].tolist()))
print(pattern)
"""


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
        left, right = st.columns([5, 7], gap="medium")
    with left, st.container(key="hl-overview"):
        overview(card, view)
    with right, st.container(key="hl-heatmap"):
        heatmap(view, reading)
    look_for(view, reading)
    with st.expander("Show the code", icon=":material/code:"):
        st.code(code(card, view, reading), language="python")
    state.publish()


def overview(card: ModelCard, view: View) -> None:
    """Draw all heads of the three attentions."""
    groups, thumbnails = overview_of(card.path, card.version, view.text)
    components.head_overview(
        groups=groups,
        levels=thumbnails,
        chosen={state.ATTENTION: view.attention, state.LAYER: view.layer, state.HEAD: view.head},
        version=f"{card.path} {card.version} {view.text}",
        key=state.OVERVIEW,
        on_chosen=state.on_head,
    )


@st.cache_data(max_entries=64, show_spinner=False)
def overview_of(path: str, version: str, text: str) -> tuple[list[dict[str, Any]], bytes]:
    """Return what the overview shows: its groups, and one byte a cell."""
    reading = readings.read(path, version, text)
    groups, thumbnails = [], b""
    for name, patterns in reading.patterns.items():
        n_layers, n_heads, n_queries, n_keys = patterns.shape
        groups.append(
            {
                "attention": name,
                "title": ATTENTIONS[name].title,
                "layers": n_layers,
                "heads": n_heads,
                "queries": n_queries,
                "keys": n_keys,
                "strongest": [
                    [strongest_link(reading, name, layer, head) for head in range(n_heads)] for layer in range(n_layers)
                ],
            }
        )
        thumbnails += levels(patterns, reading.masks[name]).tobytes()
    return groups, thumbnails


def heatmap(view: View, reading: Reading) -> None:
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
        query_name=f"query: {NAMES[attention.queries_from]}",
        key_name=f"key: {NAMES[attention.keys_from]}",
        theme=THEMES.get(st.context.theme.type or "light", THEMES["light"]),
    )
    components.live_figure(
        figure,
        name=f"{view.model}-{view.attention}-layer{view.layer}-head{view.head}",
        csv=pattern_csv(pattern, queries, keys, mask),
        key=state.HEATMAP,
    )


def look_for(view: View, reading: Reading) -> None:
    """Say in one line what is worth looking for, and this head's strongest link."""
    link = strongest_link(reading, view.attention, view.layer, view.head)
    st.html(
        f"<p class='hl-look'><b>What to look for:</b> {html.escape(LOOK_FOR[view.attention])}</p>"
        f"<p class='hl-look'><b>The strongest link of this head:</b> {html.escape(link)}</p>"
    )


def strongest_link(reading: Reading, attention: str, layer: int, head: int) -> str:
    """Return the head's largest weight in words."""
    queries, keys = reading.labels(attention)
    cell = strongest_cell(reading.patterns[attention][layer, head], reading.masks[attention])
    query, key = isolate(queries[cell.query][:30]), isolate(keys[cell.key][:30])
    return f"“{query}” → “{key}” {cell.value:.2f}"


def code(card: ModelCard, view: View, reading: Reading) -> str:
    """Return the lines that compute the chosen pattern, to be run at the project's root."""
    n_read = len(reading.source) - 1
    whole = f"tokenizer.encode({view.text!r}, eos=True)"
    cut = f"tokenizer.encode({view.text!r})[:{n_read}] + [tokenizer.eos_id]"
    return CODE.format(
        path=card.path,
        source=cut if reading.n_left_out else whole,
        n_new=readings.max_tokens(card.config) - 1,
        site=ATTENTIONS[view.attention].site(view.layer),
        layer=view.layer,
        head=view.head,
    )


page()
