"""Dropout as an optional step of the pictures of a forward pass: its switch, its seed, and what it does."""

import streamlit as st

from headlight.analysis.trace.dropout import rates_of
from headlight.language import localized, say
from pages.shared import prose
from pages.shared.glossary.links import definitions
from pages.shared.view.fields import Field, one_of, whole
from transformer_core.config import ModelConfig
from transformer_core.errors import mark

MOST_SEED = 9_999
_SHOWN = Field("dropout_step", "dropout", "", one_of("", "shown"))
SEED = Field("dropout_step", "mask", 0, whole(range(MOST_SEED + 1)))
FIELDS = (_SHOWN, SEED)

DOES = mark(
    "In training, dropout sets each number to 0 with probability p and multiplies the others by 1 / (1 − p); a new "
    "mask is drawn in each step, here with this seed. At inference dropout is the identity, so all other steps "
    "compute with the numbers before it."
)
RATES = mark("This model: p = {outputs} on sub-layer outputs and embeddings, p = {pattern} on attention patterns.")
NO_DROPOUT = mark("This model’s dropout is 0. Shown is the paper’s rate, p = {outputs}, as if it were trained with it.")


def is_shown() -> bool:
    """Whether the step is shown."""
    return bool(_SHOWN.value)


def controls(config: ModelConfig) -> None:
    """Draw the switch and, if it is on, the seed of the masks and what dropout does.

    Args:
        config: of the model.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="hl-dropout"):
        _SHOWN.toggle(say("Show dropout"), shown=is_shown(), take=lambda is_on: _SHOWN.set("shown" if is_on else ""))
        if is_shown():
            prose.label(say("Seed"))
            SEED.number(say("Seed"), 0, MOST_SEED, label_visibility="collapsed", width=96)
    if is_shown():
        rates = rates_of(config)
        words = {"outputs": localized(rates.outputs, "g"), "pattern": localized(rates.pattern, "g")}
        prose.paragraph(f"{say(DOES)} {say(RATES if rates.is_own else NO_DROPOUT, **words)}", definitions("dropout"))
