"""What the overview of all heads shows of a reading."""

from typing import TYPE_CHECKING, Any

from transformer_core.analysis import ATTENTIONS, strongest_cell
from transformer_core.figures import isolate, levels

if TYPE_CHECKING:
    from transformer_core.analysis import Reading


def of(reading: "Reading") -> tuple[list[dict[str, Any]], bytes]:
    """Return the groups of the overview, one an attention, and one byte a cell of every pattern."""
    groups, thumbnails = [], b""
    for name, patterns in reading.patterns.items():
        n_layers, n_heads, n_queries, n_keys = patterns.shape
        groups.append(
            {
                "attention": name,
                "title": ATTENTIONS[name].title,
                "layers": n_layers,
                "heads": n_heads,
                "queries": n_queries,
                "keys": n_keys,
                "strongest": [
                    [strongest_link(reading, name, layer, head) for head in range(n_heads)] for layer in range(n_layers)
                ],
            }
        )
        thumbnails += levels(patterns, reading.masks[name]).tobytes()
    return groups, thumbnails


def strongest_link(reading: "Reading", attention: str, layer: int, head: int) -> str:
    """Return the head's largest weight in words."""
    queries, keys = reading.labels(attention)
    cell = strongest_cell(reading.patterns[attention][layer, head], reading.masks[attention])
    query, key = isolate(queries[cell.query][:30]), isolate(keys[cell.key][:30])
    return f"“{query}” → “{key}” {cell.value:.2f}"
