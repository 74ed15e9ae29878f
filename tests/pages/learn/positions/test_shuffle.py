"""The text with its words in another order: patterns, labels and outputs against forwards of the shuffled tokens."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.positions import shuffle, view_fields
from tests.pages.learn.bare import Bare
from tests.pages.learn.positions.conftest import Look
from transformer_core.analysis.positions import shuffled_words

OF = "positions-figure-{}".format
TEXT = "The black cat sees the small dog."


def pattern_of(name: str, site: str, *inputs: Sequence[int]) -> np.ndarray:
    model, _ = tc.load(f"checkpoints/{name}")
    with torch.inference_mode(), tc.capture(model, f"{site}.hook_pattern") as activations:
        model(*(torch.tensor([list(ids)]) for ids in inputs))
        return np.asarray(activations[f"{site}.hook_pattern"][0].numpy())


def test_a_self_attention_reads_the_tokens_in_the_other_order(bare: Bare, look: Look):
    data = look("fill-in", "rotary_halves", "model", text=TEXT, in_="shuffle", layer=1, head=3, seed=2)
    shuffle.show(data)
    _, tokenizer = tc.load("checkpoints/fill-in")
    ids = tokenizer.encode_for(TEXT, "encoder_only")
    labels = tokenizer.labels(list(ids))
    own, shuffled = (bare.figures[OF(f"shuffle-{name}")] for name in ("own", "shuffled"))
    order = shuffled.arrays["order"].tolist()
    assert sorted(order) == [*range(len(ids))] != order
    site = "encoder.blocks.1.self_attn"
    np.testing.assert_allclose(own.arrays["pattern"], pattern_of("fill-in", site, ids)[3], atol=1e-5)
    expected = pattern_of("fill-in", site, [ids[place] for place in order])[3]
    np.testing.assert_allclose(shuffled.arrays["pattern"], expected, atol=1e-5)
    for drawn, places, name in ((own, range(len(ids)), "original order"), (shuffled, order, "shuffled")):
        assert drawn.title == f"L1.H3: {name}"
        assert [row.split(",")[1] for row in drawn.rows[1 : 1 + len(ids)]] == [
            f"{at} {labels[place]}" for at, place in enumerate(places)
        ]
        assert drawn.rows[0] == "query,key,weight" and drawn.rows[1].startswith(f"0 {labels[places[0]]},")
        assert drawn.layout["xaxis"]["ticktext"] == drawn.layout["yaxis"]["ticktext"]
    assert shuffled.layout["xaxis"]["ticktext"] != own.layout["xaxis"]["ticktext"]
    assert own.arrays["mask"].all()


@pytest.mark.slow
def test_cross_attention_reads_the_shuffled_source_and_the_decoders_own_input(bare: Bare, look: Look):
    data = look("en-fr", "sinusoidal_halves", "model", text=TEXT, in_="shuffle", attention="cross", layer=0, head=1)
    shuffle.show(data)
    assert data.model_run is not None
    source, target = data.model_run.inputs
    own, shuffled = (bare.figures[OF(f"shuffle-{name}")] for name in ("own", "shuffled"))
    order = own.arrays["order"].tolist()
    site = "decoder.blocks.0.cross_attn"
    moved = [source[place] for place in order]
    np.testing.assert_allclose(own.arrays["pattern"], pattern_of("en-fr", site, source, target)[1], atol=1e-5)
    np.testing.assert_allclose(shuffled.arrays["pattern"], pattern_of("en-fr", site, moved, target)[1], atol=1e-5)
    queries = [[row.split(",")[0] for row in drawn.rows[1 :: len(source)]] for drawn in (own, shuffled)]
    assert queries[0] == queries[1] == [f"{at} {label}" for at, label in enumerate(data.model_run.target)]
    assert own.layout["xaxis"]["ticktext"] != shuffled.layout["xaxis"]["ticktext"]
    model, tokenizer = tc.load("checkpoints/en-fr")
    said = [
        tokenizer.target.decode(
            tc.greedy_decode(model, torch.tensor([list(ids)]), max_new_tokens=40).tokens[0, 1:].tolist()
        )
        for ids in (source, moved)
    ]
    words = bare.words
    places = [words.index(part) for part in ("original order", f">{said[0]}<", ">shuffled<", f">{said[1]}<")]
    assert places == sorted(places) and said[0] != said[1]


def test_of_the_decoder_of_a_pair_no_output_is_said(bare: Bare, look: Look):
    shuffle.show(look("en-fr", "sinusoidal_halves", "model", text=TEXT, in_="shuffle", attention="decoder", layer=1))
    assert "hl-positions-orders" in bare.words and "→" not in bare.words


def test_the_number_of_each_head_compares_with_words_and_with_places(
    bare: Bare, look: Look, monkeypatch: pytest.MonkeyPatch
):
    """Of one order alone the number is made of two distances: to the pattern that moved, and to the one that stayed."""
    monkeypatch.setattr(shuffled_words, "N_ORDERS", 1)
    data = look("fill-in", "rotary_halves", "model", text="A dog sees a cat.", in_="shuffle", layer=2, head=1)
    shuffle.show(data)
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


@pytest.mark.parametrize(("seed", "following"), [(0, 1), (998, 999), (999, 0)])
def test_another_order_is_the_next_of_a_thousand(bare: Bare, look: Look, seed: int, following: int):
    look("fill-in", "rotary_halves", "model", seed=seed)
    shuffle.choose_order()
    button = bare.buttons["positions-order"]
    button["on_click"](*button["args"])
    assert view_fields.SEED.value == following
