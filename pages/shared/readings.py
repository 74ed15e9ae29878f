"""The cached reading of a text: pages ask here, and the same text is read once."""

from typing import TYPE_CHECKING

import streamlit as st

from pages.shared import models, state
from pages.shared.models import CPU, PRECISIONS, ModelCard
from transformer_core.config import ModelConfig

if TYPE_CHECKING:
    from transformer_core.analysis import Reading

MAX_TOKENS = 64  # on each side, special ones and what the model wrote included: what a person can still look over
MAX_NEW_TOKENS = 24  # behind a prompt


def max_tokens(config: ModelConfig) -> int:
    """Return how many tokens of a text, and of the decoder's input, are looked at."""
    return min(MAX_TOKENS, config.max_seq_len)


def read(
    path: str,
    version: str,
    text: str,
    target: str | None = None,
    device: str = CPU,
    precision: str = PRECISIONS[0],
) -> "Reading":
    """Return what the model at `path` says to `text`, and every head's pattern.

    Args:
        path: the model's folder.
        version: of its weights.
        text: the source, the prompt, or a text with blanks.
        target: what to make an encoder-decoder write; None: what it writes by itself.
        device: where the model runs.
        precision: in which it computes.

    Raises:
        HeadlightError: the model cannot be loaded, or the text cannot be read by it.
    """
    return _read(path, version, text, target, device, precision)


@st.cache_data(max_entries=64, max_size="512MB", show_spinner=False)
def _read(path: str, version: str, text: str, target: str | None, device: str, precision: str) -> "Reading":
    from transformer_core import analysis

    model, tokenizer = models.load(path, version, device, precision)
    with models.on(device):
        return analysis.read(
            model,
            tokenizer,
            text,
            target=target,
            max_tokens=max_tokens(model.config),
            max_new_tokens=MAX_NEW_TOKENS,
        )


def current(card: ModelCard) -> "Reading | None":
    """Return the reading of the view's text, or None where there is nothing to read.

    Raises:
        HeadlightError: the model cannot be loaded, or the text cannot be read by it.
    """
    view = state.current()
    if not view.text:
        return None
    return read(card.path, card.version, view.text, view.target, view.device, view.precision)
