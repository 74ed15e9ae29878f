"""Tables of keys: which tensors of a foreign file fill which of our parameters."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError

Cut = Callable[[Tensor], Sequence[Tensor]]
"""Splits a tensor of the foreign file into the parameters that it fills."""


WEIGHT, BOTH = ("weight",), ("weight", "bias")  # the parameters of a module


def parts(has_bias: bool) -> tuple[str, ...]:
    """Return the names of the parameters of a linear layer or a normalization."""
    return BOTH if has_bias else WEIGHT


def as_it_is(weight: Tensor) -> Sequence[Tensor]:
    """Return the tensor itself, for one parameter."""
    return (weight,)


def only_row(weight: Tensor) -> Sequence[Tensor]:
    """Remove the first axis: [1, width] -> [width]."""
    return (weight.squeeze(0),)


def rows_from(first: int) -> Cut:
    """Return a function that leaves out the first rows of a table."""
    return lambda table: (table[first:],)


def first_positions(n: int) -> Cut:
    """Return a function that keeps the first rows of a table of positions, which may have more axes of length 1."""
    return lambda table: (table.flatten(end_dim=-2)[:n],)


@dataclass(frozen=True)
class Entry:
    """A tensor of the foreign file, and the parameters that it fills."""

    key: str  # in the foreign file
    names: tuple[str, ...]  # names of our parameters
    cut: Cut = as_it_is  # splits the tensor, one part per name
    copies: tuple[str, ...] = ()  # alternative keys of the tensor; one key is enough, and all that exist must be equal
    others: tuple[str, ...] = ()  # keys of further tensors, which are joined with it
    joined: Callable[[list[Tensor]], Tensor] = torch.stack  # joins them
    instead: tuple[str, ...] = ()  # other tensors, of which the first that exists is used without it


def computed(name: str, compute: Callable[[], Tensor]) -> Tensor:
    """Return a tensor that is computed from others, which may be missing in a file, or have any shape.

    Raises:
        CheckpointError: the computation fails.
    """
    try:
        return compute()
    except (LookupError, RuntimeError, TypeError, ValueError) as error:
        raise CheckpointError(
            "{name!r} cannot be computed from the tensors of the file, as some are missing or have other shapes "
            "({reason}); copy the whole file again",
            name=name,
            reason=str(error)[:100],
        ) from error


ATTENTION = {f"{name}_proj": name for name in ("q", "k", "v", "out")}  # as several families name its linear layers
NORMS = {"input_layernorm": "ln1", "post_attention_layernorm": "ln2"}  # likewise


def module(theirs: str, ours: str, parts: Sequence[str] = BOTH) -> tuple[Entry, ...]:
    """Return the entries of a module with the same parameters in both models: a linear layer, or a normalization."""
    return tuple(Entry(f"{theirs}.{part}", (f"{ours}.{part}",)) for part in parts)


def modules(ours: Mapping[str, str], parts: Sequence[str] = BOTH) -> tuple[Entry, ...]:
    """Return the entries of several such modules, given our names by those in the foreign file."""
    return tuple(entry for theirs, own in ours.items() for entry in module(theirs, own, parts))


def inside(theirs: str, ours: str, entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return entries whose names are relative to a module, under the names of this module in both models."""

    def named(entry: Entry) -> Entry:
        keys: dict[str, Any] = {"key": f"{theirs}.{entry.key}"}
        for name in ("copies", "others", "instead"):
            keys[name] = tuple(f"{theirs}.{key}" for key in getattr(entry, name))
        return replace(entry, names=tuple(f"{ours}.{name}" for name in entry.names), **keys)

    return tuple(map(named, entries))


def in_layers(config: ModelConfig, theirs: str, entries: Iterable[Entry], *, stack: str = "") -> tuple[Entry, ...]:
    """Return the entries of all layers of a stack, given those of one layer with names relative to it.

    Args:
        config: determines the number of layers.
        theirs: the key of a layer, with * for its number.
        entries: of one layer.
        stack: "encoder" or "decoder"; "": the only one.
    """
    stack = stack or ("decoder" if config.has_decoder else "encoder")
    n_layers, layer = getattr(config, f"n_{stack}_layers"), tuple(entries)
    blocks = (inside(theirs.replace("*", str(i)), f"{stack}.blocks.{i}", layer) for i in range(n_layers))
    return tuple(entry for block in blocks for entry in block)


def fused(
    theirs: str,
    ours: str,
    names: Sequence[str] = ("q", "k", "v"),
    *,
    cut: Cut | None = None,
    parts: Sequence[str] = BOTH,
) -> tuple[Entry, ...]:
    """Return the entries of linear layers that are fused in the foreign file: split by `cut`, or else stacked rows."""
    split = cut or (lambda weight: weight.chunk(len(names)))
    return tuple(Entry(f"{theirs}.{part}", tuple(f"{ours}.{name}.{part}" for name in names), split) for part in parts)


def shared(theirs: str, ours: Sequence[str], parts: Sequence[str] = BOTH) -> tuple[Entry, ...]:
    """Return the entries of a module that several of ours copy, such as the one norm of parallel sub-layers."""
    return tuple(
        Entry(f"{theirs}.{part}", tuple(f"{name}.{part}" for name in ours), lambda weight: [weight] * len(ours))
        for part in parts
    )


def zero_bias(theirs: str, ours: str) -> Entry:
    """Return the entry of a linear layer that has a bias in our model only, which is 0."""

    def cut(weight: Tensor) -> Sequence[Tensor]:
        return weight, weight.new_zeros(weight.shape[0])

    return Entry(f"{theirs}.weight", (f"{ours}.weight", f"{ours}.bias"), cut)


def scaled(entries: Iterable[Entry], factors: Mapping[str, float | Tensor]) -> tuple[Entry, ...]:
    """Return the entries, with some of our parameters multiplied: an option that weights can express.

    Args:
        entries: of a model.
        factors: by parameter; a number, or one for each row.
    """

    def multiplied(name: str, part: Tensor) -> Tensor:
        if name not in factors:
            return part
        wide = torch.float64 if part.dtype == torch.float64 else torch.float32
        factor = torch.as_tensor(factors[name], dtype=wide, device=part.device)
        by_row = factor.reshape(-1, *[1] * (part.ndim - 1)) if factor.ndim else factor
        return part.to(wide) * by_row

    def cut(entry: Entry) -> Cut:
        return lambda weight: [multiplied(entry.names[i], part) for i, part in enumerate(entry.cut(weight))]

    return tuple(replace(entry, cut=cut(entry)) if factors.keys() & {*entry.names} else entry for entry in entries)


def embeddings(config: ModelConfig, key: str, *, head: str, copies: tuple[str, ...] = ()) -> tuple[Entry, ...]:
    """Return the entries of the embedding, which is shared by all stacks, and of the output layer.

    Args:
        config: determines whether the two are tied.
        key: the embedding's key.
        head: the key of the output layer's matrix, which is a copy of the embedding if the two are tied.
        copies: alternative keys of the embedding.
    """
    stacks = (*(("encoder",) if config.has_encoder else ()), *(("decoder",) if config.has_decoder else ()))
    if config.tie_embeddings == "none":
        names = tuple(f"{stack}.embed.weight" for stack in stacks)
        last = (Entry(head, ("unembed.weight",)),) if config.unembed else ()
        return Entry(key, names, lambda weight: [weight] * len(names), copies), *last
    return (Entry(key, (f"{stacks[-1]}.embed.weight",), copies=(*copies, head)),)


def embeddings_of_pair(config: ModelConfig, src: str, tgt: str, *, head: str) -> tuple[Entry, ...]:
    """Return the entries of the embeddings of an encoder-decoder, and of the output layer; equal ones are tied.

    Args:
        config: determines which are tied.
        src: the key of the encoder's embedding.
        tgt: the key of the decoder's embedding.
        head: the key of the output layer's matrix.
    """
    copies = {"none": (), "target": (head,), "three_way": (head, src)}[config.tie_embeddings]
    others = {src: "encoder.embed.weight", **({head: "unembed.weight"} if config.unembed else {})}
    separate = (Entry(key, (name,)) for key, name in others.items() if key not in copies)
    return (Entry(tgt, ("decoder.embed.weight",), copies=copies), *separate)


def output_bias(config: ModelConfig, key: str, *, of_layer: str) -> Entry:
    """Return the entry of the output layer's bias, which the library stores under two keys.

    Args:
        config: determines whether the two are tied, as the layer and the embedding are.
        key: in all files.
        of_layer: key of the bias that is used; may be missing.
    """
    if config.tie_embeddings == "none":
        return Entry(of_layer, ("unembed.bias",), instead=(key,))
    return Entry(key, ("unembed.bias",), copies=(of_layer,))
