"""The kept walk through a head: pages ask here, and a head is walked through once for each text."""

from typing import TYPE_CHECKING

from pages.shared import cache, models, readings
from pages.shared.sources import Source
from transformer_core.errors import mark

if TYPE_CHECKING:
    from transformer_core.analysis import ModelRun
    from transformer_core.analysis.walkthrough import Walkthrough
    from transformer_core.analysis.walkthrough.sources import ScoreSources

MOST_TOKENS = 256  # on each side: a walk holds several matrices of all queries and keys


def read(source: Source, text: str, target: str | None) -> "ModelRun":
    """Return the model run that is walked through: of a long text its beginning and its end.

    Raises:
        HeadlightError: the model cannot be loaded, or the text cannot be read by it.
    """
    whole = readings.read(source, text, target)
    if max(map(len, whole.inputs)) <= MOST_TOKENS:
        return whole
    return cache.get(mark("truncated texts"), (source, text, target), lambda: _cut(source, text, target))


def _cut(source: Source, text: str, target: str | None) -> "ModelRun":
    from transformer_core import analysis

    model, tokenizer = source.load()
    with models.on(source.device), source.changed(model):
        return analysis.run_text(
            model,
            tokenizer,
            text,
            target=target,
            max_tokens=MOST_TOKENS,
            max_new_tokens=readings.max_new_tokens(source),
        )


def walk(source: Source, text: str, target: str | None, *, attention: str, layer: int, head: int) -> "Walkthrough":
    """Return every matrix of a head on a text.

    Raises:
        HeadlightError: the model cannot be loaded, the text cannot be read by it, or it has no such head.
    """

    def make() -> "Walkthrough":
        from transformer_core.analysis import walkthrough

        model, _ = source.load()
        model_run = read(source, text, target)
        labels = model_run.labels(attention)
        with models.on(source.device):
            return walkthrough.walk(model, model_run.inputs, attention=attention, layer=layer, head=head, labels=labels)

    return cache.get(mark("step-by-step traces"), (source, text, target, attention, layer, head), make)


def sources(source: Source, text: str, target: str | None, *, attention: str, layer: int, head: int) -> "ScoreSources":
    """Return what the scores of a head are made of.

    Raises:
        HeadlightError: the model cannot be loaded, the text cannot be read by it, or it has no such head.
    """

    def make() -> "ScoreSources":
        from transformer_core.analysis.flow.score_sources import score_sources

        model, _ = source.load()
        inputs = read(source, text, target).inputs
        with models.on(source.device):
            return score_sources(model, inputs, attention=attention, layer=layer, head=head)

    return cache.get(mark("decomposed scores"), (source, text, target, attention, layer, head), make)
