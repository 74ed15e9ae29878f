"""Which modules of another program's model have the weights of which of ours.

This follows from the table of keys that converts the weights: no names have to be given.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from transformer_core.checkpoints.convert import family_of
from transformer_core.checkpoints.entries import Entry, as_it_is
from transformer_core.checkpoints.family import Family
from transformer_core.checkpoints.family_tensors import FamilyTensors
from transformer_core.checkpoints.foreign import open_module
from transformer_core.errors import CheckpointError
from transformer_core.model.norms import LayerNorm, RMSNorm
from transformer_core.model.transformer import Transformer


@dataclass(frozen=True, kw_only=True, eq=False)
class ModulePair:
    """A linear layer or a normalization of ours, and their module that has its weights."""

    ours: str  # path of the module
    theirs: str
    entry: Entry  # of the weight
    is_norm: bool
    is_transposed: bool  # their weight is [in, out]

    @property
    def is_same(self) -> bool:
        """Whether both modules have the same weight, so that they have the same input and output."""
        return self.entry.cut is as_it_is

    @property
    def index(self) -> int:
        """The number of our weight among those that their tensor fills."""
        return self.entry.names.index(f"{self.ours}.weight")

    def part_of(self, output: Tensor) -> Tensor | None:
        """Return the part of their module's output [batch, pos, their_width] that is ours; None if it has none.

        A linear layer's output changes with its weight: where the table splits, reorders or scales the rows of the
        weight, it does so with the features of the output.
        """
        if self.is_same:
            return output
        if self.is_norm:  # its gain includes what a module after it may apply
            return None
        features = output.flatten(end_dim=-2)
        try:
            parts = self.entry.cut(features if self.is_transposed else features.T)
        except (IndexError, RuntimeError):
            return None
        part = parts[self.index]
        return part.T.reshape(*output.shape[:-1], -1) if part.shape[1:] == (len(features),) else None


def module_pairs(ours: Transformer, theirs: nn.Module, options: Mapping[str, Any] | None = None) -> list[ModulePair]:
    """Return the linear layers and normalizations of our model that have counterparts in another program's model.

    Embeddings and the output layer are left out, as scales may be applied before or after them; so are normalizations
    of queries and keys, as the axes of their inputs differ.

    Args:
        ours: the imported model.
        theirs: a model of the `transformers` library, or of a program whose layout is known.
        options: as for `load`, where they are needed for weights like these.

    Raises:
        CheckpointError: their model has no known layout, or does not have the weights of ours.
    """
    return list(_pairs(ours, theirs, options or {}))


def _pairs(ours: Transformer, theirs: nn.Module, options: Mapping[str, Any]) -> Iterator[ModulePair]:
    where = type(theirs).__name__
    family, weights = _described(ours, theirs, options, where)
    owners = {parameter.data_ptr(): name for name, parameter in theirs.named_parameters()}
    source = FamilyTensors(family, ours.config, weights, where, None)
    for entry in source.entries:
        key, weight = source.take(entry)
        _refuse_other_weights(ours, entry, key, weight, where)
        owner, _, kind = owners.get(weight.data_ptr(), "").rpartition(".")
        for name in entry.names:
            path, _, own_kind = name.rpartition(".")
            module = ours.get_submodule(path)
            is_norm = isinstance(module, LayerNorm | RMSNorm) and not path.endswith(("q_norm", "k_norm"))
            is_linear = isinstance(module, nn.Linear) and path != "unembed"
            if kind and own_kind == "weight" and (is_linear or is_norm):
                yield ModulePair(
                    ours=path, theirs=owner, entry=entry, is_norm=is_norm, is_transposed=_is_transposed(entry, weight)
                )


def _described(
    ours: Transformer, theirs: nn.Module, options: Mapping[str, Any], where: str
) -> tuple[Family, Mapping[str, Tensor]]:
    """Return the family of their model, and its tensors by the keys of the family's table."""
    is_of_library = hasattr(getattr(theirs, "config", None), "to_dict")
    opened = open_module(theirs, where=where, options=None if is_of_library else {**asdict(ours.config), **options})
    return family_of(opened.values, where=where).of_file(opened.values, where=where), opened.weights


def _refuse_other_weights(ours: Transformer, entry: Entry, key: str, weight: Tensor, where: str) -> None:
    """Check that a tensor of their model fills our parameters with the values that they have, up to rounding."""
    for name, part in zip(entry.names, entry.cut(weight), strict=True):
        own = ours.get_parameter(name)
        part = part.to(own.device, own.dtype)
        if not (torch.equal(part, own) or torch.allclose(part, own, rtol=0.02, atol=1e-3)):
            raise CheckpointError(
                "{where} has other weights at {key} than the imported model; load the same checkpoint into it",
                where=where,
                key=key,
            )


def _is_transposed(entry: Entry, weight: Tensor) -> bool:
    """Return whether a weight is [in, out], from how the table splits a matrix with one column."""
    if weight.ndim != 2:
        return False
    column = torch.zeros(weight.shape[0], 1)
    try:
        return any(part.shape[1:] != (1,) for part in entry.cut(column))
    except (IndexError, RuntimeError):
        return True
