"""Numbers as the page Train says them, at the ends of each way to say them."""

import pytest

from pages.train.train.words import duration, loss_in_digits


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        *((0.0, "1 s"), (1.4, "1 s"), (89.0, "89 s"), (90.0, "2 min")),
        *((90 * 60 - 1, "90 min"), (90 * 60, "1.5 h"), (7200, "2.0 h")),
    ],
)
def test_a_duration_is_told_about_as_exactly_as_it_is_known(seconds: float, words: str):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("nats", "words"),
    [
        *((12.34, "12.3"), (0.002134, "0.00213"), (1.0, "1.00"), (123.4, "123"), (1e-6, "0.00000100"), (0.0, "0")),
        *((9.4e-7, "9.4e-07"), (999_999.0, "999,999"), (1e6, "1e+06"), (float("nan"), "nan")),
    ],
)
def test_a_loss_has_three_digits_that_matter(nats: float, words: str):
    assert loss_in_digits(nats) == words
