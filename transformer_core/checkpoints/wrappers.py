"""Remove the traces that wrappers leave in the keys of saved models.

Compiling and sharding insert known parts: `_orig_mod`, `module`, `_fsdp_wrapped_module`. A training's own class adds a
common prefix: `model.`, `net.`, `base_model.model.`. It is found by comparing keys with those of the family's table.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from torch import Tensor

from transformer_core.errors import CheckpointError, Message

PARTS = ("_orig_mod", "module", "_fsdp_wrapped_module", "_fpw_module", "_checkpoint_wrapped_module")
EXTRA_STATE = "_extra_state"  # last part of the keys of a module's extra state


class LazyTensors(Mapping[str, Tensor]):
    """Tensors by keys, which are known without reading the tensors."""

    _keys: Mapping[str, Any]

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


class Renamed(LazyTensors):
    """A view of tensors under new keys."""

    def __init__(self, tensors: Mapping[str, Tensor], keys: Mapping[str, str]) -> None:
        """Rename tensors: `keys` maps new keys to those in the file; all other tensors keep theirs."""
        others = set(tensors) - set(keys.values())
        self._tensors, self._keys = tensors, {**keys, **{key: key for key in tensors if key in others}}

    def __getitem__(self, key: str) -> Tensor:
        return self._tensors[self._keys[key]]


def unwrapped_key(key: str) -> str:
    """Return a key without the parts of `PARTS`."""
    return ".".join(part for part in key.split(".") if part not in PARTS)


def unwrapped(tensors: Mapping[str, Tensor]) -> tuple[Mapping[str, Tensor], list[Message]]:
    """Return tensors by keys without the parts of `PARTS`, and a note if there were any.

    If two keys would become the same, all are left unchanged.
    """
    keys = {unwrapped_key(key): key for key in tensors}
    parts = sorted({part for key in tensors for part in key.split(".") if part in PARTS})
    if not parts or len(keys) < len(tensors):
        return tensors, []
    return Renamed(tensors, keys), [
        Message("Parts added by wrappers were removed from the names of its weights: {parts}.", parts=", ".join(parts))
    ]


def common_prefix(keys: Iterable[str], known: Collection[str], *, where: str | Message) -> str:
    """Return the prefix that most of the known keys have in the file; "" if there is none.

    Args:
        keys: the keys in the file.
        known: keys without a prefix.
        where: name of the file in messages.

    Raises:
        CheckpointError: the file contains several models with different prefixes.
    """
    prefixes = common_prefixes(keys, known)
    if len(prefixes) > 1:
        raise CheckpointError(
            "{where} contains several models, under {prefixes}; save only one of them",
            where=where,
            prefixes=", ".join(prefixes[:4]),
        )
    return prefixes[0]


def common_prefixes(keys: Iterable[str], known: Collection[str]) -> list[str]:
    """Return the prefixes that equally many of the known keys have, and no other prefix more; [""] if none has one.

    Args:
        keys: with prefixes.
        known: keys without a prefix.
    """
    counts: Counter[str] = Counter()
    for key in keys:
        parts = key.split(".")
        for i in range(len(parts)):
            if ".".join(parts[i:]) in known:
                counts[".".join((*parts[:i], ""))] += 1
    most = max(counts.values(), default=0)
    if counts[""] == most:
        return [""]
    prefixes: list[str] = []
    for prefix in sorted((prefix for prefix, n in counts.items() if n == most), key=len):
        prefixes += [] if prefix.startswith(tuple(prefixes)) else [prefix]
    return prefixes
