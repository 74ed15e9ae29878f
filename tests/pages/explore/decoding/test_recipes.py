"""What the Decoding page is computed from: how much of a text is read, and how long branches are."""

from pathlib import Path
from typing import Any

import pytest

import transformer_core as tc
from pages.explore.decoding import recipes
from pages.explore.decoding.recipes import DecodingRecipe, given, tokens_of
from pages.explore.decoding.view_fields import Branch
from pages.shared import models
from pages.shared.recipe import value_of
from pages.shared.sources import Source
from tests.pages.conftest import EXAMPLES
from tests.pages.explore.decoding.decoding_parts import loaded
from tests.pages.explore.parts import shown

pytestmark = pytest.mark.usefixtures("three_kinds_here")
LONG = "the cat " * 60


def computed(make: Any, **session: Any) -> Any:
    """What is made in a session of the page."""
    results: list[Any] = []
    values = {f"decoding-{name}": value for name, value in session.items()}
    shown(lambda: results.append(make(models.available())), **values)
    return results[0]


def recipe(name: str, text: str, length: int, **session: Any) -> DecodingRecipe:
    def make(cards: Any) -> tuple[DecodingRecipe, Any]:
        result = DecodingRecipe.of(Source.of(cards[name]), cards[name].config, text, length)
        return result, value_of((result.given, result.tree, result.session, result.branches, result.branch))

    result, values = computed(make, **session)
    assert len(values) == 5
    return result


@pytest.mark.parametrize(
    ("name", "n_read"),
    [("en-fr", 32), ("gaps", 32), ("tales", 63)],  # a decoder needs room for its own token
)
def test_of_a_long_text_as_much_is_read_as_there_is_room_for(name: str, n_read: int, monkeypatch: pytest.MonkeyPatch):
    def ids(cards: Any) -> list[int]:
        return list(value_of(given(Source.of(cards[name]), cards[name].config, LONG)).ids)

    assert len(computed(ids)) == n_read
    monkeypatch.setattr(recipes, "MOST_GIVEN", 9)
    assert len(computed(ids)) == 9


def test_branches_are_as_long_as_is_asked_for_or_as_they_begin(three_kinds: Path):
    model, _, src = loaded(three_kinds)
    greedy = tc.greedy_decode(model, src, max_new_tokens=31).tokens[0, 1:].tolist()
    begun = tuple(range(10, 15))
    result = recipe("en-fr", EXAMPLES[0], 3, branches=(Branch(), Branch(begun, (0,))), branch=1)
    own, long = ([step.token for step in branch] for branch in value_of(result.branches))
    assert own == greedy[:3]
    assert long == [*begun], "not cut to 3"
    assert [step.token for step in value_of(result.branch)] == long, "the selected one"
    assert value_of(tokens_of(result.branch)) == long
