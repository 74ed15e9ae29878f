"""The Film page under AppTest: any text at any moment, what is sent, the code that it shows, and faults."""

import html
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from headlight.analysis.texts.fixed_text import fix_text
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures.heatmaps import overview
from pages.shared.view.long_texts import MAX_PLAIN
from tests.pages.conftest import OpenApp, component, overview_of, shown_code, url_of, words_of
from tests.pages.train.film_page import ARCHITECTURES, Models, heatmap_of, pictures_of
from tests.pages.train.small_films import APPEARS_AT, EXAMPLES, STEPS, patterns_by_hand
from transformer_core.training.run.film import Film


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_each_snapshot_is_what_its_model_computes(open_film: OpenApp, trained: tuple[Path, Models], name: str):
    text = EXAMPLES[ARCHITECTURES[name]][0]
    app = open_film(run=name, text=text, snapshot="4", layer="1", head="2")
    last, tokenizer = Film(trained[0] / name).load(STEPS[-1])
    fixed = fix_text(last, tokenizer, text)
    header, strongest, levels = pictures_of(app)
    at = 0
    for of_snapshot, model in zip(strongest, trained[1][name], strict=True):
        patterns = [
            pattern
            for group in overview_of(app)[0]["groups"]
            for layer in range(group["layers"])
            for pattern in patterns_by_hand(model, ATTENTIONS[group["attention"]].site(layer), *fixed.inputs)
        ]
        for (query, key, hundredths), pattern in zip(of_snapshot.tolist(), patterns, strict=True):
            seen = np.frombuffer(levels[at : at + pattern.size], np.uint8).reshape(pattern.shape)
            allowed = seen != 255
            np.testing.assert_allclose(seen[allowed] / 253, pattern[allowed], atol=0.51 / 253)
            assert not pattern[~allowed].any()
            assert pattern[query, key] == pytest.approx(hundredths / 100, abs=0.0051)
            at += pattern.size
    assert at == len(levels) and header["frames"] == len(STEPS)
    site = ATTENTIONS[overview_of(app)[0]["chosen"]["value"]["attention"]].site(1)
    np.testing.assert_allclose(
        heatmap_of(app), patterns_by_hand(trained[1][name][1], site, *fixed.inputs)[2], atol=1e-6
    )


@pytest.mark.parametrize(
    "parameters",
    [
        {"run": "pairs", "snapshot": "0", "target": "The cat's \"dog\" {} %s '''", "text": "It's “the” \\ <unk>"},
        {"run": "pairs", "text": "the cat " * 160, "target": "the dog " * 60},
        {"run": "tales", "snapshot": "20", "layer": "0", "head": "1", "text": "the cat " * 60},
        {"run": "gaps", "snapshot": "4"},
    ],
    ids=range(4),
)
def test_the_shown_code_computes_the_shown_numbers(open_film: OpenApp, parameters: dict[str, str]):
    app = open_film(**parameters)
    assert not app.warning and ("packed" in url_of(app)) == (len(parameters.get("text", "")) > MAX_PLAIN)
    namespace: dict[str, np.ndarray] = {}
    exec(compile(shown_code(app), "shown", "exec"), namespace)
    np.testing.assert_allclose(heatmap_of(app), np.asarray(namespace["pattern"]), atol=1e-6)


def test_the_url_holds_the_view_and_moving_along_the_film_sends_the_pictures_once(open_film: OpenApp):
    """Each snapshot has a point on the lines above the slider: the loss, and the probability that the page says."""
    view = {"run": "pairs", "snapshot": "4", "text": "The cat.", "attention": "decoder", "head": "3"}
    app = open_film(**view, layer="0")
    assert url_of(app) == view  # without what is as usual
    assert json.loads(component(app, "figure").json)["about"] == "pairs: The cat."
    pictures, header = component(app, "film").bytes, overview_of(app)[0]
    assert header["chosen"]["value"] == {"attention": "decoder", "layer": 0, "head": 3}
    loss, probability = header["film"]["lines"]
    assert (loss["name"], loss["values"]) == ("loss", [4.0, 3.8, 3.0, 1.0])
    heatmaps = []
    for snapshot, value in zip(STEPS, probability["values"], strict=True):
        app.session_state["run-snapshot"] = snapshot
        app.run()
        assert component(app, "film").bytes == pictures
        assert overview_of(app)[0]["film"]["step"]["value"] == snapshot and f"step {snapshot}" in words_of(app)
        assert (f"<b>{value:.2f}</b>" if value >= 0.005 else "<b>below 0.01</b>") in words_of(app)
        heatmaps.append(heatmap_of(app))
    assert len({heatmap.tobytes() for heatmap in heatmaps}) == len(STEPS)


def test_another_text_is_read_at_all_snapshots_and_they_are_led_along_a_typed_target(open_film: OpenApp):
    app = open_film(run="pairs", snapshot="4", target="the dog sees")
    assert overview_of(app)[0]["film"]["labels"]["cross"]["queries"] == ["<bos>", "the", "dog", "sees"]
    assert "your target" in words_of(app)
    app.text_input(key="run-target-line").set_value("").run()
    assert "the output of step 60" in words_of(app) and "target" not in url_of(app)
    app.text_input(key="run-text-line").set_value("  The dog\tsleeps. ").run()
    assert not app.exception
    header = overview_of(app)[0]["film"]
    assert header["labels"]["encoder"]["keys"] == ["The", "dog", "sleeps", ".", "<eos>"]
    assert header["step"]["value"] == 4 and url_of(app)["text"] == "  The dog\tsleeps. "


def test_what_appears_is_listed_and_a_click_goes_there(open_film: OpenApp):
    app = open_film(snapshot="0", run="pairs", attention="encoder")
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
def test_too_many_frames_are_thinned_and_pooled(open_film: OpenApp, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(overview, "MOST_FILM_BYTES", 15_000)
    app = open_film(run="pairs", text="the cat " * 30, snapshot="4")
    header, _, levels = pictures_of(app)
    assert header["frames"] == 2 and len(levels) <= 15_000
    assert all(group["queries"] <= 16 and group["keys"] <= 16 for group in header["groups"])
    assert "A browser can hold 2 of these snapshots; 2 are left out" in words_of(app)
    assert "maximum over several cells" in words_of(app)
    assert overview_of(app)[0]["film"]["steps"] == [0, 60]


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"run": "<script>", "head": "1e3", "snapshot": "", "layer": "²"}, "There is no training"),
        ({"snapshot": "9" * 4000, "other": "7"}, "no snapshot at step 7, so A is step 4"),
        ({"attention": "<b>", "layer": "2"}, "There is no attention"),
        ({"snapshot": "7", "head": "99", "other": "-1"}, "head 3 is shown instead"),
        ({"layer": "²", "other": "gaps", "packed": "%%%"}, "it is damaged"),
    ],
)
def test_a_url_that_asks_for_what_does_not_exist(open_film: OpenApp, parameters: dict[str, str], sentence: str):
    app = open_film(**{"run": "pairs", "layer": "1"} | parameters)
    assert sentence in html.unescape(words_of(app))
    assert "<script>" not in words_of(app)
    assert overview_of(app)[0]["film"]["steps"] == [*STEPS]
    app.run()
    assert not app.exception


def test_a_damaged_snapshot_is_left_out_and_the_last_whole_one_leads_the_others(open_film: OpenApp, place: Path):
    for step in (20, 60):
        (place / "pairs" / "film" / f"{step:06}" / "model.safetensors").write_bytes(b"nothing")
    app = open_film(run="pairs", snapshot="20")
    assert "Snapshots of step 20, 60 are damaged and skipped" in words_of(app)
    assert overview_of(app)[0]["film"]["steps"] == [0, 4]
    assert "the output of step 4" in words_of(app) and url_of(app)["snapshot"] == "4"
    for step in STEPS:
        (place / "tales" / "film" / f"{step:06}" / "model.safetensors").write_bytes(b"nothing")
    assert "These snapshots cannot be shown" in open_film(run="tales").warning[0].value


@pytest.mark.parametrize("file", ["film/heads.jsonl", "metrics.jsonl", "run.json"])
def test_damaged_records_are_a_calm_sentence(open_film: OpenApp, place: Path, file: str):
    (place / "pairs" / file).write_text("{nonsense\n{}\n")
    app = open_film(run="pairs")
    assert "cannot be read" in words_of(app) + "".join(caption.value for caption in app.caption)


def test_without_snapshots_or_trainings_there_is_a_sentence(open_film: OpenApp, place: Path):
    (place / "tales" / "film" / "heads.jsonl").unlink()
    assert "No head of this training specialized" in words_of(open_film(run="tales"))
    for n_kept, sentence in ((1, "has one snapshot, step 0"), (0, "pairs has no snapshots; its snapshots no longer")):
        for step in STEPS[n_kept:]:
            shutil.rmtree(place / "pairs" / "film" / f"{step:06}", ignore_errors=True)
        app = open_film(run="pairs")
        assert sentence in words_of(app) and not app.get("bidi_component")
    path = place / "pairs" / "run.json"
    values = json.loads(path.read_text())
    values["training"]["film_megabytes"] = 0
    path.write_text(json.dumps(values))
    shutil.rmtree(place / "pairs" / "film")
    assert "snapshots are turned off (film_megabytes is 0)" in words_of(open_film(run="pairs"))
    shutil.rmtree(place)
    assert "There is no training yet" in words_of(open_film())
