"""Which text values are taken from where nobody has chosen one."""

from types import SimpleNamespace
from typing import Any

import pytest

from headlight.analysis.interventions.other_texts import usual_other_text
from headlight.analysis.interventions.record_checks import texts_of
from tests.headlight.analysis.interventions.small_models import model_of


def test_it_is_the_one_with_the_most_counterparts_or_else_the_text_turned_round():
    for text, others, expected in (
        ("5 6 7 8", ["5 6 7 8", "5 6", "9 9 9 9", "5 6 9 9"], "5 6 9 9"),  # as long, and most tokens are the same
        ("5 6 7 8", ["9 9", "10 5 6 7 11"], "10 5 6 7 11"),
        ("5 6 7 8", ["9 10", "11 9 10 11 12 13"], "8 7 6 5"),  # nothing has a counterpart in them
        ("5 6 7 8", [], "8 7 6 5"),
        ("5", ["9 10"], "9 10"),
    ):
        assert usual_other_text(model_of("decoder")[1], "decoder_only", text, others) == expected


@pytest.mark.parametrize("text", ["5 6 7 " * 500, "5" * 3000, "\n" * 3000, "    ", "\n", "55 66 77 " * 500])
@pytest.mark.parametrize("others", [(), ("",), ("9",), ("9 " * 1500,)])
def test_values_can_be_taken_from_it_whatever_the_text_is(text: str, others: tuple[str, ...]):
    def labels_for(text: str, _: str) -> list[str]:
        return text.split()

    tokenizer: Any = SimpleNamespace(labels_for=labels_for)
    other = usual_other_text(tokenizer, "decoder_only", text, others)
    assert texts_of((other,)) == (other,)
    assert set(other.split()) <= {*text.split(), "9"} or " " not in text  # whole words
