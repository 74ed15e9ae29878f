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

from transformer_core.checkpoints.family import Cut, Entry, Ignored, as_it_is
from transformer_core.checkpoints.layout import Description, Layout, Question, heads_question
from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError, ConfigError, Message
from transformer_core.model.transformer import assemble

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
        for rule in rules:
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
        return cls(filled, tuple(unneeded), options, tuple(problems))

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


def shapes_of(weights: Mapping[str, Tensor]) -> Shapes:
    """Return the shapes of tensors by their keys."""
    return {key: tuple(weights[key].shape) for key in weights}


def layout_of(text: str, shapes: Shapes) -> Layout:
    """Return the layout that a mapping describes.

    Raises:
        CheckpointError: a line is wrong.
    """
    mapping = TensorMapping.read(text, shapes)
    if mapping.problems:
        first = mapping.problems[0]
        raise CheckpointError("line {line} of the mapping: {why}", line=first.line, why=first.why)
    output = next((entry.key for entry in mapping.entries if "unembed.weight" in entry.names), "")
    return Layout(
        name=str(Message("the mapping")),
        model_type=MAPPING,
        recognize=lambda saved: saved.weights,
        describe=lambda saved, given: _described(mapping, shapes, given),
        keys=lambda config: mapping.entries,
        head=output,
        settings=lambda saved: mapping.options,
        ignored=tuple(Ignored(re.escape(key), Message("left out by the mapping")) for key in mapping.unneeded),
    )


def problems(text: str, shapes: Shapes, options: Mapping[str, Any]) -> list[Problem]:
    """Return the problems of each line of a mapping, and then those of the mapping as a whole.

    Args:
        text: of the mapping.
        shapes: of the tensors in the file.
        options: answers to questions.
    """
    mapping = TensorMapping.read(text, shapes)
    wrong = list(mapping.problems)
    description = _described(mapping, shapes, {**mapping.options, **options})
    usual = {question.option: question.candidates[0] for question in description.questions}
    try:
        model = assemble(ModelConfig.from_dict({**usual, **description.fields, **mapping.options, **options}))
    except ConfigError as error:
        return [*wrong, Problem(0, error.message)]
    expected = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    patterns = sorted({re.sub(r"(?<=\.)\d+(?=\.)", "*", name) for name in expected})
    seen: set[int] = set()
    for name, (rule, _) in mapping.filled.items():
        shape = mapping.shape(name, shapes)
        if rule.line not in seen and expected.get(name) != shape:
            seen.add(rule.line)
            wrong.append(Problem(rule.line, _misfit(name, shape, expected.get(name), patterns)))
    keys = {*(entry.key for entry in mapping.entries), *mapping.unneeded}
    if left := [key for key in shapes if key not in keys]:
        wrong.append(
            Problem(
                0,
                Message(
                    "{n} tensors of the file are not mapped, such as {key}; map them, or leave them out with = -",
                    n=len(left),
                    key=left[0],
                ),
            )
        )
    if missing := [name for name in expected if name not in mapping.filled]:
        wrong.append(
            Problem(0, Message("{n} of our parameters get no tensor, such as {name}", n=len(missing), name=missing[0]))
        )
    return sorted(wrong, key=lambda problem: problem.line or len(text))


def _misfit(name: str, shape: tuple[int, ...], expected: tuple[int, ...] | None, patterns: Sequence[str]) -> Message:
    """Return why a tensor does not fill one of our parameters."""
    if expected is not None:
        return Message("{name} has shape {expected}, but gets {shape}", name=name, expected=expected, shape=shape)
    nearest = get_close_matches(re.sub(r"(?<=\.)\d+(?=\.)", "*", name), patterns, n=1)
    if nearest:
        return Message("there is no {name}; the nearest name is {nearest}", name=name, nearest=nearest[0])
    return Message("there is no {name}", name=name)


def _described(mapping: TensorMapping, shapes: Shapes, given: Mapping[str, Any]) -> Description:
    """Return the fields of ModelConfig that the shapes of mapped tensors determine, and questions for the others."""
    names = set(mapping.filled)
    stacks = [stack for stack in ("encoder", "decoder") if any(name.startswith(f"{stack}.") for name in names)]
    last = stacks[-1] if stacks else "decoder"

    def size(part: str, axis: int = 0) -> int:
        shape = next((shape for stack in stacks if (shape := mapping.shape(f"{stack}.{part}", shapes))), ())
        return shape[axis] if len(shape) > axis else 0

    def has(end: str) -> bool:
        return any(name.endswith(end) for name in names)

    n_layers = {stack: len({n for name in names if (n := _layer(name, stack)) is not None}) for stack in stacks}
    queries, keys = size("blocks.0.self_attn.q.weight"), size("blocks.0.self_attn.k.weight")
    n_heads, d_head = (_count(given.get(name)) for name in ("n_heads", "d_head"))
    d_head = d_head or (queries // n_heads if n_heads else 0)
    has_final = has("ln_final.weight")
    norms = ("pre", "post") if has_final else ("post", "pre")
    is_learned, has_output = has("pos_embed.table"), has("unembed.weight")
    has_own_source = "encoder.embed.weight" in names or stacks != ["encoder", "decoder"]
    fields: dict[str, Any] = {
        "architecture": "_".join(stacks) if len(stacks) == 2 else f"{last}_only",
        "vocab_size": mapping.shape(f"{last}.embed.weight", shapes)[:1] or (1,),
        "d_model": size("embed.weight", 1) or 1,
        "d_ff": size("blocks.0.mlp.up.weight"),
        "d_head": d_head,
        "n_kv_heads": keys // d_head if d_head else 0,
        "n_encoder_layers": n_layers.get("encoder", 0),
        "n_decoder_layers": n_layers.get("decoder", 0),
        **_last_norm(has_final, given.get("norm_position", norms[0])),
        "embedding_norm": has("embedding_norm.weight"),
        "gated": has("mlp.gate.weight"),
        "feed_forward_bias": has("mlp.up.bias"),
        "attention_bias": "all" if has("_attn.out.bias") else "qkv" if has("_attn.q.bias") else "none",
        "qk_norm": has("q_norm.weight"),
        "n_segments": size("segment_embed.weight"),
        "scale_embeddings": False,
        "tie_embeddings": "none" if has_output else "target" if has_own_source else "three_way",
        "unembed_bias": has("unembed.bias"),
        "unembed_transform": has("unembed_transform.linear.weight"),
        "dropout": 0.0,
        **dict.fromkeys(("pad_id", "bos_id", "eos_id")),
    }
    fields["vocab_size"] = fields["vocab_size"][0]
    if last == "encoder" and not has_output:
        fields |= {"unembed": False, "tie_embeddings": "none"}
    if is_learned:
        fields |= {"positions": "learned", "max_seq_len": size("pos_embed.table")}
    questions = [heads_question(queries)] if queries else []
    fields |= {} if queries else {"n_heads": 1}
    in_tensors = Message("It is not in the tensors.")
    questions.append(Question("norm_position", norms, in_tensors))
    if has("ln1.bias"):
        fields["norm"] = "layer"
    elif has("ln1.weight"):
        questions.append(Question("norm", ("rms", "layer_without_bias"), Message("Both have only a weight.")))
    else:
        fields["norm"] = "none"
    activations = ("silu", "gelu_tanh", "gelu") if fields["gated"] else ("gelu_tanh", "gelu", "relu", "silu")
    questions.append(Question("activation", activations, in_tensors))
    if not is_learned:
        rotary = ("rotary_halves", "rotary_interleaved", "sinusoidal_interleaved", "sinusoidal_halves", "none")
        questions.append(Question("positions", rotary, Message("There is no table of positions.")))
    return Description(fields=fields, questions=questions)


def _last_norm(has_final: bool, norm_position: object) -> dict[str, Any]:
    """Return the field that says whether the output of each stack is normalized."""
    return {"final_norm": has_final} if norm_position == "post" else {"last_norm": has_final}


def _count(value: object) -> int:
    """Return a whole number above 0; 0 for anything else."""
    return value if type(value) is int and value > 0 else 0


def _layer(name: str, stack: str) -> str | None:
    match = re.match(rf"{stack}\.blocks\.(\d+)\.", name)
    return match[1] if match else None


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


def _trouble(rule: Rule, shapes: Shapes, used: set[str], filled: Mapping[str, tuple[Rule, Entry]]) -> Message | None:
    """Return the problem of a line; None if it has none."""
    n = rule.key.count("*")
    if OPEN in rule.names:
        return Message("replace ? by a name of ours, or by - if the tensor is not needed")
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
