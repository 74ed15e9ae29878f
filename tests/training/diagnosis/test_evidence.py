"""What can only be a count of at least 1 is refused; what is not known stays unknown."""

import math

import pytest

from tests.training.diagnosis.records import evidence
from transformer_core.errors import RunError


@pytest.mark.parametrize("name", ["steps", "vocab_size", "d_model", "warmup_steps"])
def test_a_count_below_one_is_refused(name: str):
    with pytest.raises(RunError, match=f"{name} must be at least 1 for a diagnosis, got 0"):
        evidence([], **{name: 0})


def test_epochs_are_known_where_tokens_were_counted():
    assert evidence([], tokens_seen=150, n_training_tokens=100).epochs == 1.5
    assert evidence([], tokens_seen=None).epochs is None
    assert evidence([], n_training_tokens=None).epochs is None
    assert evidence([], n_training_tokens=0).epochs is None
    assert evidence([], vocab_size=8).even_entropy == pytest.approx(3 * math.log(2))
