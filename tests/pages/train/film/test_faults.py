"""The page Film under AppTest: links that lead nowhere, texts that nobody planned for, and films that are damaged."""

import html
import json
import shutil
from pathlib import Path

import pytest

from tests.pages.conftest import overview_of, url_of, words_of
from tests.pages.train.film_page import OpenApp
from tests.pages.train.small_films import STEPS


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"run": "<script>"}, "There is no training"),
        ({"snapshot": "7"}, "no snapshot at step 7, so you see step 4"),
        ({"snapshot": "9" * 4000}, "so you see step 60"),
        ({"attention": "<b>"}, "There is no attention"),
        ({"layer": "2"}, "There is no head L2."),
        ({"head": "99"}, "so you see L1.H3"),
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


@pytest.mark.parametrize("text", ["<script>window.stolen = 1</script>", '\'{text!r}\\n"""\\', "a\x00b", "Ǆ" * 3000])
def test_any_text_is_shown_as_text(open_film: OpenApp, text: str):
    app = open_film(run="pairs")
    for key in ("run-text", "run-target"):
        app.text_input(key=key).set_value(text).run()
        assert not app.exception and "<script>" not in words_of(app)


def test_a_damaged_snapshot_is_left_out(open_film: OpenApp, place: Path):
    (place / "pairs" / "film" / "000020" / "model.safetensors").write_bytes(b"nothing")
    app = open_film(run="pairs", snapshot="20")
    assert "Snapshots of step 20 are damaged and skipped" in words_of(app)
    assert overview_of(app)[0]["film"]["steps"] == [0, 4, 60]
    assert url_of(app)["snapshot"] == "4"


def test_the_last_whole_snapshot_leads_the_others_and_without_any_one_sentence_is_said(open_film: OpenApp, place: Path):
    (place / "pairs" / "film" / "000060" / "model.safetensors").write_bytes(b"nothing")
    app = open_film(run="pairs")
    assert "the output of step 20" in words_of(app) and url_of(app)["snapshot"] == "20"
    for step in STEPS:
        (place / "tales" / "film" / f"{step:06}" / "model.safetensors").write_bytes(b"nothing")
    assert "These snapshots cannot be shown" in open_film(run="tales").warning[0].value


@pytest.mark.parametrize("file", ["film/heads.jsonl", "metrics.jsonl", "run.json"])
def test_damaged_records_are_a_calm_sentence(open_film: OpenApp, place: Path, file: str):
    (place / "pairs" / file).write_text("{nonsense\n{}\n")
    app = open_film(run="pairs")
    assert "cannot be read" in words_of(app) + "".join(caption.value for caption in app.caption)


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


def test_without_snapshots_or_trainings_there_is_a_sentence(open_film: OpenApp, place: Path):
    path = place / "pairs" / "run.json"
    values = json.loads(path.read_text())
    values["training"]["film_megabytes"] = 0
    path.write_text(json.dumps(values))
    shutil.rmtree(place / "pairs" / "film")
    assert "snapshots are turned off (film_megabytes is 0)" in words_of(open_film(run="pairs"))
    shutil.rmtree(place)
    assert "There is no training yet" in words_of(open_film())
