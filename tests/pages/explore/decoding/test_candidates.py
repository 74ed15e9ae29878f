"""The next-token distribution on the page Decoding: against the model's own numbers, and what a person types."""

import json
import struct
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.explore.decoding import candidates, view_fields
from tests.pages.conftest import EXAMPLES, PROMPTS, component, url_of, words_of
from tests.pages.explore.decoding import decoding_parts
from tests.pages.explore.decoding.decoding_parts import loaded

pytestmark = pytest.mark.usefixtures("three_kinds_here")
opened = partial(decoding_parts.opened, "candidates")
OWN = "decoding-own"


def sent(app: AppTest) -> tuple[dict[str, Any], np.ndarray]:
    """What is said of this moment and of all, and its scores."""
    data = component(app, "candidates").bytes
    (length,) = struct.unpack("<I", data[:4])
    header, scores = json.loads(data[4 : 4 + length]), np.frombuffer(data[4 + length :], dtype="<f4")
    return header | header["distributions"][0], scores[: header["nTokens"]]


@torch.inference_mode()
def logits_after(folder: Path, *tokens: int) -> tuple[torch.Tensor, list[int]]:
    """What the encoder-decoder says after these tokens, and <bos> with them."""
    model, _, src = loaded(folder)
    target = [model.config.bos_id, *tokens]
    return model(src, torch.tensor([target]))[0, -1], target


def test_bars_are_what_the_model_says(three_kinds: Path):
    app = opened(text=EXAMPLES[0], step="2")
    header, scores = sent(app)
    logits, _ = logits_after(three_kinds, *written(app, 2))
    log_probs = logits.log_softmax(dim=-1)
    for row in header["rows"]:
        assert row["log_prob"] == pytest.approx(float(log_probs[row["token"]]), abs=1e-4)
    shifts = [scores[row["place"]] - float(logits[row["token"]]) for row in header["rows"]]
    assert np.ptp(shifts) < 1e-4  # the logits, but for a constant
    assert header["next"] == header["rows"][0]["token"]  # greedy
    assert header["name"].startswith("after “")
    here = header["distributions"]
    assert [step["nWritten"] for step in here] == [2, 1, 3]
    before, after = (sent(opened(text=EXAMPLES[0], step=step))[0]["distributions"][0] for step in ("1", "3"))
    assert here[1:] == [before, after], "those before and after this one are sent as well"


def test_the_repetition_penalty_acts_on_what_is_there(three_kinds: Path):
    app = opened(text=EXAMPLES[0], step="3", repetition="1.5", temperature="1")
    header, _ = sent(app)
    logits, target = logits_after(three_kinds, *written(app, 3))
    wanted = logits.tolist()
    for token in set(target):
        wanted[token] = wanted[token] / 1.5 if wanted[token] > 0 else wanted[token] * 1.5
    of_rows = [wanted[row["token"]] for row in header["rows"][: header["n"]]]
    assert of_rows == sorted(of_rows, reverse=True)
    assert any(row["rank"] != row["place"] for row in header["rows"])


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
    tree = SimpleNamespace(has_room=lambda _: room)
    config = SimpleNamespace(vocab_size=9)
    view, card = SimpleNamespace(text=text), SimpleNamespace(config=config)
    return SimpleNamespace(source=source, view=view, card=card, tree=tree, at=at)


def test_each_step_of_each_text_and_model_has_a_version_of_its_own():
    """Else a late click would force a token into another text."""
    steps = [data_at(), data_at("a c"), data_at("a b", "two"), data_at("a b", "one", 5), data_at("a b", "one", 5, 6)]
    versions = [candidates._version(data, data.at) for data in steps]
    assert len({*versions}) == len(versions)
    assert candidates._version(data_at(), data_at().at) == versions[0]


def test_only_a_token_of_the_vocabulary_is_taken_and_only_where_there_is_room(monkeypatch: pytest.MonkeyPatch):
    taken: list[list[int]] = []
    monkeypatch.setattr(view_fields, "fork", taken.append)
    for token in (0, 8, 9, None):
        candidates._take(data_at(), token)
    candidates._take(data_at(room=False), 3)
    assert taken == [[0], [8]]


def written(app: AppTest, n: int) -> list[int]:
    """The first tokens of the branch that is looked at."""
    return list(app.session_state["decoding-paths"][0][:n])
