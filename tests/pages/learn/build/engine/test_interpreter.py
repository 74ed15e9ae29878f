"""A learner's line computes what torch computes, in torch's spelling and in NumPy's."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from pages.learn.build.engine import operations
from pages.learn.build.engine.interpreter import run
from pages.learn.build.engine.values import LineError

RNG = np.random.default_rng(3)
ARRAYS = {
    **{"q": RNG.normal(size=(5, 4)), "k": RNG.normal(size=(5, 4)), "Z": RNG.normal(size=(3, 5, 4))},
    **{"mask": np.tri(5).astype(bool), "b": RNG.normal(size=4)},
}
GIVEN: dict[str, Any] = ARRAYS | {"d_k": 4, "n_heads": 3, "n_queries": 5, "turn": lambda x: x * 2}
TORCH = {name: torch.from_numpy(array) for name, array in ARRAYS.items()} | {"d_k": 4, "n_heads": 3, "n_queries": 5}


OF_NUMPY = (
    *("np.exp(q - q.max(axis=-1, keepdims=True))", "np.concatenate(Z, axis=-1)", "np.swapaxes(Z, 0, 1)", "Z.T"),
    *("np.where(mask, q @ k.T, -np.inf)", "np.transpose(Z, (1, 0, 2))", "np.sum(q, axis=0)"),
    *("Z.transpose(1, 0, 2)",),
    *("np.einsum('hqd,hkd->hqk', Z, Z)", "Z.transpose()", "q / np.sqrt(d_k)", "np.matmul(q, k.T)"),
    *("np.dot(q, k.T)", "q.dot(b)", "np.logical_not(mask)", "np.max(q, 1)[0]", "q.max(axis=1)[0]"),
    *("q.max(1, keepdims=True)[0]",),
)


@pytest.mark.parametrize(
    "line",
    [
        *OF_NUMPY,
        *("q @ k.T", "q @ k.mT", "q.matmul(k.transpose(0, 1))", "torch.matmul(q, k.transpose(-2, -1))", "Z @ Z.mT"),
        *("q @ b", "b @ b", "q @ k.T / math.sqrt(d_k) + 1", "-q * 2 - k / 3 + b", "q ** 2 // 0.5"),
        *("(q < k) == mask[:, :4]",),
        *("q.sum()", "q.sum(-1, keepdim=True)", "q.sum(dim=0)", "q.mean(dim=(0, 1))", "q.amax(dim=-1, keepdim=True)"),
        *("q.max()", "torch.max(q, dim=-1, keepdim=True).values", "q.max(dim=0, keepdim=True)[0]", "q.exp().sqrt()"),
        *("F.softmax(q, dim=-1)", "q.softmax(0)", "torch.nn.functional.softmax(Z, dim=1)", "torch.softmax(q, dim=-1)"),
        *('q.softmax(-1).masked_fill(~mask[:, :4], float("-inf"))', "torch.where(mask, q @ k.T, -torch.inf)"),
        *("Z.transpose(0, 1).reshape(n_queries, n_heads * d_k)", "Z.permute(1, 0, 2).flatten(1)"),
        *("Z.permute((1, 2, 0))",),
        *("torch.cat(list(Z), dim=-1)", "torch.cat([Z[0], Z[1]], 0)", "torch.cat(Z.unbind(0), -1)", "q.view(-1, 2)"),
        *("Z[1, :, None, ...]", "Z[-1][1:4:2]", "q.unsqueeze(0)", "q[:, -1]", "q.shape[-1] * q", "q.size(0) + q"),
        *('torch.einsum("qd,kd->qk", q, k)', 'torch.einsum("hqd->qhd", Z)', "torch.exp(q) > 1", "~(q != k)", "+q"),
        *("q.max(1)[0]", "q.max(-1, True)[0]", "torch.max(q, 1)[0]", "torch.max(q, -1, keepdim=True)[0]"),
        *("q @ k.t()", "torch.t(q) @ k", "q.mm(k.T)", "torch.mm(q, k.T)", "mask.logical_not()"),
        *("torch.logical_not(mask)",),
        *("q.reshape(2**1, d_k**0 * 10)", "q * 2**-1", "torch.dot(b, b)"),
    ],
)
def test_torch_and_numpy_say_the_same(line: str):
    scope: dict[str, Any] = {"torch": torch, "math": math, "F": F, "np": np} | (GIVEN if line in OF_NUMPY else TORCH)
    expected = eval(line, scope)
    expected = expected.values if hasattr(expected, "indices") and not isinstance(expected, torch.Tensor) else expected
    result = run(line, "y", GIVEN)
    np.testing.assert_allclose(result, np.asarray(expected), rtol=1e-12)
    assert np.shape(result) == np.shape(expected)
    np.testing.assert_array_equal(run(f"y = {line}  # why", "y", GIVEN), result)


def test_a_function_of_the_model_is_called_and_no_array_is_changed():
    before = {name: array.copy() for name, array in ARRAYS.items()}
    np.testing.assert_array_equal(run("turn(q + 1)", "y", GIVEN), (ARRAYS["q"] + 1) * 2)
    assert all(np.array_equal(before[name], array) for name, array in ARRAYS.items())


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("", "the line is empty; write y = …"),
        ("x", "“x” is not a variable here; the variables are q, k, Z, mask, b, d_k, n_heads, n_queries, turn"),
        ("q.sum(", "“q.sum▸(” is not a Python expression; check it at ▸"),
        ("q − k", "the character “−” is not allowed here; use plain ASCII"),
        ("q + q.T", "[5, 4] + [4, 5]: the shapes do not fit together"),
        ("q.softmax", "softmax is a function; call it: softmax(…)"),
        ("q.sum(dim=2)", "there is no dimension 2; the array has 2"),
        ("torch.load('a')", "“torch.load” is not available here"),
        ("q.masked_fill(q, 0)", "a Boolean mask is needed here; use mask or ~mask"),
        ("[i for i in q]", "“[i for i in q]” cannot be used in this line; write tensor arithmetic"),
        ("1 < 2 < d_k", "compare two values at a time"),
        ("2 ** 65 * q", "an exponent may be at most 64"),
        ("q[5]", "q[5] is outside the array, which has shape [5, 4]"),
        ("q.shape", "the line must return an array"),
        ('q.masked_fill(~mask[:, :4], float("--inf"))', 'float takes a number, or "-inf"'),
        (f"{2**53} ** 64 * q", "a number may have at most 308 digits"),
        ("q[0:0].reshape(0, 9007199254740992, 9007199254740992)", "this would make an array of shape [0, 9007"),
        ("concat((q.reshape(-1, 1) * q.reshape(1, -1)).reshape(-1, 1))", "concat joins at most 256 arrays"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_sentence(line: str, sentence: str):
    with pytest.raises(LineError) as raised:
        run(line, "y", GIVEN)
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize("error", [ValueError, OverflowError, TypeError, IndexError, MemoryError])
def test_what_numpy_refuses_is_no_crash(error: type[Exception], monkeypatch: pytest.MonkeyPatch):
    def refuse(budget: object, input: object) -> object:
        raise error("of NumPy")

    monkeypatch.setitem(operations.FUNCTIONS, "exp", refuse)
    with pytest.raises(LineError, match="this line cannot be computed"):
        run("exp(q)", "y", GIVEN)
