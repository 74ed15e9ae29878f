"""Metrics and ranks, against plain sums."""

import math

import pytest
import torch

from headlight.analysis.interventions.effect import Metric, ranks
from transformer_core.errors import ConfigError

ROW = torch.tensor([1.0, 3.0, 3.0, -2.0])


def test_a_logit_difference_is_the_same_of_logits_and_of_log_probabilities():
    metric = Metric(position=0, token=1, other=3)
    assert metric.of(ROW) == 5
    assert metric.of(ROW.log_softmax(dim=-1)) == pytest.approx(5, abs=1e-6)


def test_a_log_probability_is_that_of_the_softmax():
    expected = 1 - math.log(math.exp(1) + 2 * math.exp(3) + math.exp(-2))
    assert Metric(position=0, token=0).of(ROW) == pytest.approx(expected, abs=1e-6)


def test_ranks_count_the_more_probable_tokens():
    assert ranks(torch.stack([ROW, -ROW]), [2, 0]).tolist() == [0, 1]
    assert ranks(torch.stack([ROW, -ROW])[None].expand(3, -1, -1), [3, 3]).tolist() == [[3, 0]] * 3


@pytest.mark.parametrize("values", [{"token": 1, "other": 1}, {"token": -1}, {"token": 1, "position": -1}])
def test_what_makes_no_sense_is_refused(values: dict[str, int]):
    with pytest.raises(ConfigError):
        Metric(**({"position": 0} | values))
