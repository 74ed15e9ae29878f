"""The environment of the lines: the variables of each step on the reader's text, and the model's numbers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pages.learn.build.engine.interpreter import Given, run
from pages.learn.build.engine.one_head import AttentionVariant, BuildStep
from pages.learn.build.engine.steps import N_OF_ONE_HEAD, steps_of
from pages.learn.build.engine.values import Budget, LineError, shape_in_words
from transformer_core.cached_property import cached_property
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.walkthrough.walkthrough import AttentionInputs, Walkthrough

SHAPES_DIFFER = mark(
    "your program does not compute the model’s attention output: {name} has a different shape in another head. Each "
    "line is correct on its own, so one of them must be correct for this head only"
)
N_PROJECTIONS = 3  # lines that all heads need before line 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Workbench:
    """One head of one attention on one text.

    Attributes:
        inputs: of the attention.
        expected: what the model's own modules compute in float64, by the names of the steps.
        captured: the model's attention output [query, d_model], in the precision that it runs in.
        head: that lines 1 to 9 compute.
    """

    inputs: "AttentionInputs"
    expected: Mapping[str, np.ndarray]
    captured: np.ndarray
    head: int

    @classmethod
    def of(cls, inputs: "AttentionInputs", walk: "Walkthrough") -> "Workbench":
        """Return the workbench of a head from its walkthrough."""
        of_walk = walk.recomputed
        pattern, concat = of_walk["pattern"], of_walk["concat"]
        heads = concat.reshape(len(concat), inputs.n_heads, inputs.d_head)  # [query, head, d_head]
        expected = {name: of_walk[name] for name in ("q", "k", "v", "z", "pattern", "concat", "attn_out")} | {
            "scores": of_walk["product"],
            "scaled": of_walk["scaled" if inputs.bias is None else "biased"],
            "masked": of_walk["attn_scores"],
            "weights": pattern / pattern.max(axis=-1, keepdims=True),  # the largest of each row is e^0
            "Z": heads.swapaxes(0, 1),
        }
        captured = walk.quantities["attn_out"].values
        return cls(inputs=inputs, expected=expected, captured=captured, head=walk.outline.head)

    @cached_property
    def variant(self) -> AttentionVariant:
        """How the attention differs from the paper's."""
        inputs = self.inputs
        return AttentionVariant(
            is_cross=inputs.memory is not None,
            is_rotated=inputs.rotate is not None,
            has_bias=inputs.bias is not None,
        )

    @property
    def steps(self) -> tuple[BuildStep, ...]:
        """The twelve steps of this attention."""
        return steps_of(self.variant)

    def given(self, place: int) -> Given:
        """Return the variables of a step, counted from 0: inputs, and the model's numbers of the steps before."""
        before = {step.name: self.expected[step.name] for step in self.steps[:place]}
        return self._of_head(self.head) | before | (self._of_all_heads if place >= N_OF_ONE_HEAD else {})

    def offered(self, place: int) -> Mapping[str, Any]:
        """Return the variables that may be needed in a step."""
        given, results = self.given(place), [step.name for step in self.steps[:place]]
        if place < N_PROJECTIONS:
            names = ["x", "memory", *(f"{kind}_{letter}" for letter in "QKV" for kind in "Wb"), "rotate"]
        elif place < N_OF_ONE_HEAD:
            names = [*results, "bias", "mask", "d_k"]
        elif place == N_OF_ONE_HEAD:
            names = [*"QKV", "biases", "mask", "d_k"]
        else:
            names = [*results[N_OF_ONE_HEAD:], "W_O", "b_O", "d_k", "n_heads", "n_queries"]
        return {name: given[name] for name in names if name in given}

    def probe(self, place: int) -> Given | None:
        """Return the variables with a causal mask if the text's own mask allows every cell; None otherwise."""
        causal = np.tri(*self.inputs.mask.shape).astype(bool)
        if not self.inputs.mask.all() or causal.all():
            return None
        return {**self.given(place), "mask": causal}

    @staticmethod
    def in_words(variable: tuple[str, Any]) -> str:
        """Return a variable with its shape or its value."""
        name, value = variable
        if callable(value):
            return f"{name}(…)"
        return f"{name} {shape_in_words(value)}" if isinstance(value, np.ndarray) else f"{name} = {value}"

    def shapes(self, step: BuildStep) -> str:
        """Return the shapes in a step's solution for this text."""
        known = {**self.given(self.steps.index(step)), step.name: self.expected[step.name]}

        def with_shape(part: re.Match[str]) -> str:
            return self.in_words((part[1], run(part[1], step.name, known)))

        return re.sub(r"\{(.+?)\}", with_shape, step.shapes)

    def program(self, lines: Sequence[str]) -> "BuildRun":
        """Run the twelve lines as one program: the first nine for each head, then the others.

        Args:
            lines: of the learner, one for each step.

        Raises:
            LineError: a line cannot be run after those before it.
        """
        names, budget = [step.name for step in self.steps], Budget(n_lines=len(self.steps))
        of_heads = []
        for head in range(self.inputs.n_heads):
            known = self._of_head(head)
            for name, line in zip(names[:N_OF_ONE_HEAD], lines, strict=False):
                known[name] = np.asarray(run(line, name, known, budget))
            of_heads.append(known)
        known = of_heads[self.head] | self._of_all_heads
        known |= {letter: _stacked(of_heads, letter.lower()) for letter in "QKV"}
        for name, line in zip(names[N_OF_ONE_HEAD:], lines[N_OF_ONE_HEAD:], strict=True):
            known[name] = np.asarray(run(line, name, known, budget))
        return BuildRun(
            attn_out=known["attn_out"],
            error=_distance(known["attn_out"], self.expected["attn_out"]),
            error_of_captured=_distance(known["attn_out"], self.captured),
            error_of_heads=_distance(_stacked(of_heads, "z"), known["Z"]),
        )

    @cached_property
    def _of_all_heads(self) -> dict[str, Any]:
        """The variables that line 10 adds: queries, keys and values of all heads, and the output projection."""
        inputs, solved = self.inputs, []
        for head in range(inputs.n_heads):
            known = self._of_head(head)
            for step in self.steps[:N_PROJECTIONS]:
                known[step.name] = run(step.line, step.name, known)
            solved.append(known)
        results = {letter: _stacked(solved, letter.lower()) for letter in "QKV"}
        results |= {} if inputs.bias is None else {"biases": inputs.bias}
        return results | {"W_O": inputs.W_O, "b_O": inputs.b_O}

    def _of_head(self, head: int) -> dict[str, Any]:
        """Return the variables that line 1 may use, for one head."""
        inputs = self.inputs
        results: dict[str, Any] = {"x": inputs.x, "memory": inputs.memory}
        for letter in "QKV":
            results[f"W_{letter}"] = getattr(inputs, f"W_{letter}")[head]
            results[f"b_{letter}"] = getattr(inputs, f"b_{letter}")[head]
        results |= {
            "rotate": None if inputs.rotate is None else self._rotate,
            **{"mask": inputs.mask, "d_k": inputs.d_head, "n_heads": inputs.n_heads, "n_queries": len(inputs.x)},
            "bias": None if inputs.bias is None else inputs.bias[head],
        }
        return {name: value for name, value in results.items() if value is not None}

    def _rotate(self, x: np.ndarray) -> np.ndarray:
        """Turn the rows of queries or keys by their positions.

        Raises:
            LineError: the value is not an array of a head's rows.
        """
        wanted = (len(self.inputs.x), self.inputs.d_head)
        if x.shape != wanted or self.inputs.rotate is None:
            raise LineError(
                "rotate takes an array of shape {wanted}; this one has {shape}",
                wanted=str([*wanted]),
                shape=shape_in_words(x),
            )
        return self.inputs.rotate(x.astype(np.float64))


@dataclass(frozen=True, kw_only=True, eq=False)
class BuildRun:
    """The results of the whole program."""

    attn_out: np.ndarray
    error: float  # the largest difference from the model's own modules in float64
    error_of_captured: float  # the largest difference from the model in its own precision
    error_of_heads: float  # the largest difference between lines 1 to 9, for each head, and line 10


def _stacked(of_heads: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
    """Return a variable of all heads, [head, ...].

    Raises:
        LineError: its shape differs between heads.
    """
    arrays = [known[name] for known in of_heads]
    if len({array.shape for array in arrays}) > 1:
        raise LineError(SHAPES_DIFFER, name=name)
    return np.stack(arrays)


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    """Return the largest difference between two arrays; infinite if their shapes differ or a cell is NaN."""
    if one.shape != other.shape:
        return float("inf")
    largest = float(np.abs(one - other).max())
    return largest if largest == largest else float("inf")
