"""The kept walk through a head: pages ask here, and a head is walked through once for each text."""

from typing import TYPE_CHECKING

from pages.shared import cache, models, readings
from pages.shared.recipe import Expression, named, through, value_of
from pages.shared.sources import Source
from transformer_core.config import ModelConfig
from transformer_core.errors import mark

if TYPE_CHECKING:
    from transformer_core.analysis import ModelRun
    from transformer_core.analysis.walkthrough import Walkthrough
    from transformer_core.analysis.walkthrough.sources import ScoreSources

MOST_TOKENS = 256  # on each side: a walk holds several matrices of all queries and keys
MOST_MIB = 256  # of all walks
MOST_SOURCES_MIB = 128


def read(source: Source, text: str, target: str | None) -> "ModelRun":
    """Return the model run that is walked through: of a long text its beginning and its end.

    Raises:
        HeadlightError: the model cannot be loaded, or the text cannot be read by it.
    """
    whole = readings.read(source, text, target)
    if max(map(len, whole.inputs)) <= MOST_TOKENS:
        return whole
    cut: cache.Store[ModelRun] = cache.store(
        mark("truncated texts"), most_mib=MOST_MIB, n_bytes=lambda made: made.n_bytes
    )
    return cut.get((source, text, target), lambda: _cut(source, text, target))


def _cut(source: Source, text: str, target: str | None) -> "ModelRun":
    model, _ = source.load()
    with models.on(source.device), source.changed(model):
        model_run: ModelRun = value_of(readings.call_of(source, text, target, MOST_TOKENS))
        return model_run


def recipe(source: Source, config: ModelConfig, text: str, target: str | None) -> Expression:
    """Return the model run that is walked through as the code of the page has it; `config`: the model's."""
    reading = readings.call_of(source, text, target, min(MOST_TOKENS, config.max_seq_len))
    return named("model_run", through(reading, lambda _: read(source, text, target)))


def walk(source: Source, text: str, target: str | None, *, attention: str, layer: int, head: int) -> "Walkthrough":
    """Return every matrix of a head on a text.

    Raises:
        HeadlightError: the model cannot be loaded, the text cannot be read by it, or it has no such head.
    """
    walks: cache.Store[Walkthrough] = cache.store(
        mark("step-by-step traces"), most_mib=MOST_MIB, n_bytes=lambda walk: walk.n_bytes
    )

    def make() -> "Walkthrough":
        from transformer_core.analysis import walkthrough

        model, _ = source.load()
        model_run = read(source, text, target)
        labels = model_run.labels(attention)
        with models.on(source.device):
            return walkthrough.walk(model, model_run.inputs, attention=attention, layer=layer, head=head, labels=labels)

    return walks.get((source, text, target, attention, layer, head), make)


def sources(source: Source, text: str, target: str | None, *, attention: str, layer: int, head: int) -> "ScoreSources":
    """Return what the scores of a head are made of.

    Raises:
        HeadlightError: the model cannot be loaded, the text cannot be read by it, or it has no such head.
    """
    split: cache.Store[ScoreSources] = cache.store(
        mark("decomposed scores"), most_mib=MOST_SOURCES_MIB, n_bytes=lambda s: s.n_bytes
    )

    def make() -> "ScoreSources":
        from transformer_core.analysis.flow.score_sources import score_sources

        model, _ = source.load()
        inputs = read(source, text, target).inputs
        with models.on(source.device):
            return score_sources(model, inputs, attention=attention, layer=layer, head=head)

    return split.get((source, text, target, attention, layer, head), make)
