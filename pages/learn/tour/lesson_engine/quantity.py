"""The registry of the quantities that lessons can name: functions of a run and of the parts in brackets."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature

from headlight.analysis.trace.attentions import ATTENTIONS
from pages.learn.tour.lesson_engine.expressions import Parts
from pages.learn.tour.lesson_engine.lesson import ExpressionError
from pages.learn.tour.lesson_engine.run import LessonRun
from pages.learn.tour.lesson_engine.value import Result

MOST_PARTS = 18  # of a quantity that takes any number of heads
Part = str | float
Get = Callable[..., Result]


@dataclass(frozen=True)
class Quantity:
    """A quantity of a run."""

    meaning: str  # marked, for authors of lessons
    get: Get  # its parameters after the run are the parts in the brackets
    is_patched: bool = False  # it also needs the run on the lesson's other text

    @property
    def parts(self) -> str:
        """The parts in its brackets, optional ones in brackets again; "…": more may follow."""
        _, *of_parts = signature(self.get).parameters.values()
        names = ["…" if part.kind is part.VAR_POSITIONAL else part.name for part in of_parts]
        n = sum(part.default is part.empty for part in of_parts)
        return ", ".join(names[:n]) + (f"[, {', '.join(names[n:])}]" if names[n:] else "")

    def takes(self, parts: Parts) -> bool:
        """Return whether the quantity accepts this number of parts."""
        try:
            signature(self.get).bind(None, *parts)
        except TypeError:
            return False
        return len(parts) <= MOST_PARTS


QUANTITIES: dict[str, Quantity] = {}
"""All quantities of a model's run; those of the six words are `evidence.OF_SIX_WORDS`."""


def quantity(name: str, meaning: str, *, is_patched: bool = False) -> Callable[[Get], Get]:
    """Register the function that returns a quantity; see `Quantity`."""

    def register(get: Get) -> Get:
        QUANTITIES[name] = Quantity(meaning, get, is_patched)
        return get

    return register


def quantity_of_run(run: LessonRun, name: str, parts: Parts) -> Result:
    """Return a quantity of a run.

    Raises:
        ExpressionError: there is no quantity of this name, or it takes other parts.
    """
    if name not in QUANTITIES:
        raise ExpressionError(
            "there is no quantity “{name}”; there are {there}", name=name, there=", ".join(sorted(QUANTITIES))
        )
    result = QUANTITIES[name]
    if not result.takes(parts):
        raise ExpressionError("write {wanted}", wanted=f"{name}[{result.parts}]" if result.parts else name)
    return result.get(run, *parts)


def attention_site(run: LessonRun, attention: str | float, layer: str | float, stem: str) -> str:
    """Return the name of an attention's site.

    Raises:
        ExpressionError: the model has no such attention or layer.
    """
    if attention not in run.sides:
        there = ", ".join(run.sides)
        raise ExpressionError("this model has no attention “{name}”, only {there}", name=f"{attention}", there=there)
    n_layers = ATTENTIONS[str(attention)].n_layers(run.model.config)
    if isinstance(layer, str) or layer not in range(n_layers):
        raise ExpressionError(
            "this model has no layer “{layer}”, only 0 to {last}", layer=name_of(layer), last=n_layers - 1
        )
    return ATTENTIONS[str(attention)].site(int(layer), stem)


def name_of(part: str | float) -> str:
    """Return the spelling of a part of a quantity."""
    return part if isinstance(part, str) else f"{part:g}"
