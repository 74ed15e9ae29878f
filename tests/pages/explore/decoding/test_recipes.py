"""What the page Decoding is computed from: how much of a text is read, how long branches are, and how drawn."""

from pathlib import Path
from typing import Any

import pytest
import torch

import transformer_core as tc
from pages.explore.decoding import recipes, view_fields
from pages.explore.decoding.recipes import BlanksRecipe, DecodingRecipe, given, tokens_of
from pages.explore.decoding.view_fields import Branch
from pages.shared import models
from pages.shared.recipe import value_of
from pages.shared.sources import Source
from tests.pages.conftest import EXAMPLES, GAPS, PROMPTS
from tests.pages.explore.parts import shown

pytestmark = pytest.mark.usefixtures("three_kinds_here")
LONG = "the cat " * 60


def computed(make: Any, **session: Any) -> Any:
    """What is made in a session of the page."""
    found: list[Any] = []
    values = {f"decoding-{name}": value for name, value in session.items()}
    shown(lambda: found.append(make(models.available())), **values)
    return found[0]


def recipe(name: str, text: str, length: int, **session: Any) -> DecodingRecipe:
    def make(cards: Any) -> tuple[DecodingRecipe, Any]:
        made = DecodingRecipe.of(Source.of(cards[name]), cards[name].config, text, length)
        return made, value_of((made.given, made.tree, made.session, made.branches, made.branch))

    made, values = computed(make, **session)
    assert len(values) == 5
    return made


@pytest.mark.parametrize(
    ("name", "n_read"),
    [("en-fr", 32), ("gaps", 32), ("tales", 63)],  # a decoder needs room for a token of its own
)
def test_of_a_long_text_as_much_is_read_as_there_is_room_for(name: str, n_read: int, monkeypatch: pytest.MonkeyPatch):
    def ids(cards: Any) -> list[int]:
        return list(value_of(given(Source.of(cards[name]), cards[name].config, LONG)).ids)

    assert len(computed(ids)) == n_read
    monkeypatch.setattr(recipes, "MOST_GIVEN", 9)
    assert len(computed(ids)) == 9


def test_branches_are_as_long_as_is_asked_for_or_as_they_begin(three_kinds: Path):
    model, tokenizer = tc.load(three_kinds / "en-fr")
    src = torch.tensor([tokenizer.encode(EXAMPLES[0], eos=True)])
    greedy = tc.greedy_decode(model, src, max_new_tokens=31).tokens[0, 1:].tolist()
    begun = tuple(token for token in range(10, 15))
    made = recipe("en-fr", EXAMPLES[0], 3, branches=(Branch(), Branch(begun, (0,)), Branch((10,))), branch=1)
    own, long, short = ([step.token for step in branch] for branch in value_of(made.branches))
    assert own == greedy[:3]
    assert long == [*begun], "not cut to 3"
    with torch.inference_mode():
        written = torch.tensor([[model.config.bos_id, 10]])
        for _ in range(2):
            written = torch.cat([written, model(src, written)[:, -1:].argmax(-1)], dim=1)
    assert short == written[0, 1:].tolist()
    assert [step.token for step in value_of(made.branch)] == long, "the one that is looked at"
    assert value_of(tokens_of(made.branch)) == long


def test_a_session_draws_as_was_chosen_and_begins_with_the_text():
    usual = value_of(recipe("tales", PROMPTS[0], 2).session)
    assert usual.sampling.temperature == 0
    drawn = value_of(recipe("tales", PROMPTS[0], 2, temperature=1.5, top_k=3, seed=7).session)
    assert (drawn.sampling.temperature, drawn.sampling.top_k, drawn.sampling.seed) == (1.5, 3, 7)
    made = recipe("tales", PROMPTS[0], 2)
    tree, ids = value_of(made.tree), value_of(made.given).ids
    assert [step.token for step in tree.start.path()] == [*ids]
    assert value_of(made.session).tree is tree
    assert view_fields.SAMPLING["temperature"].usual == 0


def test_blanks_are_the_masks_of_the_text(three_kinds: Path):
    tokenizer = tc.load(three_kinds / "gaps")[1]
    ids = tokenizer.encode_for(GAPS[1], "encoder_only")

    def masks(cards: Any) -> Any:
        return value_of(BlanksRecipe.of(Source.of(cards["gaps"]), cards["gaps"].config, GAPS[1]).tree).masks

    assert computed(masks) == tuple(place for place, token in enumerate(ids) if token == tokenizer.mask_id)
