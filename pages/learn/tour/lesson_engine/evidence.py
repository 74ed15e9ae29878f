"""The numbers that a lesson refers to: from a model's run on its text, and from training the six-word model."""

import ast
import copy
from collections.abc import Callable, Iterable
from dataclasses import replace

from headlight.language import say_message
from pages.learn.tour.lesson_engine import outputs, pronoun_experiment, quantities  # noqa: F401, registered
from pages.learn.tour.lesson_engine.asking import AskedNumbers, asked_by
from pages.learn.tour.lesson_engine.expressions import Parts, evaluate, parse, quantities_in
from pages.learn.tour.lesson_engine.lesson import ExpressionError, Question
from pages.learn.tour.lesson_engine.mistakes import MISTAKES
from pages.learn.tour.lesson_engine.quantity import QUANTITIES, quantity_of_run
from pages.learn.tour.lesson_engine.run import LessonRun
from pages.learn.tour.lesson_engine.six_words import STEPS, WORDS, SixWords
from pages.learn.tour.lesson_engine.value import WRITING, Axis, Result, Values, in_words, plain_number
from transformer_core.errors import HeadlightError, mark

OF_SIX_WORDS = {
    "untrained": mark("predictions of the six-word model before training [pos, vocab]"),
    "trained": mark("predictions of the six-word model after training [pos, vocab]"),
    "aim": mark("target distributions of the six-word model: one-hot, or smoothed [pos, vocab]"),
    "loss": mark("its loss at each step, nats per token [step]"),
    "translation": mark("free-running output of the six-word model"),
}
"""The quantities of the six words' training; in brackets the smoothing of the labels: trained[0.1]."""

TRAINED = ("trained", "loss", "translation")
"""Those for which there must have been a training."""

_OF_NO_MODEL = ("positions",)  # a formula of the paper

MakeRun = Callable[[str, bool], LessonRun]
"""Gives the run with a mistake, by its name, or the correct one, by ""; True: on the lesson's other text. Made once."""

Train = Callable[[float, bool, int], SixWords]
"""Gives a training with a smoothing of the labels, its targets shifted or not, and a number of steps: made once."""


def is_of_model(expression: ast.expr) -> bool:
    """Return whether an expression names a number of a model; False for plain arithmetic."""
    names = set(quantities_in(expression))
    return not names.isdisjoint([*QUANTITIES, *OF_SIX_WORDS]) and names.isdisjoint(_OF_NO_MODEL)


class Evidence:
    """The sources of quantities, each made on demand."""

    def __init__(self, *, make_run: MakeRun, train: Train, mistake: str = "") -> None:
        """Store the functions that compute the numbers.

        Args:
            make_run: runs the lesson's model on its text.
            train: trains the six-word model.
            mistake: the mistake of the lesson's model; "" for none.
        """
        self.mistake = mistake
        self._make_run, self._train = make_run, train
        self._runs: dict[str, LessonRun] = {}
        self._asked: list[AskedNumbers] = []

    def hiding(self, questions: Iterable[Question]) -> "Evidence":
        """Return the same numbers for figures, NaN where one of these questions asks for them.

        A model with a mistake keeps its numbers: they are the symptoms from which the mistake is to be found.
        """
        result = copy.copy(self)
        result._asked = [] if self.mistake else [numbers for question in questions for numbers in asked_by(question)]
        return result

    @property
    def hides(self) -> bool:
        """Whether numbers are hidden because a question asks for them."""
        return bool(self._asked)

    @property
    def run(self) -> LessonRun:
        """The run that the lesson shows, with the lesson's mistake if any."""
        return self.run_of("")

    def run_of(self, which: str) -> LessonRun:
        """Return a run: "" for the one shown, "right" for the one without the mistake, "other" for the other text."""
        if which not in self._runs:
            mistake = "" if which == "right" or self._is_in_training else self.mistake
            self._runs[which] = self._make_run(mistake, which == "other")
        return self._runs[which]

    def six_words(self, smoothing: float = 0.0, *, is_right: bool = False, steps: int = STEPS) -> SixWords:
        """Train the six-word model, with the lesson's mistake if it concerns training; 0 steps: leave it untrained."""
        return self._train(smoothing, is_right or not self._is_in_training, steps)

    def quantity(self, name: str, parts: Parts, of: str) -> Result:
        """Return a quantity by its name.

        Raises:
            ExpressionError: there is no such quantity.
        """
        result = self._whole(name, parts, of)
        for numbers in self._asked:
            if isinstance(result, Values):
                result = numbers.hide(result, name, parts, of)
        return result

    def _whole(self, name: str, parts: Parts, of: str) -> Result:
        if name in OF_SIX_WORDS:
            return self._of_six_words(name, parts, is_right=of == "right")
        run = self.run_of(of)
        if name in QUANTITIES and QUANTITIES[name].is_patched:
            run = replace(run, source=self.run_of("" if of == "other" else "other"))
        return quantity_of_run(run, name, parts)

    def ask(self, source: str) -> Result:
        """Return the value of an expression; raises as `parse` and `answer` do."""
        return self.answer(parse(source))

    def answer(self, expression: ast.expr) -> Result:
        """Return the value of a parsed expression.

        Raises:
            ExpressionError: it has no value for this model and text.
        """
        try:
            return evaluate(expression, self.quantity)
        except ExpressionError:
            raise
        except HeadlightError as error:
            raise ExpressionError(error.message) from error

    def told(self, source: str, decimals: int | None = None) -> str:
        """Return the value of an expression as text for a sentence.

        Raises:
            ExpressionError: it cannot be parsed, has no value, or has several numbers.
        """
        result = self.ask(source)
        if isinstance(result, Values):
            return plain_number(result.number, decimals)
        return result if isinstance(result, str) else say_message(in_words(result))

    @property
    def _is_in_training(self) -> bool:
        return bool(self.mistake) and MISTAKES[self.mistake].is_in_training

    def _of_six_words(self, name: str, parts: Parts, *, is_right: bool) -> Result:
        smoothing = parts[0] if parts else 0.0
        if len(parts) > 1 or isinstance(smoothing, str) or not 0 <= smoothing < 1:
            raise ExpressionError("{name} takes the label smoothing, at least 0 and below 1: {name}[0.1]", name=name)
        result = self.six_words(smoothing, is_right=is_right, steps=STEPS if name in TRAINED else 0)
        if name == "translation":
            return " ".join(result.written)
        if name == "loss":
            return Values(array=result.losses, axes=(Axis(name="step", size=len(result.losses)),))
        pos = Axis(name="pos", size=len(result.reads), labels=result.reads, names={WRITING: result.to_say})
        arrays = {"untrained": result.untrained, "trained": result.trained, "aim": result.target}
        return Values(array=arrays[name], axes=(pos, Axis(name="vocab", size=len(WORDS), labels=WORDS)))
