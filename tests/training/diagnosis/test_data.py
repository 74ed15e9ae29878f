"""Data in which there is nothing to learn, and data that only look so."""

import pytest

from tests.training.diagnosis.records import STEPS, a_case, falling, kinds, logged, measured, probed, the

LOG = logged(falling(0.1))


@pytest.mark.parametrize(
    ("tests", "exact_match", "kind"),
    [
        ({"unknown": 0.9}, 1.0, "unknown_tokens"),
        ({"unknown": 0.3}, 0.9, "well"),  # rare words of a small corpus
        ({"empty_target": 0.97, "same_target": 0.97}, 0.97, "empty_targets"),
        ({"empty_target": 0.7, "same_target": 0.7}, 0.95, "well"),  # the right answer is often nothing
        ({"same_target": 0.95}, 0.95, "constant_targets"),
        ({"same_target": 0.95}, 0.99, "well"),  # an unbalanced task, solved
        ({"same_target": 1.0}, 1.0, "constant_targets"),
    ],
)
def test_what_is_wrong_with_the_data(tests: dict[str, float], exact_match: float, kind: str):
    run = a_case([*LOG, probed(measured(STEPS, 0.1, exact_match=exact_match), **tests)])
    assert kinds(run) == [kind]


def test_one_token_again_and_again_leaves_nothing_open():
    run = a_case([*LOG, measured(STEPS, 0.0)], architecture="decoder_only", unigram_entropy=0.001, bigram_entropy=0.0)
    assert "0.001 nats" in the("constant_targets", run).evidence
