"""Where everything of a program lies in a Transformer: steps in layers, values in directions of the residual stream."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

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

    Of a categorical sequence one direction for each value, 1 where it has that value; of a numerical one a single
    direction, which holds the number.
    """

    name: str
    start: int
    values: tuple[Value, ...]
    is_numerical: bool = False

    @property
    def size(self) -> int:
        """How many directions there are."""
        return 1 if self.is_numerical else len(self.values)

    def of(self, value: Value) -> int:
        """Return the direction of a value."""
        return self.start + self.values.index(value)


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """The layers of a program's heads and feed-forward steps, and the subspaces of all that they read and write."""

    heads: tuple[tuple[Aggregate | SelectorWidth, ...], ...]  # by layer
    feed_forward: tuple[tuple[Map | SelectorWidth, ...], ...]  # by layer
    subspaces: Mapping[Sequence, Subspace]
    widths: Mapping[SelectorWidth, Subspace]  # 1 / (1 + n), before it is turned into n

    @property
    def d_model(self) -> int:
        """Directions of the residual stream."""
        return len(FLAGS) + sum(space.size for space in (*self.subspaces.values(), *self.widths.values()))

    @property
    def n_layers(self) -> int:
        """Layers of the model."""
        return len(self.heads)


def layout_of(program: Program, sets: Mapping[Sequence, tuple[Value, ...]]) -> Layout:
    """Return where everything lies: each step in the first layer whose input holds what it needs.

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
