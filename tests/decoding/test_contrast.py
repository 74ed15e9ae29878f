"""Contrastive decoding against a plain loop over the vocabulary."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.decoding.contrast import contrasted
from transformer_core.errors import ConfigError

logits = st.lists(st.floats(-8, 8, width=32), min_size=4, max_size=4)


def probabilities(of: list[float]) -> list[float]:
    total = math.fsum(math.exp(logit) for logit in of)
    return [math.exp(logit) / total for logit in of]


@given(logits, logits, st.floats(0.01, 1))
def test_it_is_the_plain_loop(expert: list[float], amateur: list[float], plausibility: float):
    scores = contrasted(torch.tensor(expert), torch.tensor(amateur), plausibility=plausibility).tolist()
    able, weak = probabilities(expert), probabilities(amateur)
    least = plausibility * max(able)
    for score, p, q in zip(scores, able, weak, strict=True):
        if p < least * (1 - 1e-5):
            assert score == -math.inf
        elif p > least * (1 + 1e-5):  # nearer than that the rounding decides
            assert score == pytest.approx(math.log(p / q), abs=1e-5)


def test_a_case_by_hand():
    """The expert: 1/2, 1/4, 1/5, 1/20. The amateur: 1/2, 1/8, 1/4, 1/8. The last token is below a fifth of 1/2."""
    expert, amateur = torch.tensor([0.5, 0.25, 0.2, 0.05]), torch.tensor([0.5, 0.125, 0.25, 0.125])
    scores = contrasted(expert.log(), amateur.log(), plausibility=0.2)
    expected = torch.tensor([0.0, math.log(2), math.log(0.8), -math.inf])
    torch.testing.assert_close(scores, expected, rtol=0, atol=1e-6)


@given(logits)
def test_against_itself_a_model_prefers_nothing(expert: list[float]):
    scores = contrasted(torch.tensor(expert), torch.tensor(expert))
    assert set(scores.tolist()) <= {0.0, -math.inf}
    assert scores[torch.tensor(expert).argmax()] == 0


def test_what_is_never_written_is_not_plausible():
    """Padding, of which neither model says anything."""
    expert, amateur = torch.tensor([-math.inf, 1.0, 1.0]), torch.tensor([-math.inf, 0.0, 2.0])
    assert contrasted(expert, amateur).tolist() == pytest.approx(
        [-math.inf, -math.log(2 / (1 + math.exp(2))), -math.log(2 / (1 + math.exp(-2)))]
    )


def test_the_most_probable_token_is_plausible_at_the_strictest():
    expert, amateur = torch.tensor([3.0, 2.9, 3.0]), torch.tensor([9.0, 0.0, 0.0])
    assert contrasted(expert, amateur, plausibility=1).isfinite().tolist() == [True, False, True]


@pytest.mark.parametrize("plausibility", [0, -0.1, 1.1, math.nan])
def test_a_plausibility_that_is_no_share(plausibility: float):
    with pytest.raises(ConfigError, match=r"must be above 0 and at most 1; 0\.1 is usual"):
        contrasted(torch.zeros(3), torch.zeros(3), plausibility=plausibility)
