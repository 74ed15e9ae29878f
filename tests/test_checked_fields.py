"""A record's annotations are its rules: what they forbid is refused by name, whatever it is."""

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from transformer_core.checked_fields import AboveZero, Count, CountOrZero, Probability, Share, at_least, check_fields
from transformer_core.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Record:
    count: Count = 1
    count_or_zero: CountOrZero = 0
    four: Annotated[int, at_least(4)] = 4
    share: Share = 0.0
    probability: Probability = 0.5
    above_zero: AboveZero = 1.0
    choice: Literal["a", "b"] = "a"
    switch: bool = False
    may_lack: Count | None = None
    text: str = ""
    several: tuple[tuple[int, float], ...] = ()


def refusal(**values: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        check_fields(Record(**values))
    return str(caught.value)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"count": 10**9, "four": 5, "share": 0, "above_zero": 1e-9, "choice": "b", "switch": True, "may_lack": 1},
        {"text": None, "several": "of these there is no rule"},
    ],
)
def test_what_is_allowed_is_no_error(values: dict[str, Any]):
    check_fields(Record(**values))


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "1", None, [1], math.nan])
def test_counts(value: object):
    assert refusal(count=value) == f"count must be a whole number of at least 1, got {value!r}"
    if value is not None:
        assert refusal(may_lack=value) == f"may_lack must be a whole number of at least 1, got {value!r}"
    assert refusal(count_or_zero=-1) == "count_or_zero must be a whole number of at least 0, got -1"
    assert refusal(four=3) == "four must be a whole number of at least 4, got 3"


@pytest.mark.parametrize("value", [1, -0.1, math.nan, math.inf, "0.5", None, False, {}])
def test_shares(value: object):
    assert refusal(share=value) == f"share must lie in [0, 1), got {value!r}"
    assert refusal(probability=value) == f"probability is a probability and must lie in [0, 1), got {value!r}"


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, True, "x", None])
def test_what_divides(value: object):
    assert refusal(above_zero=value) == f"above_zero must be a number above 0, got {value!r}"


@pytest.mark.parametrize("value", ["c", "", None, 0, ["a"]])
def test_choices_and_switches(value: object):
    assert refusal(choice=value) == f"choice must be one of a, b; got {value!r}"
    assert refusal(switch=value) == f"switch must be true or false, got {value!r}"
