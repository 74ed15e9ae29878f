"""The parts of the page, drawn bare: the figure, the open number, the proof, and why a score is what it is."""

import html
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.steps import figure, number, proof, step_texts, view_fields, walkthroughs, why
from pages.learn.steps.view_fields import MatrixCell
from pages.shared.recipe import Print, script
from pages.shared.view import state
from tests.pages.learn.bare import Bare, run_lines, unpacked
from tests.pages.learn.steps.conftest import Look
from transformer_core.analysis.trace.attentions import ATTENTIONS
from transformer_core.analysis.walkthrough.records import Proof

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
    assert len(header["query"]) == len(target) and header["isSelf"] is False
    at = header["at"]["value"]
    assert (at["stage"], at["query"], at["key"], at["cell"]) == ("mask", 1, 2, None)
    assert (header["head"], header["nHeads"], header["dHead"]) == (3, 4, 32)


def test_self_attention_says_so_and_marks_the_open_cell(bare: Bare, look: Look):
    cell = MatrixCell("scaled", 1, 2)
    data = look("en-fr", text=TEXT, attention="encoder", layer=0, head=0, query=1, cell=cell)
    figure.draw(data)
    header = header_of(bare)
    assert header["isSelf"] is True and header["at"]["value"]["cell"] == ["scaled", 1, 2]
    assert header["at"]["value"]["key"] == 2, "the key of the open number"
    assert next(stage["name"] for stage in header["stages"]) == "input"


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


def test_a_number_is_shown_where_one_is_open_and_can_be_closed(bare: Bare, look: Look):
    number.show(look("en-fr", text=TEXT))
    assert "Click any number in the figure" in bare.words and not bare.buttons
    data = look("en-fr", text=TEXT, attention="encoder", layer=0, head=1, query=1, cell=MatrixCell("pattern", 1, 2))
    number.show(data)
    assert data.number is not None
    assert data.number.value == pytest.approx(float(data.walk.quantities["pattern"].values[1, 2]))
    button = bare.buttons["steps-close"]
    button["on_click"](*button["args"])
    assert view_fields.CELL.value is None


def test_every_stage_has_a_title_and_every_title_a_sentence():
    """A stage's sentence may depend on the model; then the name of its sentence begins with the stage's."""
    for name in step_texts.TITLES:
        assert any(notice == name or notice.startswith(f"{name} ") for notice in step_texts.NOTICES)


def test_what_is_shown_of_quantities_are_the_rows_and_columns_of_the_shown_tokens(bare: Bare, look: Look):
    data = look("en-fr", text=LONG, attention="encoder", layer=0, head=0, query=30)
    queries, keys = data.shown
    whole = data.walk.quantities["pattern"].values
    shown = next(one for one in data.quantities if one.name == "pattern").values
    np.testing.assert_array_equal(shown, whole[queries.start : queries.stop, keys.start : keys.stop])
    assert 30 in queries and len(queries) == 24 and not bare.texts


NOWHERE = ("input", None, None, None)


@pytest.mark.parametrize(
    ("told", "chosen"),
    [
        ({"stage": "z", "query": 2, "key": 1, "cell": ["z", 2, 3]}, ("z", 2, 1, MatrixCell("z", 2, 3))),
        ({"stage": "z", "query": 2, "key": None, "cell": None}, ("z", 2, None, None)),
        ({"stage": "<b>", "query": -1, "key": "1", "cell": ["z", 2]}, NOWHERE),
        ({"stage": 3, "query": True, "key": 2.5, "cell": ["z.1", 1, 1]}, NOWHERE),
        ({"stage": None, "query": 10**9, "key": -3, "cell": ["z", -1, 0]}, NOWHERE),
        ("nonsense", NOWHERE),
    ],
)
def test_what_the_figure_tells_is_checked(bare: Bare, told: object, chosen: tuple[Any, ...]):
    bare.session[view_fields.FIGURE] = {"view": {"revision": 1, "value": told}}
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
    made = Proof(**USUAL | changes)
    symbols = {"z": SimpleNamespace(symbol="Z"), "pattern": SimpleNamespace(symbol="A")}
    walk = SimpleNamespace(proof=lambda: made, quantities=symbols, intervened=intervened)
    proof.show(SimpleNamespace(walk=walk))  # type: ignore[arg-type]
    (words,) = bare.texts
    bare.clear()
    return words


def test_numbers_that_agree_are_verified_with_both_largest_errors(bare: Bare):
    words = told(bare)
    assert (
        "12,345 numbers, largest error 2.0e-07 against float64, 3.0e-07 against torch.nn.MultiheadAttention." in words
    )
    assert "hl-proved" in words and "The model computes in" not in words
    assert "largest error 0 against float64" in told(bare, largest=0.0)
    assert "hl-proved" in told(bare, share_of_tolerance=1.0, torch_share_of_tolerance=1.0), "all of it may be taken"
    words = told(bare, dtype="bfloat16", device="cuda", torch_reason="It has no biases")
    assert words.index("It has no biases.") < words.index("The model computes in bfloat16 on cuda.")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"share_of_tolerance": 3.0}, "Z against float64, 2.0e-07, is 3.0 times"),
        ({"torch_share_of_tolerance": 4.0}, "output against torch.nn.MultiheadAttention, 1.0e-07, is 4.0 times"),
        ({"share_of_tolerance": 1.5, "torch_share_of_tolerance": 1.25}, "Z against float64, 2.0e-07, is 1.5 times"),
    ],
)
def test_numbers_that_do_not_agree_say_which_and_by_how_much(bare: Bare, changes: dict[str, Any], words: str):
    failed = told(bare, **changes)
    assert "hl-unproved" in failed and f"the error of {words} the tolerance of float32 on cpu." in failed


def test_numbers_that_an_intervention_sets_are_named_and_torch_is_left_out(bare: Bare):
    without = {"torch_errors": {}, "torch_worst": "", "torch_share_of_tolerance": 0.0}
    words = told(bare, ("pattern", "z"), torch_reason="It is left out", **without)
    assert "hl-proved" in words and "12,345 numbers, largest error 2.0e-07 against float64. It is left out." in words
    assert "An intervention sets numbers of A, Z, which do not follow from their formulas." in words
    assert "intervention" not in told(bare)


def test_the_terms_of_the_chosen_pair_add_up_to_its_score(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, target="Le chat", attention="cross", layer=1, head=2, query=1, key=3)
    why.show(data)
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
    assert n_rows > n_columns, "the decoder's query has more behind it than the encoder's key"
    title = html.unescape(drawn.title).replace("\u2068", "").replace("\u2069", "")
    assert title == f"Score: query 1 '{data.labels[0][1]}' → key 3 '{data.labels[1][3]}', cross-attention L1.H2"
    assert "They sum to" in bare.words and f"{score:.4f}".replace("-", "−") in bare.words
    assert "Layer norms in between are treated as linear" in bare.words
    assert why.FORBIDDEN not in bare.words


def test_a_key_that_the_mask_hides_says_so(bare: Bare, look: Look):
    data = look("stories", text="The cat sat", attention="decoder", layer=0, head=0, query=1, key=2)
    why.show(data)
    assert why.FORBIDDEN in bare.words
    bare.clear()
    why.show(look("stories", text="The cat sat", attention="decoder", layer=0, head=0, query=2, key=1))
    assert why.FORBIDDEN not in bare.words


def split(*, bias: object = None, frozen: bool = False) -> Any:
    return SimpleNamespace(largest_error=2e-6, bias=bias, has_frozen_norms=frozen)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (split(), "They sum to 0.25, the score before masking, to within 2e-06."),
        (split(bias=np.ones(1)), "They sum to 0.25, to within 2e-06; the position bias adds −3."),
        (split(frozen=True), f"They sum to 0.25, the score before masking, to within 2e-06. {why.FROZEN}"),
    ],
)
def test_the_sum_is_of_the_chosen_cell_with_its_bias(made: Any, told: str):
    scores, bias = np.arange(12.0).reshape(3, 4), np.zeros((3, 4))
    scores[1, 2], bias[1, 2] = 0.25, -3
    quantities = {"scaled": scores, "bias": bias, "mask": np.ones((3, 4))}
    walk = SimpleNamespace(quantities={name: SimpleNamespace(values=values) for name, values in quantities.items()})
    data: Any = SimpleNamespace(walk=walk, query=1, key=2, scores="scaled")
    words = why._sum(data, made).replace(".2500", ".25").replace("3.0000", "3")
    assert words == told


@pytest.mark.usefixtures("fresh_caches")
@pytest.mark.parametrize(("less", "n_left_out"), [(0, 0), (1, 1), (3, 3)])
def test_a_text_is_cut_where_it_is_longer_than_a_walk_may_be(
    look: Look, monkeypatch: pytest.MonkeyPatch, less: int, n_left_out: int
):
    text = f"The cat sees {less + 2} dogs."
    n = len(tc.load("checkpoints/fill-in")[1].encode_for(text, "encoder_only"))
    monkeypatch.setattr(walkthroughs, "MOST_TOKENS", n - less)
    assert len(look("fill-in", text=text, layer=0, head=0).model_run.inputs[0]) == n - n_left_out


def test_the_lines_walk_through_the_chosen_head(look: Look):
    data = look("en-fr", text="The cat sleeps.", target="Le chat", attention="cross", layer=1, head=3)
    names, _ = run_lines(script(Print(data.walk_recipe)))
    site = "decoder.blocks.1.cross_attn.hook_pattern"
    model, _ = tc.load("checkpoints/en-fr")
    with torch.inference_mode(), tc.capture(model, site) as activations:
        model(*(torch.tensor([ids]) for ids in data.model_run.inputs))
    for walk in (names["walk_through"], data.walk):
        np.testing.assert_allclose(walk.quantities["pattern"].values, activations[site][0, 3], atol=1e-5)


@pytest.mark.usefixtures("fresh_caches")
def test_a_cut_text_keeps_the_target_that_was_typed(look: Look, monkeypatch: pytest.MonkeyPatch):
    typed = {"text": "The cat sees the dog.", "target": "Le chien voit", "attention": "cross", "layer": 0, "head": 0}
    whole = look("en-fr", **typed).model_run.inputs
    monkeypatch.setattr(walkthroughs, "MOST_TOKENS", len(whole[1]))
    cut = look("en-fr", **typed).model_run.inputs
    assert len(whole[0]) > len(whole[1])
    assert [*cut[0]] == [*whole[0]][: len(whole[1]) - 1] + [*whole[0]][-1:], "<eos> stays"
    assert [*cut[1]] == [*whole[1]]
