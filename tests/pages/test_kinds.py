"""The frame and the Heads page for the three kinds of models, under AppTest."""

import html
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from tests.pages.conftest import (
    EXAMPLES,
    GAPS,
    PROMPTS,
    TARGETS,
    OpenApp,
    component,
    figure_of,
    overview_of,
    shown_code,
    url_of,
    values_of,
    view_of,
    words_of,
)

pytestmark = pytest.mark.usefixtures("three_kinds_here")


def title_of(app: AppTest) -> str:
    """The title of the heatmap."""
    return figure_of(app)["layout"]["title"]["text"]


def text_of(app: AppTest) -> str:
    """All words that the page wrote, as a person reads them."""
    return html.unescape(words_of(app))


@pytest.mark.parametrize(
    ("model", "label", "groups", "title"),
    [
        ("en-fr", "Text", ["encoder", "decoder", "cross"], "cross-attention L1.H0"),
        ("tales", "Prompt", ["decoder"], "decoder self-attention L0.H0"),
        ("gaps", "Text with blanks", ["encoder"], "encoder self-attention L2.H0"),
    ],
)
def test_each_kind_has_its_boxes_and_its_attentions(
    open_app: OpenApp, model: str, label: str, groups: list[str], title: str
):
    app = open_app("heads", model=model)
    assert not app.exception
    assert app.text_input(key="text-line").label == label
    header, levels = overview_of(app)
    assert [group["attention"] for group in header["groups"]] == groups
    assert len(levels) == sum(g["layers"] * g["heads"] * g["queries"] * g["keys"] for g in header["groups"])
    assert title in title_of(app)
    about = json.loads(component(app, "figure").json)["about"]  # what a page that is saved says of the figure
    assert about.endswith(f": {app.text_input(key='text-line').value}")
    assert view_of(app).keys() == {"model", "text", "attention", "layer", "head"}
    before = overview_of(app), figure_of(app), words_of(app), view_of(app)
    app.run()
    assert (overview_of(app), figure_of(app), words_of(app), view_of(app)) == before


def test_blanks_show_their_candidates(open_app: OpenApp, three_kinds: Path):
    app = open_app("heads", model="gaps", text="The ____ sees the [MASK].")
    model, tokenizer = tc.load(three_kinds / "gaps")
    ids = tokenizer.encode_for("The ____ sees the [MASK].", "encoder_only")
    with torch.inference_mode():
        probabilities = model(torch.tensor([ids]))[0].softmax(-1)
    best = []
    for position in (i for i, token in enumerate(ids) if token == tokenizer.mask_id):
        ranked = sorted(((p, i) for i, p in enumerate(probabilities[position].tolist())), reverse=True)[:5]
        for probability, token in ranked:
            assert f"{tokenizer.tokens([token])[0]}</bdi> {probability:.2f}" in text_of(app)
        best.append(tokenizer.tokens([ranked[0][1]])[0])
    assert f"The {best[0]} sees the {best[1]}." in text_of(app)


def test_a_target_is_typed_and_given_up_again(open_app: OpenApp):
    app = open_app("heads", text=EXAMPLES[2])
    own = words_of(app)
    app.button(key="change-target").click().run()
    assert "target" in url_of(app)
    app.text_input(key="target-line").set_value("Le chat le zèbre.").run()
    assert not app.exception and url_of(app)["target"] == "Le chat le zèbre."
    assert "Forced output" in text_of(app) and "The model itself would continue with" in text_of(app)
    assert "“zèbre”" in text_of(app)  # which the model has no token for
    rows = [html.unescape(label) for label in figure_of(app)["layout"]["yaxis"]["ticktext"]]
    assert rows == ["<bos>", "Le", "chat", "le", "<unk> zèbre", "."]
    app.button(key="own-target").click().run()
    assert words_of(app) == own and "target" not in url_of(app)
    for do in (
        lambda app: app.text_input(key="target-line").set_value("  "),
        lambda app: app.button(key="example-1").click(),
        lambda app: app.selectbox(key="model-box").select("tales"),  # which takes none
    ):
        app = open_app("heads", target=TARGETS[0])
        assert app.text_input(key="target-line").value == TARGETS[0]
        do(app).run()
        assert not app.exception and "target" not in url_of(app)


def test_switching_between_kinds(open_app: OpenApp):
    app = open_app("heads", attention="cross", layer="1", head="3", target="Le chat.")
    app.selectbox(key="model-box").select("tales").run()
    assert not app.exception
    assert (app.text_input(key="text-line").value, app.text_input(key="text-line").label) == (PROMPTS[0], "Prompt")
    assert view_of(app) == {"model": "tales", "text": PROMPTS[0], "attention": "decoder", "layer": "0", "head": "3"}
    app.selectbox(key="model-box").select("gaps").run()
    assert app.text_input(key="text-line").value == GAPS[0]
    assert view_of(app)["attention"] == "encoder"
    app.text_input(key="text-line").set_value("The big ____ sleeps.").run()
    app.selectbox(key="model-box").select("tales").run()
    assert app.text_input(key="text-line").value == PROMPTS[0]  # a text with blanks is nothing to continue from
    app.text_input(key="text-line").set_value("The big dog").run()
    for model in ("gaps", "en-fr", "tales"):
        app.selectbox(key="model-box").select(model).run()
        assert not app.exception
        assert app.text_input(key="text-line").value == "The big dog"


def test_an_attention_that_the_model_has_not(open_app: OpenApp):
    for model, attention, sentence in (
        ("tales", "cross", "is decoder-only and has no cross-attention"),
        ("gaps", "decoder", "is encoder-only and has no decoder self-attention"),
    ):
        app = open_app("heads", model=model, attention=attention)
        assert not app.exception and sentence in text_of(app) and figure_of(app)["data"]


@pytest.mark.parametrize(
    "parameters",
    [
        {"model": "en-fr", "text": "the cat " * 60, "target": "Le 'chat' \\ <eos>" + "le chat " * 60},
        {"model": "tales"},
        {"model": "tales", "text": "'''\"\"\"\\ 👩‍👩‍👧 " + "the cat " * 60, "head": "2"},
        {"model": "gaps", "text": "the ____ " * 60, "layer": "0", "head": "1"},
    ],
)
def test_the_shown_code_computes_the_shown_numbers(
    open_app: OpenApp, parameters: dict[str, str], capsys: pytest.CaptureFixture[str]
):
    app = open_app("heads", **parameters)
    assert not app.exception
    namespace: dict[str, Any] = {}
    exec(compile(shown_code(app), "shown", "exec"), namespace)
    shown = next(trace for trace in figure_of(app)["data"] if trace["name"] == "attention")
    np.testing.assert_allclose(np.nan_to_num(values_of(shown)), namespace["shown"].values, atol=1e-6)
    printed = capsys.readouterr().out
    if parameters == {"model": "tales"}:
        assert printed.split("[[")[0].rstrip("\ufffd\n").strip() in text_of(app)
