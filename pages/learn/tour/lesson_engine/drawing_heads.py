"""The figures of lessons that show heads."""

from dataclasses import replace
from typing import Any

import numpy as np

from headlight.analysis.heads.table import pattern_csv
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures import TokenGrid, attention_heatmap, bipartite_lines, head_grid, row_bars
from headlight.figures.bars.label_bars import label_bars
from headlight.figures.heatmaps.all_heads import all_heads
from headlight.figures.heatmaps.hidden import HIDDEN, hidden_cells
from headlight.figures.heatmaps.number_panels import number_panels
from headlight.figures.token_grid import HEIGHT
from headlight.language import say
from pages.learn.tour.lesson_engine import figure_kind as read
from pages.learn.tour.lesson_engine.drawn import FigureData, LessonTable, Plot
from pages.learn.tour.lesson_engine.figure_kind import OF_RUN, ROW, TITLE, Slider, figure
from pages.learn.tour.lesson_engine.lesson import LessonError
from pages.learn.tour.lesson_engine.outputs import loss_rises
from pages.learn.tour.lesson_engine.value import Values, plain_number
from transformer_core.errors import mark

_ROW, _AROUND = 36, 120  # px: height of a row in a pattern of few tokens; height of everything around the rows


def who(data: FigureData) -> str:
    """Return the name of the figure's head for use in titles."""
    return say(
        "{attention} L{layer}.H{head}",
        attention=say(ATTENTIONS[data.attention].inline),
        layer=data.parameter("layer"),
        head=data.parameter("head"),
    )


@figure(
    "head",
    mark("a head's attention pattern, or its scores, as a heatmap"),
    ROW | {"key": read.place, "quantity": read.one_of("pattern", "scores"), "prompt": read.yes},
)
def _draw_head(data: FigureData) -> Plot:
    quantity = data.given.get("quantity", "pattern")
    values = data.of_head(quantity)
    if data.given.get("prompt"):
        values = _given_only(values, data)
    hidden, mask = data.hidden(values), _mask(data, values)
    named = say("Attention pattern: {head}", head=who(data))
    if quantity == "scores":
        named = say("Scores before the softmax: {head}", head=who(data))
    figure = attention_heatmap(
        np.where(hidden, 0, values.array),
        _grid(
            data,
            values,
            marked=(data.query, _key(data, values)),
            height=min(_AROUND + _ROW * len(values.array), HEIGHT),
        ),
        quantity=quantity,
        title=data.titled(named),
        mask=mask & ~hidden,
    ).add_traces(hidden_cells(hidden))
    return Plot(figure=figure, csv=_csv(values, mask))


def _given_only(values: Values, data: FigureData) -> Values:
    """Return the part of a pattern, or of scores, without the tokens that the model generated."""
    places = {"source": len(data.run.model_run.source), "target": data.run.model_run.n_given}
    n_rows, n_columns = (places[side] for side in data.run.sides[data.attention])
    axes = tuple(
        replace(axis, size=n, labels=axis.labels[:n], names={name: of[:n] for name, of in axis.names.items()})
        for axis, n in zip(values.axes, (n_rows, n_columns), strict=True)
    )
    return Values(array=values.array[:n_rows, :n_columns], axes=axes)


@figure(
    "heads",
    mark("the attention patterns of all heads, or of one layer"),
    {"attention": read.attention, "layer": read.whole(0, 200)} | OF_RUN,
)
def _draw_heads(data: FigureData) -> Plot:
    run = data.run
    attention = ATTENTIONS[data.attention]
    layer = data.given.get("layer")
    layers = range(attention.n_layers(run.model.config)) if layer is None else [layer]
    results = [data.quantity("pattern", data.attention, number) for number in layers]
    patterns = np.stack([values.array for values in results])  # [layer, head, query, key]
    title = say(attention.title)
    shown = say("All heads: {attention}", attention=say(attention.inline))
    if layer is not None:
        shown = say("All heads of layer {layer}: {attention}", layer=layer, attention=say(attention.inline))
    masks = [
        _mask(data, Values(array=values.array[0], axes=values.axes[1:]), layer=number)
        for number, values in zip(layers, results, strict=True)
    ]
    figure = all_heads({title: patterns}, {title: np.stack(masks)}, title=data.titled(shown), width=560)
    rows = [
        (number, head, query, key, float(patterns[i, head, query, key]))
        for i, number in enumerate(layers)
        for head, query, key in np.ndindex(*patterns.shape[1:])
    ]
    return Plot.of(figure, ("layer", "head", "query", "key", "weight"), rows)


@figure("row", mark("attention of one query, one bar per key"), ROW)
def _draw_row(data: FigureData) -> Plot:
    values = data.of_head("pattern")
    query = data.query or 0
    labels = values.axes[1].shown
    writing = data.given.get("writing")
    token = values.axes[0].shown[query]
    title = say("Attention from “{token}”: {head}", token=token, head=who(data))
    if writing is not None:
        title = say("Attention when predicting “{token}”: {head}", token=writing, head=who(data))
    figure = row_bars(
        values.array[query],
        TokenGrid([token], labels, first_query=query, key_name=_name("key", data, 1), height=320),
        mask=_mask(data, values)[query],
        title=data.titled(title),
    )
    return Plot.of(figure, ("key", "token", "weight"), _numbered(labels, values.array[query]))


@figure("lines", mark("a head's pattern as lines from queries to keys"), ROW)
def _draw_lines(data: FigureData) -> Plot:
    values = data.of_head("pattern")
    figure = bipartite_lines(
        [values.array.astype(np.float32)],
        _grid(data, values, marked=(data.query, None)),
        title=data.titled(say("Attention pattern: {head}", head=who(data))),
    )
    if data.hidden(values).any():
        middle = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False}
        figure.add_annotation(text="?", font={"size": 28}, hovertext=say(HIDDEN), **middle)
    return Plot(figure=figure, csv=_csv(values, _mask(data, values)))


@figure("mask", mark("an attention mask"), {"attention": read.attention} | OF_RUN)
def _draw_mask(data: FigureData) -> Plot:
    values = data.quantity("mask", data.attention, parameter="attention")
    rows, columns = (values.axes[place].shown for place in (0, 1))
    title = say("Mask: {attention}", attention=say(ATTENTIONS[data.attention].inline))
    figure = number_panels(
        {"": values.array.astype(np.float64)},
        TokenGrid(rows, columns, query_name=say("query"), key_name=say("key")),
        title=data.titled(title),
        limits=(0.0, 1.0),
        decimals=0,
        with_colors=False,
    ).add_traces(hidden_cells(data.hidden(values)))
    return Plot(figure=figure, csv=_csv(values, np.ones(values.array.shape, dtype=bool)))


@figure(
    "softmax",
    mark("the softmax of a query's scores, with a slider for the score multiplier"),
    ROW | {"scale": read.number(0, 20)},
    Slider("scale", mark("Score multiplier (inverse temperature)"), 0.0, 12.0, step=0.1, start=1.0),
)
def _draw_softmax(data: FigureData) -> Plot:
    values = data.of_head("scores")
    query = data.query or 0
    scale = data.moved.get("scale", 1.0)
    token = values.axes[0].shown[query]
    scores = values.array[query].astype(np.float64)
    allowed = np.isfinite(scores)
    raised = np.where(allowed, np.exp(scale * (np.where(allowed, scores, 0) - scores[allowed].max())), 0.0)
    weights = raised / raised.sum()
    labels = values.axes[1].shown
    entropy = float(-(weights[weights > 0] * np.log(weights[weights > 0])).sum())
    title = say(
        "Softmax of {scale} × the scores of “{token}”: entropy {entropy} nats",
        scale=plain_number(scale, 1),
        token=token,
        entropy=plain_number(entropy, 2),
    )
    figure = label_bars(
        {"": weights},
        labels,
        title=title,
        label_name=say("key"),
        value_name=say("weight"),
        limits=(0.0, 1.0),
    )
    return Plot.of(figure, ("key", "token", "weight"), _numbered(labels, weights))


@figure("steps", mark("from q · k to attention weights for one query, in numbers for each key"), ROW)
def _draw_steps(data: FigureData) -> LessonTable:
    scores, pattern = data.of_head("scores"), data.of_head("pattern")
    query = data.query or 0
    q, k = data.of_head("q").array[query].astype(np.float64), data.of_head("k").array.astype(np.float64)
    if len(k) != pattern.array.shape[1]:
        raise LessonError(
            "keys are shared by several heads in this model (grouped-query attention), so they are not available here",
            line=data.spec.line,
        )
    columns = zip(pattern.axes[1].shown, k @ q, scores.array[query], pattern.array[query], strict=True)
    token = pattern.axes[0].shown[query]
    return LessonTable(
        title=data.titled(say("Scores of “{token}” with each key: {head}", token=token, head=who(data))),
        columns=(say("key"), say("q · k"), say("score"), say("weight")),
        rows=tuple(
            (label, plain_number(float(product), 2), plain_number(float(score), 2), plain_number(float(weight), 3))
            for label, product, score, weight in columns
        ),
        marked=int(pattern.array[query].argmax()),
    )


@figure("effects", mark("increase of the loss when each head is ablated"), TITLE)
def _draw_effects(data: FigureData) -> Plot:
    rises = loss_rises(data.run)
    figure = head_grid(
        {say(ATTENTIONS[name].title): values for name, values in rises.items()},
        title=data.titled(say("Effect of ablating each head on this text")),
        what=say("increase of the loss"),
        unit=say("nats"),
        diverging=True,
        width=560,
    )
    rows = [
        (name, layer, head, float(values[layer, head]))
        for name, values in rises.items()
        for layer, head in np.ndindex(*values.shape)
    ]
    return Plot.of(figure, ("attention", "layer", "head", "rise in nats"), rows)


def _csv(values: Values, mask: np.ndarray) -> str:
    """Return the numbers of a head as a table."""
    rows, columns = (values.axes[place].shown for place in (0, 1))
    array = values.array.astype(np.float64)
    return pattern_csv(array, mask=mask, query_tokens=list(rows), key_tokens=list(columns))


def _grid(data: FigureData, values: Values, **options: Any) -> TokenGrid:
    rows, columns = (axis.shown for axis in values.axes)
    return TokenGrid(rows, columns, query_name=_name("query", data, 0), key_name=_name("key", data, 1), **options)


def _name(kind: str, data: FigureData, place: int) -> str:
    """Return the name of an axis: query or key, with "source" or "target" where they differ."""
    run = data.run
    side = run.sides[data.attention][place]
    kind = say("query") if kind == "query" else say("key")
    if len(set(run.sides[data.attention])) == 1:
        return kind
    return say("{kind} (source)", kind=kind) if side == "source" else say("{kind} (target)", kind=kind)


def _mask(data: FigureData, values: Values, layer: int | None = None) -> np.ndarray:
    """Return the mask of a layer, by default the figure's; all True if the pattern was edited and contradicts it."""
    run, layer = data.run, data.parameter("layer") if layer is None else layer
    mask = run.sites[ATTENTIONS[data.attention].site(layer, "hook_mask")][0]
    if data.given.get("prompt"):
        mask = mask[tuple(map(slice, values.array.shape))]
    is_as_computed = mask.shape == values.array.shape and not np.any(np.nan_to_num(values.array, neginf=0)[~mask])
    return mask if is_as_computed else np.ones(values.array.shape, dtype=bool)


def _key(data: FigureData, values: Values) -> int | None:
    with data.at("key"):
        return values.axes[1].place("key", data.given["key"]) if "key" in data.given else None


def _numbered(labels: tuple[str, ...], values: np.ndarray) -> list[tuple[object, ...]]:
    return [(place, label, float(value)) for place, (label, value) in enumerate(zip(labels, values, strict=True))]
