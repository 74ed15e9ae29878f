"""The mask of each attention, drawn as in the paper's figure 1 with a small picture of each mask."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.language import say
from pages.learn.masks import view_fields
from pages.learn.masks.components.masks import Miniature, mask_which, sent_name
from pages.learn.masks.data import MasksData, ends
from pages.shared import code_expander, prose
from pages.shared.glossary.links import definitions
from pages.shared.recipe import Lines, script, value_of
from transformer_core.errors import mark

WHICH = "masks-which"
USUAL = {  # description of the model's own mask, and the reason for it
    "encoder": (
        mark("Padding"),
        mark("An encoder is bidirectional: each token attends to the whole text, and only padding is masked."),
    ),
    "decoder": (
        mark("Padding × causal"),
        mark("Row i predicts token i + 1 and must not see it, so everything above the diagonal is masked."),
    ),
    "cross": (
        mark("Padding of the source"),
        mark("The whole source is known before generation begins, so none of it is in the future."),
    ),
}
JOINS = {"memory": mark("keys and values: the encoder’s output"), "asks": mark("queries: the decoder")}
EACH = """
for attention, mask in masks.items():
    print(attention, mask.astype(int), sep="\\n")  # [query, key]: 1 where the query may attend
"""
NOTE = mark(
    "Two common mistakes: a causal mask on cross-attention hides the end of the source from the first target tokens; "
    "without one on decoder self-attention, the decoder sees the tokens it has yet to predict."
)
LOOK_FOR = mark(
    "the last keys are padding and masked for all queries. Only decoder self-attention masks more. The attention you "
    "choose here is used on all pages."
)


def show(data: MasksData) -> None:
    """Draw the part."""
    recipe = data.own_masks()
    masks: Mapping[str, np.ndarray] = value_of(recipe)
    items = []
    for name in data.card.attentions:
        of_queries, of_keys = ends(name)
        usual, why = USUAL[name]
        is_edited = data.choice.rule(name).kind != "own" or data.choice.rule(name).turned
        items.append(
            Miniature(
                name=name,
                title=say(ATTENTIONS[name].title),
                cells=masks[name],
                words={
                    "from": say("queries: {side}", side=data.side(of_queries)),
                    "to": say("keys: {side}", side=data.side(of_keys)),
                    "mask": say("Mask: as edited ({preset})", preset=say(data.words.title))
                    if is_edited
                    else say("Mask: {mask}", mask=say(usual)),
                    "why": say(why),
                },
            )
        )
    mask_which(
        items,
        chosen=data.view.attention,
        joins={name: say(text) for name, text in JOINS.items()} if "cross" in data.card.attentions else {},
        note=say(NOTE) if "cross" in data.card.attentions else "",
        key=WHICH,
        on_chosen=_choose,
    )
    st.button(
        prose.plain(say("Edit the mask of {attention}", attention=say(ATTENTIONS[data.view.attention].inline))),
        key="masks-edit-this",
        on_click=lambda: view_fields.PART.set("edit"),
    )
    prose.look_for(say(LOOK_FOR), definitions("self-attention", "cross-attention", "causal-mask"))
    code_expander.code(lambda: script(Lines(EACH, (recipe,))))


def _choose() -> None:
    """Choose the attention that was clicked, if the browser sent a valid name."""
    name = sent_name(WHICH)
    if name is not None and name in ATTENTIONS:
        view_fields.choose_attention(name)
