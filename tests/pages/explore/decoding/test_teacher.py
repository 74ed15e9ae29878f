"""The target beside what the model writes on its own: against plain forwards and greedy decoding."""

import html
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from tests.pages.conftest import EXAMPLES, shown_code, words_of
from tests.pages.explore.decoding import decoding_parts
from tests.pages.explore.decoding.decoding_parts import again, loaded

pytestmark = pytest.mark.usefixtures("three_kinds_here")
opened = partial(decoding_parts.opened, "teacher")
TARGET = "Le chien n'a pas vu le chat."
BOX = "decoding-forced-box"


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
    """Of both texts, the summed log-probability, and what is said of the whole after it."""
    found = re.findall(r"<span>log-probability (\S+) nats, (.*?)</span>", words_of(app))
    return [float(total.replace("−", "-")) for total, _ in found], [remark for _, remark in found]


def sentence_of(app: AppTest) -> str:
    (sentence,) = re.findall(r"<p class='hl-look'>(.*?)</p>", words_of(app))
    return html.unescape(sentence)


def shown(log_prob: float) -> str:
    return f"{torch.tensor(log_prob).exp():.2f}" if log_prob >= torch.tensor(0.005).log() else "below 0.01"


@torch.inference_mode()
def check_rows(app: AppTest, model: tc.Transformer, labels: list[str], *inputs: torch.Tensor, n_given: int) -> None:
    """Both rows against a forward over the forced tokens and against greedy decoding; `inputs` ends with the former."""
    tokens = inputs[-1]
    log_probs = model(*inputs[:-1], tokens[:, :-1])[0].log_softmax(-1)
    of_led = log_probs.gather(-1, tokens[0, 1:, None])[n_given - 1 :, 0]
    n_led = tokens.shape[1] - n_given
    given = inputs[0] if len(inputs) == 2 else tokens[:, :n_given]
    free = tc.greedy_decode(model, given, max_new_tokens=n_led)
    of_free = free.log_probs[0, n_given - 1 :]
    forced_row, free_row = rows_of(app)
    totals, remarks = told_of(app)
    assert [label for label, *_ in forced_row] == labels
    assert [value for _, value, _ in forced_row] == [shown(p) for p in of_led.tolist()]
    assert [value for _, value, _ in free_row] == [shown(p) for p in of_free.tolist()]
    assert totals == pytest.approx([float(of_led.sum()), float(of_free.sum())], abs=0.006)
    n_first = int((log_probs[n_given - 1 :].argmax(-1) == tokens[0, n_given:]).sum())
    has_ended = int(free.tokens[0, -1]) == model.config.eos_id
    how_far = "complete" if has_ended else f"cut off after {free.tokens.shape[1] - n_given} tokens"
    assert remarks == [f"{n_first} of {n_led} tokens ranked first", how_far]
    differ = [a != b for a, b in zip(tokens[0, n_given:].tolist(), free.tokens[0, n_given:].tolist(), strict=False)]
    parting = [differ.index(True)] if True in differ else []
    for row in (forced_row, free_row):
        assert [place for place, (*_, is_marked) in enumerate(row) if is_marked] == parting


def check_target(app: AppTest, checkpoints: Path, labels: list[str], target: str) -> None:
    """Both rows of the encoder-decoder, on the first example."""
    model, tokenizer, src = loaded(checkpoints)
    tgt = torch.tensor([[model.config.bos_id, *tokenizer.encode_for(target, "encoder_decoder")]])
    check_rows(app, model, labels, src, tgt, n_given=1)


def test_a_target_beside_what_the_model_writes(three_kinds: Path):
    app = opened(model="en-fr", text=EXAMPLES[0], target="Le")
    check_target(app, three_kinds, ["le", "<eos>"], "Le")
    assert [len(row) for row in rows_of(app)] == [2, 2], "the free text is as long"
    app = opened(model="en-fr", text=EXAMPLES[0], target=TARGET)
    check_target(app, three_kinds, ["le", "chien", "n'", "a", "pas", "vu", "le", "chat", ".", "<eos>"], TARGET)
    led_row, free_row = rows_of(app)
    place = [is_marked for *_, is_marked in led_row].index(True)
    (has, p, _), (instead, q, _) = led_row[place], free_row[place]
    assert f"generates “{instead}” ({q}) where the target has “{has}” ({p})" in sentence_of(app)


def test_a_continuation_beside_what_the_model_writes(three_kinds: Path):
    prompt, continuation = "The cat sees the", "dog because it was tired."
    app = opened(model="tales", text=prompt)
    typed(app, continuation)
    model, tokenizer = tc.load(three_kinds / "tales")
    n_given = len(tokenizer.encode_for(prompt, "decoder_only"))
    tokens = tokenizer.encode_for(f"{prompt} {continuation}", "decoder_only")
    labels = tokenizer.labels(tokens)[n_given:]
    check_rows(app, model, labels, torch.tensor([tokens]), n_given=n_given)
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
    typed(app, f"  {TARGET} ")
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
