"""The two tokens of the logit difference, against plain forward passes of the model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

import transformer_core as tc
from headlight.analysis.interventions.records import InterventionStack
from headlight.figures.quantities import rounded
from tests.pages.conftest import OpenApp, figures_of, shown_code, url_of, words_of
from tests.pages.investigate.interventions.test_page import TEXT, ZERO, changes, opened, press, table_of

pytestmark = pytest.mark.usefixtures("three_kinds_here")
INDEX = 1
STACK = InterventionStack(entries=(ZERO,))
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
    table = table_of(app)
    assert table["compared tokens"][INDEX] == f"{one} − {other}"
    both = [difference(logits, (first, third)) for logits in (before, after)]
    assert table["logit difference"][INDEX] == " → ".join(rounded(value, 3) for value in both)

    names: dict[str, Any] = {}
    exec(shown_code(app), names)
    np.testing.assert_allclose(names["result"].logit_differences[:, INDEX], both, atol=1e-4)


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
    for pair, words in (("99999.1", "is not in the vocabulary"), ("5.5", "two different tokens")):
        app = opened(open_app, STACK, token=str(INDEX), pair=pair)
        (warning,) = app.warning
        assert words in warning.value
        np.testing.assert_array_equal(changes(app), usual)
    app = opened(open_app, STACK, token=str(INDEX), pair="5.9")
    app.selectbox(key="interventions-token-box").set_value(INDEX + 1).run()  # another output token, another pair
    assert "pair" not in url_of(app) and url_of(app)["token"] == str(INDEX + 1)


@pytest.mark.parametrize("view", ["pattern", "sweep"])
def test_a_text_without_output_tokens_says_so_once_in_place_of_the_figure(open_app: OpenApp, view: str):
    app = opened(open_app, model="gaps", text="The cat sees the dog.", view=view, pair="1.2")
    html = words_of(app)
    assert html.count("This text has no output token to compare") == 1
    assert "Output of the unchanged model" not in html and not table_of(app)
    assert "gaps-output-tokens" not in figures_of(app)
