"""What is shown of a training that is watched: tables to take away, and texts that the newest weights read."""

import csv
import html
import io
import re
from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from tests.pages.conftest import OpenApp, overview_of, words_of
from tests.pages.explore.decoding.decoding_parts import arrays_of, files_of, redrawn
from tests.pages.train.film_page import Models
from tests.pages.train.small_films import EXAMPLES, STEPS, TEXTS
from transformer_core.training.run.directory import RunDirectory
from transformer_core.training.run.film import Film

pytestmark = pytest.mark.usefixtures("place")


def samples_of(app: AppTest) -> list[tuple[str, str]]:
    """The texts, and what the model makes of each."""
    table = re.findall(r"<table class='hl-samples'>(.*?)</table>", words_of(app), re.S)[0]
    return [(html.unescape(a), html.unescape(b)) for a, b in re.findall(r"<bdi>(.*?)</bdi>.*?<bdi>(.*?)</bdi>", table)]


def rows_of(app: AppTest) -> list[dict[str, str]]:
    """The table of the curves."""
    return list(csv.DictReader(io.StringIO(files_of(app, "run-curves")["csv"].decode())))


def test_all_that_was_measured_is_taken_away_a_line_a_step(
    open_app: OpenApp, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    directory = RunDirectory.open(place / "pairs")
    directory.metrics.append({"step": 10, "held_out_loss": 3.5, "tokens_per_second": 70.0})
    directory.metrics.append({"step": 60, "held_out_loss": 0.5})
    app = open_app("train", run="pairs")
    assert not app.exception
    rows = rows_of(app)
    assert [(row["step"], row["loss"], row["held_out_loss"]) for row in rows] == [
        ("0", "4.0", ""),
        ("4", "3.8", ""),
        ("10", "", "3.5"),
        ("20", "3.0", ""),
        ("60", "1.0", "0.5"),
    ]
    assert rows[2]["tokens_per_second"] == "70.0"
    directory.metrics.append({"step": 61, "loss": 0.25})
    directory.write_status("finished", step=61)
    app.run()  # of a run that rests, newer measurements are seen
    assert [*rows_of(app)[-1].values()] == ["61", "0.25", "", ""]
    files = files_of(app, "run-curves")
    again, arrays = redrawn(files, tmp_path, monkeypatch)["curves"], arrays_of(files)
    assert len(arrays) == 2 * len(again)
    assert all([*map(list, curve)] == [arrays[f"{n}_step"].tolist(), arrays[n].tolist()] for n, curve in again.items())


def test_a_text_and_some_examples_are_read_by_the_newest_weights(
    open_app: OpenApp, place: Path, trained: tuple[Path, Models]
):
    model, tokenizer = Film(place / "pairs").load(STEPS[-1])
    for text, texts in (
        (TEXTS[1], [TEXTS[1], TEXTS[0], TEXTS[2]]),
        ("The dog sleeps.", ["The dog sleeps.", *TEXTS]),
    ):
        app = open_app("train", run="pairs", text=text)
        samples = samples_of(app)
        assert [given for given, _ in samples] == texts
        for given, output in samples:
            src = torch.tensor([tokenizer.encode_for(given, "encoder_decoder")])
            written = tc.greedy_decode(model, src, max_new_tokens=23).tokens[0, 1:]
            words = tokenizer.target.decode(written.tolist())
            assert words == output or (output == "∅" and not words)
        assert "<div class='hl-label'>Output</div>" in words_of(app)
        header, _ = overview_of(app)
        assert {group["attention"] for group in header["groups"]} == {"encoder", "decoder", "cross"}


def test_only_the_chosen_prompt_is_drawn_and_each_is_continued(open_app: OpenApp):
    """The first example, and at once another text that is typed: what a person changes does not wait its turn."""
    app, examples = open_app("train", run="tales"), EXAMPLES["decoder_only"]
    assert [given for given, _ in samples_of(app)] == [*examples]
    app.text_input(key="run-text-line").set_value("The dog").run()
    assert not app.exception and "Continuations, sampled at temperature 0.8" in words_of(app)
    assert [given for given, _ in samples_of(app)] == ["The dog", *(text for text in examples if text != "The dog")]
    assert [group["attention"] for group in overview_of(app)[0]["groups"]] == ["decoder"]
