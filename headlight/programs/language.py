"""Programs that a Transformer can be compiled from.

Each line says what a head selects, averages or counts, or what a feed-forward network computes at each position:

    shifted = aggregate(select(indices, indices, lambda key, query: key == query - 1), tokens, "_")

`tokens` and `indices` are there from the start. `select(keys, queries, predicate)` says which keys each query attends
to. `aggregate(selector, values, default)` is a head: the value at the selected key, or `default` where none is
selected. `selector_width(selector)` counts the selected keys. `map(function, ...)` acts on each position alone.
`numerical(sequence)` makes numbers that `aggregate` averages. The last line is the program's output.

Source: the primitives of RASP (Weiss et al. 2021, "Thinking Like Transformers"); categorical and numerical values as
in Tracr (Lindner et al. 2023).
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from headlight.programs.functions import MOST_QUOTED, Function, Value, excerpt
from transformer_core.cancellation import raise_if_cancelled
from transformer_core.errors import ProgramError

MOST_LINES = 60
MOST_CHARACTERS = 400  # of a line
_LINE = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)\s*(.+)")
_IDENTITY = Function(("x",), ast.Name("x", ast.Load()), "lambda x: x")


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """Something that a line computes."""

    line: int = 0  # from 1 on; 0: there from the start
    name: str = ""  # that the line gives it; "" within a line


@dataclass(frozen=True, kw_only=True, eq=False)
class Sequence(Step):
    """A value at each position."""

    @property
    def is_numerical(self) -> bool:
        """Whether the values are numbers that can be averaged."""
        return False


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
    numerical: bool = False

    @property
    def is_numerical(self) -> bool:
        """Whether `numerical(...)` stands around it."""
        return self.numerical


@dataclass(frozen=True, kw_only=True, eq=False)
class Aggregate(Sequence):
    """The value at the selected key; of numerical values, the mean over all selected keys."""

    selector: Selector
    values: Sequence
    default: Value  # where no key is selected

    @property
    def is_numerical(self) -> bool:
        """Whether it is a mean."""
        return self.values.is_numerical


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectorWidth(Sequence):
    """How many keys are selected."""

    selector: Selector


TOKENS, INDICES = Given(name="tokens"), Given(name="indices")


@dataclass(frozen=True, kw_only=True, eq=False)
class Program:
    """Lines of source, read.

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
    """Return all that a step is computed from, in the order of computation, with the step itself at the end."""
    found: dict[Step, None] = {}

    def visit(step: Step) -> None:
        if step not in found:
            for one in inputs_of(step):
                visit(one)
            found[step] = None

    visit(output)
    return list(found)


def inputs_of(step: Step) -> tuple[Step, ...]:
    """Return what a step is computed from."""
    match step:
        case Selector() | Map():
            return step.inputs
        case Aggregate():
            return step.selector, step.values
        case SelectorWidth():
            return (step.selector,)
    return ()


def applied(step: Map | Selector, *values: Value) -> Value:
    """Return what the function of a map, or the predicate of a selector, gives for some values.

    Raises:
        ProgramError: a number or another value that is too large; the message names the line.
    """
    raise_if_cancelled()
    try:
        return step.function(*values) if isinstance(step, Map) else step.predicate(*values)
    except ProgramError as error:
        raise ProgramError("line {number}: {why}", number=step.line, why=error) from None


def _lines(source: str) -> Iterator[tuple[int, str]]:
    """Return the lines of code, each with its number."""
    written = source.splitlines()
    if len(written) > MOST_LINES:
        raise ProgramError("a program may have at most {n} lines", n=MOST_LINES)
    for number, line in enumerate(written, start=1):
        if line.strip() and not line.strip().startswith("#"):
            yield number, line.strip()


def _read(lines: Mapping[int, str]) -> Sequence:
    """Return what the last line computes."""
    known: dict[str, Step] = {"tokens": TOKENS, "indices": INDICES}
    step: Step | None = None
    for number, line in lines.items():
        try:
            step = _step(line, number, known)
        except ProgramError as error:
            raise ProgramError("line {number}: {why}", number=number, why=error) from None
    if step is None:
        raise ProgramError("the program is empty; write at least one line")
    if not isinstance(step, Sequence):
        raise ProgramError("the last line is the output; it must compute a sequence, not a selector")
    return step


def _step(line: str, number: int, known: dict[str, Step]) -> Step:
    """Return what a line computes, and take note of its name."""
    if len(line) > MOST_CHARACTERS:
        raise ProgramError("a line may have at most {n} characters", n=MOST_CHARACTERS)
    match = _LINE.fullmatch(line)
    if match is None:
        raise ProgramError("write name = expression")
    name, expression = match.groups()
    if name in known or name in _CALLS:
        raise ProgramError("the name {name} is taken; choose another", name=name)
    try:
        tree = ast.parse(expression, mode="eval").body  # of statements with errors, Python would read a file
    except SyntaxError as error:
        code = _marked(expression, (error.offset or 1) - 1)
        raise ProgramError("“{code}” is not a Python expression; check it at ▸", code=code) from None
    except (MemoryError, RecursionError, ValueError):
        raise ProgramError("this line is nested too deeply; split it") from None
    known[name] = step = _Reader(number, known).step(tree, name)
    return step


def _marked(code: str, place: int) -> str:
    """Return what stands around a place in code, with a mark there."""
    first, last = max(0, place - MOST_QUOTED // 2), place + MOST_QUOTED // 2
    before, after = f"{'…' if first else ''}{code[first:place]}", f"{code[place:last]}{'…' if code[last:] else ''}"
    return f"{before}▸{after}"


@dataclass(frozen=True)
class _Reader:
    """Reads one line."""

    line: int
    known: Mapping[str, Step]

    def step(self, node: ast.expr, name: str = "") -> Step:
        """Return the step of a call, or of a name of an earlier line."""
        match node:
            case ast.Name(known) if known in self.known and not name:
                return self.known[known]
            case ast.Call(ast.Name(function), arguments, []) if function in _CALLS:
                least, most = _CALLS[function]
                if not least <= len(arguments) <= most:
                    raise ProgramError("these are not the arguments of {name}", name=function)
                step: Step = getattr(self, f"_{function}")(*arguments, line=self.line, name=name)
                return step
            case ast.Name(unknown) if not name:
                raise ProgramError(
                    "“{name}” is not defined before this line; there are {names}",
                    name=unknown,
                    names=", ".join(self.known),
                )
        raise ProgramError(
            "“{code}” is not a step of a program; the steps are {names}",
            code=excerpt(ast.unparse(node)),
            names=", ".join(_CALLS),
        )

    def _sequence(self, node: ast.expr) -> Sequence:
        step = self.step(node)
        if not isinstance(step, Sequence):
            raise ProgramError("“{code}” is a selector; a sequence is needed here", code=excerpt(ast.unparse(node)))
        return step

    def _selector(self, node: ast.expr) -> Selector:
        step = self.step(node)
        if not isinstance(step, Selector):
            raise ProgramError("“{code}” is a sequence; a selector is needed here", code=excerpt(ast.unparse(node)))
        return step

    def _categorical(self, node: ast.expr, where: str) -> Sequence:
        sequence = self._sequence(node)
        if sequence.is_numerical:
            raise ProgramError("{where} needs categorical values; map the numbers to categories first", where=where)
        return sequence

    def _select(self, keys: ast.expr, queries: ast.expr, predicate: ast.expr, **at: int | str) -> Selector:
        function = Function.of(predicate)
        if len(function.parameters) != 2:
            raise ProgramError("a predicate has two parameters: lambda key, query: …")
        of = [self._categorical(node, "select") for node in (keys, queries)]
        return Selector(keys=of[0], queries=of[1], predicate=function, **at)  # type: ignore[arg-type]

    def _aggregate(
        self, selector: ast.expr, values: ast.expr, default: ast.expr | None = None, **at: int | str
    ) -> Aggregate:
        of = self._sequence(values)
        if not isinstance(default, ast.Constant | None):
            raise ProgramError("the default of aggregate must be a constant")
        usual = 0 if of.is_numerical else None
        value = default.value if isinstance(default, ast.Constant) else usual
        if of.is_numerical and type(value) not in (int, bool):
            raise ProgramError("the default of a mean must be a whole number")
        return Aggregate(selector=self._selector(selector), values=of, default=value, **at)  # type: ignore[arg-type]

    def _selector_width(self, selector: ast.expr, **at: int | str) -> SelectorWidth:
        return SelectorWidth(selector=self._selector(selector), **at)  # type: ignore[arg-type]

    def _map(self, function: ast.expr, *inputs: ast.expr, **at: int | str) -> Map:
        of = Function.of(function)
        if len(of.parameters) != len(inputs):
            raise ProgramError("the function of map needs one parameter for each sequence")
        sequences = tuple(map(self._sequence, inputs))
        if sum(sequence.is_numerical for sequence in sequences) > 1:
            raise ProgramError("map takes at most one numerical sequence; map the others to categories first")
        return Map(function=of, inputs=sequences, **at)  # type: ignore[arg-type]

    def _numerical(self, of: ast.expr, **at: int | str) -> Map:
        sequence = self._categorical(of, "numerical")
        if isinstance(sequence, Map) and not sequence.name:
            return Map(function=sequence.function, inputs=sequence.inputs, numerical=True, **at)  # type: ignore[arg-type]
        return Map(function=_IDENTITY, inputs=(sequence,), numerical=True, **at)  # type: ignore[arg-type]


_CALLS = {"select": (3, 3), "aggregate": (2, 3), "selector_width": (1, 1), "map": (2, 5), "numerical": (1, 1)}
