"""The cached reading of a text: pages ask here, and the same text is read once."""

from typing import TYPE_CHECKING

from pages.shared import kept, models, state
from pages.shared.models import ModelCard
from pages.shared.sources import Source
from transformer_core.config import ModelConfig

if TYPE_CHECKING:
    from transformer_core.analysis import Reading

MAX_TOKENS = 4096  # on each side, special ones and what the model wrote included
MAX_NEW_TOKENS = 24  # behind a prompt
MOST_MIB = 768  # of all readings


def max_tokens(config: ModelConfig) -> int:
    """Return how many tokens of a text, and of the decoder's input, are looked at."""
    return min(MAX_TOKENS, config.max_seq_len)


def read(source: Source, text: str, target: str | None = None) -> "Reading":
    """Return what a model says to `text`, and every head's pattern.

    Args:
        source: the model, and what is changed in it.
        text: the source, the prompt, or a text with blanks.
        target: what to make an encoder-decoder write; None: what it writes by itself.

    Raises:
        HeadlightError: the model cannot be loaded, or the text cannot be read by it.
    """
    readings: kept.Store[Reading] = kept.store("texts read", most_mib=MOST_MIB, n_bytes=lambda made: made.n_bytes)
    return readings.get((source, text, target), lambda: _read(source, text, target))


def _read(source: Source, text: str, target: str | None) -> "Reading":
    from transformer_core import analysis

    model, tokenizer = source.load()
    with models.on(source.device), source.changed(model):
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
    return read(Source.of(card, view.device, view.precision), view.text, view.target)
