"""How much of an encoding the page Positions shows, of whose weights, and the numbers that it draws, by hand."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from tests.model.building import DECODER
from tests.pages.conftest import EXAMPLES, component, url_of, words_of
from tests.pages.explore.decoding.decoding_parts import arrays_of, files_of, sent

pytestmark = pytest.mark.slow
OpenApp = Callable[..., AppTest]
KINDS: dict[str, dict[str, Any]] = {
    "learned": {"positions": "learned"},
    "rotary": DECODER | {"positions": "rotary_halves", "rotary_base": 300.0, "n_kv_heads": 1, "d_head": 10},
    "alibi": DECODER | {"positions": "alibi"},
    "buckets": {"positions": "relative_buckets"},
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small random model of several encodings; the stacks of the first have other positions."""
    folder = tmp_path_factory.mktemp("checkpoints")
    for name, changes in KINDS.items():
        tokenizer = tc.train_tokenizer(EXAMPLES, kind="word", vocab_size=60)
        sizes: dict[str, Any] = {"vocab_size": tokenizer.vocab_size, "d_model": 24, "d_ff": 20, "n_heads": 3}
        layers = {"n_encoder_layers": 1, "n_decoder_layers": 2, "max_seq_len": 26, "tie_embeddings": "target"}
        model = tc.build(tc.ModelConfig(**(sizes | layers | changes)), seed=1)
        tc.save(folder / name, model, tokenizer, {"title": name.title(), "examples": [EXAMPLES[1]]})
    return folder


@pytest.fixture
def open_positions(open_app: OpenApp, models: Path, monkeypatch: pytest.MonkeyPatch) -> OpenApp:
    """Opens the page at an address with these parameters."""
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(models))

    def open_at(**parameters: str) -> AppTest:
        app = open_app("positions", **{"model": "buckets"} | parameters)
        assert not app.exception
        return app

    return open_at


def drawn(app: AppTest, name: str) -> dict[str, Any]:
    """A figure, as plotly's JSON."""
    return dict(json.loads(sent(app, f"positions-figure-{name}")["figure"]))


def taken(app: AppTest, name: str) -> dict[str, np.ndarray]:
    """The arrays that are taken away with a figure."""
    return arrays_of(files_of(app, f"positions-figure-{name}"))


@pytest.mark.parametrize("attention", ["encoder", "decoder", "cross"])
def test_learned_positions_are_those_of_the_stack_of_the_chosen_attention(
    open_positions: OpenApp, models: Path, attention: str
):
    """Those of cross-attention are its queries', the decoder's; n leaves out the last ones."""
    model, _ = tc.load(models / "learned")
    stack = model.encoder if attention == "encoder" else model.decoder
    assert stack is not None
    rows = next(weights for name, weights in stack.named_parameters() if "pos" in name).detach().numpy()
    address = {"model": "learned", "encoding": "learned", "part": "table", "attention": attention}
    for n, n_shown in (("", 26), ("7", 7), ("400", 26)):
        app = open_positions(**address, **({"n": n} if n else {}))
        np.testing.assert_allclose(taken(app, "table")["table"], rows[:n_shown], atol=1e-6)
        title = drawn(app, "table")["layout"]["title"]["text"]
        assert f"{n_shown} positions, 24 dimensions" in title
        assert ("of the encoder" in title) == (attention == "encoder")


@pytest.mark.parametrize(
    ("encoding", "part", "figure", "array", "shape"),
    [
        ("sinusoidal_halves", "waves", "wavelengths", "wavelengths", (512,)),
        ("sinusoidal_halves", "products", "products", "products", (64, 64)),
        ("sinusoidal_halves", "shift", "shift", "matrix", (16, 16)),
        ("sinusoidal_halves", "shift", "residual", "turned", (59,)),
        ("rotary_halves", "table", "table", "table", (64, 32)),
        ("rotary_halves", "dials", "turned", "product", (255,)),
        ("rotary_halves", "dials", "turned", "speeds", (16,)),
        ("alibi", "bias", "bias", "bias", (8, 32)),
        ("alibi", "bias", "bias-matrix", "bias", (32, 32)),
        ("relative_buckets", "bias", "buckets", "bucket", (160,)),
    ],
)
def test_of_each_part_so_much_is_seen_first(
    open_positions: OpenApp, encoding: str, part: str, figure: str, array: str, shape: tuple[int, ...]
):
    app = open_positions(model="learned", encoding=encoding, part=part)
    assert taken(app, figure)[array].shape == shape


def test_rotary_sizes_and_base_are_the_models_own_where_it_has_them(open_positions: OpenApp):
    app = open_positions(model="rotary", encoding="rotary_halves")
    speeds = taken(app, "turned")["speeds"]
    np.testing.assert_allclose(speeds, 300.0 ** (-2 * np.arange(5) / 10), rtol=1e-6)
    app = open_positions(model="rotary", encoding="rotary_halves", part="waves")
    waves = taken(app, "wavelengths")["wavelengths"]
    np.testing.assert_allclose(np.unique(waves.round(6)), (2 * math.pi / speeds).round(6), rtol=1e-5)
    assert "600π" in str(drawn(app, "wavelengths"))
    app = open_positions(model="rotary", encoding="sinusoidal_halves", part="waves")
    assert "20,000π" in str(drawn(app, "wavelengths"))
    app = open_positions(model="rotary", encoding="rotary_halves", width="200")
    assert len(taken(app, "turned")["speeds"]) == 64 and "Showing 128 dimensions" in words_of(app)
    app = open_positions(model="rotary", encoding="rotary_halves", width="128")
    assert len(taken(app, "turned")["speeds"]) == 64 and "Showing" not in words_of(app)


def test_the_dot_product_at_each_distance_is_that_of_turned_vectors(open_positions: OpenApp):
    """Two numbers of a pair are the parts of a complex number, and to turn it is to multiply it."""
    address = {"model": "rotary", "encoding": "rotary_halves", "vectors": "model", "layer": "1", "head": "2"}
    app = open_positions(**address, text=EXAMPLES[0], tokens="3.1", n="9")
    arrays = taken(app, "turned")
    hands = [of[..., 0] + 1j * of[..., 1] for of in (arrays["query"], arrays["key"])]
    data = json.loads(component(app, "dials").json)
    for distance, product in zip(arrays["distance"], arrays["product"], strict=True):
        turned = hands[0] * np.exp(1j * arrays["speeds"] * distance)
        expected = (turned * hands[1].conj()).real.sum()
        assert product == pytest.approx((expected + data["rest"]) * data["scale"], abs=1e-5)
    assert arrays["distance"].tolist() == [*range(-8, 9)]
    lines = [s for s in drawn(app, "turned")["layout"]["shapes"] if s["x0"] == s["x1"]]
    assert [line["x0"] for line in lines] == [2], "query minus key"
    assert data["places"]["value"] == [3, 1]
    app = open_positions(**address, text=EXAMPLES[2], tokens="30.2", n="9")
    (n_tokens,) = (len(box.options) for box in app.selectbox if box.label == "Query of")
    assert json.loads(component(app, "dials").json)["places"]["value"] == [min(n_tokens - 1, 8), 2]


@pytest.mark.parametrize(
    ("n_heads", "head", "named"), [("4", "3", 4), ("12", "5", 12), ("13", "5", 3), ("16", "99", 2)]
)
def test_the_lines_of_alibi_have_the_published_slopes(open_positions: OpenApp, n_heads: str, head: str, named: int):
    app = open_positions(encoding="alibi", heads=n_heads, slope=head, n="7")
    chosen = min(int(head), int(n_heads) - 1)
    lines, matrix = taken(app, "bias")["bias"], taken(app, "bias-matrix")["bias"]
    query, key = np.indices((7, 7))
    seen = key <= query
    np.testing.assert_allclose(matrix[seen], lines[chosen][(query - key)[seen]], atol=1e-6)
    if n_heads != "12" and n_heads != "13":  # as published for powers of two
        slopes = 2.0 ** (-8 * np.arange(1, int(n_heads) + 1) / int(n_heads))
        np.testing.assert_allclose(lines, -slopes[:, None] * np.arange(7), rtol=1e-5)
    traces = drawn(app, "bias")["data"]
    legend = {trace["name"] for trace in traces if trace.get("showlegend") is not False and trace.get("name")}
    assert len(legend) == named and any(f"head {chosen}: slope" in name for name in legend)


def test_heads_with_slopes_are_the_models_own_where_it_has_them(open_positions: OpenApp):
    assert taken(open_positions(model="alibi", encoding="alibi"), "bias")["bias"].shape == (3, 32)
    assert taken(open_positions(model="learned", encoding="alibi"), "bias")["bias"].shape == (8, 32)


def test_what_a_model_learned_for_its_buckets_is_of_the_chosen_stack_and_head(open_positions: OpenApp, models: Path):
    model, _ = tc.load(models / "buckets")
    for attention, stack in (("encoder", "encoder"), ("decoder", "decoder")):
        app = open_positions(encoding="relative_buckets", attention=attention, slope="2", n="5")
        lines, matrix = taken(app, "bias"), taken(app, "bias-matrix")["bias"]
        weights = (
            next(
                w
                for name, w in model.named_parameters()
                if name.startswith(stack) and "bias" in name.lower() and w.ndim == 2 and 3 in w.shape
            )
            .detach()
            .numpy()
        )
        weights = weights if weights.shape[0] == 3 else weights.T
        distance = lines["distance"].tolist()
        for query in range(5):
            for key in range(query + 1):
                assert matrix[query, key] == pytest.approx(lines["bias"][2][distance.index(key - query)])
                assert matrix[query, key] == pytest.approx(weights[2][query - key], abs=1e-6), (
                    "short distances have one each"
                )


def test_chosen_dimensions_are_those_there_are(open_positions: OpenApp):
    app = open_positions(encoding="sinusoidal_interleaved", part="waves", width="8", n="30", dims="3.900.6")
    arrays = taken(app, "waves")
    assert arrays["dimensions"].tolist() == [3, 6]
    position = np.arange(30)
    np.testing.assert_allclose(arrays["values"][:, 0], np.cos(position / 10_000 ** (2 / 8)), atol=1e-5)
    np.testing.assert_allclose(arrays["values"][:, 1], np.sin(position / 10_000 ** (6 / 8)), atol=1e-5)
    assert url_of(app)["dims"].startswith("3.")
    app = open_positions(encoding="sinusoidal_halves", part="waves", width="8", n="30")
    waves = taken(app, "wavelengths")["wavelengths"]
    np.testing.assert_allclose(waves, np.tile(2 * math.pi * 10_000 ** (np.arange(4) / 4), 2), rtol=1e-5)
    figure = drawn(app, "wavelengths")
    assert [trace["name"] for trace in figure["data"] if trace.get("name")][:2] == ["sines", "cosines"]


def test_a_shift_is_told_with_what_it_leaves(open_positions: OpenApp):
    """R takes each row to the row k places on; a shift beyond the table is the longest that there is."""
    app = open_positions(encoding="sinusoidal_halves", part="shift", n="12", width="6", shift="4")
    arrays = taken(app, "shift")
    angles = 4 / 10_000 ** (np.arange(3) / 3)
    rotation = np.block(
        [[np.diag(np.cos(angles)), np.diag(np.sin(angles))], [-np.diag(np.sin(angles)), np.diag(np.cos(angles))]]
    )
    np.testing.assert_allclose(arrays["matrix"], rotation, atol=1e-6)
    left = taken(app, "residual")
    assert len(left["turned"]) == 8 and left["turned"].max() < 1e-5 < left["unturned"].min() and left["k"] == 4
    assert re.search(r"PE\(pos \+ 4\).* at all 8 positions", words_of(app))
    app = open_positions(encoding="sinusoidal_halves", part="shift", n="12", width="6", shift="50")
    assert taken(app, "residual")["k"] == 11
    app = open_positions(encoding="sinusoidal_halves", part="shift", n="1")
    assert not app.slider and taken(app, "residual")["k"] == 1
