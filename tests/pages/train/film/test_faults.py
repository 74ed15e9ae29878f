"""The page Film under AppTest: links that lead nowhere, texts that nobody planned for, and films that are damaged."""

import html
import json
import shutil
from pathlib import Path

import pytest

from tests.pages.conftest import overview_of, url_of, words_of
from tests.pages.train.film_page import OpenApp
from tests.pages.train.small_films import STEPS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"run": "nothing"}, "There is no training “nothing” here"),
        ({"run": "../pairs"}, "There is no training"),
        ({"run": "<script>"}, "There is no training"),
        ({"snapshot": "7"}, "no snapshot at step 7, so you see step 4"),
        ({"snapshot": "9" * 4000}, "so you see step 60"),
        ({"snapshot": "soon"}, "snapshot “soon”"),
        ({"attention": "self"}, "There is no attention “self”"),
        ({"attention": "<b>"}, "There is no attention"),
        ({"layer": "2"}, "There is no head L2."),
        ({"head": "99"}, "so you see L1.H3"),
        ({"layer": "-1"}, "layer “-1”"),
        ({"head": "1e3", "snapshot": "", "layer": "²"}, "it must be a whole number, 0 or more"),
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


def test_a_damaged_snapshot_is_left_out(open_film: OpenApp, place: Path):
    (place / "pairs" / "film" / "000020" / "model.safetensors").write_bytes(b"nothing")
    app = open_film(run="pairs", snapshot="20")
    assert "Snapshots of step 20 are damaged and skipped" in words_of(app)
    assert overview_of(app)[0]["film"]["steps"] == [0, 4, 60]
    assert url_of(app)["snapshot"] == "4"


def test_a_film_whose_last_snapshot_is_damaged_is_led_by_the_one_before(open_film: OpenApp, place: Path):
    (place / "pairs" / "film" / "000060" / "model.safetensors").write_bytes(b"nothing")
    app = open_film(run="pairs")
    assert "the output of step 20" in words_of(app)
    assert url_of(app)["snapshot"] == "20"


def test_a_film_without_a_whole_snapshot_is_a_calm_sentence(open_film: OpenApp, place: Path):
    for step in STEPS:
        (place / "pairs" / "film" / f"{step:06}" / "model.safetensors").write_bytes(b"nothing")
    app = open_film(run="pairs")
    assert "These snapshots cannot be shown" in app.warning[0].value


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
    [(0, "pairs has no snapshots; its snapshots no longer exist"), (1, "has one snapshot, step 0")],
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
    assert "snapshots are turned off (film_megabytes is 0)" in words_of(open_film(run="pairs"))


def test_without_trainings_there_is_a_sentence(open_film: OpenApp, place: Path):
    shutil.rmtree(place)
    assert "There is no training yet" in words_of(open_film())
