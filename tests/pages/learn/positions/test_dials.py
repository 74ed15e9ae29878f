"""The dials: whose vectors they turn, where query and key stand, and the product at each distance."""

from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.positions import dials, view_fields
from pages.shared.view import state
from tests.pages.learn.bare import Bare
from tests.pages.learn.positions.conftest import Look

TEXT = "The cat sleeps."


def turned(bare: Bare) -> Any:
    return bare.figures["positions-figure-turned"]


def sent(bare: Bare) -> dict[str, Any]:
    return dict(bare.components["dials"]["data"])


def test_one_vector_twice_has_the_mean_of_the_cosines_of_the_angles(bare: Bare, look: Look):
    dials.show(look("en-fr", "rotary_halves", "dials", n=3, width=4, places=(1, 2)))
    drawn, data = turned(bare), sent(bare)
    distances = np.arange(-2, 3)
    expected = (np.cos(distances) + np.cos(distances / 100)) / 2
    assert drawn.arrays["distance"].tolist() == distances.tolist()
    np.testing.assert_allclose(drawn.arrays["product"], expected, atol=1e-6)
    assert drawn.rows[0] == "distance,of,value" and drawn.rows[1].startswith("-2,product,")
    assert float(drawn.rows[1].split(",")[2]) == pytest.approx(expected[0], abs=1e-6)
    np.testing.assert_allclose(data["speeds"], [1, 0.01], rtol=1e-6)
    assert data["places"]["value"] == [1, 2] and data["n"] == 3 and data["names"] == ["query at", "key at"]
    marks = [line["x0"] for line in drawn.layout["shapes"] if line["x0"] == line["x1"]]
    assert marks == [-1], "query minus key"
    assert "the first pairs rotate fast" in bare.words
    assert not bare.widgets, "the model has no such vectors"


@pytest.mark.parametrize(
    ("n", "places", "shown"), [(None, None, (24, 12)), (20, None, (19, 12)), (5, (7, 3), (4, 3)), (5, (0, 4), (0, 4))]
)
def test_query_and_key_stand_where_they_were_put_or_are_usual_within_what_there_is(
    bare: Bare, look: Look, n: int | None, places: tuple[int, int] | None, shown: tuple[int, int]
):
    dials.show(look("en-fr", "rotary_interleaved", "dials", n=n, width=4, places=places))
    assert tuple(sent(bare)["places"]["value"]) == shown


def test_the_heads_own_vectors_are_its_query_and_key_before_they_are_turned(bare: Bare, look: Look):
    """Turned to their places by multiplication of complex numbers, their product is the model's own score."""
    model, tokenizer = tc.load("checkpoints/fill-in")
    ids = tokenizer.encode_for(TEXT, "encoder_only")
    with torch.inference_mode(), tc.capture(model, "encoder.blocks.2.self_attn.hook_attn_scores") as activations:
        model(torch.tensor([list(ids)]))
        scores = activations["encoder.blocks.2.self_attn.hook_attn_scores"][0, 3].numpy()
    data = look("fill-in", "rotary_halves", "dials", text=TEXT, layer=2, head=3, vectors="model", tokens=(3, 1), n=9)
    dials.show(data)
    drawn = turned(bare)
    by_distance = dict(zip(drawn.arrays["distance"].tolist(), drawn.arrays["product"].tolist(), strict=True))
    assert by_distance[2] == pytest.approx(scores[3, 1], abs=1e-4)
    hands = [drawn.arrays[name] @ np.array([1, 1j]) for name in ("query", "key")]
    for distance, product in by_distance.items():
        score = (hands[0] * np.exp(1j * drawn.arrays["speeds"] * distance) * hands[1].conj()).real.sum() * 32**-0.5
        assert product == pytest.approx(score, abs=1e-4)
    assert tuple(sent(bare)["places"]["value"]) == (3, 1)
    np.testing.assert_allclose(sent(bare)["query"], drawn.arrays["query"])
    np.testing.assert_allclose(sent(bare)["key"], drawn.arrays["key"])
    assert sent(bare)["scale"] == pytest.approx(32**-0.5) and sent(bare)["rest"] == 0
    assert "a query and a key of the chosen head" in bare.words
    labels = tokenizer.labels(list(ids))
    query, key = (bare.widgets[f"positions-tokens-{part}"] for part in ("query", "key"))
    assert query.names == key.names == [f"{place} {label}" for place, label in enumerate(labels)]
    assert (query.label, key.label) == ("Query of", "Key of")
    assert (bare.session["positions-tokens-query"], bare.session["positions-tokens-key"]) == (3, 1)
    assert bare.session["positions-vectors-segments"] == "model"


def test_another_token_changes_one_side_and_takes_the_dials_back_to_the_tokens(bare: Bare, look: Look):
    dials.show(look("fill-in", "rotary_halves", "dials", text=TEXT, vectors="model", tokens=(3, 1), places=(8, 7), n=9))
    assert tuple(sent(bare)["places"]["value"]) == (8, 7)
    for part, chosen in (("query", (2, 1)), ("key", (3, 2))):
        view_fields.TOKENS.set((3, 1))
        view_fields.PLACES.set((8, 7))
        bare.session[f"positions-tokens-{part}"] = 2
        bare.widgets[f"positions-tokens-{part}"].how["on_change"]()
        assert view_fields.TOKENS.value == chosen and view_fields.PLACES.value is None
    view_fields.PLACES.set((8, 7))
    dials._choose_token((3, 1), 0, None)
    assert view_fields.PLACES.value == (8, 7) and view_fields.TOKENS.value == (3, 2), "nothing was chosen"


def test_both_vectors_can_be_chosen_where_the_model_has_its_own(bare: Bare, look: Look):
    dials.show(look("fill-in", "rotary_halves", "dials", text=TEXT))
    assert bare.session["positions-vectors-segments"] == "same"
    assert bare.widgets["positions-vectors-segments"].options == ["same", "model"]
    assert "positions-tokens-query" not in bare.widgets
    dials.show(look("fill-in", "rotary_interleaved", "dials", text=TEXT))
    assert not bare.widgets


def test_where_a_person_puts_query_and_key_is_kept_if_there_is_such_a_place(bare: Bare, look: Look):
    dials.show(look("en-fr", "rotary_halves", "dials", n=9, width=4))
    on_places = bare.components["dials"]["on_places_change"]
    for value, kept in (([2, 8], (2, 8)), ([2, 9], (2, 8)), ([9, 2], (2, 8)), ([0, 0], (0, 0))):
        bare.session[dials.KEY_OF_DIALS] = {"places": {"revision": 1, "value": value}}
        on_places()
        assert view_fields.PLACES.value == kept


@pytest.mark.parametrize(("width", "is_said"), [(None, False), (128, False), (130, True), (126, False)])
def test_a_head_with_more_dimensions_than_can_be_drawn_says_so(
    bare: Bare, look: Look, width: int | None, is_said: bool
):
    dials.show(look("en-fr", "rotary_halves", "dials", n=3, width=width))
    assert ("Showing 128 dimensions of this head" in bare.words) == is_said
    assert state.HEAD.value == 0
