"""The Film page under AppTest: links that lead nowhere, and films that are damaged."""

import html
import json
import shutil
from pathlib import Path

import pytest

from tests.pages.conftest import OpenApp, overview_of, url_of, words_of
from tests.pages.train.small_films import STEPS


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
