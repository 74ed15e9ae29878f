"""The parts of the page, drawn bare: the figure, the open number, the proof, and why a score is what it is."""

import html
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.analysis.walkthrough.proving import Proof
from pages.learn.steps import data as steps_data
from pages.learn.steps import figure, view_fields
from pages.learn.steps.view_fields import MatrixCell
from pages.shared.view import state
from tests.pages.learn.bare import Bare, unpacked
from tests.pages.learn.steps.conftest import Look

TEXT = "The cat sleeps."


LONG = " ".join(["the cat sees the dog"] * 8)


def header_of(bare: Bare) -> dict[str, Any]:
    return unpacked(bare.components["steps"]["data"])[0]


def test_queries_and_keys_of_cross_attention_are_of_their_own_texts(bare: Bare, look: Look):
    data = look("en-fr", text=LONG, target="Le chat", attention="cross", layer=0, head=3, query=1, key=2, stage="mask")
    figure.draw(data)
    header = header_of(bare)
    source, target = data.model_run.source, data.model_run.target
    assert (header["nQueries"], header["nKeys"]) == (len(target), len(source))
    queries, keys = data.shown
    assert header["first"] == {"query": queries.start, "key": keys.start}
    plain = [token.replace("\u2068", "").replace("\u2069", "") for token in header["key"]]
    assert plain == [*source[keys.start : keys.stop]] and len(plain) == 24
    assert header["isSelf"] is False
    at = header["at"]["value"]
    assert (at["stage"], at["query"], at["key"], at["cell"]) == ("mask", 1, 2, None)


def test_self_attention_says_so_and_marks_the_open_cell(bare: Bare, look: Look):
    cell = MatrixCell("scaled", 1, 2)
    data = look("en-fr", text=TEXT, attention="encoder", layer=0, head=0, query=1, cell=cell)
    figure.draw(data)
    header = header_of(bare)
    assert header["isSelf"] is True and header["at"]["value"]["cell"] == ["scaled", 1, 2]
    assert header["at"]["value"]["key"] == 2, "the key of the open number"


def test_a_number_is_shown_where_one_is_open_and_can_be_closed(bare: Bare, look: Look):
    figure.number(look("en-fr", text=TEXT))
    assert "Click any number in the figure" in bare.words and not bare.buttons
    data = look("en-fr", text=TEXT, attention="encoder", layer=0, head=1, query=1, cell=MatrixCell("pattern", 1, 2))
    figure.number(data)
    assert data.number is not None
    assert data.number.value == pytest.approx(float(data.walk.quantities["pattern"].values[1, 2]))
    button = bare.buttons["steps-close"]
    button["on_click"](*button["args"])
    assert view_fields.CELL.value is None


def test_what_is_shown_of_quantities_are_the_rows_and_columns_of_the_shown_tokens(bare: Bare, look: Look):
    data = look("en-fr", text=LONG, attention="encoder", layer=0, head=0, query=30)
    queries, keys = data.shown
    whole = data.walk.quantities["pattern"].values
    shown = next(one for one in data.quantities if one.name == "pattern").values
    np.testing.assert_array_equal(shown, whole[queries.start : queries.stop, keys.start : keys.stop])
    assert 30 in queries and len(queries) == 24 and not bare.texts


NOWHERE = ("input", None, None, None)


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ({"stage": "z", "query": 2, "key": 1, "cell": ["z", 2, 3]}, ("z", 2, 1, MatrixCell("z", 2, 3))),
        ({"stage": "<b>", "query": -1, "key": "1", "cell": ["z", 2]}, NOWHERE),
        ({"stage": 3, "query": True, "key": 2.5, "cell": ["z.1", 1, 1]}, NOWHERE),
        ({"stage": None, "query": 10**9, "key": -3, "cell": ["z", -1, 0]}, NOWHERE),
        ("nonsense", NOWHERE),
    ],
)
def test_what_the_figure_tells_is_checked(bare: Bare, text: object, chosen: tuple[Any, ...]):
    bare.session[view_fields.FIGURE] = {"view": {"revision": 1, "value": text}}
    view_fields.on_view()
    fields = (view_fields.STAGE, view_fields.QUERY, view_fields.KEY, view_fields.CELL)
    assert tuple(field.value for field in fields) == chosen


USUAL: dict[str, Any] = {
    "n_numbers": 12345,
    "errors": {"z": 2e-7},
    "largest": 2e-7,
    "worst": "z",
    "share_of_tolerance": 0.5,
    "tolerance": 1e-5,
    "torch_function": "torch.nn.MultiheadAttention",
    "torch_errors": {"z": 3e-7, "output": 1e-7},
    "torch_reason": None,
    "torch_worst": "output",
    "torch_share_of_tolerance": 0.25,
    "dtype": "float32",
    "device": "cpu",
}


def told(bare: Bare, intervened: tuple[str, ...] = (), **changes: Any) -> str:
    result = Proof(**USUAL | changes)
    symbols = {"z": SimpleNamespace(symbol="Z"), "pattern": SimpleNamespace(symbol="A")}
    walk = SimpleNamespace(proof=lambda: result, quantities=symbols, intervened=intervened)
    figure.proof(SimpleNamespace(walk=walk))  # type: ignore[arg-type]
    (words,) = bare.texts
    bare.clear()
    return words


def test_numbers_that_agree_are_verified_with_both_largest_errors(bare: Bare):
    words = told(bare)
    assert (
        "12,345 numbers, largest error 2.0e-07 against float64, 3.0e-07 against torch.nn.MultiheadAttention." in words
    )
    assert "hl-proved" in words
    assert "hl-proved" in told(bare, share_of_tolerance=1.0, torch_share_of_tolerance=1.0), "all of it may be taken"
    words = told(bare, dtype="bfloat16", device="cuda", torch_reason="norm")
    assert words.index("does not normalize queries and keys.") < words.index("The model computes in bfloat16 on cuda.")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"torch_share_of_tolerance": 4.0}, "output against torch.nn.MultiheadAttention, 1.0e-07, is 4.0 times"),
        ({"share_of_tolerance": 1.5, "torch_share_of_tolerance": 1.25}, "Z against float64, 2.0e-07, is 1.5 times"),
    ],
)
def test_numbers_that_do_not_agree_say_which_and_by_how_much(bare: Bare, changes: dict[str, Any], words: str):
    failed = told(bare, **changes)
    assert "hl-unproved" in failed and f"the error of {words} the tolerance of float32 on cpu." in failed


def test_numbers_that_an_intervention_sets_are_named_and_torch_is_left_out(bare: Bare):
    without = {"torch_errors": {}, "torch_worst": "", "torch_share_of_tolerance": 0.0}
    words = told(bare, ("pattern", "z"), torch_reason="intervention", **without)
    assert (
        "hl-proved" in words
        and "12,345 numbers, largest error 2.0e-07 against float64. torch.nn.MultiheadAttention is not compared"
        in words
    )
    assert "Numbers of A, Z are set by an intervention, so they do not follow from their formulas." in words


def test_the_terms_of_the_chosen_pair_add_up_to_its_score(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, target="Le chat", attention="cross", layer=1, head=2, query=1, key=3)
    figure.why(data)
    drawn = bare.figures["steps-why"]
    source, target = data.model_run.inputs
    site = "decoder.blocks.1.cross_attn.hook_attn_scores"
    model, _ = tc.load("checkpoints/en-fr")
    with torch.inference_mode(), tc.capture(model, site) as activations:
        model(torch.tensor([source]), torch.tensor([target]))
    score = float(activations[site][0, 2, 1, 3])
    values = drawn.arrays["score"]
    assert values.sum() == pytest.approx(score, abs=1e-4)
    assert drawn.rows[0] == "source of the query,source of the key,score" and len(drawn.rows) == 1 + values.size
    n_rows, n_columns = values.shape
    assert float(drawn.rows[n_columns].rsplit(",", 1)[1]) == pytest.approx(float(values[0, -1]), rel=1e-4)
    assert n_rows > n_columns, "the decoder's query has more terms than the encoder's key"
    title = html.unescape(drawn.title).replace("\u2068", "").replace("\u2069", "")
    assert title == f"Score: query 1 '{data.labels[0][1]}' → key 3 '{data.labels[1][3]}', cross-attention L1.H2"
    assert "They sum to" in bare.words and f"{score:.4f}".replace("-", "−") in bare.words
    assert "Layer norms in between are treated as linear" in bare.words
    assert figure.FORBIDDEN not in bare.words


def test_a_key_that_the_mask_hides_says_so(bare: Bare, look: Look):
    for query, key in ((1, 2), (2, 1)):
        bare.clear()
        figure.why(look("stories", text="The cat sat", attention="decoder", layer=0, head=0, query=query, key=key))
        assert (figure.FORBIDDEN in bare.words) == (key > query)


@pytest.mark.usefixtures("fresh_caches")
def test_a_cut_text_keeps_the_target_that_was_typed(look: Look, monkeypatch: pytest.MonkeyPatch):
    typed = {"text": "The cat sees the dog.", "target": "Le chien voit", "attention": "cross", "layer": 0, "head": 0}
    whole = look("en-fr", **typed).model_run.inputs
    monkeypatch.setattr(steps_data, "MOST_TOKENS", len(whole[1]))
    cut = look("en-fr", **typed).model_run.inputs
    assert len(whole[0]) > len(whole[1])
    assert [*cut[0]] == [*whole[0]][: len(whole[1]) - 1] + [*whole[0]][-1:], "<eos> stays"
    assert [*cut[1]] == [*whole[1]]


def test_many_heads_are_folded_up_and_one_attention_is_no_choice(
    bare: Bare, look: Look, monkeypatch: pytest.MonkeyPatch
):
    for most, widget in ((3, "box"), (4, "segments")):
        monkeypatch.setattr(figure, "MOST_BESIDE", most)
        figure.controls(look("en-fr", text=TEXT, attention="cross", layer=1, head=2))
        key = f"{state.HEAD.key}-{widget}"
        assert bare.widgets[key].options == [0, 1, 2, 3] and bare.session[key] == 2
        assert bare.widgets[state.LAYER.key + "-segments"].options == [0, 1]
        attention = bare.widgets[state.ATTENTION.key + "-segments"]
        assert attention.options == ["encoder", "decoder", "cross"]
        assert attention.names == [ATTENTIONS[name].title for name in attention.options]
    figure.controls(look("fill-in", text=TEXT))
    assert state.ATTENTION.key + "-segments" not in bare.widgets
    assert bare.widgets[state.LAYER.key + "-segments"].options == [0, 1, 2, 3]
