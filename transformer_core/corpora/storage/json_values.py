"""The values of a JSON array, or of the first array in a JSON object, one by one, using little memory."""

import json
import re
from collections.abc import Iterator
from typing import Any

from transformer_core.errors import CorpusError

LONGEST_ROW = 2**22  # characters; parsed, a row of JSON can take 20 times as many bytes
_NOT_WHITE = re.compile(r"\S")


def json_values(texts: Iterator[str], title: str) -> Iterator[tuple[int, Any]]:
    """Yield the elements of JSON text that is read in blocks, each with its first line, counted from 1.

    Raises:
        CorpusError: it is invalid, or a value exceeds the maximum length or depth of a row; the message names the line.
    """
    reader = _Reader(texts, title)
    if reader.take("[{") == "{":
        while reader.peek() != "}":
            reader.value()
            reader.take(":")
            if reader.peek() == "[":
                break
            reader.value()
            if reader.take(",}") == "}":
                break
        if reader.peek() != "[":
            raise CorpusError(
                "{title} is one JSON object, not a list of texts; save its texts as an array or as JSON lines, or "
                "choose division=lines to read it as plain text",
                title=title,
            )
        reader.take("[")
    is_over = reader.peek() == "]"
    while not is_over:
        reader.peek()
        yield reader.line, reader.value()
        is_over = reader.take(",]") == "]"


class _Reader:
    """Reads a JSON text value by value."""

    def __init__(self, texts: Iterator[str], title: str) -> None:
        self.texts, self.title = texts, title
        self.buffer, self.place, self.line = "", 0, 1
        self.decoder = json.JSONDecoder()

    def peek(self) -> str:
        """Return the next character that is not white space; "" at the end."""
        sign = self.buffer[self.place : self.place + 1]
        while not sign or sign.isspace():
            match = _NOT_WHITE.search(self.buffer, self.place)
            self._go_to(match.start() if match else len(self.buffer))
            if not match and not self._fill():
                return ""
            sign = self.buffer[self.place : self.place + 1]
        return sign

    def take(self, allowed: str) -> str:
        """Consume and return the next character; raise CorpusError if it is not allowed."""
        sign = self.peek()
        if not sign or sign not in allowed:
            raise self._invalid(f"{' or '.join(allowed)} expected")
        self.place += 1
        return sign

    def value(self) -> Any:
        """Consume and return the next value; raise CorpusError if there is none, or if it is too long or too deep."""
        self.peek()
        while True:
            try:
                value, end = self.decoder.raw_decode(self.buffer, self.place)
                if end < len(self.buffer) or not self._fill():
                    self._go_to(end)
                    return value
            except RecursionError as error:
                raise CorpusError(
                    "{title}, line {line:,}: the JSON is nested too deeply; use an array of objects or of texts",
                    title=self.title,
                    line=self.line,
                ) from error
            except ValueError as error:
                if len(self.buffer) - self.place > LONGEST_ROW:
                    raise CorpusError(
                        "{title}, line {line:,}: a value has more than {n:,} characters, or is not valid JSON; "
                        "use an array of objects or of texts",
                        title=self.title,
                        line=self.line,
                        n=LONGEST_ROW,
                    ) from error
                if not self._fill():
                    raise self._invalid(str(error).partition(":")[0]) from error

    def _go_to(self, place: int) -> None:
        self.line += self.buffer.count("\n", self.place, place)
        self.place = place

    def _fill(self) -> bool:
        """Read more text, at least as much as remains in the buffer; return whether there was any."""
        rest = self.buffer[self.place :]
        more = [next(self.texts, "")]
        while more[-1] and sum(map(len, more)) < len(rest):
            more.append(next(self.texts, ""))
        self.buffer, self.place = "".join([rest, *more]), 0
        return any(more)

    def _invalid(self, problem: str) -> CorpusError:
        return CorpusError(
            "{title}, line {line:,}: this is not valid JSON ({problem}); correct it, or choose division=lines to read "
            "it as plain text",
            title=self.title,
            line=self.line,
            problem=problem,
        )
