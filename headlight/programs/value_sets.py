"""Which values each sequence of a program can take: every one of them gets a direction of the residual stream."""

from collections.abc import Mapping
from collections.abc import Sequence as Tokens
from fractions import Fraction
from itertools import product
from math import prod

from headlight.programs.functions import Value, n_parts
from headlight.programs.program import (
    Aggregate,
    Given,
    Map,
    Program,
    Selector,
    SelectorWidth,
    Sequence,
    applied,
    steps_of,
)
from transformer_core.errors import ProgramError

MOST_VALUES = 400  # of one sequence
MOST_CASES = 100_000  # of all maps and predicates: combinations of their inputs' values
MOST_WORK = 1_500_000  # steps of all that, nodes of functions and parts of values, and of keys times queries
MOST_APART = MOST_VALUES  # between the sums of whole numbers that are averaged: this many means there are at least


def value_sets(program: Program, vocab: Tokens[str], max_len: int) -> Mapping[Sequence, tuple[Value, ...]]:
    """Return the possible values of each sequence, without repetition; of a numerical one in rising order.

    Args:
        program: what is computed.
        vocab: the tokens that may occur.
        max_len: tokens of the longest input.

    Raises:
        ProgramError: a sequence with too many possible values, or numbers that are none.
    """
    sets: dict[Sequence, tuple[Value, ...]] = {}
    n_cases = 0
    sizes: dict[Sequence, int] = {}  # parts of its largest value
    work = 0
    for step in steps_of(program.output):
        if isinstance(step, Map | Selector):
            n_here = prod(len(sets[of]) for of in step.inputs)
            n_cases += n_here
            function = step.function if isinstance(step, Map) else step.predicate
            work += n_here * function.work([sizes[of] for of in step.inputs])
            if n_cases > MOST_CASES:
                raise ProgramError(
                    "line {number}: up to here, the maps and predicates have {n:,} cases, more than {most:,}; use "
                    "fewer sequences, a smaller vocabulary or shorter inputs",
                    number=step.line,
                    n=n_cases,
                    most=MOST_CASES,
                )
        work += max_len * (1 if isinstance(step, Map | Given) else max_len)
        if work > MOST_WORK:
            raise ProgramError(
                "line {number}: up to here, the program takes {n:,} steps to compute, more than {most:,}; use fewer or "
                "shorter functions, a smaller vocabulary or shorter inputs",
                number=step.line,
                n=work,
                most=MOST_WORK,
            )
        match step:
            case Given(name="tokens"):
                values: list[Value] = [*vocab]
            case Given():
                values = [*range(max_len)]
            case Map():
                values = [applied(step, *case) for case in product(*(sets[of] for of in step.inputs))]
            case Aggregate() if step.is_numerical:
                values = _means(step, sets[step.values], max_len)
            case Aggregate():
                values = [*sets[step.values], step.default]
            case SelectorWidth():
                values = [*range(max_len + 1)]
            case Selector():
                continue
        assert isinstance(step, Sequence)
        if step.is_numerical and not all(isinstance(value, int | Fraction) for value in values):
            raise ProgramError("line {number}: numerical needs numbers or truth values", number=step.line)
        sets[step] = tuple(sorted(set(values)) if step.is_numerical else dict.fromkeys(values))
        sizes[step] = max(map(n_parts, sets[step]), default=1)
        if len(sets[step]) > MOST_VALUES:
            raise ProgramError(
                "line {number}: this sequence has {n:,} possible values, more than {most}; use a smaller vocabulary or "
                "shorter inputs",
                number=step.line,
                n=len(sets[step]),
                most=MOST_VALUES,
            )
    return sets


def _means(step: Aggregate, values: Tokens[Value], max_len: int) -> list[Value]:
    """Return all means that up to `max_len` of these whole numbers can have."""
    if any(Fraction(value).denominator != 1 for value in values):
        raise ProgramError("line {number}: only whole numbers can be averaged", number=step.line)
    low, high = int(min(values)), int(max(values))
    if (high - low) * max_len > MOST_APART:
        raise ProgramError("line {number}: the numbers that are averaged are too far apart", number=step.line)
    means = {Fraction(total, n) for n in range(1, max_len + 1) for total in range(low * n, high * n + 1)}
    return [*means, Fraction(step.default)]
