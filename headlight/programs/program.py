"""Programs that a Transformer can be compiled from.

Each line says what a head selects, averages or counts, or what a feed-forward network computes at each position:

    shifted = aggregate(select(indices, indices, lambda key, query: key == query - 1), tokens, "_")

`tokens` and `indices` are predefined. `select(keys, queries, predicate)` says which keys each query attends
to. `aggregate(selector, values, default)` is a head: the value at the selected key, or `default` where none is
selected. `selector_width(selector)` counts the selected keys. `map(function, ...)` acts on each position alone.
`numerical(sequence)` makes numbers that `aggregate` averages. The last line is the program's output.

Source: the primitives of RASP (Weiss et al. 2021, "Thinking Like Transformers"); categorical and numerical values as
in Tracr (Lindner et al. 2023).
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from headlight.expressions import Grammar, excerpt
from headlight.programs.functions import Function, Value
from transformer_core.cancellation import raise_if_cancelled
from transformer_core.errors import ProgramError

MOST_LINES = 60
STEPS = ("select", "aggregate", "selector_width", "map", "numerical")
_LINE = Grammar(error=ProgramError, nodes=(ast.AST,), most_nodes=1000, most_depth=100)
_IDENTITY = Function(("x",), ast.Name("x", ast.Load()), "lambda x: x")


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """A computation in a line."""

    line: int = 0  # from 1 on; 0: predefined
    name: str = ""  # assigned by the line; "" within a line


@dataclass(frozen=True, kw_only=True, eq=False)
class Sequence(Step):
    """A value at each position."""

    is_numerical: bool = False  # the values are numbers that can be averaged


@dataclass(frozen=True, kw_only=True, eq=False)
class Given(Sequence):
    """`tokens` or `indices`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Selector(Step):
    """Which keys each query attends to: those for which `predicate(key, query)` is true."""

    keys: Sequence
    queries: Sequence
    predicate: Function

    @property
    def inputs(self) -> tuple[Sequence, Sequence]:
        """Keys and queries."""
        return self.keys, self.queries


@dataclass(frozen=True, kw_only=True, eq=False)
class Map(Sequence):
    """A function of other sequences, at each position alone."""

    function: Function
    inputs: tuple[Sequence, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Aggregate(Sequence):
    """The value at the selected key; of numerical values, the mean over all selected keys."""

    selector: Selector
    values: Sequence
    default: Value  # where no key is selected


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectorWidth(Sequence):
    """The number of selected keys."""

    selector: Selector


TOKENS, INDICES = Given(name="tokens"), Given(name="indices")


@dataclass(frozen=True, kw_only=True, eq=False)
class Program:
    """A program, parsed from its source.

    Attributes:
        source: as it was written.
        vocab: the tokens that it reads, unless a caller names others.
        max_len: tokens of its longest input, likewise.
        is_causal: whether a query sees itself and earlier keys only.
    """

    source: str
    vocab: tuple[str, ...] = tuple("abcde")
    max_len: int = 10
    is_causal: bool = False
    output: Sequence = field(init=False)
    lines: Mapping[int, str] = field(init=False)  # each line of code by its number

    def __post_init__(self) -> None:
        """Read the source.

        Raises:
            ProgramError: a line that cannot be read; the message names it.
        """
        lines = dict(_lines(self.source))
        object.__setattr__(self, "lines", lines)
        object.__setattr__(self, "output", _read(lines))


def steps_of(output: Step) -> list[Step]:
    """Return all steps that a step depends on, in the order of computation, ending with the step itself."""
    order: dict[Step, None] = {}

    def visit(step: Step) -> None:
        if step not in order:
            for one in inputs_of(step):
                visit(one)
            order[step] = None

    visit(output)
    return list(order)


def inputs_of(step: Step) -> tuple[Step, ...]:
    """Return the direct inputs of a step."""
    parts = (getattr(step, one.name) for one in fields(step))
    return tuple(of for part in parts for of in (part if isinstance(part, tuple) else (part,)) if isinstance(of, Step))


def applied(step: Map | Selector, *values: Value) -> Value:
    """Return the values of a map's function, or of a selector's predicate.

    Raises:
        ProgramError: a number or another value that is too large; the message names the line.
    """
    raise_if_cancelled()
    try:
        return step.function(*values) if isinstance(step, Map) else step.predicate(*values)
    except ProgramError as error:
        raise ProgramError("line {number}: {why}", number=step.line, why=error) from None


def _lines(source: str) -> Iterator[tuple[int, str]]:
    written = source.splitlines()
    if len(written) > MOST_LINES:
        raise ProgramError("a program may have at most {n} lines", n=MOST_LINES)
    for number, line in enumerate(written, start=1):
        if line.strip() and not line.strip().startswith("#"):
            yield number, line.strip()


def _read(lines: Mapping[int, str]) -> Sequence:
    known: dict[str, Step] = {"tokens": TOKENS, "indices": INDICES}
    step: Step | None = None
    for number, line in lines.items():
        try:
            name, tree = _LINE.assignment(line)
            if not name:
                raise ProgramError("write name = expression")
            if name in known or name in STEPS:
                raise ProgramError("the name {name} is taken; choose another", name=name)
            known[name] = step = _ProgramReader(number, known).step(tree, name)
        except ProgramError as error:
            raise ProgramError("line {number}: {why}", number=number, why=error) from None
    if step is None:
        raise ProgramError("the program is empty; write at least one line")
    if not isinstance(step, Sequence):
        raise ProgramError("the last line is the output; it must compute a sequence, not a selector")
    return step


@dataclass(frozen=True)
class _ProgramReader:
    """Reads one line."""

    line: int
    known: Mapping[str, Step]

    def step(self, node: ast.expr, name: str = "") -> Step:
        """Return the step of a call, or of a name of an earlier line."""
        match node:
            case ast.Name(known) if known in self.known and not name:
                return self.known[known]
            case ast.Call(ast.Name(function), arguments, []) if function in STEPS:
                return self._computed(function, arguments, {"line": self.line, "name": name})
            case ast.Name(unknown) if not name:
                raise ProgramError(
                    "“{name}” is not defined before this line; there are {names}",
                    name=unknown,
                    names=", ".join(self.known),
                )
        raise ProgramError(
            "“{code}” is not a step of a program; the steps are {names}",
            code=excerpt(node),
            names=", ".join(STEPS),
        )

    def _sequence(self, node: ast.expr) -> Sequence:
        step = self.step(node)
        if not isinstance(step, Sequence):
            raise ProgramError("“{code}” is a selector; a sequence is needed here", code=excerpt(node))
        return step

    def _selector(self, node: ast.expr) -> Selector:
        step = self.step(node)
        if not isinstance(step, Selector):
            raise ProgramError("“{code}” is a sequence; a selector is needed here", code=excerpt(node))
        return step

    def _categorical(self, node: ast.expr, where: str) -> Sequence:
        sequence = self._sequence(node)
        if sequence.is_numerical:
            raise ProgramError("{where} needs categorical values; map the numbers to categories first", where=where)
        return sequence

    def _computed(self, function: str, arguments: list[ast.expr], at: dict[str, Any]) -> Step:
        """Return the step of a call; `at`: its line and name."""
        match function, arguments:
            case "select", [keys, queries, predicate]:
                of = Function.of(predicate)
                if len(of.parameters) != 2:
                    raise ProgramError("a predicate has two parameters: lambda key, query: …")
                keys_of, queries_of = (self._categorical(node, "select") for node in (keys, queries))
                return Selector(keys=keys_of, queries=queries_of, predicate=of, **at)
            case "aggregate", [selector, sequence, *rest] if len(rest) <= 1:
                values = self._sequence(sequence)
                default = _default(rest[0] if rest else None, values)
                of_keys = self._selector(selector)
                numerical = values.is_numerical
                return Aggregate(selector=of_keys, values=values, default=default, is_numerical=numerical, **at)
            case "selector_width", [selector]:
                return SelectorWidth(selector=self._selector(selector), **at)
            case "map", [mapped, *inputs] if 1 <= len(inputs) <= 4:
                of = Function.of(mapped)
                if len(of.parameters) != len(inputs):
                    raise ProgramError("the function of map needs one parameter for each sequence")
                sequences = tuple(map(self._sequence, inputs))
                if sum(sequence.is_numerical for sequence in sequences) > 1:
                    raise ProgramError("map takes at most one numerical sequence; map the others to categories first")
                return Map(function=of, inputs=sequences, **at)
            case "numerical", [of_numbers]:
                numbers = self._categorical(of_numbers, "numerical")
                if isinstance(numbers, Map) and not numbers.name:
                    return Map(function=numbers.function, inputs=numbers.inputs, is_numerical=True, **at)
                return Map(function=_IDENTITY, inputs=(numbers,), is_numerical=True, **at)
        raise ProgramError("these are not the arguments of {name}", name=function)


def _default(node: ast.expr | None, values: Sequence) -> Value:
    """Return the value of aggregate where no key is selected: what a program writes, else 0 for a mean, or None."""
    if not isinstance(node, ast.Constant | None):
        raise ProgramError("the default of aggregate must be a constant")
    value = node.value if node else 0 if values.is_numerical else None
    if values.is_numerical and type(value) not in (int, bool):
        raise ProgramError("the default of a mean must be a whole number")
    return value
