"""Dates in common formats, and the same in ISO 8601: "July 4th, 1976" gives "1976-07-04"."""

import datetime
import hashlib
import random
from functools import cache

from transformer_core.corpora.corpus import Corpus, Pair
from transformer_core.corpora.generated import GeneratedCorpus, draw_distinct
from transformer_core.corpora.tasks.date_formats import FORMATS, fits, write_date
from transformer_core.errors import Message

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
