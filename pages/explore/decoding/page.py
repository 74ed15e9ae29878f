"""Decoding: how does the output come about, token by token, and what else could it have said?"""

from typing import Any

import streamlit as st

from headlight.language import say
from pages.explore.decoding import alignment, beams, blanks, rows, teacher, tree, view_fields, viewed
from pages.explore.decoding import cache as decoding_cache
from pages.explore.decoding.components import candidates, writing
from pages.explore.decoding.data import DecodingData
from pages.shared import code_expander, prose, ticking
from pages.shared.answer import NO_HEAD, NO_MASK
from pages.shared.models import ModelCard
from pages.shared.recipe import script
from pages.shared.view import state
from transformer_core.errors import HeadlightError, mark

LEAD = mark(
    "The model generates one token at a time, each chosen from a distribution over its vocabulary. Stop anywhere, "
    "see what it attends to, and continue with a different token."
)
LEAD_BLANKS = mark(
    "This encoder-only model predicts all blanks at once. Here they are filled one at a time, the most confident "
    "first, and each one changes the predictions for the others."
)
LOOK_FOR = {
    "encoder_decoder": mark(
        "just before a token is generated, the source word it translates and the words it must agree with receive "
        "attention. Where two candidates are almost equally probable, choose the other one and see how the "
        "continuation changes."
    ),
    "decoder_only": mark(
        "earlier names and words receive attention just before they are repeated. Where many candidates are almost "
        "equally probable, the story is open: choose another one and see where it goes."
    ),
}
PARTS: dict[str, tuple[str, Any]] = {  # title and drawing function of each part on the right
    "heads": (mark("Heads"), rows),
    "alignment": (mark("Alignment"), alignment),
    "tree": (mark("Branches"), tree),
    "beams": (mark("Beam search"), beams),
    "cache": (mark("KV cache"), decoding_cache),
    "led": (mark("Teacher forcing"), teacher),
}


def page() -> None:
    """Draw the page, in the order of all pages."""
    view, card = state.current(), state.card()
    is_blanks = card.config.architecture == "encoder_only"
    lead = viewed.lead(card) if card.is_viewed else say(LEAD_BLANKS if is_blanks else LEAD)
    prose.heading(say("Decoding"), lead)
    if not view.text:
        return
    if card.is_viewed:
        viewed.show()
        return
    if not card.config.unembed:
        prose.note(say(NO_HEAD))
        return
    if is_blanks and card.reads_ids:
        prose.note(say(NO_MASK))
        return
    if is_blanks:
        blanks.show(card, view.source(card, continues=card.continues), view.text)
        return
    decoding()


@ticking.fragment
def decoding() -> None:
    """Draw the text as it is written, and the parts of this step; a step reruns only this fragment."""
    card = state.card()
    data = _data(card)
    if data is None:
        return
    writing.show(data)
    _remarks(data)
    with st.container(key="hl-decoding"):
        left, right = st.columns([5, 6], gap="medium")
    with left:
        candidates.show(data)
    with right:
        part = PARTS[_part(data)][1]
        part.show(data)
    _look_for(data)
    with st.popover(say("Show as plain text"), type="tertiary", icon=":material/notes:"):
        st.code(data.text_of([step.token for step in data.branch]), language=None, wrap_lines=True)
    code_expander.code(lambda: script(*data.printed, *part.code(data)))
    state.publish()


def _data(card: ModelCard) -> DecodingData | None:
    """Return the data of the page; if the address is invalid, say so and offer to start again."""
    try:
        return DecodingData.current(card)
    except HeadlightError as error:
        prose.warning(say("This text cannot be continued: {error}.", error=error))
        st.button(say("Start over"), on_click=view_fields.start_again, type="primary")
        return None


def _part(data: DecodingData) -> str:
    """Draw the choice of the part beside the candidates, and return the part."""
    parts = [name for name in PARTS if name != "alignment" or data.card.config.has_encoder]
    part: str = view_fields.PART.value if view_fields.PART.value in parts else parts[0]
    with st.container(horizontal=True, vertical_alignment="bottom", key="hl-decoding-choices"):
        view_fields.PART.segmented(say("Show"), parts, name=lambda name: say(PARTS[name][0]), shown=part)
        view_fields.choose_aim(data.card.config.n_decoder_layers, data.card.config.n_heads)
    return part


def _remarks(data: DecodingData) -> None:
    """Say what was cut off or replaced, and offer to continue at the limit."""
    if data.left_out:
        prose.note(say("The text is too long; only its first {n:,} tokens are used.", n=data.left_out.start))
    if view_fields.MADE_ROOM.pop():
        prose.note(
            say(
                "At most {n} branches are kept, so this one replaced the last. Your browser’s Back button returns "
                "to it.",
                n=view_fields.MOST_BRANCHES,
            )
        )
    if data.is_at_limit:
        st.button(say("Generate {n} more tokens", n=view_fields.LIMIT_STEP), on_click=view_fields.allow_more)


def _look_for(data: DecodingData) -> None:
    prose.look_for(say(LOOK_FOR[data.card.config.architecture]))
    st.page_link(
        "learn/steps/page.py",
        label=say("Temperature divides the logits before the softmax, just as √d_k divides the attention scores"),
        icon=":material/thermostat:",
        query_params={state.MODEL.key: data.card.name, **state.text_parameters(), "stage": "scale"},
    )


page()
