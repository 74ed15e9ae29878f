"""A step at each position alone, as hidden units of a feed-forward network with ReLU.

Units come in pairs, relu(x) - relu(x - 1): 0 up to x = 0, 1 from x = 1 on. Of one-hot inputs, x is above 1 only where
all of them are the case, with room for rounding on both sides. Of a number, x passes from below 0 to above 1 between
two of its possible values; such steps add up to any function of it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product

from headlight.programs.functions import Value
from headlight.programs.layout import BOS, EOS, Layout, Subspace
from headlight.programs.program import Map, SelectorWidth


@dataclass(frozen=True, kw_only=True)
class HiddenUnits:
    """Hidden units of one layer: what they read and write, a unit each."""

    reads: list[Mapping[int, float]]  # weights by direction
    biases: list[float]
    writes: list[Mapping[int, float]]


def units_of(steps: Iterable[Map | SelectorWidth], layout: Layout) -> HiddenUnits:
    """Return the hidden units of one layer's steps."""
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
        spaces: that are read; a numerical one, of which there is at most one, at the end.
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
