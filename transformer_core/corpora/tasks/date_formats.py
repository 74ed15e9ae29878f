"""The date formats of the corpus `dates`, and which characters of each determine which digit.

A format is its text with fields in braces:

| field | for 4 July 1976 |
|---|---|
| {year}, {yy} | 1976, 76 (as POSIX reads them: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068) |
| {month}, {mon}, {mon.} | July, Jul, Jul. (as "mon." May has no dot and September is Sept.) |
| {m}, {mm} | 7, 07 |
| {d}, {dd}, {nth}, {day} | 4, 04, 4th, fourth |
| {weekday}, {wkd} | Sunday, Sun |

Where day and month are both numbers, the separator determines the order: with dots and dashes the day is first, with
slashes the month, unless the first number is more than 12; a leading year is followed by the month.
"""

import datetime
import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from transformer_core.corpora.corpus import Alignment

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ORDINALS = (
    *"first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth".split(),
    *"fifteenth sixteenth seventeenth eighteenth nineteenth twentieth".split(),
    *(f"twenty-{unit}" for unit in "first second third fourth fifth sixth seventh eighth ninth".split()),
    *"thirtieth thirty-first".split(),
)

YEAR_FIRST = (
    "{year}-{mm}-{dd}",
    "{year}{mm}{dd}",
    "{year}/{mm}/{dd}",
    "{year}/{m}/{d}",
    "{year}.{mm}.{dd}",
    "{year} {month} {d}",
    "{year}, {month} {d}",
    "{year}-{mon}-{dd}",
)
DAY_FIRST = (
    "{d} {month} {year}",
    "{d} {month}, {year}",
    "{d} {mon} {year}",
    "{dd} {mon} {year}",
    "{d} {mon.} {year}",
    "{d}. {month} {year}",
    "{d}-{mon}-{year}",
    "{dd}-{mon}-{yy}",
    "{dd}{mon}{year}",
    "{d} {mon} '{yy}",
    "{nth} {month} {year}",
    "{nth} of {month} {year}",
    "{nth} of {month}, {year}",
    "the {nth} of {month} {year}",
    "the {day} of {month} {year}",
    "the {day} of {month}, {year}",
    "{d}.{m}.{year}",
    "{dd}.{mm}.{year}",
    "{dd}.{mm}.{yy}",
    "{d}-{m}-{year}",
    "{dd}-{mm}-{year}",
    "{weekday}, {d} {month} {year}",
    "{weekday} {d} {month} {year}",
    "{weekday}, {nth} {month} {year}",
    "{weekday} the {nth} of {month} {year}",
    "{weekday}, the {nth} of {month}, {year}",
    "{wkd}, {dd} {mon} {year}",
    "{wkd} {d} {mon} {year}",
)
MONTH_FIRST = (
    "{month} {d}, {year}",
    "{month} {d} {year}",
    "{mon} {d}, {year}",
    "{mon} {dd} {year}",
    "{mon.} {d}, {year}",
    "{mon}-{dd}-{year}",
    "{month} {nth}, {year}",
    "{month} {nth} {year}",
    "{month} the {nth}, {year}",
    "{month} the {day}, {year}",
    "{month} {d}, '{yy}",
    "{m}/{d}/{year}",
    "{mm}/{dd}/{year}",
    "{m}/{d}/{yy}",
    "{mm}/{dd}/{yy}",
    "{weekday}, {month} {d}, {year}",
    "{weekday}, {month} {nth}, {year}",
    "{weekday} {month} {d} {year}",
    "{wkd}, {mon} {d}, {year}",
    "{wkd} {mon} {dd} {year}",
)
DAY_FIRST_BECAUSE_OVER_12 = ("{d}/{m}/{year}", "{dd}/{mm}/{year}", "{dd}/{mm}/{yy}")
FORMATS = YEAR_FIRST + DAY_FIRST + MONTH_FIRST + DAY_FIRST_BECAUSE_OVER_12

TWO_DIGIT_YEARS = range(1969, 2069)

_FIELD = re.compile(r"\{([a-z.]+)\}")
_PLACES: Mapping[str, tuple[int, ...]] = {"y": (0, 1, 2, 3), "m": (5, 6), "d": (8, 9), "": ()}  # in 1976-07-04
_PART = {
    **dict.fromkeys(("year", "yy"), "y"),
    **dict.fromkeys(("month", "mon", "mon.", "m", "mm"), "m"),
    **dict.fromkeys(("d", "dd", "nth", "day"), "d"),
    **dict.fromkeys(("weekday", "wkd"), ""),  # follows from the rest, so it determines nothing
}


class WrittenDate(NamedTuple):
    """A written date."""

    text: str
    alignment: Alignment  # for each character of the date in ISO 8601: those of the text that determine it


def fits(form: str, date: datetime.date) -> bool:
    """Return True if a date can be written in a format and read back."""
    if "{yy}" in form and date.year not in TWO_DIGIT_YEARS:
        return False
    return form not in DAY_FIRST_BECAUSE_OVER_12 or date.day > 12


def write_date(form: str, date: datetime.date) -> WrittenDate:
    """Write a date in a format.

    A digit of the ISO date is determined by the digit that stands for it; a digit that is not written ("7" for "07") by
    the one that is; the century of a two-digit year by its first digit, by both if that is a 6; month and day by all
    letters of their name, the day in two words ("twenty-first") by one word each. "th", dots and weekdays determine
    nothing. That the *order* of day and month follows from the separator is not counted.
    """
    fields = _fields(date)
    text = ""
    sources: list[tuple[int, ...]] = [()] * len("YYYY-MM-DD")
    for literal, field in _pieces(form):
        text += literal
        places = _PLACES[_PART[field]]
        for place, digit in zip(places, _determined(fields[field], len(places)), strict=True):
            sources[place] = tuple([len(text) + where for where in digit])
        text += fields[field]
    return WrittenDate(text, tuple(sources))


@cache
def _pieces(form: str) -> tuple[tuple[str, str], ...]:
    """Return the fields of a format, each with the text before it; every format ends with a field."""
    pieces = _FIELD.split(form)
    return tuple(zip(pieces[::2], pieces[1::2], strict=False))


def _fields(date: datetime.date) -> dict[str, str]:
    """Return every field of a date as text."""
    month, weekday = MONTHS[date.month - 1], WEEKDAYS[date.weekday()]
    dotted = {"May": "May", "September": "Sept."}.get(month, f"{month[:3]}.")
    return {
        "year": str(date.year),
        "yy": f"{date.year % 100:02}",
        "month": month,
        "mon": month[:3],
        "mon.": dotted,
        "m": str(date.month),
        "mm": f"{date.month:02}",
        "d": str(date.day),
        "dd": f"{date.day:02}",
        "nth": f"{date.day}{ordinal_suffix(date.day)}",
        "day": ORDINALS[date.day - 1],
        "weekday": weekday,
        "wkd": weekday[:3],
    }


def ordinal_suffix(number: int) -> str:
    """Return "st", "nd", "rd" or "th"."""
    return "th" if number // 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _determined(written: str, n_digits: int) -> list[tuple[int, ...]]:
    """Return, for each of `n_digits` digits, the characters of a field that determine it."""
    if not n_digits:
        return []
    digits = [i for i, character in enumerate(written) if character.isdigit()]
    if not digits:
        words = [tuple(range(*match.span())) for match in re.finditer(r"[A-Za-z]+", written)]
        return words if len(words) == n_digits else words * n_digits
    sources: list[tuple[int, ...]] = [(i,) for i in digits]
    if n_digits == 4 and len(digits) == 2:
        sources = [tuple(digits) if written[0] == "6" else (digits[0],)] * 2 + sources
    return [sources[0]] * (n_digits - len(sources)) + sources
