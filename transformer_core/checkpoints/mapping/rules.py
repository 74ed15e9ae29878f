"""A mapping: a small text file that says which tensors of an unknown layout fill which of our parameters.

    # Sizes follow from the tensors; other options of ModelConfig may be given.
    n_heads = 8
    tok.weight = decoder.embed.weight
    layers.*.qkv.weight = decoder.blocks.*.self_attn.{q,k,v}.weight
    layers.*.fc.weight = decoder.blocks.*.mlp.up.weight T
    layers.*.mask = -

`*` stands for the number of a layer; one more on the left, the last, for that of a head, whose tensors are joined.
Names in braces split a tensor, or a stack [part, ...], into equal parts; `T` transposes it first, or each part of a
stack, as for matrices [in, out]; `-` leaves it out. Options that are neither given nor determined by the tensors
become questions. The keys may have a prefix that those of the file lack, or lack one that those of the file have.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import torch
from torch import Tensor

from transformer_core.checkpoints.entries import Cut, Entry, as_it_is, only_row
from transformer_core.checkpoints.wrappers import common_prefixes
from transformer_core.config import ModelConfig
from transformer_core.errors import ArgumentError, Message

MAPPING, NOT_NEEDED, OPEN = "mapping", "-", "?"
MOST_CHARACTERS = 100_000  # of a mapping
MOST_COMPARISONS = 10**7  # of lines with keys in the file
MOST_NUMBERS = 3  # in a key
MOST_PROBLEMS = 20  # reported at once
_LINE = re.compile(r"(?P<key>[^=\s]+)\s*=\s*(?P<value>.+?)(?P<transposed>\s+T)?")
_BRACES = re.compile(r"\{([^{}]*)\}")
_FIELDS = frozenset(ModelConfig.__dataclass_fields__)

Shapes = Mapping[str, Sequence[int]]
"""Of the tensors of a file, by their keys."""


def shapes_of(weights: Mapping[str, Tensor]) -> Shapes:
    """Return the shapes of tensors by their keys."""
    return {key: tuple(weights[key].shape) for key in weights}


@dataclass(frozen=True)
class Rule:
    """A line that names tensors."""

    line: int  # from 1
    key: str  # in the file; may contain *
    names: tuple[str, ...]  # of ours; empty: the tensors are not needed
    is_transposed: bool

    @property
    def is_of_heads(self) -> bool:
        """Whether each tensor belongs to one head."""
        return any(name.count("*") == self.key.count("*") - 1 > 0 for name in self.names)

    def applied(self, shapes: Shapes) -> dict[str, tuple[str, ...]]:
        """Return our names for each key in the file that the line matches, in the order of the numbers."""
        if "*" not in self.key:
            return {self.key: self.names} if self.key in shapes else {}
        pattern = re.compile(r"(\d+)".join(map(re.escape, self.key.split("*"))))
        matches = sorted(filter(None, map(pattern.fullmatch, shapes)), key=lambda match: _numbers(match.groups()))
        of_layer = slice(-1 if self.is_of_heads else None)
        return {match[0]: tuple(_numbered(name, match.groups()[of_layer]) for name in self.names) for match in matches}

    def entries(self, matched: Mapping[str, tuple[str, ...]], shapes: Shapes) -> list[Entry]:
        """Return the tensors that the line matches, those of the heads of a layer together."""
        groups: dict[tuple[str, ...], list[str]] = {}
        for key, names in matched.items():
            groups.setdefault(names if self.is_of_heads else (key,), []).append(key)
        return [
            Entry(first, matched[first], self._cut(shapes[first]), others=tuple(others), joined=torch.cat)
            for first, *others in groups.values()
        ]

    def _cut(self, shape: Sequence[int]) -> Cut:
        """Return the function that splits a tensor of this shape into our parameters."""
        n = len(self.names)
        if n == 1 and not self.is_transposed:
            return only_row if len(shape) == 3 and shape[0] == 1 else as_it_is  # a table [1, pos, d_model]
        if _is_stack(shape, n, is_transposed=self.is_transposed):
            return lambda stack: (stack.mT if self.is_transposed else stack).unbind()
        return lambda matrix: (matrix.T if self.is_transposed else matrix).chunk(n)


@dataclass(frozen=True)
class Problem:
    """What is wrong with a mapping."""

    line: int  # from 1; 0: the mapping as a whole
    why: Message


@dataclass(frozen=True)
class TensorMapping:
    """A mapping, applied to the tensors of a file."""

    filled: Mapping[str, tuple[Rule, Entry]] = field(default_factory=dict)  # our parameters
    unneeded: tuple[str, ...] = ()  # keys in the file
    options: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()  # in the order of the lines
    is_open: bool = False  # lines have ?

    @classmethod
    def read(cls, text: str, shapes: Shapes) -> "TensorMapping":
        """Read a mapping; lines with problems are left out."""
        rules: list[Rule] = []
        options: dict[str, Any] = {}
        problems: list[Problem] = []
        if len(text) > MOST_CHARACTERS or text.count("\n") * len(shapes) > MOST_COMPARISONS:
            return cls(problems=(Problem(0, Message("the mapping is too long; use * for the layers")),))
        for line, content in enumerate(text.splitlines(), start=1):
            content = content.partition("#")[0].strip()
            match = _LINE.fullmatch(content)
            if match and match["key"] in _FIELDS:
                options[match["key"]] = _value(match["value"])
            elif match:
                names = () if match["value"] == NOT_NEEDED else _expanded(match["value"])
                rules.append(Rule(line, match["key"], names, match["transposed"] is not None))
            elif content:
                problems.append(Problem(line, Message("write a key of the file, =, and a name of ours")))
        filled: dict[str, tuple[Rule, Entry]] = {}
        used: set[str] = set()
        unneeded: list[str] = []
        open_lines = [rule.line for rule in rules if OPEN in rule.names]
        if open_lines:
            problems.append(Problem(open_lines[0], _open(len(open_lines))))
        for rule in _with_keys_of_file(rules, shapes):
            if OPEN in rule.names:
                continue
            if len(problems) > MOST_PROBLEMS:
                break
            wrong = _wrong_stars(rule)
            matched = {} if wrong else rule.applied(shapes)
            if why := wrong or _trouble(rule, matched, shapes, used, filled):
                problems.append(Problem(rule.line, why))
                continue
            used |= matched.keys()
            unneeded += [] if rule.names else [*matched]
            for entry in rule.entries(matched, shapes):
                filled |= dict.fromkeys(entry.names, (rule, entry))
        problems.sort(key=lambda problem: problem.line)
        return cls(filled, tuple(unneeded), options, tuple(problems), bool(open_lines))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The tensors that fill our parameters."""
        return tuple({entry.key: entry for _, entry in self.filled.values()}.values())

    def shape(self, name: str, shapes: Shapes) -> tuple[int, ...]:
        """Return the shape of the tensor that fills one of our parameters; () if none does."""
        if name not in self.filled:
            return ()
        _, entry = self.filled[name]
        tensors = [torch.empty(shapes[key], device="meta") for key in (entry.key, *entry.others)]
        return tuple(entry.cut(entry.joined(tensors))[entry.names.index(name)].shape)


def option_of(written: str) -> tuple[str, Any]:
    """Return the name and the value of an option: "n_heads = 12".

    Raises:
        ArgumentError: there is no "=".
    """
    name, sign, value = written.partition("=")
    if not sign:
        raise ArgumentError("an option is NAME=VALUE, such as n_heads=12; got {written!r}", written=written)
    return name.strip(), _value(value.strip())


def _with_keys_of_file(rules: Sequence[Rule], keys: Iterable[str]) -> Sequence[Rule]:
    """Return the lines with a prefix that all keys of the file have, or without one that they lack.

    A training's own class adds a prefix, so the keys in its files have it, and those of the model in memory do not.
    Lines on tensors outside the model are then left out. If any line fits unchanged, none is changed.

    Args:
        rules: the lines.
        keys: in the file.
    """
    of_lines, of_file = {_starred(rule.key) for rule in rules}, {*map(_starred, keys)}
    if of_lines & of_file:
        return rules
    match common_prefixes(of_file, of_lines), common_prefixes(of_lines, of_file):
        case [added], _ if added and "*" not in added:
            return [replace(rule, key=added + rule.key) for rule in rules]
        case _, [removed] if removed and "*" not in removed:
            return [
                replace(rule, key=rule.key.removeprefix(removed))
                for rule in rules
                if rule.names or rule.key.startswith(removed)
            ]
    return rules


def _starred(key: str) -> str:
    """Return a key with * in place of numbers."""
    return re.sub(r"\d+", "*", key)


def _value(text: str) -> Any:
    """Return the value of an option: a number, true, false, a list, or a word."""
    try:
        return json.loads(text)
    except (RecursionError, ValueError):
        return text


def _expanded(name: str) -> tuple[str, ...]:
    """Return the names that one with braces stands for."""
    match = _BRACES.search(name)
    if match is None:
        return (name,)
    return tuple(f"{name[: match.start()]}{part.strip()}{name[match.end() :]}" for part in match[1].split(","))


def _numbered(name: str, numbers: Sequence[str]) -> str:
    """Return a name with each * replaced by a number."""
    return "".join(part + number for part, number in zip(name.split("*"), (*numbers, ""), strict=True))


def _numbers(numbers: Sequence[str]) -> tuple[tuple[int, str], ...]:
    """Return a key that sorts numbers by their values; they may be longer than Python converts."""
    return tuple((len(number), number) for number in numbers)


def _is_stack(shape: Sequence[int], n: int, *, is_transposed: bool) -> bool:
    """Return whether a tensor is a stack of n > 1 matrices, [n, ...], or of biases."""
    return n > 1 and len(shape) in ((3,) if is_transposed else (2, 3)) and shape[0] == n


def _open(n: int) -> Message:
    """Return the problem of the first of `n` lines with ?."""
    replace = Message("replace ? by a name of ours, or by - if the tensor is not needed")
    return replace if n == 1 else Message("{replace}, here and in all {n} lines with ?", replace=replace, n=n)


def _wrong_stars(rule: Rule) -> Message | None:
    """Return the problem of the * in a line; None if it has none."""
    n = rule.key.count("*")
    if n > MOST_NUMBERS or "**" in rule.key:
        return Message("at most {most} separate * are allowed", most=MOST_NUMBERS)
    if any(name.count("*") != n - rule.is_of_heads for name in rule.names):
        return Message("both sides must have * at the number of the layer, or neither")
    return None


def _trouble(
    rule: Rule,
    matched: Mapping[str, tuple[str, ...]],
    shapes: Shapes,
    used: set[str],
    filled: Mapping[str, tuple[Rule, Entry]],
) -> Message | None:
    """Return the problem of a line, given what it matches; None if it has none."""
    if not matched:
        keys = [_starred(key) if "*" in rule.key else key for key in shapes]
        nearest = get_close_matches(rule.key, keys, n=1)
        if nearest:
            return Message("the file has no {key}; the nearest key is {nearest}", key=rule.key, nearest=nearest[0])
        return Message("the file has no {key}", key=rule.key)
    if twice := used & matched.keys():
        return Message("{key} is mapped by an earlier line", key=min(twice))
    entries = rule.entries(matched, shapes)
    names = [name for entry in entries for name in entry.names]
    if again := next((name for name in names if name in filled), None):
        return Message("{name} is filled by line {line} already", name=again, line=filled[again][0].line)
    if len(set(names)) < len(names):
        return Message("several tensors fill the same parameter")
    axis = next(iter(shapes[key] for key in matched), ())
    for entry in entries:
        if other := next((key for key in entry.others if tuple(shapes[key]) != tuple(shapes[entry.key])), None):
            return Message("{key} and {other} have different shapes", key=entry.key, other=other)
    if _is_stack(axis, len(rule.names), is_transposed=rule.is_transposed):
        return None
    if len(axis) < 1 or (rule.is_transposed and len(axis) != 2):
        return Message("{key} has shape {shape}, which cannot be transposed", key=min(matched), shape=tuple(axis))
    if rule.names and axis[1 if rule.is_transposed else 0] % len(rule.names):
        return Message(
            "{key} has shape {shape}, which cannot be split into {n} equal parts",
            key=min(matched),
            shape=tuple(axis),
            n=len(rule.names),
        )
    return None
