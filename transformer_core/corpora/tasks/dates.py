"""Dates in common formats, and the same in ISO 8601: "July 4th, 1976" gives "1976-07-04".

A format is a line of date_formats.txt, a text with fields in braces:

| field | for 4 July 1976 |
|---|---|
| {year}, {yy} | 1976, 76 (as POSIX reads them: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068) |
| {month}, {mon}, {mon.} | July, Jul, Jul. (as "mon." May has no dot and September is Sept.) |
| {m}, {mm} | 7, 07 |
| {d}, {dd}, {nth}, {day} | 4, 04, 4th, fourth |
| {weekday}, {wkd} | Sunday, Sun |

Where day and month are both numbers, the separator determines the order: with dots and dashes the day is first, with
slashes the month, unless the first number is more than 12; a leading year is followed by the month. An alignment says
which characters determine which digit.
"""

import datetime
import hashlib
import random
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from transformer_core.corpora.corpus import Alignment, Corpus, Pair
from transformer_core.corpora.generated import GeneratedCorpus, draw_distinct
from transformer_core.errors import Message

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

_LINES = Path(__file__).with_name("date_formats.txt").read_text(encoding="utf-8").splitlines()
FORMATS = tuple(line for line in _LINES if line and not line.startswith("#"))
_DAY_OVER_12 = tuple(form for form in FORMATS if form.startswith(("{d}/", "{dd}/")))  # ambiguous up to 12

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
    return form not in _DAY_OVER_12 or date.day > 12


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
    ordinal = "th" if date.day // 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(date.day % 10, "th")
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
        "nth": f"{date.day}{ordinal}",
        "day": ORDINALS[date.day - 1],
        "weekday": weekday,
        "wkd": weekday[:3],
    }


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


FIRST, LAST = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)
N_TRAIN, N_HELD_OUT = 40_000, 2_000  # pairs
HELD_OUT_SHARE = 20  # one of this many dates is held out, in every format
CASES = {"as usual": 8, "lower": 3, "upper": 1}  # relative frequencies


@cache
def is_held_out(date: datetime.date) -> bool:
    """Return True if a date is held out, by a hash of it: independent of machine and seed."""
    digest = hashlib.sha256(date.isoformat().encode()).digest()
    return int.from_bytes(digest[:4]) % HELD_OUT_SHARE == 0


def _draw(seed: int) -> tuple[list[Pair], list[Pair]]:
    """Draw the dates of both parts; the held-out dates are the same for every seed."""
    rng = random.Random(seed)
    train = draw_distinct(lambda: _draw_pair(rng, held_out=False), N_TRAIN, key=lambda pair: pair.source)
    held_out = draw_distinct(lambda: _draw_pair(rng, held_out=True), N_HELD_OUT, key=lambda pair: pair.source)
    return train, held_out


def _draw_pair(rng: random.Random, *, held_out: bool) -> Pair:
    """Draw a date of one of the two parts in a format that fits."""
    date = datetime.date.fromordinal(rng.randint(FIRST.toordinal(), LAST.toordinal()))
    while is_held_out(date) != held_out:
        date = datetime.date.fromordinal(rng.randint(FIRST.toordinal(), LAST.toordinal()))
    form = rng.choice(FORMATS)
    while not fits(form, date):
        form = rng.choice(FORMATS)
    text, alignment = write_date(form, date)
    case = rng.choices(tuple(CASES), tuple(CASES.values()))[0]
    text = text.lower() if case == "lower" else text.upper() if case == "upper" else text
    return Pair(text, date.isoformat(), alignment)


dates = GeneratedCorpus(
    about=Corpus(
        name="dates",
        title="Dates",
        description=Message("Convert dates in common formats to ISO 8601 (year-month-day)."),
        examples=(
            "July 4th, 1976",
            "the twenty-first of March 1999",
            "Friday, 13 October 2023",
            "3/9/2024",
            "25.12.1950",
            "12 aug '08",
            "09-NOV-1989",
            "20200229",
        ),
        tokenizer_kind="character",
    ),
    draw=_draw,
)
