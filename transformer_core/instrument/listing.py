"""Captured activations as a table: a row for all sites of one kind, shape and type, in every layer."""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
_HEADER = ("site", "shape", "type", "KiB")


@dataclass(frozen=True)
class _Row:
    site: str  # with a range of layers, such as "decoder.blocks.{0-3}.hook_resid_post"
    shape: str
    kind: str  # the type of its numbers; "lazy" for a pattern that is computed on demand
    n_bytes: int

    @property
    def cells(self) -> tuple[str, str, str, str]:
        return self.site, self.shape, self.kind, f"{self.n_bytes / 1024:,.1f}"


def as_text(name: str, activations: Mapping[str, Any]) -> str:
    """Return a table as text, below the name of the mapping."""
    rows = [_HEADER, *(row.cells for row in _rows(activations))]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADER))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join([_title(name, activations), *lines])


def as_html(name: str, activations: Mapping[str, Any]) -> str:
    """Return a table as HTML, below the name of the mapping."""
    head = "".join(f"<th>{cell}</th>" for cell in _HEADER)
    rows = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row.cells) for row in _rows(activations))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    title = html.escape(_title(name, activations))
    return f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _title(name: str, activations: Mapping[str, Any]) -> str:
    n_bytes = sum(row.n_bytes for row in _rows(activations))
    return f"{name}: {len(activations)} sites, {n_bytes / 2**20:.2f} MiB"


def _rows(activations: Mapping[str, Any]) -> list[_Row]:
    """Return the rows, in the order of the forward pass; neighbouring layers of one kind of site are one row."""
    kinds: dict[tuple[str, ...], list[tuple[int, int]]] = {}  # layers and bytes
    for site, value in activations.items():
        is_lazy = not hasattr(value, "dtype")
        n_bytes = value.n_bytes if is_lazy else value.numel() * value.element_size()
        kind = "lazy" if is_lazy else str(value.dtype).removeprefix("torch.")
        layer = _NUMBER.search(site)
        key = (_NUMBER.sub("{}", site, count=1), str([*value.shape]), kind)
        kinds.setdefault(key, []).append((int(layer[0]) if layer else -1, n_bytes))
    return [
        _Row(site.replace("{}", _layers([layer for layer, _ in of])), shape, kind, sum(size for _, size in of))
        for (site, shape, kind), of in kinds.items()
    ]


def _layers(layers: list[int]) -> str:
    """Return layers as ranges: "3", "{0-3}", or "{0-3,5}"."""
    runs = []
    for _, run in groupby(enumerate(sorted(layers)), key=lambda place: place[1] - place[0]):
        numbers = [number for _, number in run]
        runs.append(str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}")
    return runs[0] if len(layers) == 1 else "{" + ",".join(runs) + "}"
