"""The layout of a program in a Transformer: layers of steps, directions of values, and hidden units."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from headlight.programs.functions import Value
from headlight.programs.program import (
    Aggregate,
    Map,
    Program,
    SelectorWidth,
    Sequence,
    Step,
    inputs_of,
    steps_of,
)

FLAGS = BOS, EOS, ONE = range(3)
"""Directions that hold 1 at <bos>, at <eos>, and everywhere."""


@dataclass(frozen=True, kw_only=True)
class Subspace:
    """Neighbouring directions of the residual stream, and what they stand for.

    A categorical sequence has one direction per value, 1 where it has that value; a numerical one has a single
    direction, which holds the number.
    """

    name: str
    start: int
    values: tuple[Value, ...]
    is_numerical: bool = False

    @property
    def size(self) -> int:
        """Number of directions."""
        return 1 if self.is_numerical else len(self.values)

    def of(self, value: Value) -> int:
        """Return the direction of a value."""
        return self.start + self.values.index(value)


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """The layers of a program's heads and feed-forward steps, and the subspaces that they read and write."""

    heads: tuple[tuple[Aggregate | SelectorWidth, ...], ...]  # by layer
    feed_forward: tuple[tuple[Map | SelectorWidth, ...], ...]  # by layer
    subspaces: Mapping[Sequence, Subspace]
    widths: Mapping[SelectorWidth, Subspace]  # 1 / (1 + n), before it is turned into n

    @property
    def d_model(self) -> int:
        """Number of directions of the residual stream."""
        return len(FLAGS) + sum(space.size for space in (*self.subspaces.values(), *self.widths.values()))

    @property
    def n_layers(self) -> int:
        """Number of layers of the model."""
        return len(self.heads)


def layout_of(program: Program, sets: Mapping[Sequence, tuple[Value, ...]]) -> Layout:
    """Return the layout, with each step in the first layer whose input holds what it needs.

    Args:
        program: what is computed.
        sets: the possible values of each sequence.
    """
    steps = steps_of(program.output)
    ready: dict[Step, int] = {}  # 2 l: before the heads of layer l; 2 l + 1: after them
    heads: dict[int, list[Aggregate | SelectorWidth]] = {}
    feed_forward: dict[int, list[Map | SelectorWidth]] = {}
    for step in steps:
        ready[step] = max((ready[of] for of in inputs_of(step)), default=0)
        if isinstance(step, Aggregate | SelectorWidth):
            layer = (ready[step] + 1) // 2
            heads.setdefault(layer, []).append(step)
            ready[step] = 2 * layer + 1
        if isinstance(step, Map | SelectorWidth):
            layer = ready[step] // 2
            feed_forward.setdefault(layer, []).append(step)
            ready[step] = 2 * layer + 2
    n_layers = 1 + max([0, *heads, *feed_forward])
    subspaces, widths = _subspaces([step for step in steps if isinstance(step, Sequence)], sets)
    return Layout(
        heads=tuple(tuple(heads.get(layer, ())) for layer in range(n_layers)),
        feed_forward=tuple(tuple(feed_forward.get(layer, ())) for layer in range(n_layers)),
        subspaces=subspaces,
        widths=widths,
    )


def _subspaces(
    sequences: Iterable[Sequence], sets: Mapping[Sequence, tuple[Value, ...]]
) -> tuple[dict[Sequence, Subspace], dict[SelectorWidth, Subspace]]:
    """Return the subspace of each sequence, and those of 1 / (1 + n) where n is counted."""
    start, subspaces, widths = len(FLAGS), dict[Sequence, Subspace](), dict[SelectorWidth, Subspace]()
    for step in sequences:
        name = step.name or f"line {step.line}"
        if isinstance(step, SelectorWidth):
            inverse = tuple(Fraction(1, n + 1) for n in reversed(sets[step]))
            widths[step] = Subspace(name=f"1 / (1 + {name})", start=start, values=inverse, is_numerical=True)
            start += 1
        space = Subspace(name=name, start=start, values=sets[step], is_numerical=step.is_numerical)
        subspaces[step], start = space, start + space.size
    return subspaces, widths


@dataclass(frozen=True, kw_only=True)
class HiddenUnits:
    """Hidden units of one layer: for each unit, what it reads and writes."""

    reads: list[Mapping[int, float]]  # weights by direction
    biases: list[float]
    writes: list[Mapping[int, float]]


def units_of(steps: Iterable[Map | SelectorWidth], layout: Layout) -> HiddenUnits:
    """Return the hidden units of one layer's steps, in a feed-forward network with ReLU.

    Units come in pairs, relu(x) - relu(x - 1): 0 up to x = 0, 1 from x = 1 on. For one-hot inputs, x exceeds 1 only
    where all of them are 1, with room for rounding on both sides. For a number, x passes from below 0 to above 1
    between two of its possible values; such steps add up to any function of it.
    """
    units = HiddenUnits(reads=[], biases=[], writes=[])
    for step in steps:
        written = layout.subspaces[step]
        if isinstance(step, SelectorWidth):
            inverse = layout.widths[step]
            _add(units, [inverse], {(value,): int(1 / value) - 1 for value in inverse.values}, written)
            continue
        spaces = [layout.subspaces[of] for of in step.inputs]
        order = sorted(range(len(spaces)), key=lambda i: spaces[i].is_numerical)
        outputs = {
            tuple(values[i] for i in order): step.function(*values)
            for values in product(*(space.values for space in spaces))
        }
        _add(units, [spaces[i] for i in order], outputs, written)
    return units


def _add(
    units: HiddenUnits, spaces: list[Subspace], outputs: Mapping[tuple[Value, ...], Value], written: Subspace
) -> None:
    """Add the units of one step.

    Args:
        units: of the layer.
        spaces: the subspaces that are read; at most one is numerical, and it comes last.
        outputs: by the values of `spaces`.
        written: where the output goes.
    """
    categorical = [space for space in spaces if not space.is_numerical]
    number = next((space for space in spaces if space.is_numerical), None)
    for values in product(*(space.values for space in categorical)):
        case = [space.of(value) for space, value in zip(categorical, values, strict=True)]
        if number is None:
            _add_pair(units, dict.fromkeys(case, 2.0), 1.5 - 2 * len(case), _direction(written, outputs[values]))
            continue
        levels = number.values
        directions = [_direction(written, outputs[(*values, level)]) for level in levels]
        _add_pair(units, dict.fromkeys(case, 2.0), 1.5 - 2 * len(case), directions[0])
        for low, high, before, after in zip(levels, levels[1:], directions, directions[1:], strict=False):
            # from the middle between two levels on, the output is that of the higher one
            steepness = float(2 / (high - low))
            reach = steepness * float(levels[-1] - levels[0]) + 2
            bias = 0.5 - steepness * float(low + high) / 2 - reach * len(case)
            changes = {way: after.get(way, 0.0) - before.get(way, 0.0) for way in sorted({*after, *before})}
            changes = {way: change for way, change in changes.items() if change}
            _add_pair(units, {**dict.fromkeys(case, reach), number.start: steepness}, bias, changes)


def _add_pair(units: HiddenUnits, weights: Mapping[int, float], bias: float, written: Mapping[int, float]) -> None:
    """Add relu(x) - relu(x - 1), which is 0 up to x = 0 and 1 from x = 1 on; at <bos> and <eos> always 0."""
    if not written:
        return
    largest = 2 + abs(bias) + sum(map(abs, weights.values()))
    weights = {**weights, BOS: -largest, EOS: -largest}
    for shift, sign in ((0.0, 1.0), (1.0, -1.0)):
        units.reads.append(weights)
        units.biases.append(bias - shift)
        units.writes.append({direction: sign * weight for direction, weight in written.items()})


def _direction(space: Subspace, value: Value) -> dict[int, float]:
    return {space.start: float(value)} if space.is_numerical else {space.of(value): 1.0}
