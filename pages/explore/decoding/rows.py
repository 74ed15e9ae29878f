"""The attention of every head at this step over the source and the written tokens."""

from typing import TYPE_CHECKING

import numpy as np

from headlight.analysis.heads.table import matrix_csv
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures import TokenGrid
from headlight.figures.heatmaps.decoding import LayerRows, layer_rows, step_rows
from headlight.figures.labels import isolate, shorten
from headlight.language import say
from pages.components import figures
from pages.explore.decoding import view_fields
from pages.explore.decoding.data import DecodingData
from pages.shared import prose
from pages.shared.drawing import draw
from pages.shared.recipe import Expression, Print, call, named, value_of
from pages.shared.view import state
from transformer_core.errors import mark

if TYPE_CHECKING:
    from transformer_core.decoding.decoding_step import Aim, AttentionKind

KEYS: "dict[AttentionKind, str]" = {"cross": mark("key: source token"), "decoder": mark("key: tokens so far")}


def show(data: DecodingData) -> None:
    """Draw the attention rows of the chosen layer's heads, or of each layer's mean, for every decoder attention."""
    if data.prediction is None:
        prose.small(say("The text ends here, so there is no next token to predict: go back one step."))
        return
    for kind in data.kinds():
        _draw(data, kind)


def code(data: DecodingData) -> list[Print]:
    """Return the lines that print the rows of every attention."""
    kinds = () if data.prediction is None else data.kinds()
    return [Print(_rows(data, kind).values, "[row, key]") for kind in kinds]


def _rows(data: DecodingData, kind: "AttentionKind") -> Expression:
    prediction, aim = data.prediction_recipe, data.aim
    patterns = prediction.self_rows if kind == "decoder" else prediction.cross_rows
    return named(f"{kind}_rows", call(layer_rows, patterns, layer=aim.layer, head=aim.head, mean=aim.mean))


def _draw(data: DecodingData, kind: "AttentionKind") -> None:
    aim, result = data.aim, _rows(data, kind)
    rows: LayerRows = value_of(result)
    read = data.output_labels
    n_read = data.at.position + 1
    labels = data.recipe.given.labels if kind == "cross" else data.labels_recipe[:n_read]
    part = say("layer means") if aim.mean == "all" else say("layer {layer}", layer=aim.layer)
    title = say(
        "{attention}, {part}: attention from “{token}”",
        attention=say(ATTENTIONS[kind].title),
        part=part,
        token=isolate(shorten(read[n_read - 1])),
    )
    key = f"decoding-rows-{kind}"
    figure = call(
        step_rows,
        result.values,
        call(
            TokenGrid,
            result.labels,
            labels,
            query_name=result.name,
            key_name=say(KEYS[kind]),
            marked=(result.chosen, None),
        ),
        title=title,
        n_keys=None if kind == "cross" else len(read),
    )
    tokens = value_of(labels)
    keys = [f"{place} {label}" for place, label in enumerate(tokens)]
    draw(
        figure,
        Print(result.values, "[row, key]"),
        title=title,
        name=data.file_name(kind, f"step{data.n_written}"),
        key=key,
        csv=lambda: matrix_csv(rows.values, rows.name, rows.labels, "key", keys, "weight"),
        arrays=lambda: {"rows": rows.values, "row_labels": np.array(rows.labels), "key_tokens": np.array(tokens)},
        model=data.card.path,
        on_cell=lambda: open_row(figures.sent_cell(key), len(rows.values) - 1, aim),
    )


def open_row(cell: tuple[int, int] | None, n_rows: int, aim: "Aim") -> None:
    """Select the head, or the mean of the layer, whose row was clicked; `n_rows` without the mean."""
    row = n_rows if cell is None else cell[0]
    if row > n_rows:
        return  # not sent by the figure
    if aim.mean == "all":
        if row < n_rows:
            state.LAYER.set(row)
            view_fields.MEAN.set("layer")
    elif row < n_rows:
        state.HEAD.set(row)
        view_fields.MEAN.set("")
    else:
        view_fields.MEAN.set("layer")
