"""Trainings of tiny models, watched as somebody would who is to say what is wrong with them."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import torch
from torch.nn import functional as F

from transformer_core.config import Architecture, ModelConfig
from transformer_core.corpora.batching import IGNORED, Batch, Batches, batches_for
from transformer_core.corpora.corpus import Corpus
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.errors import RunError
from transformer_core.model.transformer import Transformer, build
from transformer_core.text.tokenizer import OwnTokenizer, train_tokenizer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.diagnosis import Evidence, Sample
from transformer_core.training.evaluate import evaluate
from transformer_core.training.loop import train


def trained(
    corpus: Corpus,
    *,
    steps: int = 200,
    model: dict[str, Any] | None = None,
    spoil: Callable[[Batch], Batch] = lambda batch: batch,
    spoil_measurement: bool = False,
    measure_every: int = 50,
    **training: Any,
) -> Evidence:
    """Train a tiny model and gather what a diagnosis goes by, as somebody who watches the run would.

    Args:
        corpus: pairs make an encoder-decoder, texts a decoder.
        steps: planned.
        model: fields of its configuration that differ.
        spoil: what is done to each batch on its way to the model.
        spoil_measurement: do the same to the held-out batches.
        measure_every: steps between measurements.
        training: fields of the training that differ.
    """
    architecture: Architecture = "encoder_decoder" if corpus.is_pairs else "decoder_only"
    tokenizer = train_tokenizer(corpus.training_texts(), kind="word")
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size,
        architecture=architecture,
        d_model=32,
        d_ff=64,
        n_heads=2,
        n_encoder_layers=1 if corpus.is_pairs else 0,
        n_decoder_layers=1,
        max_seq_len=20,
        norm_position="pre",
        dropout=0.0,
        tie_embeddings="three_way" if corpus.is_pairs else "target",
    )
    network = build(replace(config, **model or {}))
    numbers: dict[str, Any] = {"learning_rate_factor": 0.3, "label_smoothing": 0.0, "schedule": "cosine"}
    asked = TrainingConfig(steps=steps, batch_size=32, warmup_steps=20, **numbers | training)

    def batches_of(items: Sequence[Any]) -> Batches:
        return batches_for(items, tokenizer, architecture, max_seq_len=20, batch_size=32, seed=0)

    n_seen = 0

    def fed() -> Iterator[Batch]:
        nonlocal n_seen
        for batch in batches_of(corpus.train):
            n_seen += int((batch.targets != IGNORED).sum())
            yield spoil(batch)

    metrics: list[dict[str, Any]] = []
    failure = ""
    try:
        for record in train(network, fed(), asked):
            if record.step % 2 == 0:
                metrics.append(asdict(record))
            if record.step % measure_every == 0 or record.step == steps:
                worth = evaluate(network, tokenizer, corpus, corpus.held_out)
                if spoil_measurement:
                    worth |= guesses(network, [spoil(batch) for batch in one_epoch(batches_of(corpus.held_out))])
                metrics.append({"step": record.step} | {f"held_out_{name}": value for name, value in worth.items()})
    except RunError as error:
        failure = str(error)
    seen, held_out = (transitions(one_epoch(batches_of(part))) for part in (corpus.train, corpus.held_out))
    unigram, bigram = cross_entropy(seen, held_out)
    return Evidence(
        metrics=metrics,
        architecture=architecture,
        steps=steps,
        vocab_size=tokenizer.vocab_size,
        d_model=32,
        n_parameters=sum(parameter.numel() for parameter in network.parameters()),
        warmup_steps=20,
        learning_rate_factor=asked.learning_rate_factor,
        label_smoothing=asked.label_smoothing,
        dropout=network.config.dropout,
        clip_norm=asked.clip_norm,
        n_training_tokens=len(seen),
        tokens_seen=n_seen,
        unigram_entropy=unigram,
        bigram_entropy=bigram,
        mean_target_length=len(held_out) / len(corpus.held_out) if corpus.is_pairs else None,
        samples=spoken(network, tokenizer, corpus),
        failure=failure,
    )


def one_epoch(batches: Batches) -> list[Batch]:
    return [next(batches) for _ in range(batches.batches_per_epoch)]


def transitions(batches: list[Batch]) -> list[tuple[int, int]]:
    """Each target with the token before it."""
    return [
        (before, target)
        for batch in batches
        for row, targets in zip(batch.inputs[-1].tolist(), batch.targets.tolist(), strict=True)
        for before, target in zip(row, targets, strict=True)
        if target != IGNORED
    ]


def cross_entropy(seen: list[tuple[int, int]], held_out: list[tuple[int, int]]) -> tuple[float, float]:
    """Nats a target: by how often each was seen, and by how often each was seen behind the token before it.

    Each target is taken to have been seen once more than it was; behind each token, one is taken to have been seen
    besides, as frequent tokens are.
    """
    pairs, befores, targets = Counter(seen), Counter(b for b, _ in seen), Counter(target for _, target in seen)

    def by_frequency(target: int) -> float:
        return (targets[target] + 1) / (len(seen) + len(targets) + 1)

    def by_pairs(before: int, target: int) -> float:
        return (pairs[before, target] + by_frequency(target)) / (befores[before] + 1)

    n = len(held_out)
    return (
        -sum(math.log(by_frequency(target)) for _, target in held_out) / n,
        -sum(math.log(by_pairs(before, target)) for before, target in held_out) / n,
    )


@torch.no_grad()
def guesses(model: Transformer, batches: list[Batch]) -> dict[str, float]:
    """Loss and accuracy on batches as they are."""
    model.eval()
    logits = torch.cat([model(*batch.inputs)[batch.targets != IGNORED] for batch in batches])
    targets = torch.cat([batch.targets[batch.targets != IGNORED] for batch in batches])
    accuracy = (logits.argmax(-1) == targets).float().mean().item()
    return {"loss": F.cross_entropy(logits, targets).item(), "accuracy": accuracy}


def spoken(model: Transformer, tokenizer: OwnTokenizer, corpus: Corpus) -> list[Sample]:
    """What the model makes of eight held-out texts."""
    model.eval()
    samples = []
    for item in corpus.held_out[:8]:
        given = item.source if corpus.is_pairs else corpus.prompt_of(item)
        ids = tokenizer.encode(given, bos=not corpus.is_pairs, eos=corpus.is_pairs)
        written = greedy_decode(model, torch.tensor([ids])).tokens[0].tolist()
        output = tokenizer.decode(written if corpus.is_pairs else written[len(ids) :])
        reference = item.target if corpus.is_pairs else item.text[len(given) :]
        samples.append(Sample(given=given, output=output, reference=reference, is_complete=tokenizer.eos_id in written))
    return samples


def not_shifted(batch: Batch) -> Batch:
    """The mistake: each place is given the very token that it is to say."""
    return Batch((*batch.inputs[:-1], batch.targets.clamp(min=0)), batch.targets)
