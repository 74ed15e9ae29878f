"""Code that is shown is code that ran: the lines, run on their own, give what the expressions gave."""

import textwrap
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headlight.analysis.heads.measures import HeadName
from pages.shared.recipe import (
    Expression,
    Print,
    Unpacked,
    Unwritten,
    call,
    each,
    identity,
    literal,
    named,
    script,
    through,
    value_of,
    written,
)

COUNTED: list[str] = []


def counted(name: str, times: int = 1) -> str:
    """A call that can be counted."""
    COUNTED.append(name)
    return name * times


def seen(*values: Any) -> tuple[Any, ...]:
    """The arguments."""
    return values


@dataclass(frozen=True)
class Wish:
    """A literal with usual values."""

    what: str
    how_often: int = 1
    others: tuple["Wish", ...] = ()


def run(lines: str) -> dict[str, Any]:
    """Return the names that the lines define."""
    defined: dict[str, Any] = {}
    exec(compile(lines, "shown", "exec"), defined)
    return defined


def test_a_recipe_is_written_as_a_person_writes_it():
    array = named("array", call(np.arange, 12).reshape(3, 4))
    half = named("half", call(Fraction, 1, 2))
    assert script(Print(array[1:, 0], "[row]"), Print(half.numerator)) == textwrap.dedent(
        """\
        from fractions import Fraction

        import numpy as np

        array = np.arange(12).reshape(3, 4)
        half = Fraction(1, 2)
        print(array[1:, 0])  # [row]
        print(half.numerator)
        """
    )
    assert value_of(array[1:, 0]).tolist() == [4, 8]


def test_what_has_a_name_is_computed_once_and_assigned_before_it_is_used():
    COUNTED.clear()
    first = named("first", call(counted, "a"))
    second = named("second", call(counted, first, times=2))
    assert value_of((second, second, first)) == ("aa", "aa", "a")
    assert COUNTED == ["a", "a"]
    defined = run(script(Print(second)))
    assert (defined["first"], defined["second"]) == ("a", "aa")


def test_arguments_that_are_unpacked_and_those_that_are_left_out():
    options = named("options", literal({"times": 3}))
    result = call(counted, "x", Unpacked(options))
    assert value_of(result) == "xxx" and "print(counted('x', **options))" in script(Print(result))
    quiet = call(counted, "y", times=Unwritten(2))
    assert value_of(quiet) == "yy" and written(quiet) == "counted('y')"


def test_something_is_made_of_each_value():
    COUNTED.clear()
    factor = named("factor", call(counted, "ab"))
    result = named("made", each("n", call(range, 1, 3), lambda n: (n, each("m", (4, n), lambda m: [factor, n, m]))))
    expected = [(1, [["ab", 1, 4], ["ab", 1, 1]]), (2, [["ab", 2, 4], ["ab", 2, 2]])]
    assert value_of(result) == expected and COUNTED == ["ab"]
    lines = script(Print(result))
    assert "made = [(n, [[factor, n, m] for m in (4, n)]) for n in range(1, 3)]" in lines
    assert run(lines)["made"] == expected


def test_one_name_does_not_stand_for_two_values():
    with pytest.raises(ValueError, match="it would stand for two values"):
        script(Print(named("it", call(seen, 1))), Print(named("it", call(seen, 2))))
    assert script(Print(named("it", call(seen))), Print(named("it", call(seen)))).count("it = ") == 1


@given(st.lists(st.tuples(st.booleans(), st.sets(st.integers(0, 4))), min_size=1, max_size=5), st.data())
def test_values_are_those_of_the_lines_in_whatever_order_they_are_needed(steps: Any, data: st.DataObject):
    kept: dict[int, Any] = {}

    def store(i: int, value: Any) -> Any:
        return through(value, lambda make: kept[i] if i in kept else kept.setdefault(i, make()))

    values: list[Any] = []
    for i, (is_stored, uses) in enumerate(steps):
        value = call(seen, i, *(values[use] for use in sorted(uses) if use < i))
        values.append(named(f"value_{i}", store(i, value) if is_stored else value))
    defined = run(script(*map(Print, values)))
    for i in data.draw(st.permutations(range(len(values)))):
        assert value_of(values[i]) == defined[f"value_{i}"]


plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
wishes = st.builds(Wish, st.text(), st.integers(0, 2))
heads = st.builds(HeadName, st.text(), st.integers(), st.integers())
literals = st.recursive(
    plain | wishes | heads | st.builds(range, st.integers(0, 5), st.integers(5, 9)),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


@settings(max_examples=40)
@given(literals | st.frozensets(st.text()) | st.sets(st.integers()))
def test_what_is_written_is_read_as_the_same(value: Any):
    assert eval(written(value), {"Wish": Wish, "HeadName": HeadName}) == value
    assert run(script(Print(named("it", literal([value])))))["it"] == [value]


def half(name: str = "half", *, of: int = 1, version: str = "1", color: Any = "red") -> Expression:
    """A value that depends on another one, and on what its code leaves out."""
    read = named("read", through(call(counted, "a", times=of), lambda make: make(), version=version))
    return named(name, call(seen, read[0], color=Unwritten(color)))


OTHERS = {
    "what a name before stands for": half(of=2),
    "the version of a file": half(version="2"),
    "what the code leaves out": half(color="blue"),
    "a literal that is left out": half(color=(1, 2)),
    "an item": half()[0],
    "no name before it": call(seen, "a", color=Unwritten("red")),
    "another function": call(counted, "a", color=Unwritten("red")),
}


def test_a_value_is_the_same_where_all_that_it_is_computed_from_is():
    assert identity(half()) == identity(half()) == identity(half("whole"))
    assert identity(call(counted, "a")) == identity(named("name", call(counted, "a")))
    reports = [identity(half()), *map(identity, OTHERS.values())]
    assert len({*reports}) == 1 + len(OTHERS)
