"""Trainings of tiny models by the real loop, measured and tested as a run is."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from torch import Tensor

from headlight.corpora.analysis import compute_stats
from headlight.diagnosis import Case
from transformer_core.config import Architecture, ModelConfig
from transformer_core.corpora.batch_order import IGNORED, Batch, Batches
from transformer_core.corpora.batching import batches_for
from transformer_core.corpora.corpus import Corpus
from transformer_core.corpora.corpus_tokenizer import tokenizer_of
from transformer_core.errors import NO_MESSAGE, RunError
from transformer_core.instrument.sites import Site
from transformer_core.model.transformer import Transformer, build
from transformer_core.training.config import TrainingConfig
from transformer_core.training.evaluate import evaluate
from transformer_core.training.loop import train
from transformer_core.training.probes import N_PROBED, probe

LOG_EVERY, MEASURE_EVERY = 4, 50  # steps
LOGGED = ("step", "loss", "learning_rate", "gradient_norm")


def trained(
    corpus: Corpus,
    *,
    steps: int = 150,
    architecture: Architecture | None = None,
    model: dict[str, Any] | None = None,
    spoil: Callable[[Batch], Batch] = lambda batch: batch,
    prepare: Callable[[Transformer], object] = lambda model: None,
    **training: Any,
) -> Case:
    """Train a tiny model and gather what a diagnosis goes by.

    Args:
        corpus: pairs make an encoder-decoder, texts a decoder, by default.
        steps: planned.
        architecture: of the model.
        model: fields of its configuration that differ.
        spoil: what a mistake does to each batch of the training.
        prepare: what a mistake does to the new model.
        training: fields of the training that differ.
    """
    kind: Architecture = architecture or ("encoder_decoder" if corpus.is_pairs else "decoder_only")
    tokenizer = tokenizer_of(corpus, kind)
    shape: dict[str, Any] = {"architecture": kind, "d_model": 32, "d_ff": 64, "n_heads": 2, "max_seq_len": 48}
    shape |= {"n_encoder_layers": int(kind != "decoder_only"), "n_decoder_layers": int(kind != "encoder_only")}
    shape |= {"tie_embeddings": "three_way" if corpus.is_pairs else "target", "norm_position": "pre", "dropout": 0.0}
    network = build(ModelConfig(vocab_size=tokenizer.vocab_size, **shape | (model or {})))
    prepare(network)
    numbers: dict[str, Any] = {"learning_rate_factor": 0.3, "label_smoothing": 0.0, "schedule": "cosine"}
    request = TrainingConfig(steps=steps, **{"batch_size": 32, "warmup_steps": 20} | numbers | training)

    def batches_of(items: Any, batch_size: int = request.batch_size) -> Batches:
        return batches_for(items, tokenizer, kind, max_seq_len=48, batch_size=batch_size, seed=0)

    n_seen = 0

    def fed() -> Iterator[Batch]:
        nonlocal n_seen
        for batch in batches_of(corpus.train):
            n_seen += int((batch.targets != IGNORED).sum())
            yield spoil(batch)

    metrics: list[dict[str, Any]] = []
    failure = NO_MESSAGE
    held_out = corpus.held_out[:64]
    try:
        for record in train(network, fed(), request):
            if record.step % LOG_EVERY == 0:
                metrics.append({name: value for name, value in asdict(record).items() if name in LOGGED})
            if record.step % MEASURE_EVERY == 0 or record.step == steps:
                worth = evaluate(network, tokenizer, corpus, held_out)
                probed = next(batches_of(corpus.train[:N_PROBED], N_PROBED))
                tested = probe(network, tokenizer, spoil(probed), held_out)
                metrics.append(
                    {"step": record.step}
                    | {f"held_out_{name}": value for name, value in worth.items()}
                    | {f"probe_{name}": value for name, value in tested.items()}
                )
    except RunError as error:
        failure = error.message
    known = compute_stats(corpus, tokenizer, kind)
    return Case(
        metrics=metrics,
        architecture=kind,
        steps=steps,
        vocab_size=tokenizer.vocab_size,
        d_model=network.config.d_model,
        warmup_steps=request.warmup_steps,
        learning_rate_factor=request.learning_rate_factor,
        label_smoothing=request.label_smoothing,
        dropout=network.config.dropout,
        n_training_tokens=known.n_counted,
        tokens_seen=n_seen,
        unigram_entropy=known.unigram_loss,
        bigram_entropy=known.bigram_loss,
        failure=failure,
    )


def see_every_token(mask: Tensor, site: Site) -> Tensor:
    """The mistake: each query sees all that any query of its text may see."""
    return mask.any(dim=-2, keepdim=True).expand_as(mask)


def not_shifted(batch: Batch) -> Batch:
    """The mistake: each place is given the token that it is to say."""
    return Batch((*batch.inputs[:-1], batch.targets.clamp(min=0)), batch.targets)


def not_masked(batch: Batch) -> Batch:
    """The mistake: an encoder is given the tokens that it is to guess."""
    return Batch((batch.targets.where(batch.targets != IGNORED, batch.inputs[0]),), batch.targets)


def without_source(batch: Batch) -> Batch:
    """The mistake: all sources of a batch are its first one."""
    return Batch((batch.inputs[0][:1].expand_as(batch.inputs[0]), *batch.inputs[1:]), batch.targets)


def without_end(batch: Batch) -> Batch:
    """The mistake: <eos>, the last target of each row, does not count."""
    is_last = (batch.targets != IGNORED).cumsum(dim=-1) == (batch.targets != IGNORED).sum(dim=-1, keepdim=True)
    return Batch(batch.inputs, batch.targets.masked_fill(is_last, IGNORED))


def frozen(model: Transformer) -> None:
    """The mistake: nothing is trained but the last normalization."""
    for weights in [*model.parameters()][:-1]:
        weights.requires_grad_(False)
