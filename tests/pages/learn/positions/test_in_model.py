"""Positions in a head, drawn bare: dials, the parts of its scores, and the text with its words in another order."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.positions import shuffled_words
from pages.learn.positions import dials, view_fields
from pages.learn.positions import model as positions_model
from pages.shared.view import state
from tests.pages.learn.bare import Bare
from tests.pages.learn.positions.conftest import Look

TEXT = "The cat sleeps."


OF = "positions-figure-{}".format


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
    np.testing.assert_allclose(data["speeds"], [1, 0.01], rtol=1e-6)
    assert data["places"]["value"] == [1, 2] and data["n"] == 3 and data["names"] == ["query at", "key at"]
    marks = [line["x0"] for line in drawn.layout["shapes"] if line["x0"] == line["x1"]]
    assert marks == [-1], "query minus key"
    assert "the first pairs rotate fast" in bare.words
    assert not bare.widgets, "the model has no such vectors"


def test_query_and_key_stand_where_they_were_put_or_are_usual_within_what_there_is(bare: Bare, look: Look):
    for n, places, shown in (
        (None, None, (24, 12)),
        (20, None, (19, 12)),
        (5, (7, 3), (4, 3)),
        (5, (0, 4), (0, 4)),
    ):
        dials.show(look("en-fr", "rotary_interleaved", "dials", n=n, width=4, places=places))
        assert tuple(sent(bare)["places"]["value"]) == shown


def test_the_heads_own_vectors_are_its_query_and_key(bare: Bare, look: Look):
    scores, _ = scores_of("fill-in", "encoder.blocks.2.self_attn", 3)
    data = look("fill-in", "rotary_halves", "dials", text=TEXT, layer=2, head=3, vectors="model", tokens=(3, 1), n=9)
    dials.show(data)
    drawn = turned(bare)
    by_distance = dict(zip(drawn.arrays["distance"].tolist(), drawn.arrays["product"].tolist(), strict=True))
    assert by_distance[2] == pytest.approx(scores[3, 1], abs=1e-4)
    assert tuple(sent(bare)["places"]["value"]) == (3, 1)
    for side in ("query", "key"):
        np.testing.assert_allclose(sent(bare)[side], drawn.arrays[side])
    assert sent(bare)["scale"] == pytest.approx(32**-0.5) and sent(bare)["rest"] == 0
    assert (bare.session["positions-tokens-query"], bare.session["positions-tokens-key"]) == (3, 1)


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


def test_where_a_person_puts_query_and_key_is_kept_if_there_is_such_a_place(bare: Bare, look: Look):
    dials.show(look("en-fr", "rotary_halves", "dials", n=9, width=4))
    for value, kept in (([2, 8], (2, 8)), ([2, 9], (2, 8)), ([9, 2], (2, 8)), (["a", 1], (2, 8)), ([0, 0], (0, 0))):
        bare.session[dials.KEY_OF_DIALS] = {"places": {"revision": 1, "value": value}}
        bare.components["dials"]["on_places_change"]()
        assert view_fields.PLACES.value == kept


OF = "positions-figure-{}".format


def scores_of(name: str, site: str, head: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """The scores [query, key] of a head that reads the text, where its mask allows them, else 0; and the tokens."""
    model, tokenizer = tc.load(f"checkpoints/{name}")
    ids = tuple(tokenizer.encode_for(TEXT, model.config.architecture))
    with torch.inference_mode(), tc.capture(model, f"{site}.hook_*") as activations:
        model(torch.tensor([ids]))
        scores, mask = (activations[f"{site}.hook_{stem}"][0] for stem in ("attn_scores", "mask"))
        return torch.where(mask, scores, 0)[head].numpy(), ids


@pytest.mark.parametrize(
    ("model", "site", "names"),
    [
        ("fill-in", "encoder.blocks.1.self_attn", ["unturned", "turning"]),
        (
            "stories",
            "decoder.blocks.1.self_attn",
            ["content_content", "content_position", "position_content", "position_position", "rest"],
        ),
    ],
)
def test_the_parts_add_up_to_the_heads_own_scores(bare: Bare, look: Look, model: str, site: str, names: list[str]):
    positions_model.show(look(model, "sinusoidal_halves", "model", text=TEXT, layer=1, head=2))
    arrays = bare.figures[OF("sources")].arrays
    assert [*arrays] == [*names, "scores", "mask"]
    np.testing.assert_allclose(sum(arrays[name] for name in names), arrays["scores"], rtol=1e-4, atol=2e-4)
    scores, _ = scores_of(model, site, 2)
    np.testing.assert_allclose(arrays["scores"], scores, rtol=1e-4, atol=1e-4)
    assert bare.figures[OF("shares")].arrays["parts"].tolist() == names
    assert ("Between these sources and the scores there are layer norms" in bare.words) == (model == "stories")


def test_a_click_on_the_grid_chooses_a_head_that_there_is(bare: Bare, look: Look):
    positions_model.show(look("fill-in", "rotary_halves", "model", text=TEXT, layer=0, head=1))
    on_cell = bare.figures[OF("positions-of-heads")].options["on_cell"]
    for sent, head in ((None, (0, 1)), ({"query": 4, "key": 0}, (0, 1)), ({"query": 2, "key": 3}, (2, 3))):
        bare.session[OF("positions-of-heads")] = {"cell": sent}
        on_cell()
        assert (state.LAYER.value, state.HEAD.value) == head


def test_without_a_text_nothing_is_drawn_and_the_order_can_be_changed_where_words_are_shuffled(bare: Bare, look: Look):
    positions_model.show(look("fill-in", "rotary_halves", "model", text=""))
    assert not bare.widgets and not bare.figures
    positions_model.show(look("fill-in", "rotary_halves", "model", text=TEXT))
    assert not bare.buttons
    data = look("fill-in", "rotary_halves", "model", text=TEXT, in_="shuffle")
    positions_model.show(data)
    assert [*bare.buttons] == ["positions-order"] and OF("sources") not in bare.figures
    for seed, following in ((998, 999), (999, 0)):
        view_fields.SEED.set(seed)
        positions_model.show(data)
        button = bare.buttons["positions-order"]
        button["on_click"](*button["args"])
        assert view_fields.SEED.value == following


LONGER = "The black cat sees the small dog."
ANSWERED = "The small cat sees the big dog."  # another order is translated otherwise


def pattern_of(name: str, site: str, *inputs: Sequence[int]) -> np.ndarray:
    model, _ = tc.load(f"checkpoints/{name}")
    with torch.inference_mode(), tc.capture(model, f"{site}.hook_pattern") as activations:
        model(*(torch.tensor([list(ids)]) for ids in inputs))
        return np.asarray(activations[f"{site}.hook_pattern"][0].numpy())


def test_a_self_attention_reads_the_tokens_in_the_other_order(bare: Bare, look: Look):
    data = look("fill-in", "rotary_halves", "model", text=LONGER, in_="shuffle", layer=1, head=3, seed=2)
    positions_model.shuffled(data)
    assert data.model_run is not None
    ids, labels = data.model_run.inputs[0], data.model_run.labels("encoder")[0]
    own, shuffled = (bare.figures[OF(f"shuffle-{name}")] for name in ("own", "shuffled"))
    order = shuffled.arrays["order"].tolist()
    assert sorted(order) == [*range(len(ids))] != order
    site = "encoder.blocks.1.self_attn"
    for drawn, places in ((own, range(len(ids))), (shuffled, order)):
        expected = pattern_of("fill-in", site, [ids[place] for place in places])[3]
        np.testing.assert_allclose(drawn.arrays["pattern"], expected, atol=1e-5)
        of_keys = [row.split(",")[1] for row in drawn.rows[1 : 1 + len(ids)]]
        assert of_keys == [f"{at} {labels[place]}" for at, place in enumerate(places)]


def test_cross_attention_reads_the_shuffled_source_and_the_decoders_own_input(bare: Bare, look: Look):
    data = look("en-fr", "sinusoidal_halves", "model", text=ANSWERED, in_="shuffle", attention="cross", layer=0, head=1)
    positions_model.shuffled(data)
    assert data.model_run is not None
    source, target = data.model_run.inputs
    own, shuffled = (bare.figures[OF(f"shuffle-{name}")] for name in ("own", "shuffled"))
    moved = [source[place] for place in own.arrays["order"].tolist()]
    model, tokenizer = tc.load("checkpoints/en-fr")
    messages = []
    for drawn, ids in ((own, source), (shuffled, moved)):
        expected = pattern_of("en-fr", "decoder.blocks.0.cross_attn", ids, target)[1]
        np.testing.assert_allclose(drawn.arrays["pattern"], expected, atol=1e-5)
        written = tc.greedy_decode(model, torch.tensor([list(ids)]), max_new_tokens=40).tokens[0, 1:]
        messages.append(tokenizer.target.decode(written.tolist()))
    places = [
        bare.words.index(part) for part in ("original order", f">{messages[0]}<", ">shuffled<", f">{messages[1]}<")
    ]
    assert places == sorted(places) and messages[0] != messages[1]


def test_a_head_with_more_dimensions_than_can_be_drawn_says_so(bare: Bare, look: Look):
    for width, is_said in ((128, False), (130, True)):
        bare.clear()
        dials.show(look("en-fr", "rotary_halves", "dials", n=3, width=width))
        assert ("Showing 128 dimensions of this head" in bare.words) == is_said


def test_queries_and_keys_of_cross_attention_are_named_after_their_sides(bare: Bare, look: Look):
    data = look(
        "en-fr", "sinusoidal_interleaved", "model", text=TEXT, target="Le chat", attention="cross", layer=1, head=0
    )
    positions_model.show(data)
    drawn = bare.figures[OF("sources")]
    assert data.model_run is not None
    queries, keys = data.model_run.labels("cross")
    assert drawn.arrays["scores"].shape == (len(queries), len(keys)) and len(queries) != len(keys)
    assert drawn.rows[-1].split(",")[1] == f"{len(queries) - 1}.{len(keys) - 1}"
    assert drawn.title.lower().startswith("scores of cross-attention l1.h0")
    layout = str(drawn.layout)
    assert "query: " in layout and "key: " in layout


@pytest.mark.usefixtures("fresh_caches")
def test_the_number_of_each_head_compares_with_words_and_with_places(
    bare: Bare, look: Look, monkeypatch: pytest.MonkeyPatch
):
    """Of one order alone the number is made of two distances: to the pattern that moved, and to the one that stayed."""
    monkeypatch.setattr(shuffled_words, "N_ORDERS", 1)
    data = look("fill-in", "rotary_halves", "model", text="A dog sees a cat.", in_="shuffle", layer=2, head=1)
    positions_model.shuffled(data)
    assert data.model_run is not None
    (ids,) = data.model_run.inputs
    order = bare.figures[OF("shuffle-own")].arrays["order"]
    site = "encoder.blocks.2.self_attn"
    own, seen = (pattern_of("fill-in", site, one) for one in (ids, [ids[place] for place in order]))
    from_words, from_places = (np.abs(seen - other).sum(axis=(1, 2)) for other in (own[:, order][:, :, order], own))
    drawn = bare.figures[OF("follows")]
    expected = (from_places - from_words) / (from_places + from_words)
    np.testing.assert_allclose(drawn.arrays["follows"][2], expected, atol=1e-3)
    assert drawn.arrays["follows"].shape == (4, 4)
    assert drawn.rows[0] == "layer,head,follows" and drawn.options["cell"] == (2, 1)
    assert "averaged over 1 orders" in bare.words
    scale = drawn.layout[drawn.figure.data[0].coloraxis or "coloraxis"]
    assert (scale["cmin"], scale["cmax"]) == (-1, 1)


def test_the_shares_are_of_variance_around_each_rows_mean(bare: Bare, look: Look):
    """By hand: of scores around their rows' means, what each part's covariance with them makes up."""
    positions_model.show(look("fill-in", "rotary_halves", "model", text=TEXT, layer=0, head=1))
    arrays = bare.figures[OF("sources")].arrays
    first, second = (arrays[name] - arrays[name].mean(axis=1, keepdims=True) for name in ("unturned", "turning"))
    total = first + second
    expected = [(part * total).sum() / (total**2).sum() for part in (first, second)]
    drawn = bare.figures[OF("shares")]
    np.testing.assert_allclose(drawn.arrays["shares"], expected, atol=1e-5)
    assert drawn.arrays["parts"].tolist() == ["unturned", "turning"]
    assert drawn.rows[0] == "part,of,share" and drawn.rows[2].startswith("turning,share,")
    of_heads = bare.figures[OF("positions-of-heads")]
    grid = of_heads.arrays["positions-of-heads"]
    assert grid.shape == (4, 4) and grid[0, 1] == pytest.approx(expected[1], abs=1e-4), "of positions: the rotation's"
    assert of_heads.options["cell"] == (0, 1) and of_heads.rows[0] == "layer,head,positions-of-heads"
