"""The live figures that a lesson can have, by name: what each takes, what can be moved, and who draws it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from pages.learn.tour.lesson_engine.errors import LessonError, at_line
from pages.learn.tour.lesson_engine.parameters import (
    ATTENTION,
    EXPRESSION,
    EXPRESSIONS,
    PLACE,
    WORDS,
    YES,
    Parameter,
    number,
    one_of,
    whole,
)
from transformer_core.errors import mark

if TYPE_CHECKING:
    from pages.learn.tour.lesson_engine.drawn import Drawn, FigureData, Slider
    from pages.learn.tour.lesson_engine.lesson import FigureSpec


@dataclass(frozen=True, kw_only=True)
class FigureKind:
    """A kind of figure."""

    parameters: Mapping[str, Parameter]
    home: str  # the module that draws it
    needs: tuple[str, ...] = ()  # parameters that must be there
    trains: bool = False  # it shows a training, which begins when a person asks for it
    meaning: str = ""  # for who writes lessons; said

    def sliders(self, spec: "FigureSpec") -> "tuple[Slider, ...]":
        """Return what can be moved beneath the figure."""
        found = getattr(import_module(self.home), "SLIDERS", {}).get(spec.kind)
        return () if found is None else found(read_parameters(spec))

    def draw(self, data: "FigureData") -> "Drawn":
        """Draw the figure.

        Raises:
            LessonError: it cannot be drawn from this model and text.
        """
        draw: Callable[[FigureData], Drawn] = getattr(
            import_module(self.home), f"draw_{data.spec.kind.replace('-', '_')}"
        )
        return draw(data)


_OF_RUN = {"title": WORDS, "right": YES, "other": YES}
_HEAD: Mapping[str, Parameter] = {
    "attention": ATTENTION,
    "layer": whole(0, 200),
    "head": whole(0, 200),
    **_OF_RUN,
}
_ROW = {"query": PLACE, "writing": PLACE}
_POSITION = {"pos": PLACE, "writing": PLACE}
_HEADS, _NUMBERS, _PREDICTIONS, _LEARNING = (
    f"pages.learn.tour.lesson_engine.drawing_{name}" for name in ("heads", "numbers", "predictions", "learning")
)

KINDS: Mapping[str, FigureKind] = {
    "head": FigureKind(
        parameters={**_HEAD, **_ROW, "key": PLACE, "quantity": one_of("pattern", "scores"), "prompt": YES},
        home=_HEADS,
        meaning=mark("a head's attention pattern, or its scores, as a heatmap"),
    ),
    "heads": FigureKind(
        parameters={"attention": ATTENTION, "layer": whole(0, 200), **_OF_RUN},
        home=_HEADS,
        meaning=mark("the attention patterns of all heads, or of one layer"),
    ),
    "row": FigureKind(
        parameters={**_HEAD, **_ROW}, home=_HEADS, meaning=mark("attention of one query, one bar per key")
    ),
    "lines": FigureKind(
        parameters={**_HEAD, **_ROW}, home=_HEADS, meaning=mark("a head's pattern as lines from queries to keys")
    ),
    "mask": FigureKind(
        parameters={"attention": ATTENTION, **_OF_RUN},
        home=_HEADS,
        meaning=mark("an attention mask"),
    ),
    "softmax": FigureKind(
        parameters={**_HEAD, **_ROW, "scale": number(0, 20)},
        home=_HEADS,
        meaning=mark("the softmax of a query's scores, with a slider for the score multiplier"),
    ),
    "steps": FigureKind(
        parameters={**_HEAD, **_ROW},
        home=_HEADS,
        meaning=mark("from q · k to attention weights for one query, in numbers for each key"),
    ),
    "effects": FigureKind(
        parameters={"title": WORDS}, home=_HEADS, meaning=mark("increase of the loss when each head is ablated")
    ),
    "tokens": FigureKind(
        parameters={
            "side": one_of("source", "target"),
            "values": EXPRESSION,
            "numbers": YES,
            "title": WORDS,
            "other": YES,
        },
        home=_NUMBERS,
        meaning=mark("the tokens with their ids, or with values"),
    ),
    "matrix": FigureKind(
        parameters={"values": EXPRESSION, "title": WORDS, "numbers": YES, "signed": YES, "decimals": whole(0, 6)},
        needs=("values",),
        home=_NUMBERS,
        meaning=mark("any values with two axes as a heatmap"),
    ),
    "bars": FigureKind(
        parameters={
            "values": EXPRESSION,
            "beside": EXPRESSION,
            "title": WORDS,
            "names": WORDS,
            "decimals": whole(0, 6),
            "from": number(-1e6, 1e6),
            "to": number(-1e6, 1e6),
        },
        needs=("values",),
        home=_NUMBERS,
        meaning=mark("any values with one axis as bars, optionally compared with others"),
    ),
    "positions": FigureKind(
        parameters={
            "n": whole(1, 512),
            "width": whole(2, 1024),
            "layout": one_of("interleaved", "halves"),
            "numbers": YES,
            "title": WORDS,
        },
        home=_NUMBERS,
        meaning=mark("sinusoidal positional encoding"),
    ),
    "shapes": FigureKind(
        parameters={"values": EXPRESSIONS, "title": WORDS},
        home=_NUMBERS,
        meaning=mark("the shapes of the model's activations on this text"),
    ),
    "beams": FigureKind(
        parameters={"beams": whole(1, 8), "tokens": whole(1, 64), "title": WORDS},
        home=_NUMBERS,
        meaning=mark("the hypotheses of beam search, step by step"),
    ),
    "next-tokens": FigureKind(
        parameters={**_OF_RUN, **_POSITION},
        home=_PREDICTIONS,
        meaning=mark("the decoder's input at each position, the correct next token, and its probability"),
    ),
    "top-tokens": FigureKind(
        parameters={
            **_OF_RUN,
            **_POSITION,
            "n": whole(2, 20),
            "quantity": one_of("probs", "logits"),
            "temperature": number(0.1, 3),
        },
        home=_PREDICTIONS,
        meaning=mark(
            "the most probable tokens at one position, or their logits, optionally with a slider for the temperature"
        ),
    ),
    "distributions": FigureKind(
        parameters={"smoothing": number(0, 0.9), "title": WORDS},
        home=_LEARNING,
        trains=True,
        meaning=mark("target distributions of the six-word model, and its predictions before and after training"),
    ),
    "loss": FigureKind(
        parameters={"smoothing": number(0, 0.9), "title": WORDS},
        home=_LEARNING,
        trains=True,
        meaning=mark("the loss curve of the six-word model, trained live"),
    ),
    "smoothing": FigureKind(
        parameters={"smoothing": number(0, 0.9), "words": whole(2, 40), "title": WORDS},
        home=_LEARNING,
        meaning=mark("a smoothed target, with a slider for label smoothing"),
    ),
    "warm-up": FigureKind(
        parameters={"width": whole(1, 8192), "steps": whole(1, 100_000), "title": WORDS},
        home=_LEARNING,
        meaning=mark("the learning rate schedule, with sliders for d_model and warm-up"),
    ),
}


def read_parameters(spec: "FigureSpec") -> dict[str, object]:
    """Return a figure's parameters, each as its kind reads it.

    Raises:
        LessonError: one that is needed is missing, or one cannot be read.
    """
    kind = KINDS[spec.kind]
    for name in kind.needs:
        if name not in spec.parameters:
            raise LessonError("the figure {kind} needs {name}: …", kind=spec.kind, name=name, line=spec.line)
    found: dict[str, object] = {}
    for name, text in spec.parameters.items():
        with at_line(spec.lines[name]):
            found[name] = kind.parameters[name].read(text)
    return found
