"""Which of the attentions gets which mask: drawn as in the paper's figure 1, each with its mask in small."""

import streamlit as st

from pages.learn.masks import view_fields
from pages.learn.masks.code import which_code
from pages.learn.masks.components.masks.pictures import Miniature, mask_which, sent_name
from pages.learn.masks.data import MasksData, ends
from pages.shared import code_expander, prose
from transformer_core.analysis import ATTENTIONS
from transformer_core.errors import mark
from transformer_core.language import say

WHICH = "masks-which"
USUAL = {  # what the model's own mask is, and why
    "encoder": (
        mark("Padding"),
        mark("An encoder reads the whole text at once: every token may look both ways, and only padding is hidden."),
    ),
    "decoder": (
        mark("Padding × look-ahead"),
        mark("Row i has to say token i + 1. It must not see it, so everything behind the diagonal is hidden."),
    ),
    "cross": (
        mark("Padding of the source"),
        mark("The whole source is known before the first word is written: nothing of it lies in the future."),
    ),
}
JOINS = {"memory": mark("keys and values: the encoder’s output"), "asks": mark("queries: the decoder")}
NOTE = mark(
    "Two well-known mistakes: a look-ahead mask on cross-attention hides the end of the source from the first words; "
    "none on the decoder’s self-attention lets it see the tokens that it has yet to say."
)
LOOK_FOR = mark(
    "the last keys are padding, and forbidden to all queries. Only a decoder’s self-attention hides more. What you "
    "choose here is the attention that all pages look at."
)


def show(data: MasksData) -> None:
    """Draw the part."""
    masks = data.own_masks()
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
                    "mask": say("Mask: as edited ({preset})", preset=say(data.preset.title))
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
        prose.plain(
            say("Edit the mask of this attention: {attention}", attention=say(ATTENTIONS[data.view.attention].inline))
        ),
        key="masks-edit-this",
        on_click=lambda: view_fields.PART.set("edit"),
    )
    prose.look_for(say(LOOK_FOR))
    code_expander.code(lambda: which_code(data))


def _choose() -> None:
    """An attention was chosen; what came from the browser is checked like any input."""
    name = sent_name(WHICH)
    if name is not None and name in ATTENTIONS:
        view_fields.choose_attention(name)
