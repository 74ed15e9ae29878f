"""The two tokens of the logit difference, against plain forward passes of the model."""

from collections.abc import Callable, Mapping
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

import transformer_core as tc
from tests.pages.conftest import shown_code, url_of, values_of, words_of
from tests.pages.investigate.interventions.test_page import TEXT, ZERO, changes, figures_of, opened, press
from transformer_core.analysis.interventions import Stack

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("three_kinds_here")]
OpenApp = Callable[..., AppTest]
INDEX = 1
STACK = Stack(entries=(ZERO,))
OFF = {"decoder.blocks.1.cross_attn.hook_z": tc.zero_heads([0])}


def logits_of(folder: Path, edits: Mapping[str, Any], text: str = TEXT) -> torch.Tensor:
    """All logits of the model on a text and on what the unchanged model writes, [token, vocab]; the page has fewer."""
    model, tokenizer = tc.load(folder / "en-fr")
    src = torch.tensor([tokenizer.encode(text, eos=True)])
    tgt = tc.greedy_decode(model, src).tokens
    with torch.no_grad(), tc.intervene(model, edits):
        return model(src, tgt[:, :-1])[0]


def difference(logits: torch.Tensor, pair: tuple[int, int]) -> float:
    return float(logits[INDEX, pair[0]] - logits[INDEX, pair[1]])


def labels_of(folder: Path, pair: tuple[int, int]) -> list[str]:
    return tc.load(folder / "en-fr")[1].target.labels(pair)


def box(app: AppTest, place: int) -> Selectbox:
    """The choice of the first or the other token."""
    return next(one for one in app.selectbox if str(one.key).startswith(f"interventions-pair-{place}-"))


def title(app: AppTest) -> str:
    return str(figures_of(app)["en-fr-output-tokens"]["layout"]["title"]["text"])


def test_bars_numbers_and_code_compare_the_two_tokens_that_are_chosen(open_app: OpenApp, three_kinds: Path):
    before, after = logits_of(three_kinds, {}), logits_of(three_kinds, OFF)
    app = opened(open_app, STACK, token=str(INDEX))
    usual = changes(app)
    assert "teacher-forced" in title(app) and "pair" not in url_of(app)
    first = int(before[INDEX].argmax())
    third = int(before[INDEX].topk(4).indices[3])  # never the usual one
    box(app, 1).set_value(third).run()
    assert not app.exception and url_of(app)["pair"] == f"{first}.{third}"
    expected = difference(after, (first, third)) - difference(before, (first, third))
    assert changes(app)[INDEX] == pytest.approx(expected, abs=1e-5) != pytest.approx(usual[INDEX], abs=1e-3)
    np.testing.assert_array_equal(np.delete(changes(app), INDEX), np.delete(usual, INDEX))
    one, other = labels_of(three_kinds, (first, third))
    assert title(app).endswith(f"logit difference at token {INDEX}: logit({one}) − logit({other})")

    app.session_state["interventions-view"] = "numbers"
    app.run()
    table = app.dataframe[0].value
    assert table["compared tokens"][INDEX] == f"{one} − {other}"
    assert table["logit difference before"][INDEX] == pytest.approx(difference(before, (first, third)), abs=1e-4)
    assert table["logit difference after"][INDEX] == pytest.approx(difference(after, (first, third)), abs=1e-4)

    names: dict[str, Any] = {}
    exec(shown_code(app), names)
    np.testing.assert_allclose(
        names["result"].logit_differences[:, INDEX],
        [difference(logits, (first, third)) for logits in (before, after)],
        atol=1e-4,
    )


def test_the_choices_are_the_best_candidates_before_and_after(open_app: OpenApp, three_kinds: Path):
    app = opened(open_app, STACK, token=str(INDEX))
    best = {
        token
        for logits in (logits_of(three_kinds, {}), logits_of(three_kinds, OFF))
        for token in logits[INDEX].index_fill(-1, torch.tensor([0]), -torch.inf).topk(10).indices.tolist()
    }
    offered = box(app, 0).options
    assert sorted(offered) == sorted(label for token in best for label in labels_of(three_kinds, (token, token))[:1])


def test_the_two_tokens_change_places_and_become_the_usual_ones_again(open_app: OpenApp):
    app = opened(open_app, STACK, token=str(INDEX))
    usual = changes(app)
    first, other = (box(app, place).value for place in (0, 1))
    box(app, 0).set_value(other).run()
    assert url_of(app)["pair"] == f"{other}.{first}"
    assert changes(app)[INDEX] == pytest.approx(-usual[INDEX], abs=1e-6)
    app = press(app, "interventions-usual-pair")
    assert "pair" not in url_of(app) and url_of(app)["token"] == str(INDEX)
    np.testing.assert_array_equal(changes(app), usual)
    box(app, 0).set_value(other).run()
    app.selectbox(key="interventions-token-box").set_value(INDEX + 1).run()  # another output token, another pair
    assert "pair" not in url_of(app) and url_of(app)["token"] == str(INDEX + 1)


def test_without_a_place_the_last_output_token_is_compared(open_app: OpenApp, three_kinds: Path):
    app = opened(open_app, STACK, pair="5.9")
    last = len(changes(app)) - 1
    change = logits_of(three_kinds, OFF)[last] - logits_of(three_kinds, {})[last]
    assert changes(app)[last] == pytest.approx(float(change[5] - change[9]), abs=1e-5)
    assert app.selectbox(key="interventions-token-box").value == last


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ("99999.1", "Token id 99999 is not in the vocabulary"),
        ("5.5", "A logit difference needs two different tokens"),
        ("5", "the format is two token ids with a point between them"),
    ],
)
def test_tokens_that_cannot_be_compared_are_one_sentence(open_app: OpenApp, pair: str, words: str):
    usual = changes(opened(open_app, STACK, token="1"))
    app = opened(open_app, STACK, token="1", pair=pair)
    warnings = [warning.value for warning in app.warning]
    assert words in "".join([*warnings, words_of(app)]) and len(warnings) <= 1
    np.testing.assert_array_equal(changes(app), usual)


def test_a_sweep_measures_the_two_tokens_that_are_chosen(open_app: OpenApp, three_kinds: Path):
    other_text, position, pair = "The cat sees the dog.", 2, (5, 9)  # "sees" stands at 2 in both
    app = opened(open_app, view="sweep", token=str(INDEX), pair="5.9")
    app.text_input(key="interventions-other-box").set_value(other_text).run()
    app = press(app, "interventions-run-sweep")
    while any(button.key == "interventions-cancel" for button in app.button):
        app.run()
    swept = values_of(figures_of(app)["en-fr-sweep-encoder"]["data"][-1])[:, position]
    model, tokenizer = tc.load(three_kinds / "en-fr")
    src = torch.tensor([tokenizer.encode(other_text, eos=True)])
    with torch.no_grad(), tc.capture(model, "encoder.*.hook_z") as there:
        model(src, torch.tensor([[model.config.bos_id]]))
    before, expected = difference(logits_of(three_kinds, {}), pair), []
    for layer in range(2):
        for head in range(4):
            site = f"encoder.blocks.{layer}.self_attn.hook_z"

            def replaced(value: torch.Tensor, _: object, site: str = site, head: int = head) -> torch.Tensor:
                value = value.clone()
                value[:, head, position] = there[site][:, head, position]
                return value

            expected.append(difference(logits_of(three_kinds, {site: replaced}), pair) - before)
    np.testing.assert_allclose(swept, expected, atol=1e-5)
    one, other = labels_of(three_kinds, pair)
    assert f"Metric: logit of “{one}” − logit of “{other}”" in unescape(words_of(app))
    app.selectbox(key="interventions-token-box").set_value(0).run()
    assert "en-fr-sweep-encoder" not in figures_of(app)  # that was another question


def test_another_model_begins_with_the_usual_pair(open_app: OpenApp):
    app = opened(open_app, STACK, token="1", pair="5.9")
    app.selectbox(key="model").set_value("tales").run()
    assert url_of(app)["model"] == "tales" and "pair" not in url_of(app)


@pytest.mark.parametrize("view", ["pattern", "heads", "numbers", "sweep"])
def test_a_text_without_output_tokens_says_so_once_in_place_of_the_figure(open_app: OpenApp, view: str):
    app = opened(open_app, model="gaps", text="The cat sees the dog.", view=view, pair="1.2")
    html = words_of(app)
    assert html.count("This text has no output token to compare") == 1
    assert "Output of the unchanged model" not in html and not app.dataframe
    assert "gaps-output-tokens" not in figures_of(app)
