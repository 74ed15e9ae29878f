"""Where every head looks at this step, in order to say the next token: over the source, and over what is written."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.components import figures
from pages.explore.decoding import view_fields
from pages.explore.decoding.code import opening
from pages.explore.decoding.data import DecodingData
from pages.shared import export
from pages.shared.code import KEEP
from pages.shared.style import theme
from pages.shared.view import state
from transformer_core.analysis import ATTENTIONS
from transformer_core.analysis.heads.table import matrix_csv
from transformer_core.errors import mark
from transformer_core.figures.bars.step_rows import LayerRows, layer_rows, step_rows
from transformer_core.figures.labels import isolate, shorten
from transformer_core.language import say

if TYPE_CHECKING:
    from transformer_core.decoding.looking import Kind
    from transformer_core.decoding.prediction import NextTokenPrediction

KEYS: "dict[Kind, str]" = {"cross": mark("key: source token"), "decoder": mark("key: tokens so far")}
AGAIN = """
from transformer_core.figures.bars.step_rows import layer_rows, step_rows

rows = layer_rows(at.prediction.{rows}, layer={layer}, head={head}, mean={mean!r})
figure = step_rows(
    rows.values,
    {labels!r},
    rows.labels,
    title={title!r},
    chosen=rows.chosen,
    key_name={key_name!r},
    row_name=rows.name,
)
{keep}print(rows.values)  # [row, key]
"""


def show(data: DecodingData) -> None:
    """Draw the heads of the chosen layer, or the mean of each layer, in every attention of the decoder."""
    if data.prediction is None:
        note = say("The text ends here, so there is no next token to predict: go back one step.")
        st.html(f"<p class='hl-small'>{note}</p>")
        return
    for kind in data.kinds():
        _draw(data, data.prediction, kind)


def _draw(data: DecodingData, prediction: "NextTokenPrediction", kind: "Kind") -> None:
    """Draw the rows of one attention."""
    aim = data.aim
    patterns = prediction.self_rows if kind == "decoder" else prediction.cross_rows
    assert patterns is not None, "the data names the attentions that there are"
    rows = layer_rows(patterns, layer=aim.layer, head=aim.head, mean=aim.mean)
    read = data.output_labels
    n_read = data.at.position + 1
    labels = data.source_labels if kind == "cross" else read[:n_read]
    part = say("layer means") if aim.mean == "all" else say("layer {layer}", layer=aim.layer)
    title = say(
        "{attention}, {part}: attention from “{token}”",
        attention=say(ATTENTIONS[kind].title),
        part=part,
        token=isolate(shorten(read[n_read - 1])),
    )
    key = f"decoding-rows-{kind}"
    figure = step_rows(
        rows.values,
        labels,
        rows.labels,
        title=title,
        chosen=rows.chosen,
        n_keys=len(labels) if kind == "cross" else len(read),
        key_name=say(KEYS[kind]),
        row_name=rows.name,
        theme=theme(),
    )
    figures.live_figure(
        figure,
        name=data.file_name(kind, f"step{data.n_written}"),
        key=key,
        files=lambda: _files(data, kind, rows, labels, title),
        height=int(figure.layout.height),
        on_cell=lambda: _open(figures.sent_cell(key), len(rows.values) - 1, data),
    )


def _open(cell: tuple[int, int] | None, n_rows: int, data: DecodingData) -> None:
    """A cell was clicked: its head, or its layer's mean, becomes the one that is looked at."""
    row = n_rows if cell is None else cell[0]
    if row > n_rows:
        return  # sent by somebody else than the figure
    if data.aim.mean == "all":
        if row < n_rows:
            state.LAYER.set(row)
            view_fields.MEAN.set("layer")
    elif row < n_rows:
        state.HEAD.set(row)
        view_fields.MEAN.set("")
    else:
        view_fields.MEAN.set("layer")


def _files(
    data: DecodingData, kind: "Kind", rows: LayerRows, labels: tuple[str, ...], title: str
) -> Mapping[str, bytes]:
    """Return the numbers of the figure, and the lines that draw it again."""
    aim, name = data.aim, data.file_name(kind, f"step{data.n_written}")
    keys = [f"{place} {label}" for place, label in enumerate(labels)]
    told = {
        "rows": "self_rows" if kind == "decoder" else "cross_rows",
        "layer": aim.layer,
        "head": aim.head,
        "mean": aim.mean,
        "labels": list(labels),
        "title": title,
        "key_name": say(KEYS[kind]),
        "keep": KEEP.format(title=title, text=state.about(), file=f"{name}.html"),
    }
    return export.files(
        name=name,
        csv=lambda: matrix_csv(rows.values, rows.name, rows.labels, "key", keys, "weight"),
        arrays=lambda: {"rows": rows.values, "row_labels": np.array(rows.labels), "key_tokens": np.array(labels)},
        code=opening(data) + AGAIN.format(**told),
        state=state.in_words(),
        model=data.card.path,
    )
