"""A model's predictions for one batch: a distribution over the vocabulary in each cell, one of them shown."""

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import streamlit as st

from headlight.language import say
from pages.shared import cache, devices, models, prose, run_readings, runs
from pages.shared.corpora import CorpusChoice
from pages.shared.view.fields import Kept
from transformer_core.config import ModelConfig
from transformer_core.corpora.reading import CorpusReading
from transformer_core.errors import HeadlightError, mark
from transformer_core.training.config import TrainingConfig

if TYPE_CHECKING:
    from headlight.corpora.corpus_stats import CorpusStats
    from transformer_core.corpora.batch_order import Batch
    from transformer_core.model.transformer import Transformer
    from transformer_core.text.interface import Tokenizer

_MOST_PARAMETERS = 100_000_000  # size limit of an untrained model created for display
_UNTRAINED = ""  # in place of a model's name


def show(
    choice: CorpusChoice,
    stats: "CorpusStats",
    tokenizer: "Tokenizer",
    batch: "Batch",
    model: ModelConfig,
    training: TrainingConfig,
) -> None:
    """Run a model on the whole batch, and draw its prediction in one cell."""
    from headlight.analysis.trace.batch_predictions import predict

    n_rows, n_pos = batch.targets.shape
    prose.subheading(say("Probabilities"))
    result = _models(choice, stats, model)
    with st.container(horizontal=True):
        chosen = Kept(f"train-batch-model-{choice.corpus}-{model.architecture}", _UNTRAINED)
        name = chosen.value if chosen.value in result else _UNTRAINED
        chosen.selectbox(say("Model"), [*result], name=lambda name: result[name][0], shown=name)
        row = int(st.number_input(say("Row"), 0, n_rows - 1, 0, key=f"train-batch-row-{n_rows}"))
        pos = int(st.number_input(say("Position"), 0, n_pos - 1, 0, key=f"train-batch-pos-{n_pos}"))
    network = _load(result[name][1], tokenizer, model, training)
    with devices.on(devices.CPU):
        text = predict(network, batch, row=row, pos=pos)
    summary = say(
        "Each of the {n:,} cells holds a distribution over the vocabulary; its sum is 1 (smallest {least:.6f}, largest "
        "{most:.6f}).",
        n=text.sums.size,
        least=text.sums.min(),
        most=text.sums.max(),
    )
    label = tokenizer.labels
    prose.html(
        "<div class='hl-label'>[batch, pos, vocab] = <code>{}</code></div><p class='hl-small'>{}</p>",
        *([*text.shape], summary),
    )
    rows = prose.each(
        "<tr><td><bdi>{}</bdi></td><td>{}</td><td>{:.4f}</td></tr>", ((label([i])[0], i, p) for i, p in text.top)
    )
    heads = (say("token"), say("id"), say("probability"))
    prose.html("<div class='hl-batch hl-batch-top'>{}</div>", prose.table(heads, rows))
    if text.target is None:
        words = say("This cell has no target.")
    else:
        words = say(
            "The target here is {token}, with probability {p:.4f} (rank {rank:,}).",
            token=label([int(batch.targets[row, pos])])[0],
            p=text.target,
            rank=text.rank,
        )
    prose.paragraph(words)


def _models(
    choice: CorpusChoice, stats: "CorpusStats", model: ModelConfig
) -> dict[str, tuple[str, models.ModelCard | runs.Run | None]]:
    """Return the models that can read such batches: an untrained one, those in training and saved ones."""
    results: dict[str, tuple[str, models.ModelCard | runs.Run | None]] = {
        _UNTRAINED: (say("untrained, with the chosen settings"), None)
    }
    reading = asdict(CorpusReading(**choice.reading))  # type: ignore[arg-type]  # what the widgets offer
    for run in runs.available().values():
        request = run.request or {}
        if request.get("corpus_fingerprint") == stats.fingerprint and request.get("reading") == reading:
            step = runs.saved_step(run)
            if step is not None and _fits(ModelConfig.from_dict(request["model"]), stats, model):
                results[f"run {run.name}"] = (
                    say("training {name}, after step {step:,}", name=run.name, step=step),
                    run,
                )
    for card in models.available().values():
        if card.corpus == choice.corpus and not card.is_imported and _fits(card.config, stats, model):
            results[f"model {card.name}"] = (card.title, card)
    return results


def _fits(config: ModelConfig, stats: "CorpusStats", config_of_request: ModelConfig) -> bool:
    return (
        config.architecture == config_of_request.architecture
        and config.vocab_size == stats.vocab_size
        and config.max_seq_len >= config_of_request.max_seq_len
        and config.unembed
    )


def _load(
    source: models.ModelCard | runs.Run | None, tokenizer: "Tokenizer", model: ModelConfig, training: TrainingConfig
) -> "Transformer":
    """Return the model that was chosen.

    Raises:
        HeadlightError: it no longer exists, is too large to be created for display, or has another vocabulary.
    """
    from transformer_core.corpora.storage.token_store import special_token

    if source is None:
        bos_id, eos_id = special_token(tokenizer.bos_id, "<bos>"), special_token(tokenizer.eos_id, "<eos>")
        config = replace(model, vocab_size=tokenizer.vocab_size, pad_id=tokenizer.pad_id, bos_id=bos_id, eos_id=eos_id)
        return _untrained(config, training.seed)
    if isinstance(source, runs.Run):
        network, other = run_readings.source(source, runs.saved_step(source) or 0).load()
    else:
        network, other = models.load(source.path, source.version)
    if other.tokens(range(other.vocab_size)) != tokenizer.tokens(range(tokenizer.vocab_size)):
        raise HeadlightError("this model uses a different tokenizer; choose another one")
    return network


@cache.by_arguments(mark("models"))
def _untrained(config: ModelConfig, seed: int) -> "Transformer":
    from headlight.figures.architecture.inventory import parameters_by_part
    from transformer_core.model.transformer import build

    n = sum(parameters_by_part(config).values())
    if n > _MOST_PARAMETERS:
        raise HeadlightError(
            "a model of {n:,} parameters is too large for a preview; choose a smaller one, or inspect it once it is "
            "trained",
            n=n,
        )
    return build(config, seed=seed).eval()
