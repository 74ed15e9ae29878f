"""The page Film under AppTest: any text at any moment, what is sent, and the code that it shows."""

import base64
import html
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pages.shared import runs
from pages.train.film import film_readings
from tests.pages.conftest import component, overview_of, shown_code, url_of, words_of
from tests.pages.train.film_page import ARCHITECTURES, Models, OpenApp, figures_of, heatmap_of, pictures_of
from tests.pages.train.small_films import APPEARS_AT, EXAMPLES, STEPS, TEXTS, patterns_by_hand
from transformer_core.analysis.texts.fixed_text import fix_text
from transformer_core.analysis.trace.attentions import ATTENTIONS
from transformer_core.analysis.training.head_history import rule
from transformer_core.figures import frames
from transformer_core.training.run.film import Film


def test_a_bare_link_shows_a_film(open_film: OpenApp):
    app = open_film()
    assert url_of(app)["run"] in ARCHITECTURES
    header, _ = overview_of(app)
    assert header["film"]["steps"] == [*STEPS]
    assert header["film"]["step"]["value"] == STEPS[-1]  # the last snapshot
    assert "4 snapshots from step 0 to 60" in words_of(app)
    assert "of 5 MB" in words_of(app)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_each_snapshot_is_what_its_model_computes(open_film: OpenApp, made: tuple[Path, Models], name: str):
    text = EXAMPLES[ARCHITECTURES[name]][0]
    app = open_film(run=name, text=text, snapshot="4", layer="1", head="2")
    last, tokenizer = Film(made[0] / name).load(STEPS[-1])
    fixed = fix_text(last, tokenizer, text)
    header, strongest, levels = pictures_of(app)
    groups = overview_of(app)[0]["groups"]
    at = 0
    for place_of, model in enumerate(made[1][name]):
        n_before = 0
        for group in groups:
            attention = ATTENTIONS[group["attention"]]
            for layer in range(group["layers"]):
                by_hand = patterns_by_hand(model, attention.site(layer), *fixed.inputs)
                for head, pattern in enumerate(by_hand):
                    seen = np.frombuffer(levels[at : at + pattern.size], np.uint8).reshape(pattern.shape)
                    allowed = seen != 255
                    np.testing.assert_allclose(seen[allowed] / 254, pattern[allowed], atol=0.51 / 254)
                    assert not pattern[~allowed].any()
                    query, key, hundredths = strongest[place_of, n_before + layer * group["heads"] + head].tolist()
                    assert pattern[query, key] == pytest.approx(hundredths / 100, abs=0.0051)
                    at += pattern.size
            n_before += group["layers"] * group["heads"]
    assert at == len(levels) and header["frames"] == len(STEPS)
    site = ATTENTIONS[overview_of(app)[0]["chosen"]["value"]["attention"]].site(1)
    np.testing.assert_allclose(heatmap_of(app), patterns_by_hand(made[1][name][1], site, *fixed.inputs)[2], atol=1e-6)


@pytest.mark.parametrize(
    "parameters",
    [
        {"run": "pairs", "snapshot": "4", "attention": "encoder", "layer": "0", "head": "3"},
        {"run": "pairs", "snapshot": "0", "target": "The cat's \"dog\" {} %s '''", "text": "It's “the” \\ <unk>"},
        {"run": "pairs", "text": "the cat " * 60, "target": "the dog " * 60},
        {"run": "tales", "snapshot": "20", "layer": "0", "head": "1", "text": "the cat " * 60},
        {"run": "gaps", "snapshot": "4"},
    ],
    ids=range(5),
)
def test_the_shown_code_computes_the_shown_numbers(open_film: OpenApp, parameters: dict[str, str]):
    app = open_film(**parameters)
    assert not app.warning
    namespace: dict[str, np.ndarray] = {}
    exec(compile(shown_code(app), "shown", "exec"), namespace)
    np.testing.assert_allclose(heatmap_of(app), np.asarray(namespace["pattern"]), atol=1e-6)


def test_the_url_holds_the_view(open_film: OpenApp):
    view = {"run": "pairs", "snapshot": "4", "text": "The cat.", "attention": "decoder", "head": "3"}
    app = open_film(**view, layer="0")
    assert url_of(app) == view  # without what is as usual
    assert overview_of(app)[0]["chosen"]["value"] == {"attention": "decoder", "layer": 0, "head": 3}
    assert overview_of(app)[0]["film"]["step"]["value"] == 4
    assert app.text_input(key="run-text").value == "The cat."


def test_moving_along_the_film_sends_the_pictures_once(open_film: OpenApp):
    app = open_film(run="pairs")
    pictures, heatmap = component(app, "film").bytes, heatmap_of(app)
    app.session_state["run-snapshot"] = 4
    app.run()
    assert component(app, "film").bytes == pictures
    assert overview_of(app)[0]["film"]["step"]["value"] == 4
    assert url_of(app)["snapshot"] == "4"
    assert "Output after step 4" in words_of(app)
    assert not np.allclose(heatmap_of(app), heatmap)


def test_another_text_is_read_at_all_snapshots_and_they_are_led_along_a_typed_target(open_film: OpenApp):
    app = open_film(run="pairs", snapshot="4", target="the dog sees")
    assert overview_of(app)[0]["film"]["labels"]["cross"]["queries"] == ["<bos>", "the", "dog", "sees"]
    assert "your target" in words_of(app)
    app.text_input(key="run-target").set_value("").run()
    assert "the output of step 60" in words_of(app) and "target" not in url_of(app)
    app.text_input(key="run-text").set_value("  The dog\tsleeps. ").run()
    assert not app.exception
    header = overview_of(app)[0]["film"]
    assert header["labels"]["encoder"]["keys"] == ["The", "dog", "sleeps", ".", "<eos>"]
    assert header["step"]["value"] == 4 and url_of(app)["text"] == "The dog sleeps."


def test_the_lines_above_the_slider_are_loss_and_probability(open_film: OpenApp):
    app = open_film(run="pairs", text=TEXTS[0])
    loss, probability = overview_of(app)[0]["film"]["lines"]
    assert (loss["name"], loss["values"]) == ("loss", [4.0, 3.8, 3.0, 1.0])
    assert probability["name"] == "probability"
    for snapshot, value in zip(STEPS, probability["values"], strict=True):
        assert 0 <= value <= 1
        said = f"<b>{value:.2f}</b>" if value >= 0.005 else "<b>below 0.01</b>"
        app.session_state["run-snapshot"] = snapshot
        app.run()
        assert said in words_of(app)


def test_what_appears_is_listed_and_a_click_goes_there(open_film: OpenApp):
    app = open_film(run="pairs", snapshot="0", attention="encoder")
    assert str(rule()) in html.unescape(words_of(app))
    (mark,) = overview_of(app)[0]["film"]["marks"]
    assert mark["place"] == STEPS.index(APPEARS_AT)
    assert "becomes a previous-token head at step 20" in mark["words"]
    before = overview_of(app)[0]["film"]["step"]
    app.button(key="film-appearance-0").click().run()
    assert not app.exception
    header = overview_of(app)[0]
    assert header["chosen"]["value"] == {"attention": "decoder", "layer": 0, "head": 1}
    assert header["film"]["step"]["value"] == APPEARS_AT
    assert header["film"]["step"]["revision"] > before["revision"]
    assert url_of(app)["snapshot"] == "20"


@pytest.mark.usefixtures("fresh_caches")
@pytest.mark.parametrize("n_tokens", [9, 12])
def test_a_text_is_read_as_far_as_all_its_patterns_have_room(
    place: Path, monkeypatch: pytest.MonkeyPatch, n_tokens: int
):
    """Bytes for so many tokens on each side, in three attentions of two layers and four heads, at four snapshots."""
    monkeypatch.setattr(film_readings, "MOST_PATTERN_BYTES", 4 * (3 * 2 * 4) * 4 * n_tokens**2)
    run = runs.find("pairs")
    assert run is not None
    fixed = film_readings.fixed(run, STEPS, "the cat sees the dog " * 9, "le chat " * 20)
    assert [len(side) for side in fixed.inputs] == [n_tokens, n_tokens]


@pytest.mark.usefixtures("fresh_caches")
def test_too_many_frames_are_thinned_and_pooled(open_film: OpenApp, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(frames, "fit_frames", partial(frames.fit_frames, n_bytes=15_000))
    app = open_film(run="pairs", text="the cat " * 30, snapshot="4")
    header, _, levels = pictures_of(app)
    assert header["frames"] == 2 and len(levels) <= 15_000
    assert all(group["rows"] <= 16 and group["columns"] <= 16 for group in header["groups"])
    assert "A browser can hold 2 of these snapshots; 2 are left out" in words_of(app)
    assert "maximum over several cells" in words_of(app)
    assert overview_of(app)[0]["film"]["steps"] == [0, 60]


def test_the_numbers_can_be_taken_away(open_film: OpenApp):
    app = open_film(run="pairs", text="The cat.", snapshot="4", attention="encoder", other="0")
    for name in ("pairs-loss", "pairs-heads-previous"):  # the snapshot is marked
        shapes = figures_of(app)[name]["layout"]["shapes"]
        assert any(shape.get("x0") == shape.get("x1") == 4 for shape in shapes)
    figures = [c.proto for c in app.get("bidi_component") if c.proto.component_name == "headlight.figure"]
    for figure in figures:  # the menu of each is opened
        app.session_state[figure.id.split("-", 2)[2]] = {"open": 1}
    app.run()
    sent = [c.proto for c in app.get("bidi_component") if c.proto.component_name == "headlight.figure"]
    tables = {
        name.removesuffix(".csv"): base64.b64decode(content).decode()
        for data in (json.loads(proto.json) for proto in sent)
        for name, content in data["files"].items()
    }
    assert tables["pairs-step4-encoder-layer0-head0"].startswith("query,query_token,key,key_token,allowed,weight\n")
    assert tables["pairs-loss"] == "step,loss\n0,4.0\n4,3.8\n20,3.0\n60,1.0\n"
    assert tables["pairs-heads-previous"].splitlines()[0].count(".H") == 24
    assert len(tables) == 6
