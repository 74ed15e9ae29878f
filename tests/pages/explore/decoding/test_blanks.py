"""Blanks on the page Decoding: filled one by one, against the core's own tree, by buttons, boxes and addresses."""

import base64
import html
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from tests.pages.conftest import GAPS, shown_code, url_of, words_of
from transformer_core.decoding.filling import NOTHING, Filling, FillingTree
from transformer_core.figures import Figure

OpenApp = Callable[..., AppTest]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("three_kinds_here")]
TEXT = GAPS[1]  # two blanks


def page() -> None:
    """What the frame does around the page, and the page."""
    import streamlit as st

    from pages.explore.decoding import blanks as decoding_blanks
    from pages.explore.decoding import view_fields
    from pages.shared import models
    from pages.shared.sources import Source
    from pages.shared.view import state

    cards = models.available()
    state.seed(cards, view_fields.FIELDS)
    view = state.current()
    st.text_input("Text", key=state.TEXT.key, on_change=state.on_text)
    decoding_blanks.show(cards[view.model], Source.of(cards[view.model]), view.text)
    state.publish()


def opened(text: str = TEXT, model: str = "gaps", **parameters: str) -> AppTest:
    app = AppTest.from_function(page, default_timeout=300)
    for name, value in {"model": model, "text": text, **parameters}.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


@pytest.fixture
def tree(three_kinds: Path) -> FillingTree:
    model, tokenizer = tc.load(three_kinds / "gaps")
    ids = tokenizer.encode_for(TEXT, "encoder_only")
    return FillingTree(model, torch.tensor([ids]), mask_id=tokenizer.mask_id)


def figure(app: AppTest, key: str) -> dict[str, Any]:
    (sent,) = (c.proto for c in app.get("bidi_component") if c.proto.id.endswith(key))
    return json.loads(json.loads(sent.json)["figure"])


def bars(app: AppTest) -> list[np.ndarray]:
    """The probabilities in each panel."""
    return [numbers(trace["x"]) for trace in figure(app, "blanks-bars")["data"]]


def numbers(sent: dict[str, str]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(sent["bdata"]), sent["dtype"])


def pressed(app: AppTest, *keys: str) -> AppTest:
    for key in keys:
        app.button(key=key).click().run()
        assert not app.exception
    return app


def written(filling: Filling) -> str:
    """As the address says it."""
    return ".".join(f"{step.position}:{step.chosen.token}" for step in filling.steps)


def test_it_begins_with_every_blank_open(tree: FillingTree):
    app = opened()
    state = tree.read()
    for drawn, blank in zip(bars(app), state.blanks.values(), strict=True):
        np.testing.assert_allclose(drawn, [one.probability for one in blank.candidates(6)], rtol=1e-5)
    surest = state.certain_first[0]
    assert f"<b>Next: blank {surest.position}</b>" in words_of(app)
    assert words_of(app).count("class='hl-open") == 2 and words_of(app).count("hl-next'") == 1
    assert "filled" not in url_of(app) and "step" not in url_of(app)
    assert app.button(key="blanks-back").disabled and app.button(key="blanks-again").disabled


def test_next_back_all_and_again(tree: FillingTree):
    app = pressed(opened(), "blanks-next")
    one, whole = tree.fill(), tree.fill_all()
    assert url_of(app)["filled"] == written(one) and "step" not in url_of(app)
    blanks = {**tree.read().blanks, **tree.read(one).blanks}  # what was said of the filled one stays
    for drawn, blank in zip(bars(app), blanks.values(), strict=True):
        np.testing.assert_allclose(drawn, [c.probability for c in blank.candidates(6)], rtol=1e-5)
    pressed(app, "blanks-all")
    assert url_of(app)["filled"] == written(whole)
    assert f"{whole.total_log_prob:.2f} nats".replace("-", "−") in words_of(app)
    assert app.button(key="blanks-next").disabled and app.button(key="blanks-all").disabled
    pressed(app, "blanks-back")
    assert url_of(app)["filled"] == written(whole) and url_of(app)["step"] == "1"
    pressed(app, "blanks-next")
    assert url_of(app)["filled"] == written(whole) and "step" not in url_of(app)
    pressed(app, "blanks-again")
    assert "filled" not in url_of(app) and words_of(app).count("class='hl-open") == 2


def test_another_token_is_chosen_and_what_follows_follows_it(tree: FillingTree):
    app = opened()
    first = tree.read().certain_first[0]
    other = first.candidates(3)[2].token
    app.selectbox(key="blanks-token-box").set_value(other).run()
    forked = tree.fill(NOTHING, first.position, other)
    assert url_of(app)["filled"] == written(forked)
    assert "your choice; 2 more probable" in words_of(app)
    pressed(app, "blanks-all")
    assert url_of(app)["filled"] == written(tree.fill_all(forked))
    app.selectbox(key="decoding-blanks-place-box").set_value(first.position).run()
    assert app.selectbox(key="blanks-token-box").value == other
    app.selectbox(key="blanks-token-box").set_value(first.best.token).run()  # what came after it is open again
    assert url_of(app)["filled"] == written(tree.fill())


def test_a_word_is_typed(tree: FillingTree, three_kinds: Path):
    app = opened()
    _, tokenizer = tc.load(three_kinds / "gaps")
    place = tree.read().certain_first[0].position
    for word in ("tired", "two words"):  # AppTest types nothing into a box of choices
        app.session_state["decoding-blanks-request"] = (place, word)
        app.run()
        assert not app.exception
        assert url_of(app)["filled"] == f"{place}:{tokenizer.encode('tired')[0]}"
    assert "has 2 tokens, but one is needed" in words_of(app)


def test_where_the_masks_look(tree: FillingTree):
    app = opened(layer="1", head="1", mean="")
    surest = tree.read().certain_first[0]
    drawn = next(t for t in figure(app, "blanks-looks")["data"] if t["type"] == "bar")
    np.testing.assert_allclose(numbers(drawn["y"]), surest.rows[1, 1], atol=1e-6)
    for blank in tree.read().blanks.values():
        row = blank.rows[1, 1].tolist()
        assert f"blank {blank.position} → “<bdi>" in words_of(app) and f"</bdi>” {max(row):.2f}" in words_of(app)
    app.selectbox(key="decoding-mean-box").set_value("layer").run()
    drawn = next(t for t in figure(app, "blanks-looks")["data"] if t["type"] == "bar")
    np.testing.assert_allclose(numbers(drawn["y"]), surest.rows[1].mean(axis=0), atol=1e-6)
    assert "L1, mean over heads" in words_of(app)


def test_an_address_opens_its_moment(tree: FillingTree):
    whole = tree.fill_all(tree.fill(NOTHING, tree.masks[1], 9))
    app = opened(filled=written(whole), step="1")
    assert url_of(app)["filled"] == written(whole) and url_of(app)["step"] == "1"
    assert len(bars(app)) == 2 and words_of(app).count("class='hl-filled'") == 1


@pytest.mark.parametrize(
    ("filled", "words"),
    [
        ("love", "filled=“love”; the format is position:token"),
        ("0:9", "cannot be filled: there is no blank at position 0"),
        ("{place}:99999", "cannot be filled: token id 99999 is not in the vocabulary"),
        ("{place}:9.{place}:9", "is already filled"),
    ],
)
def test_an_address_that_cannot_be_is_one_sentence(tree: FillingTree, filled: str, words: str):
    app = opened(filled=filled.format(place=tree.masks[0]))
    assert words in html.unescape(words_of(app)) and "filled" not in url_of(app)


def test_texts_and_models_without_blanks_are_told():
    assert "There is no blank in this text; type ____" in words_of(opened("The dog sees the cat."))
    assert "This text has 25 blanks" in words_of(opened("____ " * 25))
    assert "This text has 24 blanks" not in words_of(opened("____ " * 24))


def test_a_model_without_a_mask_token_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tokenizer = tc.train_tokenizer(["the cat"], kind="word")
    config = tc.ModelConfig(
        vocab_size=tokenizer.vocab_size,
        architecture="encoder_only",
        d_model=8,
        d_ff=8,
        n_heads=2,
        n_encoder_layers=1,
        n_decoder_layers=0,
        max_seq_len=16,
        tie_embeddings="target",
    )
    tc.save(tmp_path / "bare", tc.build(config), tokenizer, {"title": "Bare"})
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    assert "no mask token" in words_of(opened("the ____", model="bare"))


def test_another_text_forgets_what_was_filled():
    app = pressed(opened(), "blanks-all")
    app.text_input(key="text").set_value(GAPS[0]).run()
    assert not app.exception
    assert "filled" not in url_of(app) and words_of(app).count("class='hl-open") == 1


def test_what_is_typed_is_never_html():
    app = opened("<b>cat</b> ____ <mask>")
    assert "<b>cat" not in words_of(app) and "&lt;" in words_of(app)


@pytest.fixture
def taken_away(tree: FillingTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    def take(key: str) -> tuple[AppTest, dict[str, Any], dict[str, Any]]:
        app = pressed(opened(), "blanks-next")
        app.session_state[key] = {"open": 1}
        app.run()
        assert not app.exception
        (sent,) = (json.loads(c.proto.json) for c in app.get("bidi_component") if c.proto.id.endswith(key))
        files = {name.rpartition(".")[2]: base64.b64decode(text) for name, text in sent["files"].items()}
        monkeypatch.chdir(tmp_path)
        again: dict[str, Any] = {}
        exec(compile(files["py"], "redraw.py", "exec"), again)
        with np.load(io.BytesIO(files["npz"])) as arrays:
            return app, dict(arrays), again

    yield take


def test_what_is_taken_away_is_given_again_by_its_lines(taken_away: Callable[[str], Any]):
    app, arrays, again = taken_away("blanks-bars")
    for drawn, probabilities in zip(bars(app), again["probabilities"], strict=True):
        np.testing.assert_allclose(drawn, probabilities, rtol=1e-6)
    np.testing.assert_allclose([blank.log_probs for blank in again["blanks"]], arrays["log_probs"], atol=1e-6)
    assert [blank.position for blank in again["blanks"]] == arrays["places"].tolist()
    assert_same_traces(again["figure"], figure(app, "blanks-bars"))
    app, arrays, again = taken_away("blanks-looks")
    np.testing.assert_allclose(again["row"], arrays["row"], atol=1e-7)
    assert_same_traces(again["figure"], figure(app, "blanks-looks"))


def assert_same_traces(drawn_again: Figure, drawn: dict[str, Any]) -> None:
    """Both draw the same, whatever room they have."""
    again = json.loads(drawn_again.to_json())
    assert again["data"] == drawn["data"]
    assert again["layout"]["title"]["text"] == drawn["layout"]["title"]["text"]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_the_shown_code_gives_the_shown_numbers(tree: FillingTree, n: int):
    app = pressed(opened(), *["blanks-next"] * n)
    again: dict[str, Any] = {}
    exec(compile(shown_code(app), "the shown code", "exec"), again)
    assert written(again["filling"]) == url_of(app).get("filled", "")
    for drawn, probabilities in zip(bars(app), again["probabilities"], strict=True):
        np.testing.assert_allclose(drawn, probabilities, rtol=1e-6)
    state = again["tree"].read(again["filling"])
    if n < 2:
        assert f"<b>Next: blank {state.certain_first[0].position}</b>" in words_of(app)
    else:
        assert f"{again['filling'].total_log_prob:.2f} nats".replace("-", "−") in words_of(app)
        alone = tree.at_once()
        places = [step.position for step in again["filling"].steps]
        beside = tree.follow((place, alone[place].token) for place in places)
        assert again["beside"].total_log_prob == pytest.approx(beside.total_log_prob, abs=1e-5)
