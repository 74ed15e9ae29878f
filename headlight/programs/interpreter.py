"""What a program computes, without any model."""

from collections.abc import Iterator
from collections.abc import Sequence as Tokens
from fractions import Fraction

from headlight.programs.functions import Value
from headlight.programs.program import (
    Aggregate,
    Given,
    Map,
    Program,
    Selector,
    SelectorWidth,
    Step,
    applied,
    steps_of,
)
from transformer_core.errors import ProgramError


def run(program: Program, tokens: Tokens[str]) -> list[Value]:
    """Return the program's output, a value for each token; means are exact fractions. Raises as `traced`."""
    return trace(program, tokens)[program.output]


def trace(program: Program, tokens: Tokens[str]) -> dict[Step, list[Value]]:
    """Return every step with its values; raises as `traced`."""
    return dict(traced(program, tokens))


def traced(program: Program, tokens: Tokens[str]) -> Iterator[tuple[Step, list[Value]]]:
    """Yield every step, in the order of computation, with a value for each position; a selector's: each query's keys.

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
    """Return the one value that is selected, or the mean."""
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
