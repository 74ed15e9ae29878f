"""What a variant is worth, against the measures that every training has, and a decoder that keeps nothing."""

import pytest
import torch

from transformer_core.decoding.greedy import greedy_decode
from transformer_core.training.evaluate import evaluate
from transformer_core.training.experiments import variants as experiment_variants
from transformer_core.training.experiments.experiment import ExperimentRequest
from transformer_core.training.experiments.measure import accuracy_by_length, measure, written
from transformer_core.training.experiments.variants import ExperimentData, Variant

REQUEST = ExperimentRequest(kind="positions", task="reverse", variants=("rotary_halves",), seed=0, steps=40)


@pytest.fixture(scope="module")
def data() -> ExperimentData:
    """What is measured on: less than in earnest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment_variants, "_N_HELD_OUT", 4)
        patch.setattr(experiment_variants, "_PAIRS_OF_A_LENGTH", 5)
        return ExperimentData.of(REQUEST)


@pytest.fixture(scope="module")
def variant(data: ExperimentData) -> Variant:
    """Trained a little, so that some tokens are right."""
    variant = Variant("rotary_halves", REQUEST, data)
    for _ in range(15):
        variant.step()
    return variant


def test_each_length_is_as_if_it_were_measured_alone(variant: Variant, data: ExperimentData):
    variant.model.eval()
    some = {n: data.by_length[n] for n in (3, 8, 16, 24)}
    shares = accuracy_by_length(variant.model, data.tokenizer, some)
    alone = [evaluate(variant.model, data.tokenizer, data.corpus, pairs)["accuracy"] for pairs in some.values()]
    assert shares == pytest.approx(alone)
    assert 0 < max(shares) < 1
    assert accuracy_by_length(variant.model, data.tokenizer, {}) == []


def test_what_is_written_is_greedy(variant: Variant, data: ExperimentData):
    variant.model.eval()
    outputs = written(variant.model, data.tokenizer, data.samples)
    for pair, output in zip(data.samples, outputs, strict=True):
        src = torch.tensor([[*data.tokenizer.encode(pair.source, eos=True)]])
        alone = greedy_decode(variant.model, src, max_new_tokens=24, use_cache=False).tokens[0]
        assert output == data.tokenizer.decode(alone.tolist())


def test_a_measured_model_is_left_in_training(variant: Variant, data: ExperimentData):
    variant.model.train()
    before = {name: weight.clone() for name, weight in variant.model.named_parameters()}
    measured = measure(variant, data)
    assert variant.model.training
    assert all(torch.equal(weight, before[name]) for name, weight in variant.model.named_parameters())
    assert len(measured.by_length) == len(data.by_length)
    assert {"loss", "accuracy", "exact_match"} <= {*measured.metrics}
