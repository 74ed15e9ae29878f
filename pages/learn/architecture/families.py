"""The three families of Transformers: their stacks and masks, the models that people know, and one to open of each."""

from dataclasses import dataclass

import streamlit as st

from headlight.figures.theme import PART_HUES
from headlight.language import say
from pages.learn.architecture.data import ArchitectureData
from pages.shared import models, prose
from pages.shared.view import state
from transformer_core.config import Architecture
from transformer_core.errors import mark

SIZE = 5  # tokens in the masks
LOOK = mark(
    "except for cross-attention, only the mask tells the stacks apart: a query, one row, may attend to the filled "
    "cells. A decoder may not look ahead, since it has to predict what comes there."
)
SELF, MASKED, CROSS, FEED_FORWARD = (
    mark("Self-attention"),
    mark("Causal self-attention"),
    mark("Cross-attention"),
    mark("Feed-forward"),
)
MASKS = {  # of an attention: its name, and the hue of its part
    SELF: (mark("every token attends to every token"), "self-attention"),
    MASKED: (mark("every token attends to itself and earlier tokens"), "self-attention"),
    CROSS: (mark("every target token attends to every source token"), "cross-attention"),
}


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A stack of a family."""

    title: str
    reads: str
    gives: str
    parts: tuple[str, ...]  # of a block, from the input up


@dataclass(frozen=True, kw_only=True)
class Family:
    """Models with the same stacks."""

    title: str
    known: str  # models that people know
    does: str
    stacks: tuple[Stack, ...]


FAMILIES: dict[Architecture, Family] = {
    "encoder_only": Family(
        title=mark("Encoder-only"),
        known="BERT, RoBERTa, ELECTRA, DistilBERT, ModernBERT",
        does=mark("Trained to fill in masked tokens; used to classify texts, label tokens and search."),
        stacks=(
            Stack(
                title=mark("Encoder"),
                reads=mark("text with [MASK]"),
                gives=mark("masked tokens"),
                parts=(SELF, FEED_FORWARD),
            ),
        ),
    ),
    "decoder_only": Family(
        title=mark("Decoder-only"),
        known="GPT-2, Llama, Qwen, Gemma, Mistral",
        does=mark("Trained to predict the next token; used to continue a text, in chats and assistants."),
        stacks=(
            Stack(
                title=mark("Decoder"),
                reads=mark("text so far"),
                gives=mark("next token"),
                parts=(MASKED, FEED_FORWARD),
            ),
        ),
    ),
    "encoder_decoder": Family(
        title=mark("Encoder-decoder"),
        known="Transformer (2017), T5, BART, Marian, Whisper",
        does=mark("Trained on pairs of source and target; used to translate, summarize and transcribe speech."),
        stacks=(
            Stack(
                title=mark("Encoder"),
                reads=mark("source"),
                gives=mark("memory →"),
                parts=(SELF, FEED_FORWARD),
            ),
            Stack(
                title=mark("Decoder"),
                reads=mark("target so far"),
                gives=mark("next token"),
                parts=(MASKED, CROSS, FEED_FORWARD),
            ),
        ),
    ),
}


def show(data: ArchitectureData) -> None:
    """Draw the families side by side; that of the shown model is marked."""
    there = models.available()
    with st.container(key="hl-arch-families"):
        columns = st.columns([4, 4, 5], gap="small")
    for column, (architecture, family) in zip(columns, FAMILIES.items(), strict=True):
        is_own = architecture == data.card.config.architecture
        with column:
            prose.html(
                "<section class='hl-arch-family {}'><h2>{}{}</h2><p>{}</p><div>{}</div><p class='hl-small'>{}</p>"
                "</section>",
                "hl-arch-own" if is_own else "",
                say(family.title),
                prose.markup("<span>{}</span>", say("this model")) if is_own else "",
                family.known,
                prose.joined("", map(_stack, family.stacks)),
                say(family.does),
            )
            other = next((card for card in there.values() if card.config.architecture == architecture), None)
            if other is not None and not is_own:
                st.page_link(
                    "learn/start/page.py",
                    label=prose.plain(other.label),
                    icon=":material/play_circle:",
                    query_params={state.MODEL.key: other.name},
                )


def _stack(stack: Stack) -> prose.Markup:
    """Draw a stack from its input, at the bottom, to its output."""
    return prose.markup(
        "<div class='hl-arch-tower'><i>{}</i><div><b>{} <small>N ×</small></b>{}</div><i>{}</i></div>",
        say(stack.gives),
        say(stack.title),
        prose.joined("", (_part(part) for part in reversed(stack.parts))),
        say(stack.reads),
    )


def _part(part: str) -> prose.Markup:
    """Draw a sub-layer, with its mask if it is an attention."""
    about, hue = MASKS.get(part, ("", "feed-forward"))
    cells = ["on" if part != MASKED or key <= query else "" for query in range(SIZE) for key in range(SIZE)]
    grid = prose.markup(
        "<span role='img' aria-label='{}' title='{}'>{}</span>",
        *[say(about) if about else ""] * 2,
        prose.each("<s class='{}'></s>", cells),
    )
    return prose.markup(
        "<div style='--hl-hue:{}'><span>{}</span>{}</div>", PART_HUES[hue], say(part), grid if about else ""
    )
