"""The figures of lessons that show plain numbers: tokens, tables, shapes, beams."""

from collections.abc import Mapping

import numpy as np

from headlight.figures import TokenGrid
from headlight.figures.bars.label_bars import label_bars
from headlight.figures.heatmaps.hidden import hidden_cells
from headlight.figures.heatmaps.number_panels import number_panels
from headlight.language import localized, say, say_number
from pages.learn.tour.lesson_engine import figure_kind as read
from pages.learn.tour.lesson_engine.drawn import FigureData, LessonTable, Plot, Strip
from pages.learn.tour.lesson_engine.expressions import parse, quantity_of
from pages.learn.tour.lesson_engine.figure_kind import TITLE, Slider, figure
from pages.learn.tour.lesson_engine.lesson import LessonError
from pages.learn.tour.lesson_engine.outputs import searched
from pages.learn.tour.lesson_engine.quantity import QUANTITIES
from pages.learn.tour.lesson_engine.value import Values, plain_number
from transformer_core.errors import Message, mark

_MOST_CELLS = 20_000  # of a table of numbers
_SHAPES = (  # the activations of each kind of model, in order of computation
    "embed[encoder]",
    "q[encoder, 0]",
    "scores[encoder, 0]",
    "pattern[encoder, 0]",
    "z[encoder, 0]",
    "attn_out[encoder, 0]",
    "mlp_post[encoder, 0]",
    "resid_post[encoder, 0]",
    "embed[decoder]",
    "pattern[decoder, 0]",
    "pattern[cross, 0]",
    "mlp_post[decoder, 0]",
    "resid_post[decoder, 0]",
    "logits",
)


@figure(
    "tokens",
    mark("the tokens with their ids, or with values"),
    {"side": read.one_of("source", "target"), "values": read.expression, "numbers": read.yes, "other": read.yes}
    | TITLE,
)
def _draw_tokens(data: FigureData) -> Strip:
    side = data.given.get("side", "source")
    run = data.run
    if not getattr(run.model_run, side):
        side = "target" if side == "source" else "source"
    labels = getattr(run.model_run, side)
    notes: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    if "values" in data.given:
        numbers = _numbers_of(data, "values", len(labels))
        top = float(np.abs(numbers).max(initial=0)) or 1.0
        weights = tuple((np.abs(numbers) / (1.0 if top <= 1 else top)).tolist())
        notes = tuple(plain_number(number, 2) for number in numbers.tolist())
    elif data.given.get("numbers", True):
        notes = tuple(map(str, run.model_run.inputs[0 if side == "source" else -1]))
    title = say("Source tokens") if side == "source" else say("Decoder input tokens")
    if len(run.model_run.inputs) == 1:
        title = say("Tokens of the text")
    return Strip(title=data.titled(title), labels=tuple(labels), notes=notes, weights=weights)


@figure(
    "matrix",
    mark("any values with two axes as a heatmap"),
    {"values": read.expression, "numbers": read.yes, "signed": read.yes, "decimals": read.whole(0, 6)} | TITLE,
    needs="values",
)
def _draw_matrix(data: FigureData) -> Plot:
    values = _with_axes(data, "values", 2)
    array = values.array.astype(np.float64)
    if array.size > _MOST_CELLS:
        raise LessonError(
            "{n:,} values are too many for a figure; select some with .at(…)",
            n=array.size,
            line=data.spec.lines["values"],
        )
    rows, columns = values.axes
    figure = number_panels(
        {"": array},
        TokenGrid(
            rows.labels,
            columns.labels,
            query_name=say(rows.name),
            key_name=say(columns.name),
            width=560,
            height=430 if rows.size > 24 else None,
        ),
        title=data.titled(data.given["values"]),
        diverging=data.given.get("signed", bool(np.nanmin(np.where(np.isfinite(array), array, 0)) < 0)),
        decimals=data.given.get("decimals", 2),
        with_numbers=data.given.get("numbers", True),
        with_colors=rows.size > 2,  # the numbers of a lower bar would overlap
    ).add_traces(hidden_cells(data.hidden(values)))
    named = [(label, *row) for label, row in zip(rows.shown, array.tolist(), strict=True)]
    return Plot.of(figure, (rows.name, *columns.shown), named)


@figure(
    "bars",
    mark("any values with one axis as bars, optionally compared with others"),
    {"values": read.expression, "beside": read.expression, "names": read.words, "decimals": read.whole(0, 6)}
    | {"from": read.number(-1e6, 1e6), "to": read.number(-1e6, 1e6)}
    | TITLE,
    needs="values",
)
def _draw_bars(data: FigureData) -> Plot:
    values = _with_axes(data, "values", 1)
    axis = values.axes[0]
    names = [name.strip() for name in data.given.get("names", "").split(",")]
    bars = {names[0]: values.array.astype(np.float64)}
    if "beside" in data.given:
        bars[names[1] if len(names) > 1 else "2"] = _numbers_of(data, "beside", axis.size)
    limits = _ends(data, bars)
    figure = label_bars(
        bars,
        axis.shown,
        title=data.titled(data.given["values"]),
        label_name=say(axis.name),
        value_name=say("value (axis starts at {low})", low=localized(limits[0], "g"))
        if limits and limits[0]
        else say("value"),
        limits=limits,
        decimals=data.given.get("decimals", 2),
    )
    rows = [(label, *(float(of[place]) for of in bars.values())) for place, label in enumerate(axis.shown)]
    return Plot.of(figure, (axis.name, *(name or "value" for name in bars)), rows)


def _ends(data: FigureData, bars: Mapping[str, np.ndarray]) -> tuple[float, float] | None:
    """Return the limits of the axis; None for the default limits, which include 0.

    Raises:
        LessonError: the range is empty, or excludes some of the numbers.
    """
    if "from" not in data.given and "to" not in data.given:
        return None
    seen = np.concatenate([of[np.isfinite(of)] for of in bars.values()])
    least, most = float(seen.min(initial=0)), float(seen.max(initial=0))
    low, high = data.given.get("from", min(least, 0.0)), data.given.get("to", max(most, 0.0))
    if low >= high or (seen < low).any() or (seen > high).any():
        raise LessonError(
            "the values range from {least} to {most}; “from” and “to” exclude some",
            least=localized(seen.min(initial=np.inf), "g"),
            most=localized(most, "g"),
            line=data.spec.line,
        )
    return low, high


@figure(
    "positions",
    mark("sinusoidal positional encoding"),
    {"n": read.whole(1, 512), "width": read.whole(2, 1024), "layout": read.one_of("interleaved", "halves")}
    | {"numbers": read.yes}
    | TITLE,
)
def _draw_positions(data: FigureData) -> Plot:
    n, width = data.given.get("n", 20), data.given.get("width", 512)
    if width % 2:
        raise LessonError("sines and cosines come in pairs: the width must be even", line=data.spec.lines["width"])
    layout = data.given.get("layout", "interleaved")
    values = data.quantity("positions", n, width)
    table, hidden = values.array.astype(np.float64), data.hidden(values)
    if layout == "halves":
        table, hidden = (np.concatenate([of[:, ::2], of[:, 1::2]], axis=1) for of in (table, hidden))
    with_numbers = data.given.get("numbers", width <= 12)
    text = say("sines left, cosines right") if layout == "halves" else say("interleaved sine and cosine")
    figure = number_panels(
        {"": table},
        TokenGrid(
            (),
            (),
            query_name=say("position"),
            key_name=say("dimension"),
            width=560,
            height=430 if n > 12 else None,
        ),
        title=data.titled(say("{n} positions × {width} dimensions, {layout}", n=n, width=width, layout=text)),
        diverging=True,
        limits=(-1.0, 1.0),
        decimals=4 if width <= 8 else 2,
        with_numbers=with_numbers,
        with_colors=not with_numbers,
    ).add_traces(hidden_cells(hidden))
    rows = [(place, *row) for place, row in enumerate(table.tolist())]
    return Plot.of(figure, ("position", *map(str, range(width))), rows)


@figure("shapes", mark("the shapes of the model's activations on this text"), {"values": read.expressions} | TITLE)
def _draw_shapes(data: FigureData) -> LessonTable:
    sources = data.given.get("values", ())
    is_own = bool(sources)
    rows, codes = [], []
    for source in sources or _SHAPES:
        try:
            values = data.ask(source, parameter="values")
        except LessonError:
            if is_own:
                raise
            continue  # this kind of model has no such part
        rows.append((_meaning(source), values.in_words(), localized(values.array.size)))
        codes.append(source)
    return LessonTable(
        title=data.titled(say("Activation shapes on this text")),
        columns=(say("quantity"), say("shape"), say("elements")),
        rows=tuple(rows),
        codes=tuple(codes),
    )


def _meaning(source: str) -> str:
    """Return the meaning of a quantity; the expression itself if it is not a single quantity."""
    name, *_ = quantity_of(parse(source)) or ("",)
    return say(QUANTITIES[name].meaning).partition(" [")[0] if name in QUANTITIES else source


@figure(
    "beams",
    mark("the hypotheses of beam search, step by step"),
    {"beams": read.whole(1, 8), "tokens": read.whole(1, 64)} | TITLE,
    Slider("written", mark("Tokens generated"), 1, 16, step=1, start=1),
)
def _draw_beams(data: FigureData) -> LessonTable:
    n_beams, n_tokens = data.given.get("beams", 4), data.given.get("tokens", 16)
    with data.at(""):
        result = searched(data.run, n_beams, n_tokens)
    fates = {"kept": say("kept"), "ended": say("finished"), "dropped": say("dropped")}
    written = min(int(data.moved.get("written", 1)), len(result.levels))
    level = result.levels[written - 1]
    return LessonTable(
        title=data.titled(
            say_number(
                written,
                "After {n} token: candidates of beam search (k = {beams})",
                "After {n} tokens: candidates of beam search (k = {beams})",
                beams=n_beams,
            )
        ),
        columns=(say("text"), say("log-probability, nats"), say("status")),
        rows=tuple((f"… {one.words}", plain_number(one.log_prob, 2), fates[one.fate]) for one in level),
        marked=next((place for place, one in enumerate(level) if result.words.startswith(one.words)), None),
    )


def _numbers_of(data: FigureData, parameter: str, n_tokens: int) -> np.ndarray:
    """Return a parameter's numbers, one for each token.

    Raises:
        LessonError: their number differs from the number of tokens.
    """
    numbers = _with_axes(data, parameter, 1).array.astype(np.float64)
    if len(numbers) != n_tokens:
        line = data.spec.lines[parameter]
        raise LessonError("there are {n} tokens, but {m} values", n=n_tokens, m=len(numbers), line=line)
    return numbers


def _with_axes(data: FigureData, parameter: str, n_axes: int) -> Values:
    """Return a parameter's numbers.

    Raises:
        LessonError: they have a different number of axes.
    """
    values = data.ask(data.given[parameter], parameter=parameter)
    if len(values.axes) != n_axes:
        raise LessonError(
            "this figure needs values with {n} axes; these have shape {shape}",
            n=n_axes,
            shape=values.in_words() or Message("none"),
            line=data.spec.lines[parameter],
        )
    return values
