"""A question of the knowledge test, and whether an answer to it is correct, as the Tour judges its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from random import Random
from typing import Any

from headlight.language import say_message
from pages.learn.tour.lesson_engine.judging import AnswerVerdict, number_typed, readings_typed
from pages.learn.tour.lesson_engine.value import plain_number
from transformer_core.errors import Message


@dataclass(frozen=True, kw_only=True)
class Item:
    """A question with its numbers, and the correct answer computed from them."""

    ask: Message
    right: float  # the correct number, or the index of the correct choice
    choices: tuple[Message, ...] = ()  # (): a number is typed
    within: float = 0.0  # how far a number may be from the correct one

    def shuffled(self, chance: Random) -> "Item":
        """Return the question with its choices in random order."""
        order = list(range(len(self.choices)))
        chance.shuffle(order)
        if not order:
            return self
        choices = tuple(self.choices[place] for place in order)
        return Item(ask=self.ask, right=order.index(int(self.right)), choices=choices)

    def is_answer(self, given: str) -> bool:
        """Return whether a string is a valid answer: the index of a choice, or a number as people type it."""
        if self.choices:
            return given.isdecimal() and int(given) < len(self.choices)
        return number_typed(given) is not None

    def words(self, given: str) -> str:
        """Return an answer in the reader's language."""
        return say_message(self.choices[int(given)]) if self.choices else given

    def judge(self, given: str | None) -> AnswerVerdict:
        """Return whether an answer is correct, and the correct answer in the reader's language.

        Args:
            given: the place of a choice, or a number as it was typed; None: no answer.
        """
        if self.choices:
            is_right = given is not None and self.is_answer(given) and int(given) == self.right
            return AnswerVerdict(is_right=is_right, right=say_message(self.choices[int(self.right)]), is_computed=True)
        is_right = any(abs(typed - self.right) <= self.within for typed in readings_typed(given or ""))
        return AnswerVerdict(is_right=is_right, right=plain_number(self.right), is_computed=True)


@dataclass(frozen=True)
class Solution:
    """The correct answer that the code computed from a question's numbers."""

    right: float  # as of an item
    choices: tuple[Message, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)  # further values that the question mentions


@dataclass(frozen=True)
class Idea:
    """An idea of the paper, and the numbers of its questions, all equally difficult."""

    name: str
    title: str  # marked
    ask: str  # marked, with {name} for each of the numbers
    variants: Sequence[tuple[Any, ...]]
    within: float  # as of an item
    solve: Callable[..., float | Solution]

    def make(self, *numbers: Any) -> Item:
        """Return the question for one set of numbers."""
        result = self.solve(*numbers)
        solution = result if isinstance(result, Solution) else Solution(result)
        values = {**dict(zip(signature(self.solve).parameters, numbers, strict=True)), **solution.values}
        shown = {name: plain_number(value) if isinstance(value, float) else value for name, value in values.items()}
        return Item(
            ask=Message(self.ask, **shown),
            right=round(solution.right, 4),
            choices=solution.choices,
            within=self.within,
        )


def idea(
    name: str, title: str, ask: str, variants: Sequence[tuple[Any, ...]], *, within: float = 0.0
) -> Callable[[Callable[..., float | Solution]], Idea]:
    """Turn the decorated function, which computes the correct answers, into an idea."""
    return lambda solve: Idea(name, title, ask, variants, within, solve)
