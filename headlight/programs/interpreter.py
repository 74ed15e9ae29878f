"""What a program computes, without any model; and which values each of its sequences can take.

Every value that a sequence can take gets a direction of the residual stream.
"""

from collections.abc import Iterator, Mapping
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
    Step,
    applied,
    steps_of,
)
from transformer_core.errors import ProgramError

MOST_VALUES = 400  # of one sequence
MOST_CASES = 100_000  # of all maps and predicates: combinations of their inputs' values
MOST_WORK = 1_500_000  # steps of all those: nodes of functions, parts of values, and pairs of key and query
MOST_APART = MOST_VALUES  # maximum gap between sums of averaged whole numbers: there are at least this many means


def run(program: Program, tokens: Tokens[str]) -> list[Value]:
    """Return the program's output, a value for each token; means are exact fractions. Raises as `traced`."""
    return trace(program, tokens)[program.output]


def trace(program: Program, tokens: Tokens[str]) -> dict[Step, list[Value]]:
    """Return every step with its values; raises as `traced`."""
    return dict(traced(program, tokens))


def traced(program: Program, tokens: Tokens[str]) -> Iterator[tuple[Step, list[Value]]]:
    """Yield every step, in the order of computation, with a value for each position; for a selector, the keys of each.

    Raises:
        ProgramError: keys with different values are selected where one value is needed.
    """
    n = len(tokens)
    computed: dict[Step, list[Value]] = {}
    for step in steps_of(program.output):
        match step:
            case Given(name="tokens"):
                values: list[Value] = [*tokens]
            case Given():
                values = [*range(n)]
            case Selector():
                keys, queries = computed[step.keys], computed[step.queries]
                values = [
                    tuple(
                        key for key in range(q + 1 if program.is_causal else n) if applied(step, keys[key], queries[q])
                    )
                    for q in range(n)
                ]
            case Map():
                values = [applied(step, *at) for at in zip(*(computed[of] for of in step.inputs), strict=True)]
            case Aggregate():
                of = computed[step.values]
                values = [_aggregated(step, [of[key] for key in keys]) for keys in computed[step.selector]]
            case SelectorWidth():
                values = [len(keys) for keys in computed[step.selector]]
        computed[step] = values
        yield step, values


def _aggregated(step: Aggregate, selected: list[Value]) -> Value:
    if not selected:
        return step.default
    if step.is_numerical:
        mean = Fraction(sum(map(Fraction, selected)), len(selected))
        return int(mean) if mean.denominator == 1 else mean
    if any(value != selected[0] for value in selected):
        raise ProgramError(
            "line {number}: keys with different values are selected ({first}, {other}); select one, or average numbers",
            number=step.line,
            first=str(selected[0]),
            other=str(next(value for value in selected if value != selected[0])),
        )
    return selected[0]


def value_sets(program: Program, vocab: Tokens[str], max_len: int) -> Mapping[Sequence, tuple[Value, ...]]:
    """Return the possible values of each sequence, without repetition; in ascending order for a numerical one.

    Args:
        program: what is computed.
        vocab: the tokens that may occur.
        max_len: tokens of the longest input.

    Raises:
        ProgramError: a sequence with too many possible values, or a numerical one whose values are not numbers.
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
