"""The view of a model and that of a training: what a click may set, what a text becomes, and what reads it."""

import html
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import streamlit
import torch
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest
from tokenizers import Tokenizer

import transformer_core as tc
from headlight.analysis.interventions.records import Ablation, Component, InterventionStack
from headlight.analysis.interventions.stacks import to_json
from headlight.cli.main import main
from pages.shared import models
from pages.shared.lines import from_box, to_box
from pages.shared.view import long_texts, run_state, state
from pages.shared.view.long_texts import MAX_CHARACTERS, clean
from tests.pages.conftest import figure_of
from transformer_core.decoding.greedy import greedy_decode

START = {"attention": "cross", "layer": 1, "head": 0}


HEAD = {"attention": "decoder", "layer": 0, "head": 3}


@pytest.mark.parametrize(
    "chosen",
    [
        *(HEAD, None, "decoder", [], {"attention": "decoder"}, HEAD | {"attention": "<b>"}, HEAD | {"layer": -1}),
        *(HEAD | {"layer": "0"}, HEAD | {"head": 1.5}, HEAD | {"layer": True}, HEAD | {"attention": ["decoder"]}),
    ],
)
def test_a_click_chooses_a_head_or_nothing(chosen: Any, monkeypatch: pytest.MonkeyPatch):
    session = START | {"overview": {"chosen": {"revision": 1, "value": chosen}}}
    monkeypatch.setattr(streamlit, "session_state", session)
    state.SHOWN_HEAD.take(state.OVERVIEW)
    assert {name: session[name] for name in START} == (HEAD if chosen is HEAD else START)


def test_a_text_is_read_with_the_stack_on_that_text_and_its_target(three_kinds_here: Path):
    """The stack is applied to the text that is read: to its target as well."""
    off = Ablation(component=Component(kind="head", attention="cross", layer=1, heads=(2,)), method="zero")
    stack = to_json(InterventionStack(entries=(off,)))
    view = state.View("en-fr", "The cat.", "Le chat", "cross", 1, 2, "cpu", "bfloat16", True, stack)
    card = models.available()["en-fr"]
    source = view.source(card, continues=False)
    assert (source.stack, source.text) == (stack, ("The cat.", "Le chat"))
    assert (source.path, source.version, source.precision, source.continues) == (
        *(card.path, card.version),
        *("bfloat16", False),
    )
    unchanged = view.source(card, is_changed=False)
    assert (unchanged.stack, unchanged.text, unchanged.continues) == ("", ("", None), True)


WHITE_SPACE = ("a  b", "a\tb", "a\n\nb", " a", "a ", "\n", "   ", "\u00a0", "\u200b", "\r\n", "\\\n", "↵\n␍\r", "a\0")


@given(st.text(st.characters(), max_size=300) | st.text("\\↵\n\r␍ \t"))
def test_a_text_stays_as_it_was_given(text: str):
    cleaned = clean(text)
    assert cleaned == re.sub("[\ud800-\udfff]", "\ufffd", text) and from_box(to_box(cleaned)) == cleaned
    assert not re.search("[\n\r]", to_box(cleaned)), "a browser leaves these out of a box of one line"
    for address in ({"source": text}, {"packed-source": long_texts.packed(cleaned)}):
        assert long_texts.asked("source", address) == cleaned
    assert len(clean("\n" * 40_000)) == MAX_CHARACTERS and to_box("a\nb") == "a↵b"


def test_page_library_and_decode_read_the_same_tokens(
    open_app: Callable[..., AppTest],
    three_kinds_here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    folder = three_kinds_here / "tales"
    model, tokenizer = tc.load(folder)
    saved = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    saved.pop("headlight")
    backend = Tokenizer.from_str(json.dumps(saved))
    expected = [backend.encode(text, add_special_tokens=False).ids for text in WHITE_SPACE]
    (bos,) = tokenizer.encode_for("", "decoder_only")
    assert [tokenizer.encode(text) for text in WHITE_SPACE] == expected
    assert len({*map(tuple, expected)}) == len(WHITE_SPACE)
    app = open_app("heads", model="tales", text=WHITE_SPACE[2])
    read = {WHITE_SPACE[2]: app.session_state["text"]}
    for text in WHITE_SPACE[5:7]:
        read[text] = app.text_input(key="text-line").set_value(to_box(text)).run().session_state["text"]
    app.session_state["long-text-open"] = True
    app.run().text_area(key="long-text").set_value(WHITE_SPACE[1])
    read[WHITE_SPACE[1]] = next(b for b in app.button if b.label == "Analyse").click().run().session_state["text"]
    assert [*read] == [*read.values()] and not app.exception
    labels = figure_of(app)["layout"]["yaxis"]["ticktext"]
    assert [html.unescape(one) for one in labels][:4] == tokenizer.labels([bos, *expected[1]])[:4]
    capsys.readouterr()
    for text, ids in zip(WHITE_SPACE, expected, strict=True):
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{text}\n"))
        assert main(["decode", "--tokens", "1", str(folder), "-" if text.isprintable() else text]) == 0
        prompt = torch.tensor([[bos, *ids]])
        written = tokenizer.decode(greedy_decode(model, prompt, max_new_tokens=1).tokens[0].tolist())
        assert capsys.readouterr() == (f"{written}\n", "")


@pytest.mark.usefixtures("session")
def test_only_a_run_that_is_there_can_be_chosen():
    for sent, run, text in (
        ("copy · running", "copy", "mine"),  # its title until a moment ago: it has stopped since
        ("copy", "copy", "mine"),  # sent again, since its title is another one now
        ("dates", "dates", ""),
        ("", "", ""),  # a new training
    ):
        run_state.RUN.set("copy")
        run_state.TEXT.set("mine")
        run_state.on_run(sent, ["", "copy", "dates"])
        assert (run_state.RUN.value, run_state.TEXT.value) == (run, text)
        assert run_state.NEW_CHOSEN.value == (sent == "")


def test_the_slider_of_a_film_chooses_a_snapshot(session: dict[str, Any]):
    sent: Any
    for sent in (4, 0, None, "4", [], {}, -4, 4.0, True):
        run_state.SNAPSHOT.set(20)
        session[run_state.FILM_OVERVIEW] = {"snapshot": {"revision": 1, "value": sent}}
        run_state.on_snapshot()
        assert run_state.SNAPSHOT.value == (sent if type(sent) is int and sent >= 0 else 20), sent


def test_a_click_in_an_overview_chooses_a_head(session: dict[str, Any]):
    for sent in ({"attention": "cross", "layer": 0, "head": 3}, {"attention": "cross", "layer": -1, "head": 0}, [1]):
        session[run_state.OVERVIEW] = {"chosen": {"revision": 1, "value": sent}}
        run_state.SHOWN_HEAD.take(run_state.OVERVIEW)
        assert run_state.SHOWN_HEAD.value == ("cross", 0, 3)


def test_a_part_of_a_page_reruns_the_page_when_its_model_was_deleted(monkeypatch: pytest.MonkeyPatch):
    class RerunError(Exception):
        pass

    def rerun() -> None:
        raise RerunError

    monkeypatch.setattr(streamlit, "session_state", {"model": "gone"})
    monkeypatch.setattr(streamlit, "rerun", rerun)
    with pytest.raises(RerunError):
        state.card()
