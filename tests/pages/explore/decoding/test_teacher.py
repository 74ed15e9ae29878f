"""The target beside what the model writes on its own, and the shown code that gives both."""

import html
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import EXAMPLES, shown_code, words_of
from tests.pages.explore.decoding import decoding_parts
from tests.pages.explore.decoding.decoding_parts import again

pytestmark = pytest.mark.usefixtures("three_kinds_here")
opened = partial(decoding_parts.opened, "teacher")
TARGET = "Le chien n'a pas vu le chat."
BOX = "decoding-forced-line"


def rows_of(app: AppTest) -> list[list[tuple[str, str, bool]]]:
    """Of both texts, each token's label and probability as shown, and whether it is marked."""
    token = re.compile(r"<li style='[^']*' class='([^']*)' title='[^']*'><bdi>(.*?)</bdi> <small>(.*?)</small></li>")
    return [
        [(html.unescape(label), shown, marked == "hl-parts") for marked, label, shown in token.findall(row)]
        for row in re.findall(r"<ol .*?</ol>", words_of(app))
    ]


def typed(app: AppTest, text: str) -> None:
    app.text_input(key=BOX).set_value(text)
    again(app)


def told_of(app: AppTest) -> tuple[list[float], list[str]]:
    """Return the summed log-probability of both texts, and the words after it."""
    actual = re.findall(r"<span>log-probability (\S+) nats, (.*?)</span>", words_of(app))
    return [float(total.replace("−", "-")) for total, _ in actual], [remark for _, remark in actual]


def sentence_of(app: AppTest) -> str:
    (sentence,) = re.findall(r"<p class='hl-look'>(.*?)</p>", words_of(app))
    return html.unescape(sentence)


def shown(log_prob: float) -> str:
    return f"{torch.tensor(log_prob).exp():.2f}" if log_prob >= torch.tensor(0.005).log() else "below 0.01"


def test_a_target_beside_what_the_model_writes():
    app = opened(model="en-fr", text=EXAMPLES[0], target=TARGET)
    led_row, free_row = rows_of(app)
    assert [label for label, *_ in led_row] == ["le", "chien", "n'", "a", "pas", "vu", "le", "chat", ".", "<eos>"]
    place = [is_marked for *_, is_marked in led_row].index(True)
    (has, p, _), (instead, q, _) = led_row[place], free_row[place]
    assert f"generates “{instead}” ({q}) where the target has “{has}” ({p})" in sentence_of(app)


def test_a_continuation_beside_what_the_model_writes():
    app = opened(model="tales", text="The cat sees the")
    typed(app, "dog because it was tired.")
    assert "where the continuation has" in sentence_of(app)
    typed(app, ", and")
    assert rows_of(app)[0][0][0] == ",", "no space comes before it"


@pytest.mark.parametrize("model", ["en-fr", "tales"])
def test_without_a_typed_text_the_branch_is_forced(model: str):
    app = opened(model=model)
    led_row, free_row = rows_of(app)
    assert led_row == free_row
    assert "exactly this branch" in sentence_of(app)
    forked = opened(model=model, branches="~!5.!6", branch="1", length="4")
    assert "where the branch has" in sentence_of(forked)
    assert len(rows_of(forked)[0]) == len(rows_of(forked)[1]) == 4


def test_typing_and_clearing_a_target():
    app = opened(model="en-fr", text=EXAMPLES[0])
    typed(app, TARGET)
    assert app.session_state["target"] == TARGET
    assert app.query_params["target"] in (TARGET, [TARGET])
    app.button(key="decoding-forced-clear").click()
    again(app)
    assert app.session_state["target"] is None
    assert app.text_input(key=BOX).value == ""
    app.button(key="decoding-forced-take").click()
    again(app)
    assert app.session_state["target"] == app.text_input(key=BOX).value != ""


@pytest.mark.parametrize("model", ["en-fr", "tales"])
def test_the_shown_code_computes_the_shown_numbers(open_app: Callable[..., AppTest], model: str):
    sampled = {"temperature": "0.7", "seed": "3", "branches": "5.!6", "length": "5"}
    app = open_app("decoding", model=model, part="led", **sampled)
    namespace: dict[str, Any] = {}
    exec(compile(shown_code(app), "the shown code", "exec"), namespace)
    both = [namespace[name] for name in ("forced", "free")]
    assert [steps[-1].total_log_prob for steps in both] == pytest.approx(told_of(app)[0], abs=0.006)
    for steps, row in zip(both, rows_of(app), strict=True):
        assert [shown(step.log_prob) for step in steps] == [probability for _, probability, _ in row]
    start = namespace["tree"].start.position + 1
    assert namespace["comparison"].parting - start == [is_marked for *_, is_marked in rows_of(app)[0]].index(True)


@pytest.mark.parametrize(("n_words", "n_used", "is_cut"), [(30, 31, False), (31, 31, True)])
def test_a_target_is_cut_where_the_model_has_no_more_room_and_that_is_told(n_words: int, n_used: int, is_cut: bool):
    """The model has 32 positions: <bos> comes first, and <eos> follows the words."""
    app = opened(model="en-fr", text=EXAMPLES[0], target="le " * n_words)
    led_row, free_row = rows_of(app)
    assert len(led_row) == n_used and len(free_row) <= n_used
    assert (led_row[-1][0] == "<eos>") == (not is_cut)
    assert ("only its first 31 tokens are used" in words_of(app)) == is_cut
