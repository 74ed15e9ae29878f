"""What the page Masks keeps of what was tried: texts as a model reads them, and all that was made of them."""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeVar

from pages.shared import cache, models, readings
from pages.shared.sources import Source
from pages.shared.view.state import View
from transformer_core.errors import mark

if TYPE_CHECKING:
    from transformer_core.analysis.masks.text import MaskText

STORE = mark("masked runs")
T = TypeVar("T")


def of_text(source: Source, view: View, key: Hashable, make: Callable[[], T]) -> T:
    """Return what was made of a text before, or make it on the model's device.

    Args:
        source: the model.
        view: whose text and target it is.
        key: plain words and numbers that say what it is.
        make: computes it.
    """

    def run() -> T:
        with models.on(source.device):
            return make()

    return cache.get(STORE, (source, view.text, view.target, key), run)


def text(source: Source, view: View, *, max_tokens: int) -> "MaskText":
    """Return the text and what the model says to it, of so many tokens at most."""
    from transformer_core.analysis.masks.text import mask_text

    def make() -> "MaskText":
        model, tokenizer = source.load()
        return mask_text(
            model,
            tokenizer,
            view.text,
            target=view.target,
            max_tokens=max_tokens,
            max_new_tokens=readings.max_new_tokens(source),
        )

    return of_text(source, view, ("text", max_tokens), make)
