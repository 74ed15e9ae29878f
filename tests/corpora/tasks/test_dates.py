"""The corpus of dates, against the standard library's own reader of dates, and its alignments."""

import datetime
import re
from collections.abc import Callable

import pytest

from transformer_core.corpora import Corpus
from transformer_core.corpora.tasks.dates import FORMATS, fits, write_date

DIRECTIVES = {
    "year": "%Y", "yy": "%y", "month": "%B", "mon": "%b", "mon.": "%b", "m": "%m", "mm": "%m",
    "d": "%d", "dd": "%d", "nth": "%d", "day": "%d", "weekday": "%A", "wkd": "%a",
}  # fmt: skip
IN_WORDS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15, "sixteenth": 16,
    "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20, "twenty-first": 21, "twenty-second": 22,
    "twenty-third": 23, "twenty-fourth": 24, "twenty-fifth": 25, "twenty-sixth": 26, "twenty-seventh": 27,
    "twenty-eighth": 28, "twenty-ninth": 29, "thirtieth": 30, "thirty-first": 31,
}  # fmt: skip
DATES = [
    datetime.date(2000 + year if year < 100 else year, month, day)
    for year, month, day in [
        (1900, 1, 1), (1912, 2, 29), (1969, 12, 31), (1999, 9, 9), (0, 2, 29), (8, 5, 21), (24, 11, 22), (60, 8, 3),
        (68, 3, 13), (2069, 6, 30), (2099, 7, 30), (1976, 7, 4), (1989, 10, 11), (2011, 4, 12), (2023, 12, 23),
    ]
]  # fmt: skip


def read(form: str, text: str) -> datetime.date:
    """A date by the standard library; what it does not know (4th, fourth, Sept.) is turned into what it does."""
    text = re.sub(r"(?<=\d)(st|nd|rd|th)\b", "", text.lower())
    for word, day in sorted(IN_WORDS.items(), key=lambda item: -len(item[0])):
        text = re.sub(rf"\b{word}\b", str(day), text)
    text = re.sub(r"\bsept\.", "sep", text)
    text = re.sub(r"\b(jan|feb|mar|apr|jun|jul|aug|oct|nov|dec)\.", r"\1", text)
    pattern = re.sub(r"\{(.+?)\}", lambda field: DIRECTIVES[field[1]], form)
    return datetime.datetime.strptime(text, pattern).date()


def test_the_standard_library_reads_every_format_alike() -> None:
    assert len(set(FORMATS)) == len(FORMATS) >= 50
    for form in FORMATS:
        fitting = [date for date in DATES if fits(form, date)]
        assert len(fitting) >= 5
        for date in fitting:
            assert read(form, write_date(form, date).text) == date


def test_all_dates_are_real_and_all_formats_cases_and_years_occur(sample: Callable[[str], Corpus]) -> None:
    pairs = sample("dates").train
    assert not {pair.target for pair in pairs} & {pair.target for pair in sample("dates").held_out}
    years = {datetime.date.fromisoformat(pair.target).year for pair in pairs}
    assert len(years) > 190 and (min(years), max(years)) == (1900, 2099)
    shapes = {re.sub(r"\d+", "0", re.sub(r"[A-Za-z]{3,}", "x", pair.source)) for pair in pairs}
    assert len(shapes) > 40
    cases = [pair.source.isupper() + 2 * pair.source.islower() for pair in pairs if re.search("[a-zA-Z]", pair.source)]
    assert min(cases.count(case) for case in range(3)) > 50


@pytest.mark.parametrize(
    ("form", "iso", "digits"),
    [
        ("{year}-{mm}-{dd}", "1976-07-04", "1 9 7 6 _ 0 7 _ 0 4"),
        ("{m}/{d}/{yy}", "2008-07-24", "0 0 0 8 _ 7 7 _ 2 4"),
        ("{mm}/{dd}/{yy}", "2068-12-01", "68 68 6 8 _ 1 2 _ 0 1"),
        ("{weekday} the {nth} of {month} {year}", "1976-07-04", "1 9 7 6 _ July July _ 4 4"),
        ("the {day} of {month} {year}", "1999-03-21", "1 9 9 9 _ March March _ twenty first"),
        ("the {day} of {month} {year}", "1999-03-12", "1 9 9 9 _ March March _ twelfth twelfth"),
        ("{d} {mon.} {year}", "2012-09-30", "2 0 1 2 _ Sept Sept _ 3 0"),
        ("{d} {mon} '{yy}", "1999-09-09", "9 9 9 9 _ Sep Sep _ 9 9"),
    ],
)
def test_the_alignment_by_hand(form: str, iso: str, digits: str) -> None:
    text, alignment = write_date(form, datetime.date.fromisoformat(iso))
    assert " ".join("".join(text[i] for i in sources) or "_" for sources in alignment) == digits
