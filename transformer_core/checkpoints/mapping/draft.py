"""The start of a mapping for weights of an unknown layout: one line for each kind of tensor."""

import re
from collections.abc import Sequence

import torch

from transformer_core.checkpoints.entries import Entry
from transformer_core.checkpoints.mapping.by_shape import guesses
from transformer_core.checkpoints.mapping.our_names import our_names
from transformer_core.checkpoints.mapping.rules import OPEN, Shapes
from transformer_core.checkpoints.nearest import Nearest, end_in, entries_of, without_numbers

MOST_LINES = 300
_INTO_RESIDUAL = (".out.weight", ".down.weight")


def draft(shapes: Shapes, nearest: Nearest | None) -> str:
    """Return a mapping: names from the nearest layout where it has such tensors, or by words and shapes; or ?.

    Comments say which names are guesses, and list our names.
    """
    table = {} if nearest is None else entries_of(nearest.name)
    by_key: dict[str, tuple[Entry | None, Sequence[int]]] = {}
    sizes: dict[str, set[tuple[int, ...]]] = {}
    for key, shape in shapes.items():
        sizes.setdefault(without_numbers(key), set()).add(tuple(shape))
    for key, shape in shapes.items():
        pattern = without_numbers(key)
        if pattern.count("*") > 1 and len(sizes[pattern]) > 1:  # parts of a layer that have numbers, too
            pattern = re.sub(r"(?<=\.)\d+(?=\.)", "*", key, count=1)
        by_key.setdefault(pattern, (table.get(end_in(pattern, table) or ""), shape))
    are_transposed = _are_transposed([(entry.names[0], shape) for entry, shape in by_key.values() if entry])
    ours = {key: _ours(entry, shape, are_transposed) for key, (entry, shape) in by_key.items()}
    stack = "encoder" if any(name.startswith("encoder.") for name in ours.values()) else "decoder"
    used = {*ours.values()}
    for key, (name, reason) in guesses({key: shape for key, (_, shape) in by_key.items()}, stack).items():
        if ours[key] == OPEN and name not in used:
            ours[key] = f"{name}  # {reason}; check"
    lines = [f"{key} = {name}" for key, name in ours.items()]
    return "\n".join([*lines[:MOST_LINES], "", *_names_as_comments()])


def _names_as_comments() -> list[str]:
    """Return the list of our names with their shapes, as comments."""
    title = "# Our names, and the shapes of their tensors; encoder.* likewise:"
    return [title, *(f"#   {name}  {shape}" for name, shape in our_names().items())]


def _are_transposed(tensors: Sequence[tuple[str, Sequence[int]]]) -> bool:
    """Return whether matrices are [in, out], given our names and the shapes of tensors."""
    width = next((shape[-1] for name, shape in tensors if name.endswith(".embed.weight") and len(shape) == 2), 0)
    matrices = [shape for name, shape in tensors if _is_matrix(name, shape) and not name.endswith(_INTO_RESIDUAL)]
    return any(first == width != second for first, second in matrices)


def _is_matrix(name: str, shape: Sequence[int]) -> bool:
    return len(shape) == 2 and (".mlp." in name or "_attn." in name)


def _ours(entry: Entry | None, shape: Sequence[int], are_transposed: bool) -> str:
    """Return the right side of a line, given the nearest layout's entry for the tensors of a key."""
    if entry is None or not _is_plain(entry):
        return OPEN
    names = [without_numbers(name) for name in entry.names]
    parent, _, last = names[0].rpartition(".")
    parts = ",".join(name.removesuffix(f".{last}").rpartition(".")[2] for name in names)
    ours = names[0] if len(names) == 1 else f"{parent.rpartition('.')[0]}.{{{parts}}}.{last}"
    return f"{ours} T" if are_transposed and _is_matrix(names[0], shape) else ours


def _is_plain(entry: Entry) -> bool:
    """Return whether an entry splits its tensor into equal parts, apart from a transposition, as mappings do."""
    n = len(entry.names)
    probe = torch.arange(24.0 * n * n).reshape(6 * n, 4 * n)
    try:
        parts = entry.cut(probe)
    except (IndexError, RuntimeError):
        return False
    return any(all(map(torch.equal, parts, matrix.chunk(n))) for matrix in (probe, probe.T))
