"""Lines from queries to keys: the patterns of one or several heads, as curves between two columns of tokens."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Float

from headlight.figures import isolate
from headlight.figures.heatmaps.overview import fine_levels
from headlight.figures.theme import KEY, QUERY
from pages.components.mounting import component
from pages.components.packing import packed
from pages.shared.view.shared_value import SharedValue
from transformer_core.language import say
from transformer_core.text.labels import border_in


def attention_lines(
    *,
    patterns: Sequence[Float[np.ndarray, "query key"]],
    masks: Sequence[Bool[np.ndarray, "query key"]],
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    names: Sequence[str],
    hues: Sequence[str],
    query_name: str = "",
    key_name: str = "",
    first_query: int = 0,
    first_key: int = 0,
    chosen: tuple[int | None, int | None] = (None, None),
    generated_from: int | None = None,
    key: str,
    on_cell: Callable[[], None],
) -> None:
    """Queries on the left, keys on the right, and a curve for each weight: the stronger, the more opaque.

    A token that is pointed at, or has the focus, shows its curves alone, and its weights beside the tokens of the other
    side. A click, or Enter, keeps it so; a second one, or Escape, lets it go.

    Args:
        patterns: of each head, attention weights in [0, 1]; all of one shape.
        masks: of each head, True = may attend.
        query_tokens: the labels on the left; above that of a second text's first token is a line.
        key_tokens: the labels on the right.
        names: of the heads.
        hues: of the heads, "#RRGGBB", good in light and in dark.
        query_name: what the left column is.
        key_name: what the right column is.
        first_query: the place in the whole text of the first label on the left.
        first_key: likewise on the right.
        chosen: the query and the key that are kept, counted from the first labels; None: none of them.
        generated_from: the first place of the whole text that the model wrote itself, with a dotted line above it on
            both sides; None: it wrote none.
        key: the component's key.
        on_cell: called before the run in which the `SharedValue` of this key and "cell" hears which are kept:
            {"query": ..., "key": ...}, counted as in `chosen`, one of them or both None.

    Raises:
        ValueError: patterns, masks, names, hues and labels do not fit together.
    """
    shape = (len(query_tokens), len(key_tokens))
    if not len(patterns) == len(masks) == len(names) == len(hues):
        raise ValueError(
            f"There are {len(patterns)} patterns, {len(masks)} masks, {len(names)} names and {len(hues)} hues; "
            "give one of each for every head."
        )
    if other := next((cells.shape for cells in (*patterns, *masks) if cells.shape != shape), None):
        raise ValueError(
            f"There are {shape[0]} query labels and {shape[1]} key labels, but a pattern or mask of {other[0]} by "
            f"{other[1]}; give one label a row and one a column."
        )
    header = {
        "query": [isolate(token) for token in query_tokens],
        "key": [isolate(token) for token in key_tokens],
        "border": {"query": border_in(query_tokens), "key": border_in(key_tokens)},
        "first": {"query": first_query, "key": first_key},
        "titles": {"query": query_name or say("query"), "key": key_name or say("key")},
        "colors": {"query": QUERY, "key": KEY},
        "names": names,
        "hues": hues,
        "chosen": SharedValue(key, "cell").payload(dict(zip(("query", "key"), chosen, strict=True))),
        "generatedFrom": generated_from,
    }
    weights = b"".join(fine_levels(*head).astype("<u2").tobytes() for head in zip(patterns, masks, strict=True))
    component(__file__, "lines", isolated=True)(key=key, data=packed(header, weights), on_cell_change=on_cell)
