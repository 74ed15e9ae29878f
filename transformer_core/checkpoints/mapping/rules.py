"""A mapping: a small text file that says which tensors of an unknown layout fill which of our parameters.

    # Sizes follow from the tensors; other options of ModelConfig may be given.
    n_heads = 8
    tok.weight = decoder.embed.weight
    layers.*.qkv.weight = decoder.blocks.*.self_attn.{q,k,v}.weight
    layers.*.fc.weight = decoder.blocks.*.mlp.up.weight T
    layers.*.mask = -

`*` stands for the number of a layer. Names in braces split a tensor into equal parts; `T` transposes it first, as for
matrices [in, out]; `-` leaves it out. Options that are neither given nor determined by the tensors become questions.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from torch import Tensor

from transformer_core.checkpoints.entries import Cut, Entry, as_it_is
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

    def applied(self, shapes: Shapes) -> dict[str, tuple[str, ...]]:
        """Return our names for each key in the file that the line matches."""
        if "*" not in self.key:
            return {self.key: self.names} if self.key in shapes else {}
        pattern = re.compile(r"(\d+)".join(map(re.escape, self.key.split("*"))))
        matches = filter(None, map(pattern.fullmatch, shapes))
        return {match[0]: tuple(_numbered(name, match.groups()) for name in self.names) for match in matches}

    @property
    def cut(self) -> Cut:
        """The function that splits a tensor into our parameters."""
        n, is_transposed = len(self.names), self.is_transposed
        return as_it_is if n == 1 and not is_transposed else lambda w: (w.T if is_transposed else w).chunk(n)


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
        for rule in rules:
            if OPEN in rule.names:
                continue
            if len(problems) > MOST_PROBLEMS:
                break
            if why := _trouble(rule, shapes, used, filled):
                problems.append(Problem(rule.line, why))
                continue
            for key, names in rule.applied(shapes).items():
                used.add(key)
                filled |= dict.fromkeys(names, (rule, Entry(key, names, rule.cut)))
                unneeded += [] if names else [key]
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
        rule, entry = self.filled[name]
        first, *others = reversed(shapes[entry.key]) if rule.is_transposed else shapes[entry.key]
        return (first // len(rule.names), *others)


def option_of(written: str) -> tuple[str, Any]:
    """Return the name and the value of an option: "n_heads = 12".

    Raises:
        ArgumentError: there is no "=".
    """
    name, sign, value = written.partition("=")
    if not sign:
        raise ArgumentError("an option is NAME=VALUE, such as n_heads=12; got {written!r}", written=written)
    return name.strip(), _value(value.strip())


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


def _open(n: int) -> Message:
    """Return the problem of the first of `n` lines with ?."""
    replace = Message("replace ? by a name of ours, or by - if the tensor is not needed")
    return replace if n == 1 else Message("{replace}, here and in all {n} lines with ?", replace=replace, n=n)


def _trouble(rule: Rule, shapes: Shapes, used: set[str], filled: Mapping[str, tuple[Rule, Entry]]) -> Message | None:
    """Return the problem of a line; None if it has none."""
    n = rule.key.count("*")
    if n > MOST_NUMBERS or "**" in rule.key:
        return Message("at most {most} separate * are allowed", most=MOST_NUMBERS)
    if any(name.count("*") != n for name in rule.names):
        return Message("both sides must have * at the number of the layer, or neither")
    matched = rule.applied(shapes)
    if not matched:
        nearest = get_close_matches(rule.key, [re.sub(r"\d+", "*", key) if n else key for key in shapes], n=1)
        if nearest:
            return Message("the file has no {key}; the nearest key is {nearest}", key=rule.key, nearest=nearest[0])
        return Message("the file has no {key}", key=rule.key)
    if twice := used & matched.keys():
        return Message("{key} is mapped by an earlier line", key=min(twice))
    names = [name for names in matched.values() for name in names]
    if again := next((name for name in names if name in filled), None):
        return Message("{name} is filled by line {line} already", name=again, line=filled[again][0].line)
    if len(set(names)) < len(names):
        return Message("several tensors fill the same parameter")
    axis = next(iter(shapes[key] for key in matched), ())
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
