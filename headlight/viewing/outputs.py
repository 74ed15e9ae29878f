"""The patterns in the output of a model of the `transformers` library: by attention, with layer numbers and labels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from headlight.viewing.eager import Layer, Watched
from headlight.viewing.labels import IMAGES, SOUNDS, Labels, Modality
from headlight.viewing.patterns import AttentionPatterns, Kind, as_array
from transformer_core.errors import ArgumentError, Message

_FIELD = "attentions"  # outputs of transformers: "attentions", "cross_attentions", ...
_NOT_SHOWN = Message(
    "{what} attention has the shape {shape} instead of [1, head, query, key], as it attends within windows or blocks, "
    "and is left out."
)
_TOLERANCE = 2e-2  # of the sum of a row, in half precision
_PARTS: Mapping[Modality, tuple[str, ...]] = {  # words in the names of parts
    "image": ("vision", "visual", "image", "pixel"),
    "audio": ("audio", "speech", "sound"),
    "text": ("text", "language", "decoder", "llm"),
}
_OF_ATTENTION = ("attention", "full_attention", "sliding_attention", "chunked_attention", "hybrid")


@dataclass(frozen=True, kw_only=True)
class _Group:
    """The patterns that a model returns under one name, layer by layer."""

    part: str  # module path of the part, or its name among the outputs; "" for the whole model
    role: str  # "", "encoder", "decoder", "cross", or another word of the name
    layers: Sequence[Tensor]  # [1, head, query, key] each


def attentions_in(
    model: Any, output: Any, watched: Watched, *, labels: Labels, inputs: Mapping[str, Any], notes: list[Message]
) -> dict[str, AttentionPatterns]:
    """Return the attentions in a model's output by name: encoder, decoder and cross-attention, then those of parts.

    Args:
        model: that was run.
        output: of the model, with its patterns.
        watched: what was computed within the model.
        labels: of the inputs.
        inputs: by name, as the model took them.
        notes: to which sentences are added on what is left out.

    Raises:
        ArgumentError: the patterns have no meaning that is known here.
    """
    attentions: dict[str, AttentionPatterns] = {}
    for group in _groups(output, watched):
        if other := next((layer.shape for layer in group.layers if not _is_pattern(group, layer)), None):
            notes.append(Message(_NOT_SHOWN, what=_name(group, "encoder"), shape=tuple(other)))
            continue
        for attention in _attentions(model, group, watched, labels, inputs, notes):
            attentions[attention.name] = attention
    order = [*(name for name in ("encoder", "decoder", "cross") if name in attentions), *attentions]
    return {name: attentions[name] for name in order}


def _groups(output: Any, watched: Watched) -> Iterator[_Group]:
    """Yield the patterns in a model's output, and those in the outputs of its parts, each once."""
    seen: set[int] = set()
    parts = {"": output} | {path: part for path, part in watched.outputs.items() if path}
    for path, part in parts.items():
        for where, name, layers in _fields(part, path):
            layers = [layer for layer in layers if isinstance(layer, Tensor)]
            if layers and not any(id(layer) in seen for layer in layers):
                seen.update(map(id, layers))
                yield _Group(part=where, role=name.removesuffix(_FIELD).rstrip("_"), layers=layers)


def _fields(output: Any, part: str) -> Iterator[tuple[str, str, Sequence[Any]]]:
    """Yield part, name and layers of each field with patterns, also of outputs within outputs."""
    for name, value in output.items():
        if str(name).endswith(_FIELD) and isinstance(value, tuple | list):
            yield part, str(name), value
        elif hasattr(value, "items") and not isinstance(value, Tensor):
            inner = str(name).removesuffix("_output").removesuffix("_model")
            yield from _fields(value, f"{part}.{inner}" if part else inner)


def _is_pattern(group: _Group, layer: Tensor) -> bool:
    """Return whether a layer's patterns are [1, head, query, key]; self-attention has as many keys as queries."""
    return layer.ndim == 4 and len(layer) == 1 and (group.role == "cross" or layer.shape[2] == layer.shape[3])


def _attentions(
    model: Any,
    group: _Group,
    watched: Watched,
    labels: Labels,
    inputs: Mapping[str, Any],
    notes: list[Message],
) -> Iterator[AttentionPatterns]:
    """Yield the attentions of a group; layers of different shapes are different attentions."""
    name = type(model).__name__
    places = [watched.layer_of(layer) for layer in group.layers]
    numbers = _numbers(places)
    _note_on_layers(model, group, places, notes)
    shapes: dict[tuple[int, ...], list[int]] = {}
    for place, layer in enumerate(group.layers):
        shapes.setdefault(tuple(layer.shape), []).append(place)
    for shape, members in shapes.items():
        patterns = np.stack([as_array(group.layers[place][0]) for place in members])
        _check_rows(name, patterns, notes)
        kind = _kind(model, group, patterns)
        own = _name(group, kind)
        if len(shapes) > 1:
            own += f" {numbers[members[0]]}" if len(members) == 1 else f" {numbers[members[0]]}–{numbers[members[-1]]}"
        queries, keys = _sides(model, group, kind, shape, labels, inputs)
        yield AttentionPatterns(
            name=own,
            kind=kind,
            patterns=patterns,
            queries=queries,
            keys=keys,
            layers=tuple(numbers[place] for place in members),
            special=[key in labels.special for key in keys] if labels.special else None,
        )


def _numbers(places: Sequence[Layer | None]) -> list[int]:
    """Return the number of each layer in the model; where they are unknown, or shared, in the order of computation."""
    numbers = [place.number if place else -1 for place in places]
    is_known = len({place.stack for place in places if place}) == 1 and sorted({*numbers}) == numbers
    return numbers if is_known and numbers[0] >= 0 else [*range(len(places))]


def _note_on_layers(model: Any, group: _Group, places: Sequence[Layer | None], notes: list[Message]) -> None:
    """Add a note on layers without attention, after comparing their number with the configuration."""
    config = model.config.get_text_config()
    kinds = getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None)
    stacks = {place.stack for place in places if place}
    if len(stacks) != 1 or group.role in ("cross",):
        return
    stack = next(iter(stacks))
    n_all, n = len(model.get_submodule(stack.rstrip("."))), len(places)
    if n_all <= n:
        return
    n_expected = sum(kind in _OF_ATTENTION for kind in kinds) if kinds and len(kinds) == n_all else n
    if n_expected != n:
        raise ArgumentError(
            "{model} has attention in {n_expected} layers by its configuration, but returned the patterns of {n}, so "
            "they cannot be assigned to layers",
            model=type(model).__name__,
            n_expected=n_expected,
            n=n,
        )
    notes.append(
        Message(
            "{n} of {n_all} layers have attention; the others, which mix tokens in another way or not at all, are left "
            "out.",
            n=n,
            n_all=n_all,
        )
    )


def _check_rows(model: str, patterns: np.ndarray, notes: list[Message]) -> None:
    """Check that rows are probabilities; add a note if they sum to less than 1."""
    sums = patterns.sum(axis=-1)
    is_finite = np.isfinite(sums).all()
    if is_finite and (patterns.min() < -_TOLERANCE or sums.max() > 1 + _TOLERANCE):
        raise ArgumentError(
            "the attention of {model} is not a softmax over keys: its rows do not sum to 1, so it cannot be shown",
            model=model,
        )
    if not is_finite:
        notes.append(Message("Some weights are NaN or infinite."))
    elif ((sums < 1 - _TOLERANCE) & (sums > _TOLERANCE)).any():
        notes.append(
            Message("Some rows sum to less than 1: the rest of their weight is on a learned sink, not a token.")
        )


def _kind(model: Any, group: _Group, patterns: np.ndarray) -> Kind:
    """Return the kind of an attention."""
    if group.role == "cross":
        return "cross"
    if group.role in ("encoder", "decoder"):
        return "encoder" if group.role == "encoder" else "decoder"
    if patterns.shape[2] == 1:
        return "decoder" if model.can_generate() and not group.part else "encoder"
    return "encoder" if np.triu(patterns.max(axis=(0, 1)), 1).any() else "decoder"


def _name(group: _Group, kind: Kind) -> str:
    """Return the name of an attention: its kind, or the name of its part, with its role where that is another."""
    role = group.role if group.role not in ("", "encoder", "decoder", "cross") else ""
    part = ".".join(word for word in group.part.split(".") if word not in ("model", "encoder", "decoder"))
    words = [part, role] if part else [role or kind]
    if part and group.role == "cross":
        words = [part, "cross"]
    return " ".join(filter(None, words)) or kind


def _sides(
    model: Any, group: _Group, kind: Kind, shape: Sequence[int], labels: Labels, inputs: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """Return the labels of queries and keys; their positions where the inputs do not tell what they are."""
    path = group.part.lower()
    read: list[Modality] = []
    read += ["image"] if inputs.get(IMAGES) is not None else []
    read += ["audio"] if any(inputs.get(name) is not None for name in SOUNDS) else []
    read += ["text"] if inputs.get("input_ids") is not None else []
    read.sort(key=lambda modality: (modality == "text") != (kind == "decoder"))  # a causal mask is that of a text
    named = [modality for modality, words in _PARTS.items() if any(word in path for word in words)]
    encoder: Sequence[Modality] = named or read
    is_pair = inputs.get("decoder_input_ids") is not None

    def side(n: int, *, is_target: bool) -> list[str]:
        modalities: Sequence[Modality] = ("text",) if is_target else encoder
        candidates = (labels.of_side(modality, n, is_target=is_target) for modality in (*modalities, *read))
        return next((names for names in candidates if names is not None), [str(place) for place in range(n)])

    is_decoder = is_pair and kind in ("decoder", "cross") and not named
    return side(shape[2], is_target=is_decoder), side(shape[3], is_target=is_decoder and kind == "decoder")
