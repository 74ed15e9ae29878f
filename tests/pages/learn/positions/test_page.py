"""The Positions page: every encoding in every part, the published table, what it says of models, and its lines."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.learn.positions import view_fields
from pages.shared.view import state
from tests.pages.conftest import EXAMPLES, OpenApp, shown_code, through_history, url_of, values_of, words_of
from tests.pages.learn.bare import run_lines

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


def test_a_first_visitor_sees_the_well_known_picture(open_positions: OpenApp):
    app = open_positions()
    (figure,) = figures_of(app).values()
    values = values_of(figure["data"][0])
    assert values.shape == (20, 512)
    assert (values[0, :256] == 0).all() and (values[0, 256:] == 1).all()
    assert not {"encoding", "part", "n", "width"} & set(url_of(app))


def test_every_encoding_is_drawn_in_some_part(open_positions: OpenApp):
    own = {"learned": "learned", "rotary_interleaved": "rotary", "relative_buckets": "buckets"}
    app = open_positions()
    for place, (encoding, parts) in enumerate(view_fields.PARTS_OF.items()):
        if not parts:
            continue
        part = parts[place % len(parts)]
        go_to(app, encoding=encoding, part=part, n="12", **({"model": own[encoding]} if encoding in own else {}))
        assert figures_of(app), (encoding, part)
    go_to(app, encoding="alibi", part="table")
    assert app.segmented_control[0].value == "bias"


def test_shuffled_words_are_drawn_as_the_lines_compute_them(open_positions: OpenApp):
    head = {"model": "rotary", "text": EXAMPLES[0], "attention": "encoder", "layer": "0", "head": "1"}
    app = open_positions(part="model", **{"in": "shuffle"}, seed="2", **head)
    actual = run_lines(shown_code(app))[0]["found"]
    figures = figures_of(app)
    np.testing.assert_allclose(values_of(figures["L0.H1: shuffled"]["data"][0]), actual.shuffled[0, 1], atol=1e-6)
    np.testing.assert_allclose(values_of(figures["Words (1) or positions (−1)"]["data"][0]), actual.follows, atol=1e-6)
    app.button(key="positions-order").click().run()
    assert url_of(app)["seed"] == "3"


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
    assert not app.exception and words_of(app).count("The address has") == 7


def test_too_few_and_too_many_positions_give_way_to_what_there_can_be(open_positions: OpenApp):
    app = open_positions(model="en-fr", encoding="sinusoidal_halves", part="table")
    for typed, taken in ((0, 1), (100_000, 512)):
        box = app.number_input(key="positions-n-box")
        assert (box.min, box.max) == (None, None), "a browser keeps to itself what is beyond limits"
        box.set_value(typed).run()
        assert not app.exception
        assert app.number_input(key="positions-n-box").value == taken and url_of(app)["n"] == str(taken)
