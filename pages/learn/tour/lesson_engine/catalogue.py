"""The live figures that a lesson can have, by name: parameters, sliders, and the module that draws each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

from pages.learn.tour.lesson_engine import parameters as read
from transformer_core.errors import mark

if TYPE_CHECKING:
    from pages.learn.tour.lesson_engine.drawn import Drawn, FigureData
    from pages.learn.tour.lesson_engine.lesson import FigureSpec


@dataclass(frozen=True)
class Slider:
    """A number that a person moves beneath a figure."""

    name: str  # also of the parameter from which it starts
    label: str  # marked
    low: float
    high: float
    step: float
    start: float
    is_optional: bool = False  # it is there only where the parameter is given


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure."""

    meaning: str  # marked, for authors of lessons
    parameters: Mapping[str, read.Read]
    home: str  # the module that draws it
    needs: tuple[str, ...] = ()  # parameters that must be given
    trains: bool = False  # it shows a training, which begins when a person asks for it
    sliders: tuple[Slider, ...] = ()

    def sliders_of(self, spec: "FigureSpec") -> tuple[Slider, ...]:
        """Return the sliders beneath a figure, with the starts that its parameters set."""
        given = spec.parameters
        most = {"written": given.get("tokens")}  # a search has no more steps than tokens
        return tuple(
            replace(slider, start=given.get(slider.name, slider.start), high=most.get(slider.name) or slider.high)
            for slider in self.sliders
            if slider.name in given or not slider.is_optional
        )

    def draw(self, data: "FigureData") -> "Drawn":
        """Draw the figure.

        Raises:
            LessonError: it cannot be drawn from this model and text.
        """
        module = import_module(f"pages.learn.tour.lesson_engine.drawing_{self.home}")
        draw: Callable[[FigureData], Drawn] = getattr(module, f"draw_{data.spec.kind.replace('-', '_')}")
        return draw(data)


_OF_RUN: Mapping[str, read.Read] = {"title": read.words, "right": read.yes, "other": read.yes}
_HEAD: Mapping[str, read.Read] = {
    "attention": read.attention,
    "layer": read.whole(0, 200),
    "head": read.whole(0, 200),
    **_OF_RUN,
}
_ROW: Mapping[str, read.Read] = {**_HEAD, "query": read.place, "writing": read.place}
_POSITION: Mapping[str, read.Read] = {**_OF_RUN, "pos": read.place, "writing": read.place}
_SMOOTHING: Mapping[str, read.Read] = {"smoothing": read.number(0, 0.9), "title": read.words}

KINDS: Mapping[str, FigureKind] = {
    "head": FigureKind(
        mark("a head's attention pattern, or its scores, as a heatmap"),
        {**_ROW, "key": read.place, "quantity": read.one_of("pattern", "scores"), "prompt": read.yes},
        "heads",
    ),
    "heads": FigureKind(
        mark("the attention patterns of all heads, or of one layer"),
        {"attention": read.attention, "layer": read.whole(0, 200), **_OF_RUN},
        "heads",
    ),
    "row": FigureKind(mark("attention of one query, one bar per key"), _ROW, "heads"),
    "lines": FigureKind(mark("a head's pattern as lines from queries to keys"), _ROW, "heads"),
    "mask": FigureKind(mark("an attention mask"), {"attention": read.attention, **_OF_RUN}, "heads"),
    "softmax": FigureKind(
        mark("the softmax of a query's scores, with a slider for the score multiplier"),
        {**_ROW, "scale": read.number(0, 20)},
        "heads",
        sliders=(Slider("scale", mark("Score multiplier (inverse temperature)"), 0.0, 12.0, step=0.1, start=1.0),),
    ),
    "steps": FigureKind(mark("from q · k to attention weights for one query, in numbers for each key"), _ROW, "heads"),
    "effects": FigureKind(mark("increase of the loss when each head is ablated"), {"title": read.words}, "heads"),
    "tokens": FigureKind(
        mark("the tokens with their ids, or with values"),
        {
            "side": read.one_of("source", "target"),
            "values": read.expression,
            "numbers": read.yes,
            "title": read.words,
            "other": read.yes,
        },
        "numbers",
    ),
    "matrix": FigureKind(
        mark("any values with two axes as a heatmap"),
        {
            "values": read.expression,
            "title": read.words,
            "numbers": read.yes,
            "signed": read.yes,
            "decimals": read.whole(0, 6),
        },
        "numbers",
        needs=("values",),
    ),
    "bars": FigureKind(
        mark("any values with one axis as bars, optionally compared with others"),
        {
            **{"values": read.expression, "beside": read.expression, "title": read.words, "names": read.words},
            **{"decimals": read.whole(0, 6), "from": read.number(-1e6, 1e6), "to": read.number(-1e6, 1e6)},
        },
        "numbers",
        needs=("values",),
    ),
    "positions": FigureKind(
        mark("sinusoidal positional encoding"),
        {
            **{"n": read.whole(1, 512), "width": read.whole(2, 1024), "layout": read.one_of("interleaved", "halves")},
            **{"numbers": read.yes, "title": read.words},
        },
        "numbers",
    ),
    "shapes": FigureKind(
        mark("the shapes of the model's activations on this text"),
        {"values": read.expressions, "title": read.words},
        "numbers",
    ),
    "beams": FigureKind(
        mark("the hypotheses of beam search, step by step"),
        {"beams": read.whole(1, 8), "tokens": read.whole(1, 64), "title": read.words},
        "numbers",
        sliders=(Slider("written", mark("Tokens generated"), 1, 16, step=1, start=1),),
    ),
    "next-tokens": FigureKind(
        mark("the decoder's input at each position, the correct next token, and its probability"),
        _POSITION,
        "predictions",
    ),
    "top-tokens": FigureKind(
        mark("the most probable tokens at one position, or their logits, optionally with a slider for the temperature"),
        {
            **_POSITION,
            **{"n": read.whole(2, 20), "quantity": read.one_of("probs", "logits"), "temperature": read.number(0.1, 3)},
        },
        "predictions",
        sliders=(
            Slider(
                name="temperature", label=mark("Temperature"), low=0.1, high=3.0, step=0.1, start=1.0, is_optional=True
            ),
        ),
    ),
    "distributions": FigureKind(
        mark("target distributions of the six-word model, and its predictions before and after training"),
        _SMOOTHING,
        "learning",
        trains=True,
    ),
    "loss": FigureKind(mark("the loss curve of the six-word model, trained live"), _SMOOTHING, "learning", trains=True),
    "smoothing": FigureKind(
        mark("a smoothed target, with a slider for label smoothing"),
        {**_SMOOTHING, "words": read.whole(2, 40)},
        "learning",
        sliders=(Slider("smoothing", mark("Label smoothing"), 0.0, 0.9, step=0.01, start=0.1),),
    ),
    "warm-up": FigureKind(
        mark("the learning rate schedule, with sliders for d_model and warm-up"),
        {"width": read.whole(1, 8192), "steps": read.whole(1, 100_000), "title": read.words},
        "learning",
        sliders=(
            Slider("width", "d_model", 64, 2048, step=64, start=512),
            Slider("steps", mark("Warm-up steps"), 100, 20_000, step=100, start=4000),
        ),
    ),
}
