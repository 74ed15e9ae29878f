"""The cached model run of a text: pages ask here, and the same text is read once."""

from typing import TYPE_CHECKING, Any

from headlight.figures.heatmaps.overview import thumbnail_side
from pages.shared import cache, devices, media
from pages.shared.models import ModelCard
from pages.shared.recipe import Expression, call, named, through, value_of
from pages.shared.sources import Source
from pages.shared.view import state
from transformer_core.config import ModelConfig
from transformer_core.errors import mark
from transformer_core.text.interface import Given

if TYPE_CHECKING:
    from headlight.analysis.trace.model_run import ModelRun

MAX_TOKENS = 4096  # tokens on each side, including special ones and the model's output
MAX_NEW_TOKENS = 24  # after a prompt
MOST_POOLED = 1024  # tokens up to which the pictures of all heads are quick enough to be made with the model run


def max_tokens(config: ModelConfig) -> int:
    """Return the maximum number of tokens of a text, and of the decoder's input, that are read."""
    return min(MAX_TOKENS, config.max_seq_len)


def max_new_tokens(source: Source) -> int:
    """Return how many tokens a decoder-only model writes after a text; 0 where the text alone is read."""
    return MAX_NEW_TOKENS if source.continues else 0


@cache.by_arguments(mark("model runs"))
def read(source: Source, text: Given, target: str | None = None) -> "ModelRun":
    """Return a model's output for `text`, and every head's pattern.

    Args:
        source: the model, and what is changed in it.
        text: the source, the prompt, or a text with blanks.
        target: what to make an encoder-decoder write; None: what it writes on its own.

    Raises:
        HeadlightError: the model cannot be loaded, or the text cannot be read by it.
    """
    model_run = run(source, text, target)
    if max(max(shape[2:]) for shape in _shapes(model_run)) <= MOST_POOLED:
        side = picture_side(model_run)
        with devices.on(source.device):
            for attention_maps in model_run.attention_maps.values():
                attention_maps.keep_overview(side)
    return model_run


def recipe(
    source: Source,
    config: ModelConfig,
    text: Given,
    target: str | None = None,
    *,
    name: str = "model_run",
    side: str = "",
) -> Expression:
    """Return the model run of a text as the code of a page has it.

    Args:
        source: the model, and what is changed in it.
        config: the model's.
        text: as `read` takes it.
        target: the same.
        name: of the model run.
        side: how the names of the model and its tokenizer end, where a page has several.
    """
    loaded = source.recipe(side)
    reading = source.forward(call_of(loaded, source, text, target, max_tokens(config)))
    return named(name, through(reading, lambda _: read(source, text, target)))


def call_of(
    loaded: tuple[Expression, Expression], source: Source, text: Given | Expression, target: str | None, most: int
) -> Expression:
    """Return the call that reads a text, of this many tokens at most, or an image or a sound of this name.

    `loaded`: the model and its tokenizer or processor.
    """
    from headlight.analysis.trace.model_run import run_text

    options: dict[str, Any] = {} if target is None else {"target": target}
    if source.medium:
        from headlight.viewing.media_model import run_media

        options |= {} if source.continues else {"max_new_tokens": 0}
        return call(run_media, *loaded, media.recipe(str(text), source.medium), **options)
    return call(
        run_text,
        *loaded,
        text,
        **options,
        max_tokens=most,
        max_new_tokens=max_new_tokens(source),
    )


def run(source: Source, text: Given, target: str | None, most: int = MAX_TOKENS) -> "ModelRun":
    """Read a text with the model's change, of this many tokens at most, or of as many as it has positions."""
    loaded = source.recipe()
    most = min(most, max_tokens(value_of(loaded[0]).config))
    return value_of(source.forward(call_of(loaded, source, text, target, most)))


def picture_side(model_run: "ModelRun") -> int:
    """Return how many rows and columns the picture of a head may have in the overview."""
    n_heads = sum(n_layers * n_heads for n_layers, n_heads, _, _ in _shapes(model_run))
    return thumbnail_side(n_heads, max(max(shape[2:]) for shape in _shapes(model_run)))


def _shapes(model_run: "ModelRun") -> list[tuple[int, int, int, int]]:
    return [attention_maps.shape for attention_maps in model_run.attention_maps.values()]


def current(card: ModelCard, *, is_changed: bool = True) -> "ModelRun | None":
    """Return the model run of the view's text, or None where there is nothing to read.

    Args:
        card: of the model.
        is_changed: the view's interventions act.

    Raises:
        HeadlightError: the model cannot be loaded, or the text cannot be read by it.
    """
    view = state.current()
    if not view.text:
        return None
    return read(view.source(card, is_changed=is_changed), view.text, view.target)
