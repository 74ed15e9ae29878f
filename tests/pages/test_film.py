"""The page Film under AppTest: any text at any moment, each bad input, and the code that it shows."""

import html
import json
import shutil
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.shared import runs
from tests.pages.conftest import component, overview_of, url_of, values_of, words_of
from tests.pages.small_films import APPEARS_AT, EXAMPLES, STEPS, TEXTS, patterns_by_hand, save_run, with_heads_turned
from transformer_core.analysis import ATTENTIONS
from transformer_core.analysis.fixed_text import fix_text
from transformer_core.analysis.head_history import RULE
from transformer_core.config import Architecture
from transformer_core.figures import frames
from transformer_core.training.film import Film
from transformer_core.training.launch import Launcher
from transformer_core.training.run_directory import RunDirectory

OpenApp = Callable[..., AppTest]
Models = dict[str, list[tc.Transformer]]
ARCHITECTURES: dict[str, Architecture] = {"pairs": "encoder_decoder", "tales": "decoder_only", "gaps": "encoder_only"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Models]:
    """A folder with a run of each architecture, and the models of their moments."""
    folder = tmp_path_factory.mktemp("runs")
    return folder, {name: save_run(folder / name, architecture=kind) for name, kind in ARCHITECTURES.items()}


@pytest.fixture
def place(made: tuple[Path, Models], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The app's runs, which may be changed; there are no models, and nothing is started ahead."""
    shutil.copytree(made[0], tmp_path / "runs")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path / "none"))
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(Launcher, "warm_up", lambda self: None)
    return tmp_path / "runs"


@pytest.fixture
def open_film(place: Path, open_app: OpenApp) -> OpenApp:
    """Opens the page, as a new visitor."""

    def open_at(**parameters: str) -> AppTest:
        app = open_app().switch_page("train/film.py")
        for name, value in parameters.items():
            app.query_params[name] = value
        app.run()
        assert not app.exception
        return app

    return open_at


def pictures_of(app: AppTest) -> tuple[dict[str, Any], np.ndarray, bytes]:
    """What is played: its header, the strongest cells [frame, head, 3], and the levels."""
    data = component(app, "film").bytes
    (length,) = struct.unpack("<I", data[:4])
    header = json.loads(data[4 : 4 + length])
    n_heads = sum(group["heads"] for group in header["groups"])
    end = 4 + length + 6 * n_heads * header["frames"]
    return header, np.frombuffer(data[4 + length : end], "<u2").reshape(header["frames"], n_heads, 3), data[end:]


def figures_of(app: AppTest) -> dict[str, dict[str, Any]]:
    """The figures, by the names of their files."""
    found = [c.proto for c in app.get("bidi_component") if c.proto.component_name == "headlight.figure"]
    sent = [json.loads(proto.json) for proto in found]
    return {data["name"]: json.loads(data["figure"]) for data in sent}


def heatmap_of(app: AppTest) -> np.ndarray:
    """The chosen head at the chosen moment; 0 where the mask forbids."""
    (figure,) = (f for f in figures_of(app).values() if title_of(f).startswith("Attention pattern after step"))
    return pattern_in(figure)


def pattern_in(figure: dict[str, Any]) -> np.ndarray:
    return np.nan_to_num(values_of(next(trace for trace in figure["data"] if trace["name"] == "attention")))


def title_of(figure: dict[str, Any]) -> str:
    return str(figure["layout"].get("title", {}).get("text", ""))


def test_a_bare_link_shows_a_film(open_film: OpenApp):
    app = open_film()
    assert url_of(app)["run"] in ARCHITECTURES
    header, _ = overview_of(app)
    assert header["film"]["steps"] == [*STEPS]
    assert header["film"]["place"] == len(STEPS) - 1  # the last moment
    assert "4 moments from step 0 to 60" in words_of(app)
    assert "MB of at most 5 MB" in words_of(app)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_each_moment_is_what_its_model_computes(open_film: OpenApp, place: Path, made: tuple[Path, Models], name: str):
    text = EXAMPLES[ARCHITECTURES[name]][0]
    app = open_film(run=name, text=text, moment="4", layer="1", head="2")
    last, tokenizer = Film(place / name).load(STEPS[-1])
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
    site = ATTENTIONS[overview_of(app)[0]["chosen"]["attention"]].site(1)
    np.testing.assert_allclose(heatmap_of(app), patterns_by_hand(made[1][name][1], site, *fixed.inputs)[2], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {"run": "pairs"},
        {"run": "pairs", "moment": "4", "attention": "encoder", "layer": "0", "head": "3"},
        {"run": "pairs", "moment": "0", "target": "The cat's \"dog\" {} %s '''", "text": "It's “the” \\ <unk>"},
        {"run": "pairs", "text": "the cat " * 60, "target": "the dog " * 60},
        {"run": "tales", "moment": "20", "layer": "0", "head": "1"},
        {"run": "tales", "text": "the cat " * 60},
        {"run": "gaps", "moment": "4"},
    ],
    ids=range(7),
)
def test_the_shown_code_computes_the_shown_numbers(open_film: OpenApp, parameters: dict[str, str]):
    app = open_film(**parameters)
    assert not app.warning
    namespace: dict[str, np.ndarray] = {}
    exec(compile(app.code[0].value, "shown", "exec"), namespace)
    np.testing.assert_allclose(heatmap_of(app), np.asarray(namespace["pattern"]), atol=1e-6)


def test_the_url_holds_the_view(open_film: OpenApp):
    view = {"run": "pairs", "moment": "4", "text": "The cat.", "attention": "decoder", "layer": "0", "head": "3"}
    app = open_film(**view)
    assert url_of(app) == view
    assert overview_of(app)[0]["chosen"] == {"attention": "decoder", "layer": 0, "head": 3}
    assert overview_of(app)[0]["film"]["place"] == STEPS.index(4)
    assert app.text_input(key="run-text").value == "The cat."


def test_moving_along_the_film_sends_the_pictures_once(open_film: OpenApp):
    app = open_film(run="pairs")
    pictures, heatmap = component(app, "film").bytes, heatmap_of(app)
    app.session_state["moment"] = 4
    app.run()
    assert component(app, "film").bytes == pictures
    assert overview_of(app)[0]["film"]["place"] == STEPS.index(4)
    assert url_of(app)["moment"] == "4"
    assert "After step 4 it writes" in words_of(app)
    assert not np.allclose(heatmap_of(app), heatmap)


def test_another_text_is_read_at_all_moments(open_film: OpenApp):
    app = open_film(run="pairs", moment="4")
    app.text_input(key="run-text").set_value("  The dog\tsleeps. ").run()
    assert not app.exception
    header = overview_of(app)[0]["film"]
    assert header["labels"]["encoder"]["keys"] == ["The", "dog", "sleeps", ".", "<eos>"]
    assert header["place"] == STEPS.index(4)
    assert url_of(app)["text"] == "The dog sleeps."


def test_the_moments_are_led_along_a_typed_target(open_film: OpenApp):
    app = open_film(run="pairs", target="the dog sees")
    assert overview_of(app)[0]["film"]["labels"]["cross"]["queries"] == ["<bos>", "the", "dog", "sees"]
    assert "which you typed" in words_of(app)
    app.text_input(key="run-target").set_value("").run()
    assert "what step 60 writes" in words_of(app)
    assert "target" not in url_of(app)


def test_the_lines_above_the_slider_are_loss_and_probability(open_film: OpenApp, made: tuple[Path, Models]):
    app = open_film(run="pairs", text=TEXTS[0])
    loss, probability = overview_of(app)[0]["film"]["lines"]
    assert (loss["name"], loss["values"]) == ("loss", [4.0, 3.8, 3.0, 1.0])
    assert probability["name"] == "probability"
    for moment, value in zip(STEPS, probability["values"], strict=True):
        assert 0 <= value <= 1
        said = f"<b>{value:.2f}</b>" if value >= 0.005 else "<b>below 0.01</b>"
        app.session_state["moment"] = moment
        app.run()
        assert said in words_of(app)


def test_what_appears_is_listed_and_a_click_goes_there(open_film: OpenApp):
    app = open_film(run="pairs", moment="0", attention="encoder")
    assert html.escape(RULE) in words_of(app)
    (mark,) = overview_of(app)[0]["film"]["marks"]
    assert mark["place"] == STEPS.index(APPEARS_AT)
    assert "appears as a previous-token head at step 20" in mark["words"]
    wish = overview_of(app)[0]["film"]["wish"]
    app.button(key="film-appearance-0").click().run()
    assert not app.exception
    header = overview_of(app)[0]
    assert header["chosen"] == {"attention": "decoder", "layer": 0, "head": 1}
    assert header["film"]["place"] == STEPS.index(APPEARS_AT)
    assert header["film"]["wish"] > wish
    assert url_of(app)["moment"] == "20"


def test_heads_over_time_and_loss_are_marked(open_film: OpenApp):
    figures = figures_of(open_film(run="pairs", moment="20"))
    for name in ("pairs-loss", "pairs-heads-previous"):
        lines = [shape for shape in figures[name]["layout"]["shapes"] if shape.get("x0") == shape.get("x1") == 20]
        assert lines


def test_two_moments_and_their_difference(open_film: OpenApp, place: Path):
    app = open_film(run="pairs", moment="20", other="0", text=TEXTS[0], attention="decoder", layer="1", head="0")
    figures = figures_of(app)
    a, b = (
        pattern_in(figures["pairs-A-step0-decoder-layer1-head0"]),
        pattern_in(figures["pairs-B-step20-decoder-layer1-head0"]),
    )
    np.testing.assert_array_equal(b, heatmap_of(app))
    difference = figures["pairs-difference-decoder-layer1-head0"]
    shown = values_of(next(trace for trace in difference["data"] if trace["name"] == "difference"))
    np.testing.assert_allclose(np.nan_to_num(shown), b - a, atol=1e-6)
    app.select_slider(key="film-other-step").set_value(60).run()
    assert url_of(app)["other"] == "60"
    app.select_slider(key="film-other-step").set_value(20).run()
    assert "A and B are the same moment" in words_of(app)


def test_two_moments_begin_with_the_untrained_model(open_film: OpenApp):
    app = open_film(run="pairs", moment="20")
    app.segmented_control(key="film-comparison").select("Two moments").run()
    assert not app.exception
    assert url_of(app)["other"] == "0"
    app.segmented_control(key="film-comparison").select("Nothing").run()
    assert "other" not in url_of(app)


def save_turned(place: Path, models: list[tc.Transformer]) -> None:
    """Write "turned": the models of "pairs", with the heads of each layer in another order."""
    shutil.copytree(place / "pairs", place / "turned")
    for step, model in zip(STEPS, models, strict=True):
        Film(place / "turned").add(step, with_heads_turned(model, 1))


def test_heads_of_two_trainings_are_matched_by_what_they_do(open_film: OpenApp, place: Path, made: tuple[Path, Models]):
    save_turned(place, made[1]["pairs"])
    app = open_film(run="pairs", moment="20", attention="decoder", layer="1", head="3")
    app.segmented_control(key="film-comparison").select("Two trainings").run()
    assert not app.exception
    assert url_of(app)["other"] == "turned"
    assert "by where they look, <b>1.00</b>" in words_of(app)
    assert "A head’s number means nothing" in words_of(app)
    figures = figures_of(app)
    ours, theirs = pattern_in(figures["pairs-decoder-layer1-head3"]), pattern_in(figures["turned-decoder-layer1-head0"])
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    matrix = figures["pairs-turned-heads"]
    alike = values_of(matrix["data"][0])
    for number in range(8):
        assert alike[number, number // 4 * 4 + (number + 1) % 4] == pytest.approx(1)
    app.button(key="film-pair-of-0-2").click().run()
    assert overview_of(app)[0]["chosen"] == {"attention": "decoder", "layer": 0, "head": 2}


def test_the_same_can_be_trained_with_another_seed(open_film: OpenApp, place: Path, monkeypatch: pytest.MonkeyPatch):
    asked: list[tuple[str, list[str]]] = []

    def start(name: str, arguments: list[str]) -> None:
        asked.append((name, arguments))
        save_run(place / name, seed=5)

    monkeypatch.setattr(runs, "start", start)
    save_run(place / "again", seed=4)
    app = open_film(run="pairs", other="again")
    app.button(key="film-sibling").click().run()
    assert not app.exception
    ((name, arguments),) = asked
    assert name == "pairs-seed5"
    assert arguments == [
        "--corpus",
        "tales",
        "--preset",
        "tiny",
        "--set",
        "dropout=0.2",
        "--seed",
        "5",
        "--device",
        "auto",
    ]
    assert url_of(app)["other"] == "pairs-seed5"
    assert "pairs-pairs-seed5-heads" in figures_of(app)


def test_runs_of_another_shape_are_not_offered(open_film: OpenApp):
    app = open_film(run="pairs")
    app.segmented_control(key="film-comparison").select("Two trainings").run()
    assert not app.exception
    assert "There is no other training of this shape" in words_of(app)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"run": "nothing"}, "There is no training “nothing” here"),
        ({"run": "../pairs"}, "There is no training"),
        ({"run": "<script>"}, "There is no training"),
        ({"moment": "7"}, "no moment at step 7, so you see step 4"),
        ({"moment": "9" * 4000}, "so you see step 60"),
        ({"moment": "soon"}, "moment “soon”"),
        ({"attention": "self"}, "There is no attention “self”"),
        ({"attention": "<b>"}, "There is no attention"),
        ({"layer": "2"}, "There is no layer 2"),
        ({"head": "99"}, "so you see layer 1, head 3"),
        ({"layer": "-1"}, "layer “-1”"),
        ({"head": "1e3", "moment": "", "layer": "²"}, "no whole number"),
    ],
)
def test_a_url_that_asks_for_what_does_not_exist(open_film: OpenApp, parameters: dict[str, str], sentence: str):
    app = open_film(**{"run": "pairs", "layer": "1"} | parameters)
    assert sentence in html.unescape(words_of(app))
    assert "<script>" not in words_of(app)
    assert overview_of(app)[0]["film"]["steps"] == [*STEPS]
    app.run()
    assert not app.exception
    assert sentence not in html.unescape(words_of(app))  # said once


@pytest.mark.slow
@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ("7", "no moment at step 7, so A is step 4"),
        ("9" * 90, "so A is step 60"),
        ("nobody", "no other training of this shape"),
        ("-1", "no other training of this shape"),
        ("gaps", "no other training of this shape"),
    ],
)
def test_a_comparison_with_what_does_not_exist(open_film: OpenApp, other: str, sentence: str):
    app = open_film(run="pairs", other=other)
    assert sentence in words_of(app)
    assert overview_of(app)[0]["film"]["steps"] == [*STEPS]
    app.run()
    assert not app.exception


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "<script>window.stolen = 1</script>",
        "'''\\n\"\"\"\\",
        "{text!r} {0} %s",
        "مرحبا",
        "🙂👩‍👩‍👧",
        "a\x00b",
        "Ǆ" * 3000,
    ],
)
def test_any_text_is_shown_as_text(open_film: OpenApp, text: str):
    app = open_film(run="pairs")
    app.text_input(key="run-text").set_value(text).run()
    assert not app.exception
    assert "<script>" not in words_of(app)
    app.text_input(key="run-target").set_value(text).run()
    assert not app.exception
    assert "<script>" not in words_of(app)


def test_a_damaged_moment_is_left_out(open_film: OpenApp, place: Path):
    (place / "pairs" / "film" / "000020" / "model.safetensors").write_bytes(b"nothing")
    app = open_film(run="pairs", moment="20")
    assert "What was kept of step 20 is damaged and left out" in words_of(app)
    assert overview_of(app)[0]["film"]["steps"] == [0, 4, 60]
    assert url_of(app)["moment"] == "4"


def test_a_film_whose_last_moment_is_damaged_is_led_by_the_one_before(open_film: OpenApp, place: Path):
    (place / "pairs" / "film" / "000060" / "model.safetensors").write_bytes(b"nothing")
    app = open_film(run="pairs")
    assert "what step 20 writes" in words_of(app)
    assert url_of(app)["moment"] == "20"


def test_a_film_without_a_whole_moment_is_a_calm_sentence(open_film: OpenApp, place: Path):
    for step in STEPS:
        (place / "pairs" / "film" / f"{step:06}" / "model.safetensors").write_bytes(b"nothing")
    app = open_film(run="pairs")
    assert "This film cannot be shown" in app.warning[0].value


@pytest.mark.parametrize(
    ("file", "sentence"),
    [("film/heads.jsonl", "cannot be read"), ("metrics.jsonl", "cannot be read"), ("run.json", "cannot be read")],
)
def test_damaged_records_are_a_calm_sentence(open_film: OpenApp, place: Path, file: str, sentence: str):
    (place / "pairs" / file).write_text("{nonsense\n{}\n")
    app = open_film(run="pairs")
    assert sentence in words_of(app) + "".join(caption.value for caption in app.caption)


@pytest.mark.parametrize(
    ("n_kept", "sentence"),
    [(0, "pairs has no film; its snapshots are not there any more"), (1, "has one moment, step 0")],
)
def test_a_film_that_cannot_be_played(open_film: OpenApp, place: Path, n_kept: int, sentence: str):
    for step in STEPS[n_kept:]:
        shutil.rmtree(place / "pairs" / "film" / f"{step:06}")
    app = open_film(run="pairs")
    assert sentence in words_of(app)
    assert not app.get("bidi_component")


def test_a_run_that_was_asked_for_no_film(open_film: OpenApp, place: Path):
    path = place / "pairs" / "run.json"
    values = json.loads(path.read_text())
    values["training"]["film_megabytes"] = 0
    path.write_text(json.dumps(values))
    shutil.rmtree(place / "pairs" / "film")
    assert "it was asked for none (film_megabytes is 0)" in words_of(open_film(run="pairs"))


def test_without_trainings_there_is_a_sentence(open_film: OpenApp, place: Path):
    shutil.rmtree(place)
    assert "There is no training here yet" in words_of(open_film())


def test_a_training_that_goes_on_says_how_far_it_is(open_film: OpenApp, place: Path):
    directory = RunDirectory.open(place / "pairs")
    directory.claim()
    directory.write_status("running", step=41)
    app = open_film(run="pairs")
    assert "pairs is being trained: step 41 of 60" in words_of(app)
    assert overview_of(app)[0]["film"]["steps"] == [*STEPS]
    directory.write_status("finished", step=60)
    directory.release()
    app.run()
    assert "is being trained" not in words_of(app)


def test_too_many_frames_are_thinned_and_pooled(open_film: OpenApp, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(frames, "fit_frames", partial(frames.fit_frames, n_bytes=15_000))
    app = open_film(run="pairs", text="the cat " * 30, moment="4")
    header, _, levels = pictures_of(app)
    assert header["frames"] == 2 and len(levels) <= 15_000
    assert all(group["rows"] <= 16 and group["columns"] <= 16 for group in header["groups"])
    assert "A browser has room for 2 of the film’s moments; 2 are left out" in words_of(app)
    assert "largest weight of several cells" in words_of(app)
    assert overview_of(app)[0]["film"]["steps"] == [0, 60]


def test_the_numbers_can_be_taken_away(open_film: OpenApp):
    app = open_film(run="pairs", text="The cat.", moment="4", attention="encoder", other="0")
    sent = [c.proto for c in app.get("bidi_component") if c.proto.component_name == "headlight.figure"]
    tables = {data["name"]: data["csv"] for data in (json.loads(proto.json) for proto in sent)}
    assert tables["pairs-step4-encoder-layer0-head0"].startswith("query,query_token,key,key_token,allowed,weight\n")
    assert tables["pairs-loss"] == "step,loss\n0,4.0\n4,3.8\n20,3.0\n60,1.0\n"
    assert tables["pairs-heads-previous"].splitlines()[0].count("layer") == 24
    assert len(tables) == 6


def test_a_comparison_with_a_run_that_is_not_there_shows_another(
    open_film: OpenApp, place: Path, made: tuple[Path, Models]
):
    save_turned(place, made[1]["pairs"])
    app = open_film(run="pairs", other="nobody")
    assert "There is no training “nobody” of this shape, so you see turned" in words_of(app)
    assert url_of(app)["other"] == "turned"


def after_rest(moment: Any) -> int:
    """The moment in the session after the slider sent something."""

    def rest() -> None:
        import streamlit

        from pages.shared import run_state

        run_state.on_moment()
        streamlit.text("done")

    app = AppTest.from_function(rest)
    app.session_state["moment"] = 20
    app.session_state["film-overview"] = {"moment": moment}
    app.run()
    assert not app.exception
    return int(app.session_state["moment"])


def test_the_slider_chooses_a_moment():
    assert after_rest({"step": 4}) == 4


@pytest.mark.parametrize("moment", [None, 4, "4", [], {}, {"step": "4"}, {"step": -4}, {"step": 4.0}, {"step": True}])
def test_a_message_that_makes_no_sense_chooses_nothing(moment: Any):
    assert after_rest(moment) == 20
