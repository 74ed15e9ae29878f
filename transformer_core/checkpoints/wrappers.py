"""Tensors under the names that a model itself gives them, whatever it was wrapped in when it was saved.

Compiling and sharding put words into the keys, also in the middle: `_orig_mod`, `module`, `_fsdp_wrapped_module`. A
training's own class puts one in front of all of them: `model.`, `net.`, `base_model.model.`. The former are known by
their names; the latter is what is left in front when the end of a key is one of its family's table.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from torch import Tensor

from transformer_core.errors import CheckpointError, Message

PARTS = ("_orig_mod", "module", "_fsdp_wrapped_module", "_fpw_module", "_checkpoint_wrapped_module")
EXTRA_STATE = "_extra_state"  # what a module may keep beside its weights: last part of such a key


class Renamed(Mapping[str, Tensor]):
    """Tensors under other keys."""

    def __init__(self, tensors: Mapping[str, Tensor], keys: Mapping[str, str]) -> None:
        """Name them.

        Args:
            tensors: by their keys in the file.
            keys: the key in the file, by the new one; what is not named keeps its own.
        """
        others = set(tensors) - set(keys.values())
        self._tensors, self._keys = tensors, {**keys, **{key: key for key in tensors if key in others}}

    def __getitem__(self, key: str) -> Tensor:
        """Return a tensor."""
        return self._tensors[self._keys[key]]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        return iter(self._keys)

    def __len__(self) -> int:
        """Return how many keys there are."""
        return len(self._keys)


def unwrapped_key(key: str) -> str:
    """Return a key without the parts that compiling and sharding put into it."""
    return ".".join(part for part in key.split(".") if part not in PARTS)


def unwrapped(tensors: Mapping[str, Tensor]) -> tuple[Mapping[str, Tensor], list[Message]]:
    """Return tensors under keys without the parts of `PARTS`, and a note where there were any.

    Where two keys would become the same one, all stay as they are.
    """
    keys = {unwrapped_key(key): key for key in tensors}
    parts = sorted({part for key in tensors for part in key.split(".") if part in PARTS})
    if not parts or len(keys) < len(tensors):
        return tensors, []
    return Renamed(tensors, keys), [
        Message("Parts added by wrappers were removed from the names of its weights: {parts}.", parts=", ".join(parts))
    ]


def common_prefix(keys: Iterable[str], known: Collection[str], *, where: str | Message) -> str:
    """Return what stands in front of most of the keys that are known; "" where nothing does.

    Args:
        keys: in the file.
        known: as they are without a prefix.
        where: what to call the file in messages.

    Raises:
        CheckpointError: several models lie side by side under prefixes of their own.
    """
    counts: Counter[str] = Counter()
    for key in keys:
        parts = key.split(".")
        for i in range(len(parts)):
            if ".".join(parts[i:]) in known:
                counts[".".join((*parts[:i], ""))] += 1
    if not counts:
        return ""
    most = max(counts.values())
    if counts[""] == most:
        return ""
    prefixes: list[str] = []
    for prefix in sorted((prefix for prefix, n in counts.items() if n == most), key=len):
        prefixes += [] if prefix.startswith(tuple(prefixes)) else [prefix]
    if len(prefixes) > 1:
        raise CheckpointError(
            "{where} contains several models, under {prefixes}; save only one of them",
            where=where,
            prefixes=", ".join(prefixes[:4]),
        )
    return prefixes[0]
