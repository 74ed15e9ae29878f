"""Code that is shown is code that ran: named calls that compute what a page shows, and print themselves.

    model, tokenizer = named("model, tokenizer", call(tc.load, "checkpoints/en-fr"))
    model_run = named("model_run", call(run_text, model, tokenizer, "The cat sleeps."))
    value_of(model_run.attention_maps["cross"].pattern(1, 0))  # computes it, each call once
    script(Print(model_run.attention_maps["cross"].pattern(1, 0), "[query, key]"))  # the lines that compute it again

An `Expression` stands for a value; taking an attribute or an item of it, or calling it, gives another expression.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import MISSING, dataclass, fields, is_dataclass
from hashlib import blake2b
from inspect import ismodule
from typing import Any

from pages.shared.code_lines import enclosed, home, in_groups
from transformer_core.cached_property import cached_property


class Expression:
    """A value that Python computes from literals and other expressions, with its code."""

    def __init__(self, write: Callable[[], str], make: Callable[[], Any], *uses: Any) -> None:
        """Stand for a value.

        Args:
            write: returns its code; called on demand, since code is seldom needed and may contain a long text.
            make: computes it.
            uses: the names in the code that must be imported or assigned first.
        """
        self._write = write
        self._make = make
        self._uses = uses

    @property
    def _code(self) -> str:
        return self._write()

    def __getattr__(self, name: str) -> "Expression":
        """Return the attribute of this name."""
        if name.startswith("_"):
            raise AttributeError(name)
        return Expression(lambda: f"{self._code}.{name}", lambda: getattr(value_of(self), name), self)

    def __getitem__(self, key: Any) -> "Expression":
        """Return an item."""
        return Expression(lambda: f"{self._code}[{_index(key)}]", lambda: value_of(self)[value_of(key)], self, key)

    def __call__(self, *arguments: Any, **named_arguments: Any) -> "Expression":
        """Return the result of a call."""
        return Expression(
            lambda: _written_call(self._code, arguments, named_arguments),
            lambda: _called(value_of(self), arguments, named_arguments),
            *(self, *arguments, *named_arguments.values()),
        )


@dataclass(frozen=True)
class Unpacked:
    """A mapping whose items are the last named arguments of a call: `**items`."""

    items: Expression


@dataclass(frozen=True, eq=False)
class Unwritten:
    """An argument that the code omits because the default serves as well, such as a page's own colors and sizes."""

    value: Any


@dataclass(frozen=True)
class Print:
    """A line that prints a value."""

    value: Any
    comment: str = ""


@dataclass(frozen=True)
class Lines:
    """Lines of Python, and the values, functions and modules that stand in them by their names."""

    code: str
    uses: tuple[Any, ...]
    modules: tuple[str, ...] = ()  # modules that are not imported in this file


class _Named(Expression):
    """A value that is assigned to a name."""

    def __init__(self, name: str, make: Callable[[], Any], assigned: "_Assignment") -> None:
        super().__init__(lambda: name, make)
        self._assigned = assigned


@dataclass(frozen=True, eq=False)
class _Assignment:
    names: str
    value: Expression

    @cached_property
    def line(self) -> str:
        return f"{self.names} = {self.value._code}"


_Part = _Assignment | str | Unwritten
"""What a value needs: another one, a line that imports, or what the code leaves out."""


def call(function: Callable[..., Any], *arguments: Any, **named_arguments: Any) -> Expression:
    """Return the call of a function or a class of a module; `Unpacked` arguments come last."""
    return Expression(lambda: home(function)[1], lambda: function, function)(*arguments, **named_arguments)


def literal(value: Any) -> Expression:
    """Return a literal as an expression: a dictionary or list that contains expressions, a class or a dataclass."""
    return Expression(lambda: written(value), lambda: value_of(value), value)


def each(name: str, values: Any, of: Callable[[Expression], Any]) -> Expression:
    """Return the expression of a list comprehension over the values: `[of(name) for name in values]`.

    Args:
        name: what one of the values is called.
        values: an expression, or a literal.
        of: makes something of that one; what has its own name in it must be the same for all.
    """
    now: list[Any] = [None]
    what = of(Expression(lambda: name, lambda: now[0]))

    def make() -> list[Any]:
        results = []
        for now[0] in value_of(values):
            results.append(value_of(what))
        return results

    return Expression(
        lambda: enclosed("[", [written(what), f"for {name} in {written(values)}"], "]", " "), make, values, what
    )


def named(names: str, value: Expression) -> Any:
    """Assign a value, computed once, to a name; several values to as many comma-separated names.

    Args:
        names: in the code.
        value: is assigned to them.
    """
    kept: list[Any] = []

    def make() -> Any:
        if not kept:
            kept.append(value_of(value))
        return kept[0]

    assigned = _Assignment(names, value)
    each = names.split(", ")
    if len(each) == 1:
        return _Named(names, make, assigned)
    return tuple(_Named(name, lambda i=i: make()[i], assigned) for i, name in enumerate(each))  # type: ignore[misc]


def through(value: Expression, take: Callable[[Callable[[], Any]], Any], *, version: str = "") -> Expression:
    """Return an expression with the same code whose value is taken from a store.

    Args:
        value: what is computed.
        take: receives the function that computes it, and returns the value.
        version: of the files that the code reads; "" if it reads none.
    """
    stored = copy(value)
    stored._make = lambda: take(value._make)
    if version:
        stored._uses = (*value._uses, Unwritten(version))
    return stored


def value_of(value: Any) -> Any:
    """Return the value of an expression, or a literal with the values of the expressions in it."""
    match value:
        case Expression():
            return value._make()
        case tuple() if not hasattr(value, "_fields"):
            return tuple(map(value_of, value))
        case list():
            return [*map(value_of, value)]
        case dict():
            return {key: value_of(of) for key, of in value.items()}
        case Unwritten():
            return value.value
    return value


def script(*last: Expression | Print | Lines) -> str:
    """Return lines of Python, to be run at the project's root: imports, what is assigned, and the last lines.

    Raises:
        ValueError: a name that stands for two values.
    """
    parts = dict[_Part, None]()
    for line in last:
        _collect(line.uses if isinstance(line, Lines) else (line.value if isinstance(line, Print) else line,), parts)
        parts |= dict.fromkeys(f"import {module}" for module in (line.modules if isinstance(line, Lines) else ()))
    lines: dict[str, str] = {}
    for one in (part for part in parts if isinstance(part, _Assignment)):
        if lines.setdefault(one.names, one.line) != one.line:
            raise ValueError(f"{one.names} would stand for two values; give one another name")
    body = [*lines.values()]  # the same line is the same value
    for line in last:
        match line:
            case Print():
                comment = f"  # {line.comment}" if line.comment else ""
                body.append(_written_call("print", [line.value], {}) + comment)
            case Lines():
                body.append(line.code.strip("\n"))
            case _:
                body.append(line._code)
    imports = in_groups(part for part in parts if isinstance(part, str))
    return "\n\n".join([*imports, "\n".join(body)]) + "\n"


def identity(value: Expression) -> str:
    """Return the key of a value.

    The key combines the lines that compute it, the arguments that they omit, and the versions of the files they read.
    """
    if isinstance(value, _Named) and "," not in value._assigned.names:
        value = value._assigned.value  # the key does not depend on its name
    text = blake2b(digest_size=16)
    parts = dict[_Part, None]()
    _collect((value,), parts)
    for part in (*parts, _Assignment("", value)):
        text.update(repr(part.line if isinstance(part, _Assignment) else part).encode())
    return text.hexdigest()


def written(value: Any) -> str:
    """Return the Python code of a value; a dataclass is written without its default fields."""
    match value:
        case Expression():
            return value._code
        case Unpacked():
            return f"**{value.items._code}"
        case tuple() if (as_dict := getattr(value, "_asdict", None)) is not None:
            return _written_call(home(type(value))[1], (), as_dict())
        case tuple():
            return f"({', '.join(map(written, value))}{',' if len(value) == 1 else ''})"
        case list():
            return f"[{', '.join(map(written, value))}]"
        case set() | frozenset() if value:
            items = ", ".join(sorted(map(written, value)))
            return f"frozenset({{{items}}})" if isinstance(value, frozenset) else f"{{{items}}}"
        case dict():
            return f"{{{', '.join(f'{written(key)}: {written(of)}' for key, of in value.items())}}}"
    if is_dataclass(value) and not isinstance(value, type):
        return _written_call(home(type(value))[1], (), _changed(value))
    return home(value)[1] if callable(value) else repr(value)


def _index(key: Any) -> str:
    match key:
        case tuple() if key and not hasattr(key, "_fields"):
            return ", ".join(map(_index, key))
        case slice():
            ends = ["" if end is None else written(end) for end in (key.start, key.stop)]
            return ":".join(ends if key.step is None else [*ends, written(key.step)])
    return written(key)


def _changed(value: Any) -> dict[str, Any]:
    usual = {
        field.name: field.default_factory() if field.default_factory is not MISSING else field.default
        for field in fields(value)
        if field.init
    }
    now = {name: getattr(value, name) for name in usual}
    return {name: of for name, of in now.items() if usual[name] is MISSING or of != usual[name]}


def _written_call(function: str, arguments: Iterable[Any], named_arguments: Mapping[str, Any]) -> str:
    unpacked = [one for one in arguments if isinstance(one, Unpacked)]
    parts = [written(one) for one in arguments if not isinstance(one, Unpacked)]
    parts += [f"{name}={written(one)}" for name, one in named_arguments.items() if not isinstance(one, Unwritten)]
    parts += map(written, unpacked)
    return enclosed(f"{function}(", parts, ")", ", ", ",")


def _called(function: Callable[..., Any], arguments: Iterable[Any], named_arguments: Mapping[str, Any]) -> Any:
    places, names = [], value_of(dict(named_arguments))
    for one in arguments:
        if isinstance(one, Unpacked):
            names |= value_of(one.items)
        else:
            places.append(value_of(one))
    return function(*places, **names)


def _collect(values: Iterable[Any], parts: "dict[_Part, None]") -> None:
    """Collect everything that the code of values depends on, dependencies first."""
    for part in _parts(values):
        if not isinstance(part, _Named):
            parts[part] = None
        elif part._assigned not in parts:
            _collect((part._assigned.value,), parts)
            parts[part._assigned] = None


def _parts(values: Iterable[Any]) -> "Iterator[_Named | str | Unwritten]":
    """Yield the names in the code of values, and the lines that import them, and those left out."""
    for value in values:
        match value:
            case _Named() | Unwritten():
                yield value
            case Expression():
                yield from _parts(value._uses)
            case Unpacked():
                yield from _parts((value.items,))
            case tuple() if hasattr(value, "_fields"):
                yield home(type(value))[0]
            case tuple() | list() | set() | frozenset():
                yield from _parts(value)
            case dict():
                yield from _parts((*value, *value.values()))
            case _ if is_dataclass(value) and not isinstance(value, type):
                yield home(type(value))[0]
                yield from _parts(_changed(value).values())
            case _ if callable(value) or ismodule(value):
                yield home(value)[0]
