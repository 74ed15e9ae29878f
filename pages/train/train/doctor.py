"""The diagnosis of a training: its measurements explained in plain words, and what to try."""

from typing import TYPE_CHECKING

from headlight.language import say
from pages.shared import corpora, prose, runs
from pages.shared.runs import Run
from transformer_core.corpora.reading import CorpusReading
from transformer_core.errors import NO_MESSAGE, HeadlightError, Message

if TYPE_CHECKING:
    from headlight.corpora.corpus_stats import CorpusStats


def show(run: Run) -> None:
    """Draw the findings about a training, the worst first."""
    from headlight.diagnosis import Case, diagnose

    try:
        model, training = runs.configurations(run)
        stats = _stats(run)
        tokens = None if stats is None else stats.n_train_tokens
        per_row = None if stats is None else corpora.tokens_per_item(stats)
        findings = diagnose(
            Case(
                metrics=runs.records(run),
                architecture=model.architecture,
                steps=training.steps,
                vocab_size=model.vocab_size,
                d_model=model.d_model,
                warmup_steps=training.warmup_steps,
                learning_rate_factor=training.learning_rate_factor,
                label_smoothing=training.label_smoothing,
                dropout=model.dropout,
                n_training_tokens=tokens,
                tokens_seen=None if per_row is None else int(run.step * training.batch_size * per_row),
                unigram_entropy=None if stats is None else stats.unigram_loss,
                bigram_entropy=None if stats is None else stats.bigram_loss,
                is_stopped=run.state == "stopped",
                failure=_failure(run),
            )
        )
    except HeadlightError as error:
        prose.caption(say("The training cannot be judged: {error}.", error=error))
        return
    prose.subheading(say("Diagnosis"))
    items = [(one.severity, *map(prose.sentence, (one.title, one.evidence, one.advice))) for one in findings]
    prose.html(
        "<div class='hl-findings'>{}</div>", prose.each("<div class='hl-{}'><b>{}</b> {} <i>{}</i></div>", items)
    )


def references(run: Run) -> dict[str, float]:
    """Return reference losses by their names."""
    stats = _stats(run)
    if stats is None:
        return {}
    return {
        say("unigram baseline"): stats.unigram_loss,
        say("bigram baseline"): stats.bigram_loss,
    }


def _failure(run: Run) -> Message:
    if run.state != "failed":
        return NO_MESSAGE
    status = runs.directory(run).status()
    return run.reason if status is None or not status.reason else status.reason


def _stats(run: Run) -> "CorpusStats | None":
    """Return the statistics of the run's corpus, if it was analysed before."""
    from headlight.corpora.corpus_stats import kept_stats

    request = run.request or {}
    try:
        reading = CorpusReading(**request.get("reading", {}))
        return kept_stats(corpora.place_of(str(request.get("corpus", ""))), reading, request["model"]["architecture"])
    except (HeadlightError, KeyError, TypeError):
        return None
