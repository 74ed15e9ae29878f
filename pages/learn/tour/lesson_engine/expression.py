"""The small language in which lessons ask for numbers: read into a tree, never run as a program.

>>> argmax(pattern[cross, 1, 3] at writing "il") == "animal"
>>> sum(pattern[encoder, 0, 0] at query 2) == 1 within 1e-5
>>> entropy(softmax(scores[decoder, 0, 1] at query 4) over key) < 1 and n_heads == 4

It is not Python, so neither `ast` nor asteval can read `at query 2`, `over key` and `within`.

From the loosest to the tightest: `or`, `and`, `not`, comparisons (with `within`), + and -, * and /, ^, `at`.
"""

import re
from typing import NamedTuple

from pages.learn.tour.lesson_engine.errors import ExpressionError
from pages.learn.tour.lesson_engine.syntax import (
    COMPARISONS,
    At,
    Call,
    Expression,
    Joined,
    Negated,
    Number,
    Quantity,
    Text,
)

MOST_LETTERS = 400  # of an expression
MOST_DEPTH = 40  # parts within each other
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?) |
    (?P<name>[A-Za-z_][A-Za-z0-9_]*) |
    "(?P<text>[^"]*)" |
    (?P<sign>==|!=|<=|>=|[-+*/^()<>,\[\]])
    )""",
    re.VERBOSE,
)


class Token(NamedTuple):
    """A word of the language."""

    kind: str  # "number", "name", "text", "sign", "end"
    text: str
    place: int  # in the expression, from 0


def parse(source: str) -> Expression:
    """Read an expression.

    Raises:
        ExpressionError: it is not written as one; the message says where.
    """
    if len(source) > MOST_LETTERS:
        raise ExpressionError("an expression may have at most {n} characters; split it in two", n=MOST_LETTERS)
    reader = _Reader(_tokens(source))
    found = reader.either()
    reader.expect_end()
    return found


def _tokens(source: str) -> list[Token]:
    tokens, place, end = [], 0, len(source.rstrip())
    while place < end:
        match = _TOKEN.match(source, place)
        if match is None:
            raise ExpressionError("“{text}” is not valid here", text=source[place:].strip()[:20])
        kind = match.lastgroup or ""
        tokens.append(Token(kind, match[kind], match.start(kind)))
        place = match.end()
    return [*tokens, Token("end", "", place)]


class _Reader:
    """Reads tokens one by one, each rule of the language in a method."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._next
        self._at += token.kind != "end"
        return token

    def _takes(self, *texts: str) -> str:
        """Take the next token if it is one of these words or signs; "" if not."""
        token = self._next
        if token.kind in ("name", "sign") and token.text in texts:
            return self._take().text
        return ""

    def _expect(self, sign: str) -> None:
        if not self._takes(sign):
            raise ExpressionError("“{sign}” is missing here: {before}▸{behind}", sign=sign, **self._around())

    def expect_end(self) -> None:
        """Check that nothing is left."""
        if self._next.kind != "end":
            raise ExpressionError("unexpected text, or a missing operator: {before}▸{behind}", **self._around())

    def _around(self) -> dict[str, str]:
        texts = [f'"{token.text}"' if token.kind == "text" else token.text for token in self._tokens]
        return {"before": " ".join(texts[max(0, self._at - 4) : self._at]), "behind": " ".join(texts[self._at :][:4])}

    def either(self) -> Expression:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise ExpressionError("this expression is nested too deeply; split it")
        found = self._both()
        while self._takes("or"):
            found = Joined("or", found, self._both())
        self._depth -= 1
        return found

    def _both(self) -> Expression:
        found = self._negated()
        while self._takes("and"):
            found = Joined("and", found, self._negated())
        return found

    def _negated(self) -> Expression:
        return Negated("not", self._compared()) if self._takes("not") else self._compared()

    def _compared(self) -> Expression:
        left = self._sum()
        sign = self._takes(*COMPARISONS)
        if not sign:
            return left
        right = self._sum()
        return Joined(sign, left, right, self._sum() if self._takes("within") else None)

    def _sum(self) -> Expression:
        found = self._product()
        while sign := self._takes("+", "-"):
            found = Joined(sign, found, self._product())
        return found

    def _product(self) -> Expression:
        found = self._signed()
        while sign := self._takes("*", "/"):
            found = Joined(sign, found, self._signed())
        return found

    def _signed(self) -> Expression:
        n_minus = 0
        while self._takes("-"):
            n_minus += 1
        found = self._power()
        return Negated("-", found) if n_minus % 2 else found

    def _power(self) -> Expression:
        found = self._chosen()
        return Joined("^", found, self._exponent()) if self._takes("^") else found

    def _exponent(self) -> Expression:
        return Negated("-", self._exponent()) if self._takes("-") else self._power()

    def _chosen(self) -> Expression:
        found = self._single()
        while self._takes("at"):
            found = self._place(found)
            while self._next.text == "," and self._is_place_behind():
                self._take()
                found = self._place(found)
        return found

    def _is_place_behind(self) -> bool:
        """Whether a comma is followed by an axis and a place, and not by a function's next argument."""
        axis, place = self._tokens[self._at + 1 : self._at + 3] if self._at + 2 < len(self._tokens) else (None, None)
        return bool(axis and place and axis.kind == "name" and place.kind in ("number", "text"))

    def _place(self, of: Expression) -> Expression:
        axis, place = self._take(), self._take()
        if axis.kind != "name" or place.kind not in ("number", "text"):
            self._at -= 1
            raise ExpressionError(
                "“at” must be followed by an axis and a position, such as at query 3: {before}▸{behind}",
                **self._around(),
            )
        return At(of, axis.text, float(place.text) if place.kind == "number" else place.text)

    def _single(self) -> Expression:
        token = self._next
        if token.kind == "number":
            return Number(float(self._take().text))
        if token.kind == "text":
            return Text(self._take().text)
        if self._takes("("):
            found = self.either()
            self._expect(")")
            return found
        if token.kind == "name":
            return self._named()
        raise ExpressionError("something is missing here: {before}▸{behind}", **self._around())

    def _named(self) -> Expression:
        of = self._takes("right", "other")
        name = self._take()
        if name.kind != "name":
            raise ExpressionError(
                "“{word}” must be followed by a quantity of the model: {before}▸{behind}", word=of, **self._around()
            )
        if not of and self._takes("("):
            given, over = [self.either()], ""
            while self._takes(","):
                given.append(self.either())
            if self._takes("over"):
                over = self._take().text
            self._expect(")")
            return Call(name.text, tuple(given), over)
        parts: list[str | float] = []
        if self._takes("["):
            parts.append(self._part())
            while self._takes(","):
                parts.append(self._part())
            self._expect("]")
        return Quantity(name.text, tuple(parts), of)

    def _part(self) -> str | float:
        token = self._take()
        if token.kind not in ("name", "number"):
            self._at -= 1
            raise ExpressionError("brackets must contain names and numbers: {before}▸{behind}", **self._around())
        return float(token.text) if token.kind == "number" else token.text
