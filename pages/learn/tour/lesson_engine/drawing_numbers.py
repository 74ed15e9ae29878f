"""The figures of lessons that show plain numbers: tokens, tables, shapes, beams."""

from collections.abc import Mapping

import numpy as np

from headlight.figures import TokenGrid
from headlight.figures.bars.label_bars import label_bars
from headlight.figures.heatmaps.number_panels import number_panels
from headlight.language import localized, say, say_number
from pages.learn.tour.lesson_engine.drawn import FigureData, Plot, Strip, Table
from pages.learn.tour.lesson_engine.errors import LessonError
from pages.learn.tour.lesson_engine.expressions import parse, quantity_of
from pages.learn.tour.lesson_engine.quantities import QUANTITIES
from pages.learn.tour.lesson_engine.searching import searched
from pages.learn.tour.lesson_engine.value import Values, plain_number
from transformer_core.errors import Message
from transformer_core.model.positions import sinusoidal_table

_MOST_CELLS = 20_000  # of a table of numbers
_SHAPES = (  # what passes through a model of each kind, in the order in which it passes
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


def draw_tokens(data: FigureData) -> Strip:
    """Draw the tokens of a text in a row."""
    side = data.given.get("side", "source")
    run = data.run
    if not getattr(run.model_run, side):
        side = "target" if side == "source" else "source"
    labels = getattr(run.model_run, side)
    notes: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    if "values" in data.given:
        values = _with_axes(data, "values", 1)
        if len(values.array) != len(labels):
            raise LessonError(
                "there are {n} tokens, but {m} values",
                n=len(labels),
                m=len(values.array),
                line=data.spec.lines["values"],
            )
        numbers = values.array.astype(np.float64)
        top = float(np.abs(numbers).max(initial=0)) or 1.0
        weights = tuple((np.abs(numbers) / (1.0 if top <= 1 else top)).tolist())
        notes = tuple(plain_number(number, 2) for number in numbers.tolist())
    elif data.given.get("numbers", True):
        notes = tuple(map(str, run.model_run.inputs[0 if side == "source" else -1]))
    title = say("Source tokens") if side == "source" else say("Decoder input tokens")
    if len(run.model_run.inputs) == 1:
        title = say("Tokens of the text")
    return Strip(title=data.titled(title), labels=tuple(labels), notes=notes, weights=weights)


def draw_matrix(data: FigureData) -> Plot:
    """Draw numbers with two axes."""
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
    )
    named = [(label, *row) for label, row in zip(rows.shown, array.tolist(), strict=True)]
    return Plot.of(figure, (rows.name, *columns.shown), named)


def draw_bars(data: FigureData) -> Plot:
    """Draw numbers with one axis, and others beside them."""
    values = _with_axes(data, "values", 1)
    axis = values.axes[0]
    names = [name.strip() for name in data.given.get("names", "").split(",")]
    bars = {names[0]: values.array.astype(np.float64)}
    if "beside" in data.given:
        beside = _with_axes(data, "beside", 1)
        if len(beside.array) != len(values.array):
            raise LessonError(
                "there are {n} tokens, but {m} values",
                n=axis.size,
                m=len(beside.array),
                line=data.spec.lines["beside"],
            )
        bars[names[1] if len(names) > 1 else "2"] = beside.array.astype(np.float64)
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
    """Return the ends of the axis; None: the usual ones, from 0.

    Raises:
        LessonError: they leave nothing between them, or something of the numbers outside.
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


def draw_positions(data: FigureData) -> Plot:
    """Draw the paper's table of positions."""
    n, width = data.given.get("n", 20), data.given.get("width", 512)
    if width % 2:
        raise LessonError("sines and cosines come in pairs: the width must be even", line=data.spec.lines["width"])
    layout = data.given.get("layout", "interleaved")
    table = sinusoidal_table(n, width, layout=layout).numpy().astype(np.float64)
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
    )
    rows = [(place, *row) for place, row in enumerate(table.tolist())]
    return Plot.of(figure, ("position", *map(str, range(width))), rows)


def draw_shapes(data: FigureData) -> Table:
    """Tell the shapes of what passes through the model."""
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
    return Table(
        title=data.titled(say("Activation shapes on this text")),
        columns=(say("quantity"), say("shape"), say("elements")),
        rows=tuple(rows),
        codes=tuple(codes),
    )


def _meaning(source: str) -> str:
    """Return the name of a quantity; the expression itself if it has several."""
    name, *_ = quantity_of(parse(source)) or ("",)
    meaning = QUANTITIES[name].meaning if name in QUANTITIES else ""
    return say(meaning).partition(" [")[0] if meaning else source


def draw_beams(data: FigureData) -> Table:
    """Tell what a beam search considers after this many tokens."""
    n_beams, n_tokens = data.given.get("beams", 4), data.given.get("tokens", 16)
    with data.at(""):
        result = searched(data.run, n_beams, n_tokens)
    fates = {"kept": say("kept"), "ended": say("finished"), "dropped": say("dropped")}
    written = min(int(data.moved.get("written", 1)), len(result.levels))
    level = result.levels[written - 1]
    return Table(
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


def _with_axes(data: FigureData, parameter: str, n_axes: int) -> Values:
    """Return a parameter's numbers.

    Raises:
        LessonError: they have another number of axes.
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
