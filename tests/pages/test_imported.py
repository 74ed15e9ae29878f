"""Models that somebody else trained: what they are called, the text that they read alone, and texts of token ids."""

import html
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.shared import continuing, models
from pages.shared.page import pages
from tests.german import in_german
from tests.pages.conftest import (
    EXAMPLES,
    PROMPTS,
    figure_of,
    overview_of,
    url_of,
    words_of,
)
from tests.pages.small_gpt2 import save_small_gpt2
from transformer_core.checkpoints.bring_in import bring_in
from transformer_core.config import Architecture
from transformer_core.errors import Message
from transformer_core.text.ids import IdTokenizer

OpenApp = Callable[..., AppTest]
PAGES = ("heads", "decoding", "compare", "steps", "positions", "masks", "architecture", "models")
PROMPT = "the cat sees a dog because it was"


@pytest.fixture(scope="session")
def with_imported(three_kinds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with "tales", trained here, "small" from elsewhere, "ids" without a tokenizer, "new", not trained."""
    place = tmp_path_factory.mktemp("imported")
    shutil.copytree(three_kinds / "tales", place / "checkpoints" / "tales")
    for name in ("small", "ids"):
        save_small_gpt2(place / name)
    (place / "ids" / "tokenizer.json").unlink()
    for name in ("small", "ids"):
        bring_in(str(place / name), place / "checkpoints" / name)
    model, tokenizer = tc.load(place / "checkpoints" / "small")
    tc.save(place / "checkpoints" / "new", model, tokenizer, {"title": "New", "examples": [PROMPT]})
    return place / "checkpoints"


@pytest.fixture(autouse=True)
def here(with_imported: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The app finds these models."""
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(with_imported))
    return with_imported


def on_all_pages(app: AppTest) -> Iterator[str]:
    """Go from page to page."""
    for page in PAGES:
        app.switch_page(pages()[page].script).run()
        assert not app.exception, page
        yield page


def text_of(app: AppTest) -> str:
    """All words that the page wrote, as a person reads them."""
    return html.unescape(words_of(app))


def test_what_is_said_of_where_a_model_was_trained(open_app: OpenApp):
    told = {name: card.claim() for name, card in models.available().items()}
    assert told["small"].endswith("trained elsewhere") and told["ids"].endswith("trained elsewhere")
    assert told["new"].endswith("not trained")
    assert "trained on en-fr" in told["tales"]
    app = open_app("heads", model="small")
    assert sorted(app.selectbox(key="model").options) == [
        *("New", "Tales", "ids (trained elsewhere)", "small (trained elsewhere)"),
    ]
    for page in ("heads", "models"):
        app.switch_page(pages()[page].script).run()
        assert not app.exception
        assert "trained elsewhere" in text_of(app).lower() and "not trained" not in text_of(app)


def test_a_text_is_continued_when_that_is_asked_for(open_app: OpenApp, here: Path):
    app = open_app("heads", model="small", text=PROMPT)
    assert "continue" not in url_of(app) and "shapes" not in figure_of(app)["layout"]
    assert overview_of(app)[0]["groups"][0]["keys"] == 8
    app.toggle(key="view-continue-box").set_value(True).run()
    assert not app.exception
    assert url_of(app)["continue"] == "on"
    model, tokenizer = tc.load(here / "small")
    tokens = tc.greedy_decode(model, torch.tensor([tokenizer.encode(PROMPT)]), max_new_tokens=8).tokens[0].tolist()
    n_read = len(tokens) - (tokens[-1] == tokenizer.eos_id)
    assert overview_of(app)[0]["groups"][0]["keys"] == n_read > 8
    layout = figure_of(app)["layout"]
    lines = {(s["x0"], s["y0"], s["x1"], s["y1"]) for s in layout["shapes"] if s["type"] == "line"}
    end = n_read - 0.5
    assert lines == {(-0.5, 7.5, end, 7.5), (7.5, -0.5, 7.5, end)}  # between the text and what was written
    assert "generated from token 8 on" in layout["xaxis"]["title"]["text"]
    app.toggle(key="view-continue-box").set_value(False).run()
    assert "continue" not in url_of(app) and overview_of(app)[0]["groups"][0]["keys"] == 8


def test_a_model_of_ours_continues_unless_it_is_told_not_to(open_app: OpenApp):
    app = open_app("heads", model="tales")
    n_continued = overview_of(app)[0]["groups"][0]["keys"]
    assert "continue" not in url_of(app) and "<span class='hl-answer hl-cut'" in words_of(app)  # with a mark at its end
    assert "generated from token" in figure_of(app)["layout"]["xaxis"]["title"]["text"]
    app.toggle(key="view-continue-box").set_value(False).run()
    assert url_of(app)["continue"] == "off" and overview_of(app)[0]["groups"][0]["keys"] < n_continued
    again = open_app("heads", **url_of(app))
    assert again.text_input(key="text").value == PROMPTS[0]
    assert overview_of(again)[0]["groups"][0]["keys"] == overview_of(app)[0]["groups"][0]["keys"]
    assert all(url_of(again)["continue"] == "off" for _ in on_all_pages(again))


@pytest.mark.usefixtures("fresh_caches")
def test_a_large_model_shows_the_text_first_and_what_it_writes_later(
    open_app: OpenApp, here: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(continuing, "LARGE", 0)
    app = open_app("heads", **{"model": "small", "text": PROMPT, "continue": "on"})
    assert not app.exception
    assert "Generating" in text_of(app)
    assert overview_of(app)[0]["groups"][0]["keys"] == 8
    app.run()  # as the part that waits does, as soon as all is drawn
    app.session_state["awaited-output"].future.result(60)
    app.run()
    assert "Generating" not in text_of(app)
    assert overview_of(app)[0]["groups"][0]["keys"] > 8
    app.text_input(key="text").set_value("the dog").run()
    assert overview_of(app)[0]["groups"][0]["keys"] == 2
    app.toggle(key="view-continue-box").set_value(False).run()
    assert "Generating" not in text_of(app) and not app.exception


@pytest.mark.usefixtures("fresh_caches")
def test_a_large_encoder_decoder_shows_its_encoder_first_and_its_output_later(
    open_app: OpenApp, three_kinds_here: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(continuing, "LARGE", 0)
    app = open_app("heads", text=EXAMPLES[1], attention="encoder", layer="1", head="2")
    assert not app.exception and "Generating" in text_of(app)

    def n_queries() -> dict[str, int]:
        return {group["attention"]: group["queries"] for group in overview_of(app)[0]["groups"]}

    first, model, tokenizer = figure_of(app), *tc.load(three_kinds_here / "en-fr")
    src = torch.tensor([tokenizer.encode(EXAMPLES[1], eos=True)])
    assert n_queries() == {"encoder": src.shape[1], "decoder": 1, "cross": 1}  # of the output, <bos> alone
    app.run()
    app.session_state["awaited-output"].future.result(60)
    app.run()
    assert "Generating" not in text_of(app)
    assert figure_of(app)["data"] == first["data"]  # the encoder read the same
    written = tc.greedy_decode(model, src, max_new_tokens=31).tokens[0]
    assert n_queries() == {"encoder": src.shape[1], "decoder": len(written) - 1, "cross": len(written) - 1}
    app.button(key="change-target").click().run()  # what is to be written is given, so that nothing is waited for
    assert "Generating" not in text_of(app) and not app.exception


def test_token_ids_are_read_and_written_on_all_pages(open_app: OpenApp, here: Path):
    app = open_app("heads", model="ids")
    assert app.text_input(key="text").value == " ".join(str(11 * i // 9) for i in range(1, 9))  # an example
    app.text_input(key="text").set_value("1, 2 3,4 1").run()
    assert not app.exception
    assert figure_of(app)["layout"]["xaxis"]["ticktext"] == ["1", "2", "3", "4", "1"]
    app.toggle(key="view-continue-box").set_value(True).run()
    model, _ = tc.load(here / "ids")
    tokens = tc.greedy_decode(model, torch.tensor([[1, 2, 3, 4, 1]]), max_new_tokens=11).tokens[0].tolist()
    read = tokens[:-1] if tokens[-1] == 0 else tokens
    assert f"… {' '.join(map(str, read[5:]))}" in text_of(app)
    assert [*on_all_pages(app)]


@pytest.mark.parametrize("architecture", ["encoder_only", "encoder_decoder"])
def test_models_with_an_encoder_read_token_ids_on_all_pages(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, architecture: Architecture
):
    sizes: Any = {"vocab_size": 40, "d_model": 8, "d_ff": 8, "n_heads": 2, "n_encoder_layers": 1, "max_seq_len": 16}
    n_decoder_layers = 0 if architecture == "encoder_only" else 1
    config = tc.ModelConfig(
        **sizes, architecture=architecture, n_decoder_layers=n_decoder_layers, tie_embeddings="target"
    )
    about = {"title": "Ids", "kind": architecture.replace("_", "-"), "tokenizer": "ids", "examples": ["5 6 7"]}
    tc.save(tmp_path / "ids", tc.build(config), IdTokenizer.of(config), about)
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    app = open_app("heads", attention="encoder")
    for page in on_all_pages(app):
        is_unknown = "Without a tokenizer the mask token is unknown" in text_of(app)
        assert is_unknown == (architecture == "encoder_only" and page == "decoding")
        assert not app.warning and "type ____" not in text_of(app), page
    app.switch_page(pages()["heads"].script).run()
    app.text_input(key="text").set_value("5 ____ 7").run()
    said = "its mask token is unknown" if architecture == "encoder_only" else "takes token ids such as 464 3290 318"
    assert [warning.value.count(said) for warning in app.warning] == [1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 2 11 99", "token ids 11, 99 are out of range; this model has the ids 0 to 10"),
        ("the cat", "takes token ids such as 464 3290 318; “the” is not a token id"),
        ("👩‍👩‍👧", "is not a token id"),
    ],
)
def test_what_is_no_token_id_is_said(open_app: OpenApp, text: str, said: str):
    app = open_app("heads", model="ids", text=text)
    assert not app.exception
    assert [warning.value.count(said) for warning in app.warning] == [1]


def test_a_text_of_another_script_or_none(open_app: OpenApp):
    assert [*on_all_pages(open_app("heads", model="small", text="مرحبا بالعالم 👩‍👩‍👧"))]
    app = open_app("heads", model="small", text="")
    for page in on_all_pages(app):
        if page not in ("positions", "models"):
            assert [info.value.startswith("Type a text above") for info in app.info] == [True]
            assert not app.get("bidi_component") and "hl-note" not in words_of(app)  # the examples keep their place


def test_the_box_of_a_long_text_closes_and_shows_the_text_whole(open_app: OpenApp):
    app = open_app("heads", model="small", text=PROMPT)
    app.session_state["long-text-open"] = True
    long_text = "the cat sees a dog because " * 4
    app.text_area(key="long-text").set_value(long_text)
    app.button[[button.label for button in app.button].index("Analyse")].click().run()
    assert not app.exception
    assert app.session_state["long-text-open"] is False
    assert f"<p class='hl-small hl-whole' dir='auto'>{long_text.strip()}</p>" in words_of(app)


def test_the_card_of_a_model_without_a_tokenizer(here: Path):
    card = json.loads((here / "ids" / "card.json").read_text(encoding="utf-8"))
    description = Message.from_json(card["description"])
    assert card["tokenizer"] == "ids" and str(description).endswith("so its texts are token ids.")
    assert in_german(description).startswith("Importiert aus")
    assert "tokenizer" not in json.loads((here / "small" / "card.json").read_text(encoding="utf-8"))
