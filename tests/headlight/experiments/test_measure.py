"""What a variant is worth, against the measures that every training has, and a decoder that keeps nothing."""

import pytest
import torch

from headlight.experiments import variants as experiment_variants
from headlight.experiments.experiment import ExperimentRequest
from headlight.experiments.measure import accuracy_by_length, measure, written
from headlight.experiments.variants import ExperimentData, Variant
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.training.evaluate import evaluate

REQUEST = ExperimentRequest(kind="positions", task="reverse", variants=("rotary_halves",), seed=0, steps=40)


def test_a_variant_is_measured_as_if_each_length_and_output_were_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(experiment_variants, "_N_HELD_OUT", 4)
    monkeypatch.setattr(experiment_variants, "_PAIRS_OF_A_LENGTH", 5)
    data = ExperimentData.of(REQUEST)
    variant = Variant("rotary_halves", REQUEST, data)
    for _ in range(15):  # so that some tokens are right
        variant.step()
    measured = measure(variant, data)
    assert variant.model.training and {"loss", "accuracy", "exact_match"} <= {*measured.metrics}
    assert len(measured.by_length) == len(data.by_length)

    variant.model.eval()
    some = {n: data.by_length[n] for n in (3, 8, 24)}
    shares = accuracy_by_length(variant.model, data.tokenizer, some)
    alone = [evaluate(variant.model, data.tokenizer, data.corpus, pairs)["accuracy"] for pairs in some.values()]
    assert shares == pytest.approx(alone) and 0 < max(shares) < 1
    for pair, output in zip(data.samples, written(variant.model, data.tokenizer, data.samples), strict=True):
        src = torch.tensor([[*data.tokenizer.encode(pair.source, eos=True)]])
        tokens = greedy_decode(variant.model, src, max_new_tokens=24, use_cache=False).tokens[0]
        assert output == data.tokenizer.decode(tokens.tolist())
