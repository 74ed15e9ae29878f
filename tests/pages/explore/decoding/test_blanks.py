"""Blanks on the Decoding page: filled one by one by buttons and links, and drawn again by the lines that are saved."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from tests.pages.conftest import GAPS, shown_code, url_of, words_of
from tests.pages.explore.decoding.blanks_parts import TEXT, written
from tests.pages.explore.decoding.decoding_parts import again, arrays_of, files_of, numbers, sent
from transformer_core.decoding.filling import FillingTree

pytestmark = pytest.mark.usefixtures("three_kinds_here")


def page() -> None:
    """What the frame does around the page, and the page."""
    from pages.explore.decoding import blanks as decoding_blanks
    from pages.explore.decoding import view_fields
    from pages.shared import models
    from pages.shared.sources import Source
    from pages.shared.view import state

    cards = models.available()
    state.seed(cards, view_fields.FIELDS)
    view = state.current()
    state.TEXT.text_line("Text", take=state.take_text)
    decoding_blanks.show(cards[view.model], Source.of(cards[view.model]), view.text)
    state.publish()


def opened(text: str = TEXT, model: str = "gaps", **parameters: str) -> AppTest:
    app = AppTest.from_function(page, default_timeout=300)
    for name, value in {"model": model, "text": text, **parameters}.items():
        app.query_params[name] = value
    return again(app)


def figure(app: AppTest, key: str) -> dict[str, Any]:
    return dict(json.loads(sent(app, key)["figure"]))


def bars(app: AppTest) -> list[np.ndarray]:
    """The probabilities in each panel."""
    return [numbers(trace["x"]) for trace in figure(app, "blanks-bars")["data"]]


def pressed(app: AppTest, *keys: str) -> AppTest:
    for key in keys:
        app.button(key=key).click()
        again(app)
    return app


def test_next_back_all_and_again(tree: FillingTree):
    app, state = opened(), tree.read()
    assert f"<b>Next: blank {state.certain_first[0].position}</b>" in words_of(app)
    assert words_of(app).count("class='hl-open") == 2 and words_of(app).count("hl-next'") == 1
    assert "filled" not in url_of(app) and "step" not in url_of(app)
    assert app.button(key="blanks-back").disabled and app.button(key="blanks-again").disabled
    pressed(app, "blanks-next")
    one, whole = tree.fill(), tree.fill_all()
    assert url_of(app)["filled"] == written(one) and "step" not in url_of(app)
    blanks = {**state.blanks, **tree.read(one).blanks}  # the candidates of the filled one stay
    for drawn, blank in zip(bars(app), blanks.values(), strict=True):
        np.testing.assert_allclose(drawn, [c.probability for c in blank.candidates(6)], rtol=1e-5)
    pressed(app, "blanks-all")
    assert url_of(app)["filled"] == written(whole)
    assert f"{whole.total_log_prob:.2f} nats".replace("-", "−") in words_of(app)
    assert app.button(key="blanks-next").disabled and app.button(key="blanks-all").disabled
    pressed(app, "blanks-back")
    assert url_of(app)["filled"] == written(whole) and url_of(app)["step"] == "1"
    again_there = opened(**{name: url_of(app)[name] for name in ("filled", "step")})
    assert bars(again_there)[0].tolist() == bars(app)[0].tolist(), "a link opens the step"
    pressed(app, "blanks-next")
    assert url_of(app)["filled"] == written(whole) and "step" not in url_of(app)
    pressed(app, "blanks-again")
    assert "filled" not in url_of(app) and words_of(app).count("class='hl-open") == 2


def test_another_token_is_chosen_and_another_text_forgets_it(tree: FillingTree):
    app = opened(layer="1", head="1", mean="")
    first = tree.read().certain_first[0]
    other = first.candidates(3)[2].token
    app.selectbox(key="blanks-token-box").set_value(other).run()
    assert url_of(app)["filled"] == f"{first.position}:{other}"
    assert "your choice; 2 more probable" in words_of(app)
    app.selectbox(key="decoding-mean-box").set_value("layer").run()
    assert "L1, mean over heads" in words_of(app)
    app.text_input(key="text-line").set_value(GAPS[0]).run()
    assert not app.exception
    assert "filled" not in url_of(app) and words_of(app).count("class='hl-open") == 1


def test_texts_and_models_without_blanks_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert "There is no blank in this text; type ____" in words_of(opened("The dog sees the cat."))
    assert "This text has 25 blanks" in words_of(opened("____ " * 25))
    words = words_of(opened("<b>cat</b> " + "____ " * 24))
    assert "This text has" not in words and "<b>cat" not in words and "&lt;" in words
    tokenizer = tc.train_tokenizer(["the cat"], kind="word")
    shape = {"d_model": 8, "d_ff": 8, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 0, "max_seq_len": 16}
    options: dict[str, Any] = {"architecture": "encoder_only", "tie_embeddings": "target", **shape}
    config = tc.ModelConfig(vocab_size=tokenizer.vocab_size, **options)
    tc.save(tmp_path / "bare", tc.build(config), tokenizer, {"title": "Bare"})
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    assert "no mask token" in words_of(opened("the ____", model="bare"))


def test_what_is_saved_is_drawn_again_by_its_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    app = pressed(opened(), "blanks-next")
    monkeypatch.chdir(tmp_path)
    results: dict[str, dict[str, Any]] = {}
    arrays = {}
    for key in ("blanks-bars", "blanks-looks"):
        files = files_of(app, key)
        arrays[key], results[key] = arrays_of(files), {}
        exec(compile(files["py"], "redraw.py", "exec"), results[key])
        redrawn, drawn = json.loads(results[key]["figure"].to_json()), figure(app, key)
        assert redrawn["data"] == drawn["data"]
        assert redrawn["layout"]["title"]["text"] == drawn["layout"]["title"]["text"]
    blanks = results["blanks-bars"]["blanks"]
    np.testing.assert_allclose([one.log_probs for one in blanks], arrays["blanks-bars"]["log_probs"], atol=1e-6)
    assert [blank.position for blank in blanks] == arrays["blanks-bars"]["places"].tolist()
    np.testing.assert_allclose(results["blanks-looks"]["row"], arrays["blanks-looks"]["row"], atol=1e-7)


def test_the_shown_code_gives_the_shown_numbers(tree: FillingTree):
    app = pressed(opened(), "blanks-next", "blanks-next")
    results: dict[str, Any] = {}
    exec(compile(shown_code(app), "the shown code", "exec"), results)
    assert written(results["filling"]) == url_of(app).get("filled", "")
    for drawn, probabilities in zip(bars(app), results["probabilities"], strict=True):
        np.testing.assert_allclose(drawn, probabilities, rtol=1e-6)
    assert f"{results['filling'].total_log_prob:.2f} nats".replace("-", "−") in words_of(app)
    alone = tree.at_once()
    beside = tree.follow((step.position, alone[step.position].token) for step in results["filling"].steps)
    assert results["beside"].total_log_prob == pytest.approx(beside.total_log_prob, abs=1e-5)
