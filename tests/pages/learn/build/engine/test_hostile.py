"""The learner's language is no way out: hostile programs reach nothing that is not listed, and keep to their budget.

The lists here are the test's own, so that an entry added to the interpreter's by mistake is seen.
"""

import ast
import sys
import tracemalloc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pages.learn.build.engine import interpreter, operations, values
from pages.learn.build.engine.interpreter import GRAMMAR, REFUSED, run
from pages.learn.build.engine.values import Budget, LineError
from tests.pages.learn.build.engine.hostile import hostile

N_PROGRAMS, SEED = 2_000, 20_170_612
ALLOWED_NODES = (
    *(ast.Module, ast.Expr, ast.Assign, ast.Name, ast.Load, ast.Store, ast.Constant, ast.Attribute, ast.Call),
    *(ast.keyword, ast.Tuple, ast.List, ast.Subscript, ast.Slice, ast.Compare, ast.BinOp, ast.UnaryOp),
    *(ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv),
    *(ast.Pow, ast.MatMult, ast.USub, ast.UAdd, ast.Invert),
)
ALLOWED_NAMES = {
    *("torch", "np", "numpy", "math", "F", "inf", "float", "list", "tuple"),
    *("matmul", "transpose", "swapaxes", "permute", "reshape", "view", "flatten", "unsqueeze", "sum", "mean", "max"),
    *("amax", "softmax", "exp", "sqrt", "masked_fill", "size", "unbind", "where", "einsum"),
    *("concat", "concatenate", "cat", "t", "mm", "dot", "logical_not"),
}
ALLOWED_ATTRIBUTES = ALLOWED_NAMES | {"T", "mT", "shape", "values", "nn", "functional"}
ALLOWED_KEYWORDS = {
    *("dim", "axis", "keepdim", "keepdims", "input", "other", "mask", "value", "condition", "tensors"),
    *("start_dim", "end_dim", "dim0", "dim1", "subscripts"),
}
REACHED = {  # what the interpreter asks of an array
    *("shape", "ndim", "dtype", "size", "astype", "item", "T", "swapaxes", "transpose", "reshape"),
    *("max", "__class__", "__array_priority__", "__array_wrap__"),  # the latter by `isinstance` and by NumPy
}
MOST_NUMBERS, MOST_TOGETHER, MOST_PRODUCTS = 1 << 22, 1 << 24, 1 << 31
MOST_BYTES = 8 * MOST_TOGETHER + 8 * MOST_NUMBERS  # of all arrays, and of one that a function needs in between

audited: list[str] | None = None  # events while a program runs; None: nobody looks
reached: set[str] = set()


def hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Note an event; that `ast.parse` compiles a text, to a tree, is none."""
    is_parse = event == "compile" and isinstance(arguments[0], str | bytes | None)
    if audited is not None and not is_parse:
        audited.append(f"{event}{str(arguments)[:80]}")


sys.addaudithook(hook)


class Watched(np.ndarray):
    """An array that records the calls on it; so does every array derived from it."""

    def __getattribute__(self, name: str) -> Any:
        reached.add(name)
        return super().__getattribute__(name)


@contextmanager
def watched() -> Iterator[list[str]]:
    """Note what happens in the process."""
    global audited
    audited = []
    reached.clear()
    try:
        yield audited
    finally:
        audited = None


def variables() -> dict[str, Any]:
    """Small arrays under the names of every variant."""
    rng = np.random.default_rng(0)
    shapes = {
        **{"x": (7, 16), "memory": (5, 16), "q": (7, 4), "k": (7, 4), "v": (7, 4), "z": (7, 4)},
        **dict.fromkeys(("scores", "scaled", "masked", "weights", "pattern", "bias"), (7, 7)),
        **{f"W_{letter}": (16, 4) for letter in "QKV"},
        **{f"b_{letter}": (4,) for letter in "QKV"},
        **{"Q": (4, 7, 4), "K": (4, 7, 4), "V": (4, 7, 4), "Z": (4, 7, 4), "biases": (4, 7, 7)},
        **{"concat": (7, 16), "W_O": (16, 16), "b_O": (16,), "attn_out": (7, 16)},
    }
    arrays: dict[str, Any] = {name: rng.normal(size=shape).view(Watched) for name, shape in shapes.items()}
    mask = np.tri(7).astype(bool).view(Watched)
    return arrays | {"mask": mask, "rotate": lambda x: x, "d_k": 4, "n_heads": 4, "n_queries": 7}


def not_allowed(program: str, known: Mapping[str, Any]) -> list[str]:
    """What stands in a program that was run and is on none of the lists."""
    results = []
    for node in ast.walk(ast.parse(program.strip())):
        if not isinstance(node, ALLOWED_NODES):
            results.append(type(node).__name__)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in {*known, *ALLOWED_NAMES}:
            results.append(node.id)
        elif isinstance(node, ast.Attribute) and node.attr not in ALLOWED_ATTRIBUTES:
            results.append(f".{node.attr}")
        elif isinstance(node, ast.keyword) and node.arg not in ALLOWED_KEYWORDS:
            results.append(f"{node.arg}=")
        elif isinstance(node, ast.Call) and not isinstance(node.func, ast.Name | ast.Attribute):
            results.append("call of a value")
    return results


def faults(programs: list[str]) -> list[str]:
    """What programs did that they may not do, a sentence each."""
    known, actual = variables(), []
    originals = {name: np.array(value) for name, value in known.items() if isinstance(value, np.ndarray)}
    n_run = 0
    for function in operations.FUNCTIONS.values():
        interpreter._SIGNATURE(function)  # which looks into functions, once
    run("softmax(q @ k.T, dim=-1).masked_fill(~mask, 0)", "q", known)  # what NumPy loads at the first use
    for program in programs:
        budget = Budget()
        with watched() as events:
            try:
                result: Any = run(program, "q", known, budget)
            except LineError as error:
                result = None
                if error.message.template == REFUSED:
                    actual.append(f"{program[:80]!r} was refused by NumPy alone")
            except Exception as error:
                actual.append(f"{program[:80]!r} raised {error!r}")
                result = None
            seen = {*reached} - REACHED
        if events:
            actual.append(f"{program[:80]!r}: {events[0]}")
        if seen:
            actual.append(f"{program[:80]!r} reached {sorted(seen)}")
        if budget.n_numbers > MOST_TOGETHER or budget.n_products > MOST_PRODUCTS:
            actual.append(f"{program[:80]!r} took {budget.n_numbers} numbers, {budget.n_products} products")
        if result is None:
            continue
        n_run += 1
        is_number = isinstance(result, np.ndarray | int | float)
        if (
            not is_number
            or np.asarray(result).dtype not in (np.float64, np.int64, np.bool_)
            or np.size(result) > MOST_NUMBERS
        ):
            actual.append(f"{program[:80]!r} gave {type(result).__name__} of {np.size(result)} numbers")
        actual += [f"{program[:80]!r} was run, with {what}" for what in not_allowed(program, known)]
    for name, original in originals.items():
        if not np.array_equal(np.array(known[name]), original):
            actual.append(f"{name} was changed")
    assert 20 * n_run > len(programs), "else an interpreter that refuses everything would have no fault"
    return actual


def test_hostile_programs_reach_nothing_and_keep_to_their_budget():
    programs = [*hostile(N_PROGRAMS, SEED)]
    assert len({*programs}) == N_PROGRAMS
    tracemalloc.start()
    try:
        assert faults(programs)[:10] == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MOST_BYTES


def open_file(budget: Budget, path: str) -> int:
    return len(Path(path).read_bytes())


GIANT = "x.reshape(-1, 1, 1, 1) * x.reshape(1, -1, 1, 1) * x.reshape(1, 1, -1, 1) * q[:5, 0]"
PLANTED: dict[str, list[tuple[Any, str, Any]]] = {
    "q.dtype": [(interpreter, "_ATTRIBUTES", {"dtype": lambda x: np.array(x.dtype.itemsize, dtype=float)})],
    "q.ctypes": [(interpreter, "_ATTRIBUTES", {"ctypes": lambda x: x.ctypes})],
    f"open({__file__!r})": [(operations, "FUNCTIONS", {"open": open_file})],
    "softmax(q, out=k)": [(operations, "FUNCTIONS", {"softmax": lambda budget, input, dim=0, out=None: input})],
    "q and k": [
        (interpreter, "GRAMMAR", replace(GRAMMAR, nodes=(*GRAMMAR.nodes, ast.BoolOp, ast.And))),
        (interpreter._Run, "boolean", lambda self, sign, values: 1.0),
    ],
    GIANT: [(values, "MOST_NUMBERS", 1 << 23), (values, "MOST_NUMBERS_TOGETHER", 1 << 25)],
}


@pytest.mark.parametrize("program", PLANTED)
def test_a_fault_that_is_planted_is_seen(program: str, monkeypatch: pytest.MonkeyPatch):
    usual = "q @ k.T"
    assert faults([usual, program]) == []
    for place, name, value in PLANTED[program]:
        before = getattr(place, name)
        if isinstance(before, dict):
            monkeypatch.setitem(before, *next(iter(value.items())))
        else:
            monkeypatch.setattr(place, name, value)
    assert faults([usual, program]) != []
