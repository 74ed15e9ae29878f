"""A stack of interventions acts on the pages that show the chosen model; each says so, and turns it off on demand."""

from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from headlight.analysis.interventions.context import with_interventions
from headlight.analysis.interventions.records import Ablation, Component, InterventionStack, Patch
from headlight.analysis.interventions.stacks import from_json, to_json
from headlight.analysis.trace.model_run import ModelRun, run_text
from pages.shared.models import PAPER_BASE
from pages.shared.page import pages
from pages.shared.sources import Source
from pages.shared.view import stack_history
from tests.pages.conftest import OpenApp, figure_of, url_of, values_of, words_of

pytestmark = pytest.mark.usefixtures("three_kinds_here")
TEXT = "The dog sees the cat."
HEAD = Component(kind="head", attention="encoder", layer=0, heads=(1,))
STACK = InterventionStack(
    entries=(
        Ablation(component=HEAD, method="zero"),
        Patch(
            component=Component(kind="resid_post", attention="encoder", layer=0), text="The cat.", direction="noising"
        ),
    )
)
ON_MODELS = [
    url for url, page in pages().items() if page.subject in ("text", "stage", "model") and not page.is_unchanged
]


def weights(app: AppTest) -> np.ndarray:
    """The numbers of the large heat map; where it is masked, 0."""
    return np.nan_to_num(values_of([one for one in figure_of(app)["data"] if one["type"] == "heatmap"][-1]))


def changed_and_plain(folder: Path) -> list[ModelRun]:
    """What the model makes of the text with the stack and without."""
    model, tokenizer = tc.load(folder / "en-fr")
    models = (with_interventions(model, tokenizer, STACK, TEXT), model)
    return [run_text(one, tokenizer, TEXT) for one in models]


def badges(app: AppTest) -> list[str]:
    return [one.value for one in app.markdown if "-badge[" in one.value]


@pytest.mark.parametrize("url", ON_MODELS)
def test_every_page_of_a_model_is_drawn_with_the_stack_and_says_so(open_app: OpenApp, url: str):
    app = open_app(url, model="en-fr", text=TEXT, stack=to_json(STACK))
    assert not app.exception and not app.error
    assert any("2 interventions active" in badge for badge in badges(app))
    assert from_json(url_of(app)["stack"]) == STACK


def test_heads_shows_the_changed_patterns_until_it_is_turned_off(open_app: OpenApp, three_kinds: Path):
    app = open_app("heads", model="en-fr", text=TEXT, stack=to_json(STACK), attention="encoder", layer="1", head="0")
    patterns = [run.patterns["encoder"][1, 0] for run in changed_and_plain(three_kinds)]
    assert np.abs(patterns[0] - patterns[1]).max() > 1e-3
    np.testing.assert_allclose(weights(app), patterns[0], atol=1e-6)
    app.button(key="interventions-off").click().run()
    assert not app.exception and not badges(app)
    np.testing.assert_allclose(weights(app), patterns[1], atol=1e-6)
    assert [entry.enabled for entry in from_json(url_of(app)["stack"]).entries] == [False, False]
    assert [from_json(stack) for stack in app.session_state[stack_history.DONE.key]] == [STACK], "it can be undone"


def test_above_a_page_that_shows_the_unchanged_model_stands_what_that_says(open_app: OpenApp, three_kinds: Path):
    changed, plain = (run.output[:20] for run in changed_and_plain(three_kinds))
    assert plain != changed
    for url, output in (("interventions", plain), ("build", plain), ("heads", changed)):
        app = open_app(url, model="en-fr", text=TEXT, stack=to_json(STACK))
        answer = next(one for one in words_of(app).splitlines() if "hl-said" in one)
        assert f">{output}" in unescape(answer), url
        assert bool(badges(app)) == (output == changed), url


def test_a_stack_goes_along_to_the_next_page_and_to_a_model_that_it_does_not_fit(open_app: OpenApp):
    app = open_app("interventions", model="en-fr", text=TEXT, stack=to_json(STACK))
    for url in ("glossary", "heads"):
        app.switch_page(pages()[url].script).run()
        assert not app.exception and from_json(url_of(app)["stack"]) == STACK
    app.selectbox(key="model-box").select("tales").run()
    assert not app.exception
    assert any("do not fit this model and are not active" in badge for badge in badges(app))


def test_the_papers_base_model_runs_with_a_stack_too():
    """It is built and not loaded, and came back to itself where a stack was to act in it."""
    source = Source(PAPER_BASE, "1", stack=to_json(InterventionStack(entries=STACK.entries[:1])), text=(TEXT, None))
    changed, plain = (one.load()[0] for one in (source, replace(source, stack="")))
    assert changed is not plain and next(changed.parameters()) is next(plain.parameters())
