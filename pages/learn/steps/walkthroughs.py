"""The kept walk through a head: pages ask here, and a head is walked through once for each text."""

from typing import TYPE_CHECKING

from headlight.analysis.heads.measures import HeadName
from pages.shared import cache, readings
from pages.shared.recipe import Expression, call, named, through
from pages.shared.sources import Source
from transformer_core.config import ModelConfig
from transformer_core.errors import mark
from transformer_core.text.interface import Given

if TYPE_CHECKING:
    from headlight.analysis.trace.model_run import ModelRun

MOST_TOKENS = 256  # on each side: a walk holds several matrices of all queries and keys


def read(source: Source, text: Given, target: str | None) -> "ModelRun":
    """Return the model run that is walked through: of a long text its beginning and its end.

    Raises:
        HeadlightError: the model cannot be loaded, or the text cannot be read by it.
    """
    whole = readings.read(source, text, target)
    if max(map(len, whole.inputs)) <= MOST_TOKENS:
        return whole
    return _cut(source, text, target)


@cache.by_arguments(mark("truncated texts"))
def _cut(source: Source, text: Given, target: str | None) -> "ModelRun":
    return readings.run(source, text, target, MOST_TOKENS)


def recipe(source: Source, config: ModelConfig, text: Given, target: str | None) -> Expression:
    """Return the model run that is walked through as the code of the page has it; `config`: the model's."""
    loaded = source.recipe()
    reading = readings.call_of(loaded, source, text, target, min(MOST_TOKENS, config.max_seq_len))
    return named("model_run", through(source.forward(reading), lambda _: read(source, text, target)))


def walk(model_run: Expression, source: Source, head: HeadName) -> Expression:
    """Return every matrix of a head on a text, as code.

    Args:
        model_run: as `recipe` gives it.
        source: the model.
        head: which one; `value_of` raises HeadlightError where the model has no such head.
    """
    from headlight.analysis.walkthrough import walkthrough

    model, labels = source.recipe()[0], model_run.labels(head.attention)
    result = source.forward(call(walkthrough.walk, model, model_run.inputs, **head._asdict(), labels=labels))
    return named("walk_through", cache.kept(mark("step-by-step traces"), result))


def sources(model_run: Expression, source: Source, head: HeadName) -> Expression:
    """Return the sources of a head's scores, as code; arguments as for `walk`."""
    from headlight.analysis.flow.score_sources import score_sources

    model = source.recipe()[0]
    result = source.forward(call(score_sources, model, model_run.inputs, **head._asdict()))
    return named("split", cache.kept(mark("decomposed scores"), result))
