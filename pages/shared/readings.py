"""The cached reading of a text: pages ask here, and the same text is read once."""

import streamlit as st

from pages.shared import models, state
from pages.shared.models import ModelCard
from transformer_core.analysis import Reading, read_translation
from transformer_core.config import ModelConfig

MAX_TOKENS = 64  # of the text and of the output, <eos> included: what a person can still look over


def max_tokens(config: ModelConfig) -> int:
    """Return how many tokens of a text, and of the decoder's input, are looked at."""
    return min(MAX_TOKENS, config.max_seq_len)


@st.cache_data(max_entries=64, show_spinner=False)
def read(path: str, version: str, text: str) -> Reading:
    """Return what the model at `path` says to `text`, and every head's pattern.

    Raises:
        HeadlightError: the model cannot be loaded.
    """
    model, tokenizer = models.load(path, version)
    return read_translation(model, tokenizer, text, max_tokens=max_tokens(model.config))


def current(card: ModelCard) -> Reading | None:
    """Return the reading of the view's text, or None where there is nothing to read.

    Raises:
        HeadlightError: the model cannot be loaded.
    """
    text = state.current().text
    return read(card.path, card.version, text) if text else None
