"""Converting a foreign config.json and its weights to a Transformer; each key and parameter is used exactly once."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from transformer_core.checkpoints.checkpoint import OnNote
from transformer_core.checkpoints.families import FAMILIES
from transformer_core.checkpoints.family import Family
from transformer_core.checkpoints.family_tensors import FamilyTensors
from transformer_core.checkpoints.layout import LAYOUT, Layout
from transformer_core.checkpoints.layouts import LAYOUTS
from transformer_core.checkpoints.placement import put
from transformer_core.errors import CheckpointError, Message, UnsupportedModelError, mark
from transformer_core.model.transformer import Transformer, assemble

PlaceParameter = Callable[[str, Tensor], Tensor]
"""Takes a parameter's name and value, and returns the value on its device and in its precision."""

NO_TYPE = mark("{where} has no model_type; add that of its family, such as “gpt2” or “llama”")

_CLASS = re.compile(r"(.+?)(MT|LMHead|DoubleHeads|Encoder)?(Model|For[A-Z]\w+)")  # of the library; the family first


def convert(
    values: Mapping[str, Any],
    weights: Mapping[str, Tensor],
    *,
    where: str | Message,
    place: PlaceParameter | None = None,
    on_note: OnNote = lambda _: None,
) -> Transformer:
    """Convert a foreign config.json and its weights to a model in evaluation mode.

    Tensors are read one at a time, and used directly where possible, so no weight is in memory twice if `weights` reads
    from files.

    Args:
        values: the object in config.json.
        weights: the tensors by their foreign keys.
        where: name of the source in messages: a folder, or an id of the Hub.
        place: moves each parameter to its device and precision; None: all in the precision of the embedding.
        on_note: called with notes, such as on removed prefixes and unused weights.

    Raises:
        CheckpointError: an unsupported family or option; a key that is missing, unknown, or duplicate; a tensor of the
            wrong shape or type.
    """
    family = family_of(values, where=where).of_file(values, where=f"{where}: config.json")
    config = family.config(values, where=f"{where}: config.json", on_note=on_note)
    source = FamilyTensors(family, config, weights, where, values.get("architectures"))
    for note in source.notes:
        on_note(note)
    config = source.config
    model = assemble(config)
    expected = {name: parameter.shape for name, parameter in own_parameters(model).items()}
    if unlike := expected.keys() ^ {name for entry in source.entries for name in entry.names}:
        raise CheckpointError(
            "{where}: a {family} with these options would have other parameters, such as {name}; choose other options",
            where=where,
            family=family.model_type,
            name=min(unlike),
        )
    precision: torch.dtype | None = None
    for entry in source.entries:
        key, weight = source.take(entry)
        precision = precision or weight.dtype
        for name, part in zip(entry.names, source.cut(entry, key, weight, expected), strict=True):
            own = part if len(entry.names) == 1 else part.clone(memory_format=torch.contiguous_format)
            placed = own.to(precision) if place is None else place(name, own)
            put(model, [name], nn.Parameter(placed.contiguous()))
    model.tie()
    if place is None:
        model.to(dtype=precision)  # including buffers
    return model.eval()


def family_of(values: Mapping[str, Any], *, where: str | Message) -> Family:
    """Return the family of a config.json, or of a layout.

    Raises:
        UnsupportedModelError: its model_type is not supported.
        CheckpointError: it has no model_type.
    """
    if isinstance(described := values.get(LAYOUT), Layout):
        return described.family
    model_type = values.get("model_type")
    for layout in LAYOUTS:
        if layout.model_type == model_type:
            return layout.family
    if not isinstance(model_type, str) or model_type not in FAMILIES:
        if model_type is None:
            raise CheckpointError(NO_TYPE, where=where)
        raise UnsupportedModelError(
            "{where} has model_type {model_type!r}, which is not supported",
            where=where,
            model_type=model_type,
        )
    return FAMILIES[model_type]


def with_model_type(
    values: Mapping[str, Any], weights: Mapping[str, Tensor], *, where: str | Message
) -> Mapping[str, Any]:
    """Return a config.json, with the model_type of the only family that it fits if it has none.

    That follows from the saved classes, or from the options and the keys and shapes of the weights.

    Args:
        values: the object in config.json.
        weights: the tensors by their foreign keys.
        where: as for `convert`.
    """
    if not values or "model_type" in values:
        return values
    classes = values.get("architectures")
    if isinstance(classes, list) and classes:
        match = _CLASS.fullmatch(str(classes[0]))
        fitting = [name for name in FAMILIES if match and _letters(name) == _letters(match[1])]
    else:
        fitting = [name for name in FAMILIES if _fits({**values, "model_type": name}, weights, where)]
        if len(fitting) > 1:  # weights without their prefix fit kindred families
            own = {name for name in fitting if any(key.startswith(FAMILIES[name].prefix or ".") for key in weights)}
            fitting = [name for name in fitting if name in own]
    return {**values, "model_type": fitting[0]} if len(fitting) == 1 else values


def _letters(name: str) -> str:
    """Return a model_type, or the beginning of a class, as it is written in both."""
    return re.sub(r"_text$|[-_]", "", name.lower())


def _fits(values: Mapping[str, Any], weights: Mapping[str, Tensor], where: str | Message) -> bool:
    """Return whether weights can be converted with these options."""
    try:
        convert(values, weights, where=where, place=lambda _, value: value.to("meta"))
    except CheckpointError:
        return False
    return True


def own_parameters(model: Transformer) -> dict[str, nn.Parameter]:
    """Return the parameters by name, including only the first of tied parameters."""
    tied = {"none": (), "target": ("unembed.weight",), "three_way": ("unembed.weight", "encoder.embed.weight")}
    following = tied[model.config.tie_embeddings]
    return {name: p for name, p in model.named_parameters(remove_duplicate=False) if name not in following}
