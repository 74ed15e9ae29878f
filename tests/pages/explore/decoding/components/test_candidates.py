"""The next-token distribution on the Decoding page: which steps are sent, and what a person types."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.explore.decoding import view_fields
from pages.explore.decoding.components import candidates
from tests.pages.conftest import EXAMPLES, PROMPTS, packed_of, url_of, words_of
from tests.pages.explore.decoding import decoding_parts

pytestmark = pytest.mark.usefixtures("three_kinds_here")
opened = partial(decoding_parts.opened, "components.candidates")
OWN = "decoding-own-line"


def sent(app: AppTest) -> tuple[dict[str, Any], np.ndarray]:
    """Return the header of this step and of all, and the scores of each distribution."""
    header, scores = packed_of(app, "candidates")
    return header | header["distributions"][0], np.frombuffer(scores, dtype="<f4").reshape(-1, header["nTokens"])


def test_the_distributions_before_and_after_this_step_are_sent_as_well():
    steps = [sent(opened(text=EXAMPLES[0], step=step)) for step in "123"]
    before, here, after = (header["distributions"] for header, _ in steps)
    assert [step["nWritten"] for step in here] == [2, 1, 3]
    assert here[1:] == [before[0], after[0]]
    before_scores, scores, after_scores = (of_step for _, of_step in steps)
    np.testing.assert_array_equal(scores[1:], [before_scores[0], after_scores[0]])
    header, scores = sent(opened(text=EXAMPLES[0], step="2", temperature="0.5"))
    assert header["sampling"]["value"] == {"temperature": 0.5, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
    assert (np.diff(scores) <= 0).all()


def test_numbers_without_a_slider_have_boxes():
    app = opened(text=EXAMPLES[0], step="1")
    repetition, seed = app.number_input
    assert (repetition.value, seed.value, seed.disabled) == (1.0, 0, True)  # greedy: nothing is drawn
    repetition.set_value(1.3).run()
    assert url_of(app)["repetition"] == "1.3"
    app = opened(text=EXAMPLES[0], step="1", temperature="1")
    seed = app.number_input[1]
    assert not seed.disabled
    seed.set_value(11).run()
    assert url_of(app)["seed"] == "11"


def test_own_words_lead_the_model_along_from_this_moment_on(three_kinds: Path):
    _, tokenizer = tc.load(three_kinds / "en-fr")
    app = opened(text=EXAMPLES[0], step="2")
    before = written(app, 2)
    app.text_input(key=OWN).set_value("le chien").run()
    ids = tokenizer.target.encode("le chien")
    branch = ".".join([*map(str, before), *(f"!{token}" for token in ids)])
    assert url_of(app)["branches"].split("~")[1] == branch
    assert (url_of(app)["branch"], url_of(app)["step"]) == ("1", str(2 + len(ids)))
    assert app.text_input(key=OWN).value == ""


def test_words_that_are_not_known_or_have_no_room_are_told():
    app = opened(text=EXAMPLES[0], step="1")
    app.text_input(key=OWN).set_value("xyzzy").run()
    assert "is replaced by the unknown token" in words_of(app)
    app = opened(text=EXAMPLES[0], step="1")
    app.text_input(key=OWN).set_value("le chien " * 40).run()
    assert "This text has 80 tokens, but only" in words_of(app)
    assert "branches" not in url_of(app)
    app.text_input(key=OWN).set_value("   ").run()
    assert "branches" not in url_of(app) and "but only" not in words_of(app)


def test_a_space_counts_where_tokens_have_one():
    app = opened(model="tales", text=PROMPTS[0], step="0")
    assert app.text_input(key=OWN).placeholder == "… a space starts a new word"
    assert opened(text=EXAMPLES[0], step="0").text_input(key=OWN).placeholder == "Type text, then press Enter"


def data_at(text: str = "a b", source: str = "one", *tokens: int, room: bool = True) -> Any:
    """A step of a text that is being written; what it was read with plays no part."""
    steps = [SimpleNamespace(token=token) for token in tokens]
    at = SimpleNamespace(path=lambda: steps)
    tree = SimpleNamespace(room_after=lambda _: room)
    config = SimpleNamespace(vocab_size=9)
    view, card = SimpleNamespace(text=text), SimpleNamespace(config=config)
    return SimpleNamespace(source=source, view=view, card=card, tree=tree, at=at)


def test_each_step_of_each_text_and_model_has_a_version_of_its_own():
    """Else a late click would force a token into another text."""
    steps = [data_at(), data_at("a c"), data_at("a b", "two"), data_at("a b", "one", 5), data_at("a b", "one", 5, 6)]
    versions = [candidates._version(data, data.at) for data in steps]
    assert len({*versions}) == len(versions)
    assert candidates._version(data_at(), data_at().at) == versions[0]


@pytest.mark.parametrize(
    ("sent", "room", "taken"),
    [
        *(({"token": token, "version": "12"}, True, [token]) for token in (0, 8)),
        *(({"token": token, "version": "12"}, True, None) for token in (9, -1, True, None)),
        ({"token": 4, "version": "11"}, True, None),  # of a distribution before
        ({"token": 3, "version": "12"}, False, None),
        *((nonsense, True, None) for nonsense in ([4, "12"], None)),
    ],
)
def test_only_a_token_of_the_vocabulary_is_taken_and_only_at_its_step(
    sent: object, room: bool, taken: list[int] | None, monkeypatch: pytest.MonkeyPatch
):
    forks: list[list[int]] = []
    monkeypatch.setattr(view_fields, "fork", forks.append)
    monkeypatch.setattr(st, "session_state", {candidates.KEY: {"token": sent}})
    candidates._take(data_at(room=room), "12")
    assert forks == ([] if taken is None else [taken])


def written(app: AppTest, n: int) -> list[int]:
    """The first tokens of the selected branch."""
    return list(app.session_state["decoding-paths"][0][:n])
