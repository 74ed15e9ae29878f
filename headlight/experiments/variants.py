"""The variants of an experiment: models of one shape, seed and order of the data that differ in one thing."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from torch import Tensor

from headlight.experiments.experiment import LONGEST_TRAINED, LONGEST_TRIED, ExperimentRequest
from transformer_core.config import ModelConfig
from transformer_core.corpora import load_corpus
from transformer_core.corpora.batch_order import IGNORED, Batch
from transformer_core.corpora.batching import PairBatches
from transformer_core.corpora.corpus import Corpus, Pair
from transformer_core.corpora.corpus_tokenizer import own_tokenizer_of
from transformer_core.corpora.tasks.tasks import LETTERS, MIN_LETTERS, ORDERS, pair_of
from transformer_core.instrument.intervene import Intervention, intervene
from transformer_core.instrument.sites import Site
from transformer_core.model.presets import PRESETS
from transformer_core.model.transformer import build
from transformer_core.text.tokenizer import OwnTokenizer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.loop import StepRecord, train
from transformer_core.training.presets import preset_training

PRESET = "tiny-one-layer"  # of the model, and of its training except for the values below
_BATCH_SIZE = 48  # pairs
_RATE_FACTOR = 0.4  # times the paper's learning rate
_CORPUS_SEED = 0  # the same corpus and lengths for every experiment; `seed` is that of the training
_LENGTHS = (*range(MIN_LETTERS, LONGEST_TRAINED), *range(LONGEST_TRAINED, LONGEST_TRIED + 1, 2))  # letters
_PAIRS_OF_A_LENGTH = 20
_N_HELD_OUT = 64  # pairs of a measurement
_SAMPLED_LENGTHS = (LONGEST_TRAINED, LONGEST_TRAINED * 3 // 2, LONGEST_TRAINED * 2)  # letters; positions only
_N_SAMPLES = 4


@dataclass(frozen=True, kw_only=True)
class ExperimentData:
    """The data that all variants are trained and measured on."""

    corpus: Corpus  # its pairs within the trained length
    tokenizer: OwnTokenizer
    batches: PairBatches  # of the training pairs, from the first one on
    held_out: Sequence[Pair]
    by_length: Mapping[int, Sequence[Pair]]  # by letters, from the shortest to far beyond the trained length; or empty
    samples: Sequence[Pair]  # pairs whose outputs are shown

    @classmethod
    def of(cls, request: ExperimentRequest) -> "ExperimentData":
        """Return the data of an experiment."""
        whole = load_corpus(request.task, seed=_CORPUS_SEED)
        is_letters = request.task in ORDERS
        train_pairs, held_out = (
            tuple(pair for pair in part if not is_letters or len(pair.source) <= LONGEST_TRAINED)
            for part in (whole.train, whole.held_out)
        )
        tokenizer = own_tokenizer_of(whole, "encoder_decoder")
        by_length = _pairs_by_length(request.task, unlike=train_pairs) if request.kind == "positions" else {}
        samples = [by_length[n][0] for n in _SAMPLED_LENGTHS] if by_length else held_out[-_N_SAMPLES:]
        return cls(
            corpus=replace(whole, train=train_pairs, held_out=held_out),
            tokenizer=tokenizer,
            batches=PairBatches(
                train_pairs,
                tokenizer,
                max_seq_len=_max_seq_len(request),
                batch_size=_BATCH_SIZE,
                seed=request.seed,
            ),
            held_out=held_out[:_N_HELD_OUT],
            by_length=by_length,
            samples=samples,
        )


class Variant:
    """One of the models that are trained side by side."""

    def __init__(self, name: str, request: ExperimentRequest, data: ExperimentData) -> None:
        self.name = name
        config = model_of(name, request, data.tokenizer)
        self.model = build(config, seed=request.seed)
        # a position table also draws random numbers, which would change the weights initialized after it
        without_positions = build(replace(config, positions="none"), seed=request.seed)
        self.model.load_state_dict(without_positions.state_dict(), strict=False)
        batches: Iterator[Batch] = copy(data.batches)  # with its own position
        if name == "not_shifted":
            batches = not_shifted(batches, pad_id=data.batches.pad_id)
        self._interventions = {"decoder.blocks.*.self_attn.hook_mask": _see_every_token} if name == "no_mask" else {}
        self._steps = train(self.model, batches, training_of(request))

    def as_trained(self) -> AbstractContextManager[None]:
        """Return a context with the masks of training; outside of it, they are correct."""
        interventions: Mapping[str, Intervention] = self._interventions
        return intervene(self.model, interventions) if interventions else nullcontext()

    def step(self) -> StepRecord:
        """Train one step.

        Raises:
            RunError: the loss is not finite, or has exploded.
        """
        with self.as_trained():
            return next(self._steps)


def model_of(variant: str, request: ExperimentRequest, tokenizer: OwnTokenizer) -> ModelConfig:
    """Return the configuration of a variant's model, which differs at most in its positions."""
    differs: dict[str, Any] = {"positions": variant} if request.kind == "positions" else {}
    return replace(
        PRESETS[PRESET](tokenizer.vocab_size),
        max_seq_len=_max_seq_len(request),
        pad_id=tokenizer.pad_id,
        bos_id=tokenizer.bos_id,
        eos_id=tokenizer.eos_id,
        **differs,
    )


def training_of(request: ExperimentRequest) -> TrainingConfig:
    """Return the training of every variant."""
    return replace(
        preset_training(PRESET, request.task),
        steps=request.steps,
        seed=request.seed,
        batch_size=_BATCH_SIZE,
        learning_rate_factor=_RATE_FACTOR,
    )


def not_shifted(batches: Iterator[Batch], *, pad_id: int) -> Iterator[Batch]:
    """Yield batches whose decoder inputs are the targets, not shifted right after a <bos>."""
    for batch in batches:
        unshifted = batch.targets.masked_fill(batch.targets == IGNORED, pad_id)
        yield Batch((*batch.inputs[:-1], unshifted), batch.targets)


def _see_every_token(mask: Tensor, site: Site) -> Tensor:
    """Open a causal mask: each query may attend to all tokens of its text, but not to padding."""
    return mask.any(dim=-2, keepdim=True).expand_as(mask)


def _max_seq_len(request: ExperimentRequest) -> int:
    """Return the maximum length of the models in tokens: of the longest measured text, with <eos>."""
    return LONGEST_TRIED + 1 if request.kind == "positions" else PRESETS[PRESET](1000).max_seq_len


def _pairs_by_length(task: str, *, unlike: Sequence[Pair]) -> dict[int, list[Pair]]:
    """Return random pairs of each length, none of which is trained on."""
    random, letters = np.random.default_rng(_CORPUS_SEED), np.array([*LETTERS])
    seen = {pair.source for pair in unlike}

    def draw(n_letters: int) -> Iterator[Pair]:
        while True:
            source = "".join(random.choice(letters, n_letters))
            if source not in seen:
                yield pair_of(task, source)

    return {n: [*islice(draw(n), _PAIRS_OF_A_LENGTH)] for n in _LENGTHS}


def as_batch(pairs: Sequence[Pair], tokenizer: OwnTokenizer, *, max_seq_len: int) -> Batch:
    """Return pairs as one batch, in their order."""
    rows = np.arange(len(pairs))
    return PairBatches(pairs, tokenizer, max_seq_len=max_seq_len, batch_size=len(rows), seed=0).batch(rows)
