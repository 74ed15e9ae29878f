"""The page Positions: every encoding in every part, the published table, what it says of models, and its lines."""

import base64
import html
import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.learn.positions import model as positions_model
from pages.learn.positions import view_fields
from pages.learn.positions.components import dials as positions_dials
from pages.shared.view import state
from tests.model.test_positions import ROWS
from tests.pages.conftest import EXAMPLES, component, shown_code, through_history, url_of, values_of, words_of

pytestmark = pytest.mark.slow
OpenApp = Callable[..., AppTest]
ENCODER = {"architecture": "encoder_only", "n_decoder_layers": 0, "positions": "rotary_interleaved"}
KINDS: dict[str, dict[str, Any]] = {
    "en-fr": {"positions": "sinusoidal_halves"},
    "learned": {"architecture": "decoder_only", "n_encoder_layers": 0, "positions": "learned"},
    "rotary": ENCODER,
    "buckets": ENCODER | {"positions": "relative_buckets"},
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small random model of several encodings."""
    folder = tmp_path_factory.mktemp("checkpoints")
    for name, choices in KINDS.items():
        tokenizer = tc.train_tokenizer(EXAMPLES, kind="word", vocab_size=60, mask="n_decoder_layers" in choices)
        sizes: dict[str, Any] = {
            "vocab_size": tokenizer.vocab_size,
            "d_model": 16,
            "d_ff": 16,
            "n_heads": 2,
            "max_seq_len": 24,
        }
        layers = {"n_encoder_layers": 1, "n_decoder_layers": 1, "tie_embeddings": "target"}
        model = tc.build(tc.ModelConfig(**(sizes | layers | choices)), seed=1)
        tc.save(folder / name, model, tokenizer, {"title": name.title(), "examples": [EXAMPLES[1]]})
    return folder


@pytest.fixture
def open_positions(open_app: OpenApp, models: Path, monkeypatch: pytest.MonkeyPatch) -> OpenApp:
    """Opens the page at an address with these parameters."""
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(models))

    def open_at(**parameters: str) -> AppTest:
        app = open_app("positions", **parameters)
        assert not app.exception
        return app

    return open_at


def go_to(app: AppTest, **parameters: str) -> None:
    """Open the page at another address."""
    for name in [*url_of(app)]:
        del app.query_params[name]
    for name, value in parameters.items():
        app.query_params[name] = value
    with through_history():
        app.switch_page("learn/positions/page.py").run()
    assert not app.exception


def figures_of(app: AppTest) -> dict[str, dict[str, Any]]:
    """The figures on the page by their titles, as plotly's JSON."""
    protos = [c.proto for c in app.get("bidi_component") if c.proto.component_name == "headlight.figure"]
    figures = [json.loads(json.loads(proto.json)["figure"]) for proto in protos]
    return {figure["layout"]["title"]["text"]: figure for figure in figures}


def run_lines(app: AppTest) -> dict[str, Any]:
    """Run the lines of "Show the code"; return what they define."""
    names: dict[str, Any] = {}
    with redirect_stdout(io.StringIO()):
        exec(shown_code(app), names)
    return names


def test_the_published_table_is_on_the_screen_cell_by_cell(open_positions: OpenApp):
    app = open_positions(encoding="sinusoidal_interleaved", n="10", width="6")
    (figure,) = figures_of(app).values()
    shown = {
        (y, x): float(text.replace("\u2212", "-"))
        for trace in figure["data"][1:]
        for y, x, text in zip(
            *(np.array(unpacked(trace[part])).tolist() for part in ("y", "x")), trace["text"], strict=True
        )
    }
    assert shown == {(pos, column): ROWS[pos][column] for pos in range(10) for column in range(6)}
    over = [text.split("÷ ")[1] for text in figure["layout"]["xaxis"]["ticktext"]]
    assert over == ["1.00000", "1.00000", "21.5443", "21.5443", "464.159", "464.159"]
    names = run_lines(app)
    np.testing.assert_array_equal(names["table"].values.round(4), np.array(ROWS, dtype=np.float32))


def unpacked(numbers: Any) -> Any:
    """Numbers as plotly packs them, or a list of them."""
    return values_of({"z": numbers | {"shape": f"1,{_n(numbers)}"}})[0] if isinstance(numbers, dict) else numbers


def _n(numbers: dict[str, str]) -> int:
    return len(base64.b64decode(numbers["bdata"])) // np.dtype(numbers["dtype"]).itemsize


def test_a_first_visitor_sees_the_well_known_picture(open_positions: OpenApp):
    app = open_positions()
    (figure,) = figures_of(app).values()
    values = values_of(figure["data"][0])
    assert values.shape == (20, 512)
    assert (values[0, :256] == 0).all() and (values[0, 256:] == 1).all()
    assert figure["layout"]["shapes"][0]["x0"] == 255.5
    assert not {"encoding", "part", "n", "width"} & set(url_of(app))


def test_every_encoding_has_its_parts_and_each_is_drawn(open_positions: OpenApp):
    own = {"learned": "learned", "rotary_interleaved": "rotary", "relative_buckets": "buckets"}
    app = open_positions()
    for encoding, parts in view_fields.PARTS_OF.items():
        model = {"model": own[encoding]} if encoding in own else {}
        for part in parts:
            go_to(app, encoding=encoding, part=part, n="12", **model)
            assert figures_of(app), (encoding, part)
            assert "What to look for:" in words_of(app)
            assert app.segmented_control[0].options[-1] == "Ablation"
            run_lines(app)
    go_to(app, encoding="alibi", part="table")
    assert app.segmented_control[0].value == "bias"


def test_learned_positions_of_a_model_that_has_none(open_positions: OpenApp):
    app = open_positions(encoding="learned")
    assert "Learned positions are model weights, and En-Fr has none" in words_of(app)
    app.button(key="positions-open-learned").click().run()
    assert not app.exception and app.session_state[state.MODEL.key] == "learned"
    (figure,) = figures_of(app).values()
    assert values_of(figure["data"][0]).shape == (24, 16)


def test_controls_lead_to_addresses_and_back(open_positions: OpenApp):
    app = open_positions()
    app.button(key="positions-published").click().run()
    wanted = {"encoding": "sinusoidal_interleaved", "n": "10", "width": "6", "part": "table"}
    assert wanted.items() <= url_of(app).items()
    app.button(key="positions-own").click().run()
    assert "encoding" not in url_of(app) and url_of(app)["n"] == "24" and url_of(app)["width"] == "16"
    app.selectbox(key="positions-encoding-box").select("alibi").run()
    assert not app.exception and url_of(app)["encoding"] == "alibi"
    go_to(app, encoding="waves", n="900", width="7", part="all", dims="x", places="1", seed="-1")
    assert not app.exception and words_of(app).count("The address asks for") == 7
    for name in ("encoding", "n", "width", "part", "dims", "places", "seed"):
        assert f"{name} “" in words_of(app)


@pytest.mark.parametrize("sees", ["past", "all"])
def test_each_cell_has_the_bucket_of_its_distance_where_the_query_sees_the_key(open_positions: OpenApp, sees: str):
    """T5's first buckets are a distance each: 16 of 32 of what came before, or 8 of 16 on either side."""
    app = open_positions(encoding="relative_buckets", part="bias", n="8", sees=sees)
    values = values_of(figures_of(app)["Bucket by query and key"]["data"][0])
    later = np.nan if sees == "past" else 16
    expected = [[q - k if k <= q else later + k - q for k in range(8)] for q in range(8)]
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("model", ["en-fr", "rotary"])
def test_in_the_model_the_parts_add_up_and_words_are_shuffled(open_positions: OpenApp, model: str):
    head = {"model": model, "text": EXAMPLES[0], "attention": "encoder", "layer": "0", "head": "1"}
    app = open_positions(part="model", **head)
    figures = figures_of(app)
    (parts,) = (figure for title, figure in figures.items() if title.startswith("Scores of"))
    matrices = [values_of(trace) for trace in parts["data"] if trace.get("coloraxis") == "coloraxis3"]
    np.testing.assert_allclose(sum(matrices[:-1]), matrices[-1], atol=1e-4)
    found = run_lines(app)["found"]
    np.testing.assert_allclose(matrices[-1], found.scores, atol=1e-5)
    assert np.nansum([*found.shares().values()]) == pytest.approx(1, abs=1e-6)
    go_to(app, part="model", **{"in": "shuffle"}, seed="2", **head)
    found = run_lines(app)["found"]
    figures = figures_of(app)
    drawn = values_of(figures["L0.H1: shuffled"]["data"][0])
    np.testing.assert_allclose(drawn, found.shuffled[0, 1], atol=1e-6)
    for which, order in enumerate(("original order", "shuffled")):
        layout = figures[f"L0.H1: {order}"]["layout"]
        for axis, labels in (("xaxis", found.key_labels), ("yaxis", found.query_labels)):
            assert [html.unescape(label) for label in layout[axis]["ticktext"]] == [*labels[which]]
    assert found.key_labels[0] != found.key_labels[1]
    np.testing.assert_allclose(values_of(figures["Words (1) or positions (−1)"]["data"][0]), found.follows, atol=1e-6)
    assert found.text in words_of(app).replace("&#39;", "'")
    app.button(key="positions-order").click().run()
    assert url_of(app)["seed"] == "3"


def test_the_dials_get_the_heads_own_query_and_key(open_positions: OpenApp):
    app = open_positions(
        model="rotary",
        encoding="rotary_interleaved",
        vectors="model",
        tokens="3.1",
        text=EXAMPLES[0],
        layer="0",
        head="1",
    )
    data = json.loads(component(app, "dials").json)
    dials = run_lines(app)["dials"]
    np.testing.assert_allclose(data["query"], dials.hands[0], rtol=1e-6)
    np.testing.assert_allclose(data["key"], dials.hands[1], rtol=1e-6)
    assert data["places"]["value"] == [3, 1] and data["n"] == 128 and len(data["speeds"]) == 4


def test_the_hands_go_where_another_token_stands(open_positions: OpenApp):
    app = open_positions(
        model="rotary",
        encoding="rotary_interleaved",
        vectors="model",
        text=EXAMPLES[0],
        tokens="3.1",
        places="9.2",
    )
    assert json.loads(component(app, "dials").json)["places"]["value"] == [9, 2]
    next(box for box in app.selectbox if box.label == "Query of").select_index(4).run()
    assert not app.exception
    assert json.loads(component(app, "dials").json)["places"]["value"] == [4, 1]
    next(box for box in app.selectbox if box.label == "Key of").select_index(0).run()
    assert json.loads(component(app, "dials").json)["places"]["value"] == [4, 0]


def test_what_the_dials_send_is_checked(monkeypatch: pytest.MonkeyPatch):
    for sent, expected in (
        ([5, 2], (5, 2)),
        ([5, 12], None),
        ([-1, 2], None),
        (["a", 1], None),
        ({}, None),
        (None, None),
    ):
        monkeypatch.setattr(st, "session_state", {"k": {"places": {"revision": 1, "value": sent}}})
        assert positions_dials.sent_places("k", 10) == expected


def test_of_a_long_text_the_first_tokens_are_drawn_and_all_are_counted(
    open_positions: OpenApp, monkeypatch: pytest.MonkeyPatch
):
    parameters = {"part": "model", "attention": "encoder", "layer": "0", "head": "0"}
    whole = json.loads(component(open_positions(**parameters), "figure").json)["figure"]
    monkeypatch.setattr(positions_model, "MOST_DRAWN", 4)
    app = open_positions(**parameters)
    assert "the matrices show its first 4 tokens" in words_of(app)
    cut = json.loads(component(app, "figure").json)["figure"]
    for before, after in zip(json.loads(whole)["data"], json.loads(cut)["data"], strict=True):
        if "z" in after:
            np.testing.assert_array_equal(values_of(after), values_of(before)[:4, :4])
    assert [note["text"] for note in json.loads(cut)["layout"]["annotations"]] == [  # the shares, of all tokens
        note["text"] for note in json.loads(whole)["layout"]["annotations"]
    ]
    assert "Encoding" not in [box.label for box in app.selectbox]  # a model has the one that it has


@pytest.mark.parametrize(("typed", "taken"), [(0, 1), (100_000, 512)])
def test_too_few_and_too_many_positions_give_way_to_what_there_can_be(open_positions: OpenApp, typed: int, taken: int):
    app = open_positions(model="en-fr", encoding="sinusoidal_halves", part="table")
    box = app.number_input(key="positions-n-box")
    assert (box.min, box.max) == (None, None), "a browser keeps to itself what is beyond limits"
    box.set_value(typed).run()
    assert not app.exception
    assert app.number_input(key="positions-n-box").value == taken and url_of(app)["n"] == str(taken)
