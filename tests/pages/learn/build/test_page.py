"""The Build page: lines are typed, judged and kept, and the address holds the open step."""

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.learn.build import view_fields
from tests.pages.conftest import EXAMPLES, PROMPTS, OpenApp, component, url_of, words_of
from transformer_core.config import Positions

LINES = (
    *("x @ W_Q + b_Q", "k = x @ W_K + b_K", "v = x @ W_V + b_V", "q @ k.T", "scores / sqrt(d_k)"),
    *("where(mask, scaled, -inf)", "exp(masked - masked.max(axis=-1, keepdims=True))"),
    *("weights / weights.sum(-1, keepdim=True)", "pattern @ v"),
    *("softmax(where(mask, Q @ K.mT / sqrt(d_k), -inf), dim=-1) @ V", "torch.cat(list(Z), dim=-1)"),
    "concat @ W_O + b_O",
)


@pytest.fixture
def open_build(open_app: OpenApp, three_kinds_here: Any) -> OpenApp:
    def open_at(**parameters: str) -> AppTest:
        app = open_app("build", **parameters)
        assert not app.exception
        return app

    return open_at


def write(app: AppTest, step: int, line: str) -> AppTest:
    app.text_input(key=f"build-line-{step}-box").set_value(line).run()
    assert not app.exception
    return app


def test_twelve_lines_lead_from_step_to_step_to_the_models_output(open_build: OpenApp):
    app = open_build(model="en-fr")
    for number, line in enumerate(LINES, start=1):
        assert "Write the line and press Enter." in words_of(app)
        write(app, number, line)
        assert "data-right='True'" in words_of(app), (number, words_of(app))
        assert component(app, "figure") and len(app.code) > 1
        if number < 12:
            app.button(key="build-next").click().run()
            assert url_of(app)["step"] == str(number + 1)
    assert "'hl-proof hl-proved'" in words_of(app)


def test_a_line_is_kept_while_other_steps_heads_and_pages_are_seen(open_build: OpenApp):
    app = open_build(model="en-fr", step="4")
    assert "data-right='False'" in words_of(write(app, 4, "(" * 300))
    write(app, 4, "k @ q.T")
    app.session_state["head"] = 1
    app.run()
    assert "This is transposed" in words_of(app) and "data-right='False'" in words_of(app)
    app.segmented_control(key="build-step-segments").set_value(5).run()
    assert url_of(app)["step"] == "5" and app.text_input(key="build-line-5-box").value == ""
    app.switch_page("learn/steps/page.py").run()
    app.switch_page("learn/build/page.py").run()
    app.segmented_control(key="build-step-segments").set_value(4).run()
    assert app.text_input(key="build-line-4-box").value == "k @ q.T"


def test_a_step_that_is_not_there_is_refused(open_build: OpenApp):
    for step in ("0", "13", "²", "01"):
        with pytest.raises(ValueError, match="from 1 to 12"):
            view_fields.STEP.read(step)
    app = open_build(step="13")
    assert "address has step" in words_of(app) and "step" not in url_of(app)


def test_cross_attention_reads_keys_and_values_from_memory(open_build: OpenApp):
    app = open_build(model="en-fr", text=EXAMPLES[0], attention="cross", layer="0", head="0", step="2")
    assert "In cross-attention, keys and values come from memory" in words_of(write(app, 2, LINES[1]))
    assert "data-right='True'" in words_of(write(app, 2, "memory @ W_K + b_K"))


@pytest.mark.parametrize("positions", ["rotary_interleaved", "relative_buckets"])
def test_grouped_heads_without_biases_are_built(
    open_app: OpenApp, three_kinds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, positions: Positions
):
    grouped = {"n_heads": 4, "n_kv_heads": 2, "n_decoder_layers": 2, "attention_bias": "none", "norm_position": "pre"}
    save(three_kinds, tmp_path, positions=positions, **grouped)
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    app = open_app("build", layer="1", head="3", attention="decoder", text=PROMPTS[0])
    changed = {1: "rotate(x @ W_Q)", 2: "rotate(x @ W_K)"}
    if positions == "relative_buckets":
        changed = {5: "scores / sqrt(d_k) + bias", 10: LINES[9].replace("sqrt(d_k)", "sqrt(d_k) + biases")}
    for number, line in enumerate(LINES, start=1):
        app.session_state[f"build-line-{number}"] = changed.get(number, line)
    app.session_state["build-step"] = 12
    app.run()
    assert not app.exception and "'hl-proof hl-proved'" in words_of(app)


def save(three_kinds: Path, folder: Path, **changes: Any) -> None:
    _, tokenizer = tc.load(three_kinds / "tales")
    usual: dict[str, Any] = {"vocab_size": tokenizer.vocab_size, "d_model": 16, "d_ff": 16, "n_heads": 2}
    usual |= {"tie_embeddings": "target", "architecture": "decoder_only", "n_encoder_layers": 0, "n_decoder_layers": 1}
    model = tc.build(tc.ModelConfig(**usual | changes), seed=1)
    tc.save(folder / "small", model, tokenizer, tc.read_card(three_kinds / "tales") | {"name": "small"})


def test_a_head_that_the_papers_formula_does_not_give_is_named_in_one_sentence(
    open_app: OpenApp, three_kinds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    save(three_kinds, tmp_path, qk_norm=True)
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    app = open_app("build", text=PROMPTS[0])
    assert not app.exception
    assert "This head cannot be built here: this model normalizes queries and keys" in app.warning[0].value
