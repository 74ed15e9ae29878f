"""The image or the sound that the model reads, with the weights of the chosen query on it."""

from typing import Any

import numpy as np

from headlight.analysis.heads.table import matrix_csv
from headlight.figures.heatmaps.media import image_weights, sound_weights
from headlight.figures.labels import isolate, shorten
from headlight.language import say
from headlight.viewing.labels import patch_grid
from pages.components import figures
from pages.explore.heads import view_fields
from pages.explore.heads.data import HeadsData
from pages.shared import media, prose
from pages.shared.drawing import draw
from pages.shared.recipe import Print, call, named, value_of
from transformer_core.errors import mark

KEY = "heads-picture"
HINT = {
    "image": mark("Click a patch to make it the query. As the model reads it: resized and cropped."),
    "audio": mark("Click a frame to make it the query."),
}
HEIGHT = {"image": 250, "audio": 170}  # px


def show(data: HeadsData) -> None:
    """Draw it, if the keys of the chosen attention are patches or frames."""
    medium = data.source.medium
    queries, keys = data.model_run.labels(data.view.attention)
    if medium is None or data.view.attention == "decoder":
        return
    grid = (0, 1, len(keys)) if medium == "audio" else patch_grid(keys)
    if grid is None:
        return
    n_before, n_rows, n_columns = grid
    query = min(view_fields.QUERY.value or 0, len(queries) - 1)
    is_own = data.view.attention == "encoder"
    at = divmod(query - n_before, n_columns) if is_own and query >= n_before else None
    row = data.recipe.attention_maps[data.view.attention].row(query)[data.view.layer, data.view.head]
    weights = named("weights", row[n_before:])
    values: np.ndarray = value_of(weights)
    title = say(
        "Attention of L{layer}.H{head} from “{query}”, at most {largest:.3f}",
        layer=data.view.layer,
        head=data.view.head,
        query=isolate(shorten(queries[query])),
        largest=float(np.nan_to_num(values).max(initial=0)),
    )
    _, processor = data.source.recipe()
    seen = named("seen", processor.seen(media.recipe(str(data.view.text), medium)))
    labels = [*keys[n_before:]]
    look: dict[str, Any] = {"title": title, "height": HEIGHT[medium]}
    if medium == "image":
        drawn = call(image_weights, seen, weights.reshape(n_rows, n_columns), labels, query=at, **look)
    else:
        drawn = call(sound_weights, seen, weights, labels, query=None if at is None else at[1], **look)
    draw(
        drawn,
        Print(weights, "[key]"),
        title=title,
        name=data.file_name(f"query{query}", medium),
        key=KEY,
        csv=lambda: matrix_csv(values[None], "query", [f"{query} {queries[query]}"], "key", labels, "weight"),
        arrays=lambda: {"weights": values, "keys": np.array(labels)},
        model=data.card.path,
        on_cell=(lambda: _choose(figures.sent_cell(KEY), n_before, n_columns)) if is_own else None,
    )
    if is_own:
        prose.small(say(HINT[medium]))


def _choose(cell: tuple[int, int] | None, n_before: int, n_columns: int) -> None:
    """Make the clicked patch or frame the query."""
    view_fields.QUERY.set(None if cell is None else n_before + cell[0] * n_columns + cell[1])
    view_fields.KEY.set(None)
