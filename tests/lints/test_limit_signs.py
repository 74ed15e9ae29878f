"""The lint of limits tells a comparison by its sign."""

import pytest

from tests.lints.limit_signs import faults


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("n > MOST_TOKENS", "n >= MOST_TOKENS"),
        ("n <= MOST_TOKENS", "n < MOST_TOKENS"),
        ("MOST_TOKENS >= n", "MOST_TOKENS > n"),
        ("0 < n <= page._LONGEST", "0 < n < page._LONGEST"),
        ("n > MOST_TOKENS[method]", "n >= MOST_TOKENS[method]"),
        ("n > MOST.get(name, n)", "n >= MOST.get(name, n)"),
        ("n <= MOST_TOKENS // 2", "n < MOST_TOKENS // 2"),
        ("-MOST <= n <= MOST", "-MOST < n <= MOST"),
        ("share < LEAST_SHARE", "share <= LEAST_SHARE"),
        ("share >= LEAST_SHARE", "share > LEAST_SHARE"),
        ("MIN_STEPS <= n", "MIN_STEPS < n"),
    ],
)
def test_a_comparison_is_told_by_its_sign(right: str, wrong: str):
    assert not [*faults(right)]
    assert [*faults(wrong)] == [(1, wrong)]
