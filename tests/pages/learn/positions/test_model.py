"""The parts of a head's scores: against the model's own scores, and what of them is drawn, said and taken away."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.positions import model as positions_model
from pages.learn.positions import view_fields
from pages.shared.view import state
from tests.pages.learn.bare import Bare
from tests.pages.learn.positions.conftest import Look
from transformer_core.analysis.positions import share

OF = "positions-figure-{}".format
TEXT = "The cat sleeps."


def scores_of(name: str, site: str, head: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """The scores [query, key] of a head that reads the text, where its mask allows them, else 0; and the tokens."""
    model, tokenizer = tc.load(f"checkpoints/{name}")
    ids = tuple(tokenizer.encode_for(TEXT, model.config.architecture))
    with torch.inference_mode(), tc.capture(model, f"{site}.hook_*") as activations:
        model(torch.tensor([ids]))
        scores, mask = (activations[f"{site}.hook_{stem}"][0] for stem in ("attn_scores", "mask"))
        return torch.where(mask, scores, 0)[head].numpy(), ids


@pytest.mark.parametrize(
    ("model", "site", "names", "looks"),
    [
        ("fill-in", "encoder.blocks.1.self_attn", ["unturned", "turning"], "the score without rotation"),
        ("induction", "decoder.blocks.1.self_attn", ["content_content", "distance"], "the bias is the same"),
        (
            "stories",
            "decoder.blocks.1.self_attn",
            ["content_content", "content_position", "position_content", "position_position", "rest"],
            "the same for every text",
        ),
    ],
)
def test_the_parts_add_up_to_the_heads_own_scores(
    bare: Bare, look: Look, model: str, site: str, names: list[str], looks: str
):
    text = TEXT if model != "induction" else "a b c a b"
    data = look(model, "sinusoidal_halves", "model", text=text, layer=1, head=2)
    positions_model.show(data)
    drawn = bare.figures[OF("sources")]
    arrays = drawn.arrays
    assert [*arrays] == [*names, "scores", "mask"]
    np.testing.assert_allclose(sum(arrays[name] for name in names), arrays["scores"], atol=2e-4)
    if model != "induction":
        scores, ids = scores_of(model, site, 2)
        np.testing.assert_allclose(arrays["scores"], scores, atol=1e-4)
        assert len(ids) == len(scores)
    n = len(arrays["scores"])
    assert drawn.rows[0] == "part,query.key,score" and len(drawn.rows) == 1 + len(names) * n * n
    place = 1 + (len(names) - 1) * n * n + 2 * n + 1
    assert drawn.rows[place].startswith(f"{names[-1]},2.1,")
    assert float(drawn.rows[place].split(",")[2]) == pytest.approx(arrays[names[-1]][2, 1])
    what = "encoder self-attention" if model == "fill-in" else "decoder self-attention"
    assert drawn.title.endswith("L1.H2 as a sum") and "self-attention" in drawn.title, what
    assert looks in bare.words and "The parts sum to the model’s scores, to within" in bare.words
    assert ("Between these sources and the scores there are layer norms" in bare.words) == (model == "stories")


def test_the_shares_are_of_variance_around_each_rows_mean(bare: Bare, look: Look):
    """By hand: of scores around their rows' means, what each part's covariance with them makes up."""
    positions_model.show(look("fill-in", "rotary_halves", "model", text=TEXT, layer=0, head=1))
    arrays = bare.figures[OF("sources")].arrays
    names = ["unturned", "turning"]
    centered = {name: part - part.mean(axis=1, keepdims=True) for name, part in arrays.items() if name in names}
    total = centered["unturned"] + centered["turning"]
    expected = [(centered[name] * total).sum() / (total**2).sum() for name in names]
    drawn = bare.figures[OF("shares")]
    np.testing.assert_allclose(drawn.arrays["shares"], expected, atol=1e-5)
    assert drawn.arrays["parts"].tolist() == names
    assert drawn.rows[0] == "part,of,share" and drawn.rows[2].startswith("turning,share,")
    assert float(drawn.rows[2].split(",")[2]) == pytest.approx(expected[1], abs=1e-5)
    of_heads = bare.figures[OF("positions-of-heads")]
    grid = of_heads.arrays["positions-of-heads"]
    assert grid.shape == (4, 4) and grid[0, 1] == pytest.approx(expected[1], abs=1e-4), "of positions: the rotation's"
    assert of_heads.options["cell"] == (0, 1) and of_heads.rows[0] == "layer,head,positions-of-heads"
    scale = of_heads.layout[of_heads.figure.data[0].coloraxis or "coloraxis"]
    assert (scale["cmin"], scale["cmax"]) == (-1, 1)


@pytest.mark.slow
@pytest.mark.parametrize(("clicked", "head"), [((2, 3), (2, 3)), ((4, 0), (0, 1)), ((0, 4), (0, 1)), (None, (0, 1))])
def test_a_click_on_the_grid_chooses_a_head_that_there_is(
    bare: Bare, look: Look, clicked: tuple[int, int] | None, head: tuple[int, int]
):
    positions_model.show(look("fill-in", "rotary_halves", "model", text=TEXT, layer=0, head=1))
    sent = None if clicked is None else {"query": clicked[0], "key": clicked[1]}
    bare.session[OF("positions-of-heads")] = {"cell": sent}
    bare.figures[OF("positions-of-heads")].options["on_cell"]()
    assert (state.LAYER.value, state.HEAD.value) == head


def test_with_too_many_heads_their_shares_are_not_drawn(bare: Bare, look: Look, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(share, "MOST_HEADS", 15)
    positions_model.show(look("fill-in", "rotary_halves", "model", text="The dog sleeps.", layer=0, head=1))
    assert [*bare.figures] == [OF("sources"), OF("shares")]


@pytest.mark.parametrize(("most", "is_cut"), [(5, True), (6, False)])
def test_of_a_long_text_the_first_tokens_are_drawn_and_all_taken_away(
    bare: Bare, look: Look, monkeypatch: pytest.MonkeyPatch, most: int, is_cut: bool
):
    text = "The cat sees the dog."
    data = look("fill-in", "rotary_halves", "model", text=text, layer=1, head=0)
    assert data.model_run is not None
    labels = data.model_run.labels("encoder")[0]
    monkeypatch.setattr(positions_model, "MOST_DRAWN", len(labels) - 6 + most)
    positions_model.show(data)
    drawn = bare.figures[OF("sources")]
    n = len(labels) - is_cut
    assert {np.shape(trace.z) for trace in drawn.figure.data if trace.z is not None} == {(n, n)}
    assert drawn.arrays["scores"].shape == drawn.arrays["mask"].shape == (len(labels), len(labels))
    assert ("the matrices show its first" in bare.words) == is_cut


@pytest.mark.parametrize(("less", "is_drawn"), [(0, True), (1, False)])
def test_a_text_of_too_many_tokens_is_not_taken_apart(
    bare: Bare, look: Look, monkeypatch: pytest.MonkeyPatch, less: int, is_drawn: bool
):
    data = look("fill-in", "rotary_halves", "model", text=TEXT)
    assert data.model_run is not None
    monkeypatch.setattr(positions_model, "MOST_TOKENS", len(data.model_run.labels("encoder")[0]) - less)
    positions_model.show(data)
    assert (OF("sources") in bare.figures) == is_drawn
    assert ("shorten the text" in bare.words) != is_drawn


def test_without_a_text_nothing_is_drawn_and_the_order_can_be_changed_where_words_are_shuffled(bare: Bare, look: Look):
    positions_model.show(look("fill-in", "rotary_halves", "model", text=""))
    assert not bare.widgets and not bare.figures
    positions_model.show(look("fill-in", "rotary_halves", "model", text=TEXT))
    assert not bare.buttons and bare.widgets["positions-in-segments"].names == ["Score decomposition", "Shuffled words"]
    data = look("fill-in", "rotary_halves", "model", text=TEXT, in_="shuffle")
    positions_model.show(data)
    assert [*bare.buttons] == ["positions-order"] and OF("sources") not in bare.figures
    view_fields.SEED.set(999)
    positions_model.show(data)
    assert bare.buttons["positions-order"]["args"] == (0,)


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
