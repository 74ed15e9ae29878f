"""The layout that a mapping describes, and what is wrong with a mapping."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from transformer_core.checkpoints.convert import own_parameters
from transformer_core.checkpoints.entries import Entry
from transformer_core.checkpoints.family import Ignored
from transformer_core.checkpoints.layout import Layout
from transformer_core.checkpoints.mapping.options import described
from transformer_core.checkpoints.mapping.our_names import nearest_name
from transformer_core.checkpoints.mapping.rules import MAPPING, Problem, Shapes, TensorMapping
from transformer_core.checkpoints.nearest import without_numbers
from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError, ConfigError, Message
from transformer_core.model.transformer import assemble


def layout_of(text: str, shapes: Shapes, options: Mapping[str, Any]) -> Layout:
    """Return the layout that a mapping describes; arguments as for `problems`.

    Raises:
        CheckpointError: the mapping is wrong.
    """
    if wrong := problems(text, shapes, options):
        first = wrong[0]
        if first.line:
            raise CheckpointError("line {line} of the mapping: {why}", line=first.line, why=first.why)
        raise CheckpointError("the mapping: {why}", why=first.why)
    mapping = TensorMapping.read(text, shapes)
    output = next((entry.key for entry in mapping.entries if "unembed.weight" in entry.names), "")
    return Layout(
        name=str(Message("the mapping")),
        model_type=MAPPING,
        recognize=lambda saved: saved.weights,
        describe=lambda saved, given: described(mapping, shapes, given),
        keys=lambda config: _with_zero_biases(mapping.entries, own_parameters(assemble(config))),
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
    description = described(mapping, shapes, {**mapping.options, **options})
    usual = {question.option: question.candidates[0] for question in description.questions}
    usual |= {convention.option: convention.value for convention in description.conventions}
    try:
        model = assemble(ModelConfig.from_dict({**description.fields, **usual, **mapping.options, **options}))
    except ConfigError as error:
        return wrong if mapping.is_open else [*wrong, Problem(0, error.message)]
    expected = {name: tuple(parameter.shape) for name, parameter in own_parameters(model).items()}
    patterns = {*map(without_numbers, expected)}
    filled = {*map(without_numbers, mapping.filled)}
    seen: set[int] = set()
    for name, (rule, _) in mapping.filled.items():
        shape = mapping.shape(name, shapes)
        if rule.line not in seen and expected.get(name) != shape:
            seen.add(rule.line)
            wrong.append(Problem(rule.line, _misfit(name, shape, expected.get(name), patterns, filled)))
    if mapping.is_open:
        return sorted(wrong, key=lambda problem: problem.line)
    keys = {*(key for entry in mapping.entries for key in (entry.key, *entry.others)), *mapping.unneeded}
    if left := [key for key in shapes if key not in keys]:
        wrong.append(
            Problem(
                0,
                Message(
                    "{key} of the file is not mapped; map it, or leave it out with = -",
                    plural="{n} tensors of the file are not mapped, such as {key}; map them, or leave them out "
                    "with = -",
                    n=len(left),
                    key=left[0],
                ),
            )
        )
    names = {name for entry in _with_zero_biases(mapping.entries, expected) for name in entry.names}
    if missing := [name for name in expected if name not in names]:
        why = Message(
            "our {name} gets no tensor",
            plural="{n} of our parameters get no tensor, such as {name}",
            n=len(missing),
            name=missing[0],
        )
        if (shared := "encoder.embed.weight") in mapping.filled and "decoder.embed.weight" in missing:
            why = Message(
                "an embedding that encoder and decoder share is decoder.embed.weight; {name} is the encoder's own",
                name=shared,
            )
        wrong.append(Problem(0, why))
    return sorted(wrong, key=lambda problem: problem.line or len(text))


def _with_zero_biases(entries: Iterable[Entry], expected: Collection[str]) -> tuple[Entry, ...]:
    """Return the entries, where a bias that only our model has is 0: that of queries, beside one of outputs.

    Args:
        entries: of the mapping.
        expected: the names of our parameters.
    """
    entries = tuple(entries)
    filled = {name for entry in entries for name in entry.names}

    def completed(entry: Entry) -> Entry:
        places = {
            bias: place
            for place, name in enumerate(entry.names)
            if (bias := f"{name.removesuffix('.weight')}.bias") in expected and bias not in filled
        }

        def cut(weight: Tensor) -> Sequence[Tensor]:
            parts = entry.cut(weight)
            return (*parts, *(parts[place].new_zeros(len(parts[place])) for place in places.values()))

        return replace(entry, names=(*entry.names, *places), cut=cut) if places else entry

    return tuple(map(completed, entries))


def _misfit(
    name: str,
    shape: tuple[int, ...],
    expected: tuple[int, ...] | None,
    patterns: Collection[str],
    filled: Collection[str],
) -> Message:
    """Return why a tensor does not fill one of our parameters."""
    if expected is not None:
        return Message("{name} has shape {expected}, but gets {shape}", name=name, expected=expected, shape=shape)
    nearest = nearest_name(without_numbers(name), patterns, filled)
    return Message("there is no {name}; the nearest name is {nearest}", name=name, nearest=nearest)
