"""Models that were not trained here: imported, without a tokenizer or a last layer, or compiled from a program."""

import contextlib
import html
import io
import shutil
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from headlight.programs.checkpoint import save_compiled
from pages.shared import answer, models
from pages.shared.answer import NO_HEAD
from pages.shared.page import pages
from tests.headlight.programs.compiled_examples import example
from tests.pages.conftest import (
    EXAMPLES,
    OpenApp,
    component,
    figure_of,
    overview_of,
    save_model,
    shown_code,
    url_of,
    values_of,
    words_of,
)
from tests.pages.small_gpt2 import save_small_gpt2
from transformer_core.checkpoints.bring_in import bring_in
from transformer_core.config import Architecture
from transformer_core.text.ids import IdTokenizer

PROMPT = "the cat sees a dog because it was"
BARE: dict[str, Architecture] = {
    "bare": "encoder_only",
    "bare-decoder": "decoder_only",
    "bare-pair": "encoder_decoder",
}
OTHERS = ("small", "ids", "ids-gaps", "ids-pairs", "reverse", "induction")
VIEWS: list[tuple[str, dict[str, str]]] = [
    *((page.url, {}) for page in pages().values() if page.subject in ("text", "stage", "model", "models")),
    ("start", {"zoom": "encoder.0.self_attn.0"}),
    *(("compare", view) for view in ({"view": "map"}, {"view": "effect", "bchange": "off:encoder.0.0"})),
    *(("architecture", {"part": part}) for part in ("cost", "stream")),
    *(("masks", {"part": part}) for part in ("which", "leak", "dropout")),
]
UNJUDGED = {"start", "build", "interventions", "programs"}  # which say nothing of predictions that are not there


def save_ids(folder: Path, architecture: Architecture) -> None:
    """Write a model that reads token ids."""
    sizes: Any = {"vocab_size": 40, "d_model": 8, "d_ff": 8, "n_heads": 2, "n_encoder_layers": 1, "max_seq_len": 16}
    n_decoder_layers = 0 if architecture == "encoder_only" else 1
    config = tc.ModelConfig(
        **sizes, architecture=architecture, n_decoder_layers=n_decoder_layers, tie_embeddings="target"
    )
    about = {"title": "Ids", "kind": architecture.replace("_", "-"), "tokenizer": "ids", "examples": ["5 6 7"]}
    tc.save(folder, tc.build(config), IdTokenizer.of(config), about)


@pytest.fixture(scope="session")
def foreign(three_kinds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `OTHERS`, `BARE` without a last layer, "new" that was not trained, and "tales" of our own."""
    place, own = tmp_path_factory.mktemp("foreign"), {"title": "Bare", "examples": EXAMPLES}
    shutil.copytree(three_kinds / "tales", place / "tales")
    for name in ("small", "ids"):
        folder = tmp_path_factory.mktemp("imported") / name
        save_small_gpt2(folder)
        if name == "ids":
            (folder / "tokenizer.json").unlink()
        bring_in(str(folder), place / name)
    tc.save(place / "new", *tc.load(place / "small"), {"title": "New", "examples": [PROMPT]})
    save_ids(place / "ids-gaps", "encoder_only")
    save_ids(place / "ids-pairs", "encoder_decoder")
    for name, architecture in BARE.items():
        save_model(place / name, n_layers=2, n_heads=2, architecture=architecture, unembed=False, **own)  # type: ignore[arg-type]
    for name in ("reverse", "induction"):
        save_compiled(place / name, *example(name), title=name.capitalize(), examples=["a b c a b"])
    return place


@pytest.fixture(autouse=True)
def here(foreign: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The app finds these models."""
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(foreign))
    return foreign


def text_of(app: AppTest) -> str:
    """All words that the page wrote, as a person reads them."""
    return html.unescape(words_of(app))


@pytest.mark.parametrize("number", range(len(VIEWS)), ids=lambda n: "-".join((VIEWS[n][0], *VIEWS[n][1].values())))
def test_each_view_shows_them(open_app: OpenApp, number: int):
    """Without a last layer attention is shown, with a note that nothing is predicted."""
    page, parameters = VIEWS[number]
    for bare in ("bare", [*BARE][1 + number % 2]):
        app = open_app(page, model=bare, **parameters)
        assert not [*app.exception, *app.error, *app.warning], bare
        assert page in UNJUDGED or NO_HEAD in text_of(app), bare
    for name in islice(cycle(OTHERS), 3 * number, 3 * number + 3):
        script = {"text": "مرحبا بالعالم 👩‍👩‍👧"} if name == "small" else {}
        app = open_app(page, model=name, **parameters, **script)
        assert not [*app.exception, *app.error], name
        assert "hl-heading" in words_of(app) and "type ____" not in text_of(app), name


def test_without_a_last_layer_patterns_are_shown_and_final_states_move(
    open_app: OpenApp, here: Path, monkeypatch: pytest.MonkeyPatch
):
    app = open_app("heads", model="bare", text=EXAMPLES[0])
    model, tokenizer = tc.load(here / "bare")
    with torch.inference_mode(), tc.capture(model, "*.hook_pattern") as acts:
        model.final_states(torch.tensor([tokenizer.encode_for(EXAMPLES[0], "encoder_only")]))
    pattern = acts["encoder.blocks.1.self_attn.hook_pattern"][0, 0].numpy()
    np.testing.assert_allclose(values_of(figure_of(app)["data"][0]), pattern, atol=1e-6)
    monkeypatch.chdir(models.ROOT)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(shown_code(app), "the code of the page", "exec"), {"__name__": "__main__"})
    first = [float(number) for number in printed.getvalue().strip("[] \n").split()[:3]]
    np.testing.assert_allclose(first, pattern[0, :3], atol=1e-6)
    sent = component(open_app("masks", model="bare", preset="window", size="1"), "mask_matrix")
    text = bytes(sent.bytes).decode("utf-8", errors="ignore") + str(sent.json)
    assert "Its final states change by" in text and "Its final states change by 0.00" not in text


def test_what_is_said_of_where_a_model_was_trained(open_app: OpenApp):
    payload = {name: card.claim() for name, card in models.available().items()}
    assert payload["small"].endswith("trained elsewhere") and payload["ids"].endswith("trained elsewhere")
    assert payload["new"].endswith("not trained") and "trained on en-fr" in payload["tales"]
    for page in ("heads", "models"):
        text = text_of(open_app(page, model="small"))
        assert "trained elsewhere" in text.lower() and "not trained" not in text


def n_keys(app: AppTest) -> int:
    return int(overview_of(app)[0]["groups"][0]["keys"])


def test_a_text_is_continued_when_that_is_asked_for(open_app: OpenApp, here: Path):
    app = open_app("heads", model="small", text=PROMPT)
    assert "continue" not in url_of(app) and "shapes" not in figure_of(app)["layout"] and n_keys(app) == 8
    app.toggle(key="view-continue-box").set_value(True).run()
    assert not app.exception and url_of(app)["continue"] == "on"
    model, tokenizer = tc.load(here / "small")
    tokens = tc.greedy_decode(model, torch.tensor([tokenizer.encode(PROMPT)]), max_new_tokens=8).tokens[0].tolist()
    n_read = len(tokens) - (tokens[-1] == tokenizer.eos_id)
    assert n_keys(app) == n_read > 8
    layout, end = figure_of(app)["layout"], n_read - 0.5
    lines = {(s["x0"], s["y0"], s["x1"], s["y1"]) for s in layout["shapes"] if s["type"] == "line"}
    assert lines == {(-0.5, 7.5, end, 7.5), (7.5, -0.5, 7.5, end)}  # between the text and what was written
    assert "generated from token 8 on" in layout["xaxis"]["title"]["text"]


def test_a_model_of_ours_continues_unless_it_is_told_not_to(open_app: OpenApp):
    app = open_app("heads", model="tales")
    n_continued = n_keys(app)
    assert "continue" not in url_of(app) and "generated" in figure_of(app)["layout"]["xaxis"]["title"]["text"]
    app.toggle(key="view-continue-box").set_value(False).run()
    assert url_of(app)["continue"] == "off" and n_keys(app) < n_continued
    app.switch_page(pages()["steps"].script).run()
    assert url_of(app)["continue"] == "off" and n_keys(open_app("heads", **url_of(app))) < n_continued


@pytest.mark.usefixtures("fresh_caches")
@pytest.mark.parametrize("name", ["small", "en-fr"])
def test_a_large_model_shows_the_text_first_and_what_it_writes_later(
    open_app: OpenApp, three_kinds: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.setattr(answer, "LARGE", 0)
    if name == "en-fr":
        monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(three_kinds))

    def sizes(app: AppTest) -> list[int]:
        assert not app.exception
        return [group["queries"] for group in overview_of(app)[0]["groups"]]

    view = {"text": EXAMPLES[1], "attention": "encoder"} if name == "en-fr" else {"text": PROMPT, "continue": "on"}
    app = open_app("heads", model=name, **view)
    first = sizes(app)
    assert "Generating" in text_of(app) and first == ([7, 1, 1] if name == "en-fr" else [8])
    app.run()  # as the part that waits does, as soon as all is drawn
    app.session_state["awaited-output"].future.result(60)
    app.run()
    assert "Generating" not in text_of(app) and sizes(app)[-1] > first[-1]
    monkeypatch.setattr(answer, "LARGE", 1 << 40)
    assert sizes(open_app("heads", model=name, **view)) == sizes(app)


def test_token_ids_are_read_and_written(open_app: OpenApp, here: Path):
    app = open_app("heads", model="ids")
    assert app.text_input(key="text-line").value == " ".join(str(11 * i // 9) for i in range(1, 9))  # an example
    app.text_input(key="text-line").set_value("1, 2 3,4 1").run()
    assert figure_of(app)["layout"]["xaxis"]["ticktext"] == ["1", "2", "3", "4", "1"]
    app.toggle(key="view-continue-box").set_value(True).run()
    model, _ = tc.load(here / "ids")
    tokens = tc.greedy_decode(model, torch.tensor([[1, 2, 3, 4, 1]]), max_new_tokens=11).tokens[0].tolist()
    read = tokens[:-1] if tokens[-1] == 0 else tokens
    assert not app.exception and f"… {' '.join(map(str, read[5:]))}" in text_of(app)
    assert "Without a tokenizer the mask token is unknown" in text_of(open_app("decoding", model="ids-gaps"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("ids", "1 2 11 99", "token ids 11, 99 are out of range; this model has the ids 0 to 10"),
        ("ids", "the 👩‍👩‍👧", "takes token ids such as 464 3290 318; “the” is not a token id"),
        ("ids-gaps", "5 ____ 7", "its mask token is unknown"),
        ("ids-pairs", "5 ____ 7", "takes token ids such as 464 3290 318"),
    ],
)
def test_what_is_no_token_id_is_said(open_app: OpenApp, name: str, text: str, message: str):
    app = open_app("heads", model=name, text=text)
    assert not app.exception and [warning.value.count(message) for warning in app.warning] == [1]


def test_without_a_text_pages_ask_for_one(open_app: OpenApp):
    app = open_app("heads", model="small", text="")
    for page in ("heads", "decoding", "compare", "steps", "masks", "architecture"):
        app.switch_page(pages()[page].script).run()
        assert [info.value.startswith("Type a text above") for info in app.info] == [True], page
        assert not app.exception and not app.get("bidi_component") and "hl-note" not in words_of(app)


def test_the_box_of_a_long_text_closes_and_shows_the_text_whole(open_app: OpenApp):
    app = open_app("heads", model="small", text=PROMPT)
    app.session_state["long-text-open"] = True
    long_text = "the cat sees a dog because " * 4
    app.text_area(key="long-text").set_value(long_text)
    app.button[[button.label for button in app.button].index("Analyse")].click().run()
    assert not app.exception and app.session_state["long-text-open"] is False
    assert f"<p class='hl-small hl-whole' dir='auto'>{long_text}</p>" in words_of(app)
