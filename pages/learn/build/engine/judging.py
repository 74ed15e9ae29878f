"""Judges a line and, if it is wrong, explains why: known mistakes first, then differences in the numbers."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headlight.language import localized
from pages.learn.build.engine.interpreter import Given, run
from pages.learn.build.engine.one_head import BuildStep
from pages.learn.build.engine.values import LineError, shape_in_words
from pages.learn.build.engine.workbench import Workbench
from transformer_core.errors import Message, mark

TOLERANCE = 1e-5  # for numbers up to 1, relative for larger ones: the model computes in float32
LARGE = -50.0  # scores below it get practically no weight

A_NUMBER = mark("The line returns a single number; expected an array of shape {wanted}.")
SHAPE = mark("The result has shape {shape}; expected {wanted}, that is, [{axes}].")
TRANSPOSED = mark("The result is transposed.")
NAN = mark("Some cells are NaN, “not a number”: 0 × ∞ and ∞ − ∞ have no value.")
FACTOR = mark("Every cell is {factor} times the expected one.")
NEARLY = mark("The numbers are nearly correct: a constant has too few digits.")
OFFSET = mark("Every cell is too large by {offset}.")
FINITE = mark("A large negative number is almost correct; the model uses −∞, whose exponential is exactly 0.")
SIGN = mark("Every cell has the wrong sign.")
ALL_ALLOWED = mark(
    "On this text the mask allows every cell, so the numbers agree; with a causal mask, this line would be wrong."
)
ANOTHER = mark("The result equals {name}.")


@dataclass(frozen=True, kw_only=True)
class LargestDifference:
    """The cell in which a result differs most from the expected one."""

    index: tuple[int, ...]
    value: float
    expected: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Verdict:
    """The result of a line, and whether it is correct."""

    is_right: bool
    result: np.ndarray | None = None  # None: the line could not be run
    reasons: tuple[Message, ...] = ()  # what is wrong, the most informative reason first
    cell: LargestDifference | None = None  # the cell that differs most; None if the shapes differ or all cells agree


def judge(bench: Workbench, place: int, line: str) -> Verdict:
    """Run a line as a step, and compare it with the model's numbers.

    Args:
        bench: the head and the text.
        place: of the step, from 0.
        line: what the learner wrote.
    """
    step, given = bench.steps[place], bench.given(place)
    expected = bench.expected[step.name]
    try:
        result = _numbers(line, step, given)
        if is_close(result, expected):
            return _probed(bench, place, line, result)
    except LineError as error:
        return Verdict(is_right=False, reasons=(error.message,))
    known = _known(step, given, result, bench.expected)
    if result.shape != expected.shape:
        return Verdict(is_right=False, result=result, reasons=_of_shape(step, result, expected, known))
    index = np.unravel_index(int(_differences(result, expected).argmax()), result.shape)
    cell = LargestDifference(index=tuple(map(int, index)), value=float(result[index]), expected=float(expected[index]))
    return Verdict(is_right=False, result=result, reasons=known or _of_numbers(result, expected), cell=cell)


def _probed(bench: Workbench, place: int, line: str, result: np.ndarray) -> Verdict:
    """Confirm a line whose numbers match, unless they match only because this text's mask allows every cell.

    Raises:
        LineError: it cannot be run with another mask.
    """
    step, given = bench.steps[place], bench.probe(place)
    if given is None or "~mask" not in step.line:
        return Verdict(is_right=True, result=result)
    probed = _numbers(line, step, given)
    if is_close(probed, _numbers(step.line, step, given)):
        return Verdict(is_right=True, result=result)
    return Verdict(
        is_right=False, result=result, reasons=(Message(ALL_ALLOWED), *_known(step, given, probed, bench.expected))
    )


def _numbers(line: str, step: BuildStep, given: Given) -> np.ndarray:
    """Return the result of a line as an array of float64.

    Raises:
        LineError: the line cannot be run.
    """
    return np.asarray(run(line, step.name, given), dtype=np.float64)


def is_close(result: np.ndarray, expected: np.ndarray) -> bool:
    """Return whether two arrays have the same shape and are equal up to rounding."""
    return result.shape == expected.shape and bool(_differences(result, expected).max() <= _allowed(expected))


def _allowed(expected: np.ndarray) -> float:
    finite = expected[np.isfinite(expected)]
    return TOLERANCE * max(1.0, float(np.abs(finite).max(initial=0.0)))


def _differences(result: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return the absolute difference per cell: 0 for equal infinities or two NaN, infinite for one NaN."""
    with np.errstate(invalid="ignore"):
        is_same = (result == expected) | (np.isnan(result) & np.isnan(expected))
        apart = np.where(is_same, 0.0, np.abs(result - expected))
    return np.where(np.isnan(apart), np.inf, apart)


def _known(step: BuildStep, given: Given, result: np.ndarray, others: Mapping[str, np.ndarray]) -> tuple[Message, ...]:
    """Return the message if the result equals that of a known mistake or another variable; () otherwise."""
    for line, why in step.mistakes:
        if not line:
            continue
        try:
            wrong = _numbers(line, step, given)
        except LineError:
            continue  # a mistake that cannot be made on this text
        if is_close(result, wrong):
            return (Message(why),)
    arrays = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    for name, other in (arrays | dict(others)).items():
        if is_close(result, other.astype(np.float64)):
            return (Message(ANOTHER, name=name),)
    return ()


def _of_shape(
    step: BuildStep, result: np.ndarray, expected: np.ndarray, known: tuple[Message, ...]
) -> tuple[Message, ...]:
    wanted = shape_in_words(expected)
    if not result.ndim:
        return (Message(A_NUMBER, wanted=wanted), *known)
    text = Message(SHAPE, shape=shape_in_words(result), wanted=wanted, axes=", ".join(step.axes))
    if not known and is_close(result.T, expected):
        known = (Message(TRANSPOSED),)
    return (text, *known)


def _of_numbers(result: np.ndarray, expected: np.ndarray) -> tuple[Message, ...]:
    if result.ndim == 2 and is_close(result.T, expected):
        return (Message(TRANSPOSED),)
    if np.isnan(result).any():
        return (Message(NAN),)
    is_masked = expected == -np.inf
    if (
        is_masked.any()
        and is_close(np.where(is_masked, -np.inf, result), expected)
        and result[is_masked].max() <= LARGE
    ):
        return (Message(FINITE),)
    finite = np.isfinite(expected) & np.isfinite(result) & (np.abs(expected) > TOLERANCE)
    if not finite.any():
        return ()
    if is_close(-result, expected):
        return (Message(SIGN),)
    factor = float(np.median(result[finite] / expected[finite]))
    if factor and is_close(result / factor, expected):
        digits = localized(factor, ".3g")
        return (Message(NEARLY) if digits == "1" else Message(FACTOR, factor=digits),)
    offset = float(np.median(result[finite] - expected[finite]))
    if is_close(result - offset, expected):
        return (Message(OFFSET, offset=localized(offset, ".3g")),)
    return ()
