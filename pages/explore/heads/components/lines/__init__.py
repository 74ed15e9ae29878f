"""Lines from queries to keys: the patterns of one or several heads, as curves between two columns of tokens."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Float

from headlight.figures import TokenGrid, isolate
from headlight.figures.heatmaps.overview import fine_levels
from headlight.figures.theme import KEY, QUERY, category_hues
from headlight.language import say
from pages.components.mounting import component, packed
from pages.shared.view.shared_value import SharedValue
from transformer_core.text.labels import border_in


def attention_lines(
    grid: TokenGrid,
    *,
    patterns: Sequence[Float[np.ndarray, "query key"]],
    masks: Sequence[Bool[np.ndarray, "query key"]],
    names: Sequence[str],
    key: str,
    on_cell: Callable[[], None],
) -> None:
    """Draw queries on the left, keys on the right, and a curve for each weight, more opaque for larger weights.

    Hovering over or focusing a token shows only its own curves, with its weights beside the tokens of the other
    side. A click or Enter selects it; a second one, or Escape, deselects it.

    Args:
        grid: the tokens, their names and places; a line marks the start of a second text and of the generated
            tokens.
        patterns: of each head, attention weights in [0, 1].
        masks: of each head, True = may attend.
        names: names of the heads; each head has its own hue.
        key: the component's key.
        on_cell: called before the run in which the `SharedValue` of this key and "cell" receives the selection:
            {"query": ..., "key": ...}, counted from the first tokens of the grid, one of them or both None.
    """
    sides = {
        "query": (grid.query_tokens, grid.first_query, grid.query_name or say("query"), grid.marked[0]),
        "key": (grid.key_tokens, grid.first_key, grid.key_name or say("key"), grid.marked[1]),
    }
    chosen = {side: None if place is None else place - first for side, (_, first, _, place) in sides.items()}
    header = {
        **{side: [isolate(token) for token in tokens] for side, (tokens, *_) in sides.items()},
        "border": {side: border_in(tokens) for side, (tokens, *_) in sides.items()},
        "first": {side: first for side, (_, first, *_) in sides.items()},
        "titles": {side: name for side, (_, _, name, _) in sides.items()},
        "colors": {"query": QUERY, "key": KEY},
        "names": names,
        "hues": category_hues(len(names)),
        "chosen": SharedValue(key, "cell").payload(chosen),
        "generatedFrom": grid.generated_from,
    }
    weights = b"".join(fine_levels(*head).astype("<u2").tobytes() for head in zip(patterns, masks, strict=True))
    component(__file__, "lines", isolated=True)(key=key, data=packed(header, weights), on_cell_change=on_cell)
