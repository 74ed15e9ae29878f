"""The shapes in the core's signatures are checked while the tests run, all of them."""

import importlib
import pkgutil

import jaxtyping
import pytest
import torch
from beartype.roar import BeartypeCallHintViolation

import transformer_core
from tests import shapes
from transformer_core.decoding.greedy import Decoding
from transformer_core.model import attention


def test_every_function_of_the_core_is_checked():
    for module in pkgutil.walk_packages(transformer_core.__path__, "transformer_core."):
        if module.name != "transformer_core.__main__":
            importlib.import_module(module.name)
    assert shapes.unchecked == {}


def test_a_wrong_shape_is_seen():
    q, k = torch.zeros(1, 1, 3, 4), torch.zeros(1, 1, 3, 5)
    with pytest.raises(BeartypeCallHintViolation, match="k="):
        attention.attention_scores(q, k)
    assert attention.attention_scores(q, q).shape == (1, 1, 3, 3)


def test_a_wrong_shape_in_a_record_is_seen():
    Decoding(torch.zeros(2, 5, dtype=torch.int64), torch.zeros(2, 4))
    with pytest.raises(jaxtyping.TypeCheckError, match="log_probs"):
        Decoding(torch.zeros(2, 5, dtype=torch.int64), torch.zeros(2, 5))
