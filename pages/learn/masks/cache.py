"""What the page Masks keeps of what was tried: texts as a model reads them, and all that was made of them."""

from collections.abc import Callable, Hashable
from typing import Any

from pages.shared import cache, models, readings
from pages.shared.recipe import Expression, call, named, through
from pages.shared.sources import Source
from pages.shared.view.state import View
from transformer_core.errors import mark

STORE = mark("masked runs")


def kept(value: Expression, source: Source, view: View, key: Hashable) -> Expression:
    """Return the same, made on the model's device and once for all sessions.

    Args:
        value: what is made of a text.
        source: the model.
        view: whose text and target it is.
        key: plain words and numbers that say what it is.
    """

    def take(make: Callable[[], Any]) -> Any:
        def run() -> Any:
            with models.on(source.device):
                return make()

        return cache.get(STORE, (source, view.text, view.target, key), run)

    return through(value, take)


def text(source: Source, view: View, *, max_tokens: int) -> Expression:
    """Return the text and what the model says to it, of so many tokens at most, as code."""
    from transformer_core.analysis.masks.text import mask_text

    options: dict[str, Any] = {} if view.target is None else {"target": view.target}
    options |= {"max_tokens": max_tokens, "max_new_tokens": readings.max_new_tokens(source)}
    made = call(mask_text, *source.recipe(), view.text, **options)
    return named("text", kept(made, source, view, ("text", max_tokens)))
