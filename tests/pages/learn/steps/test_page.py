"""The page Attention step by step: what it shows of a head, what it takes from an address and what it is told."""

import contextlib
import io
import json
import re
import struct
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.learn.steps import view_fields
from tests.pages.conftest import EXAMPLES, PROMPTS, component, shown_code, url_of, view_of, words_of

pytestmark = pytest.mark.slow

OpenApp = Callable[..., AppTest]
HEAD = {"model": "en-fr", "text": EXAMPLES[0], "attention": "encoder", "layer": "1", "head": "2"}


@pytest.fixture
def open_steps(open_app: OpenApp, three_kinds_here: Any) -> OpenApp:
    """Opens the page at an address with these parameters."""

    def open_at(**parameters: str) -> AppTest:
        app = open_app("steps", **parameters)
        assert not app.exception
        return app

    return open_at


def figure(app: AppTest) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header of the figure, and its quantities by name."""
    data = component(app, "steps").bytes
    (length,) = struct.unpack("<I", data[:4])
    header, numbers = json.loads(data[4 : 4 + length]), np.frombuffer(data[4 + length :], dtype="<f4")
    values, start = {}, 0
    for told in header["quantities"]:
        n_rows, n_columns = told["shape"]
        values[told["name"]] = numbers[start : start + n_rows * n_columns].reshape(n_rows, n_columns)
        start += n_rows * n_columns
    return header, values


def test_the_figure_has_the_models_numbers_and_they_are_verified(open_steps: OpenApp, three_kinds: Any):
    app = open_steps(**HEAD)
    header, values = figure(app)
    model, tokenizer = tc.load(three_kinds / "en-fr")
    src = torch.tensor([tokenizer.encode(EXAMPLES[0], eos=True)])
    with torch.inference_mode(), tc.capture(model, "encoder.blocks.1.*") as acts:
        model.encode(src)
    where = "encoder.blocks.1."
    for name in ("q", "k", "v", "attn_scores", "pattern", "z"):
        captured = acts[f"{where}self_attn.hook_{name}"][0, 2].numpy()
        np.testing.assert_allclose(values[name], captured, atol=1e-6)
    np.testing.assert_allclose(values["mlp_post"], acts[f"{where}mlp.hook_post"][0].numpy(), atol=1e-6)
    assert len(header["query"]) == len(header["key"]) == src.shape[1]
    words = words_of(app)
    assert "'hl-proof hl-proved'" in words and "'hl-proof hl-unproved'" not in words
    [n_verified] = re.findall(r"verified: ([\d,]+) numbers", words)
    n_numbers = int(n_verified.replace(",", ""))
    assert n_numbers > sum(of.size for of in values.values())


def test_the_address_holds_stage_query_key_and_number(open_steps: OpenApp):
    chosen = {"stage": "softmax", "query": "3", "key": "1", "cell": "pattern.3.1"}
    app = open_steps(**HEAD, **chosen)
    expected = HEAD | chosen
    for name in ("model", "text", "query"):  # the first one, its first example, and the row of the cell
        del expected[name]
    assert url_of(app) == expected
    header, values = figure(app)
    assert header["at"]["value"] == {"stage": "softmax", "query": 3, "key": 1, "cell": ["pattern", 3, 1]}
    number = json.loads(component(app, "steps_number").json)
    assert number["value"] == pytest.approx(values["pattern"][3, 1])
    exps = [term["value"] for term in number["terms"]]  # e to the power of each score, from the largest down
    scores = values["attn_scores"][3].astype(float)
    np.testing.assert_allclose(exps, np.exp(scores - scores.max()), rtol=1e-6)
    assert number["recomputed"] == pytest.approx(exps[1] / sum(exps), abs=1e-6)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"stage": "<b>"}, "asks for stage"),
        ({"cell": "q.1"}, "the format is matrix, row and column"),
        ({"cell": "nothing.0.0", "query": "99"}, ""),
        ({"cell": "q.0.4000", "key": "77"}, ""),
    ],
)
def test_an_address_that_cannot_be_met_shows_the_nearest(open_steps: OpenApp, wrong: dict[str, str], said: str):
    app = open_steps(**HEAD, **wrong)
    assert said in words_of(app)
    header, _ = figure(app)
    at = header["at"]["value"]
    assert at["cell"] is None and 0 <= at["query"] < len(header["query"])
    assert "cell" not in url_of(app)


TOLD = [
    ({"stage": "z", "query": 2, "key": 1, "cell": ["z", 2, 3]}, ("z", 2, 1, view_fields.MatrixCell("z", 2, 3))),
    ({"stage": "z", "query": 2, "key": None, "cell": None}, ("z", 2, None, None)),
    ({"stage": "<b>", "query": -1, "key": "1", "cell": ["z", 2]}, ("input", None, None, None)),
    ({"stage": 3, "query": True, "key": 2.5, "cell": ["z.1", 1, 1]}, ("input", None, None, None)),
    ({"stage": None, "query": 10**9, "key": -3, "cell": ["z", -1, 0]}, ("input", None, None, None)),
    ("nonsense", ("input", None, None, None)),
]


@pytest.mark.parametrize(("told", "chosen"), TOLD)
def test_what_the_figure_tells_is_checked(told: object, chosen: tuple[Any, ...]):
    def page(told: object) -> None:
        import streamlit as st

        from pages.learn.steps import view_fields

        st.session_state[view_fields.FIGURE] = {"view": {"revision": 1, "value": told}}
        view_fields.on_view()
        st.session_state["chosen"] = tuple(field.value for field in (view_fields.STAGE, view_fields.QUERY))
        st.session_state["chosen"] += (view_fields.KEY.value, view_fields.CELL.value)

    app = AppTest.from_function(page, args=(told,)).run()
    assert not app.exception
    assert app.session_state["chosen"] == chosen


def test_of_a_long_text_the_tokens_around_the_query_are_shown(open_steps: OpenApp):
    text = " ".join([PROMPTS[0]] * 6)
    app = open_steps(model="tales", text=text, attention="decoder", query="40", cell="pattern.40.38")
    header, values = figure(app)
    assert len(header["query"]) == len(header["key"]) == 24
    first = header["first"]["query"]
    assert first <= 40 < first + 24
    assert header["at"]["value"]["query"] == 40 and header["at"]["value"]["cell"] == ["pattern", 40, 38]
    assert values["pattern"].shape == (24, 24)
    assert "Showing 24 queries and 24 keys" in words_of(app)


def test_of_a_long_text_the_key_is_shown_that_the_query_looks_at_most_or_it_is_named(
    open_steps: OpenApp, three_kinds: Any
):
    text = " ".join([PROMPTS[0]] * 6)
    model, tokenizer = tc.load(three_kinds / "tales")
    tokens = torch.tensor([tokenizer.encode(text, bos=True)])
    with torch.inference_mode(), tc.capture(model, "decoder.blocks.0.self_attn.hook_pattern") as acts:
        model(tokens)
    pattern = acts["decoder.blocks.0.self_attn.hook_pattern"][0, 0].numpy()
    strongest = pattern.argmax(axis=-1)
    far = [query - key for query, key in enumerate(strongest)]
    near, beyond = far.index(max(n for n in far if n < 24)), far.index(max(far))
    assert far[near] > 12 and far[beyond] >= 24
    for query in (near, beyond):
        app = open_steps(model="tales", text=text, attention="decoder", layer="0", head="0", query=str(query))
        header, _ = figure(app)
        first, key = header["first"]["key"], strongest[query]
        is_shown = first <= key < first + len(header["key"])
        assert is_shown == (query == near) and first <= query < first + len(header["query"])
        assert (f"most of it to {key} “" in words_of(app)) != is_shown


def test_a_score_is_split_into_its_sources(open_steps: OpenApp):
    app = open_steps(**HEAD, query="3", key="1")
    _, values = figure(app)
    sent = json.loads(json.loads(component(app, "figure").json)["figure"])
    told = [cell for trace in sent["data"][:1] for row in trace["customdata"] for cell in row]
    assert any("L0.H3" in words for words in told) and not any("L1" in words for words in told)
    total = float(sent["data"][3]["customdata"][0][0].rsplit("<br>", 1)[1].replace("\u2212", "-"))
    assert total == pytest.approx(values["scaled"][3, 1], abs=0.0051)


@pytest.mark.parametrize("attention", ["decoder", "cross"])
def test_the_code_gives_the_same_numbers(open_steps: OpenApp, attention: str):
    app = open_steps(**HEAD | {"attention": attention, "target": "Le chat."}, query="2", cell="z.2.1")
    _, values = figure(app)
    said = io.StringIO()
    scope: dict[str, Any] = {}
    with contextlib.redirect_stdout(said):
        exec(shown_code(app), scope)
    walked = scope["walk_through"]
    for name, of in values.items():
        np.testing.assert_allclose(walked.quantities[name].values, of, atol=1e-6)
    assert "Number(name='z'" in said.getvalue() and "Proof(" in said.getvalue()


def test_a_proof_that_fails_is_said_plainly(open_steps: OpenApp, monkeypatch: pytest.MonkeyPatch):
    from transformer_core.analysis.walkthrough import walk

    @wraps(walk)  # so that code can name it
    def corrupted(*args: Any, **options: Any) -> Any:
        walked = walk(*args, **options)
        walked.quantities["z"].values[1, 1] += 0.5
        return walked

    monkeypatch.setattr("transformer_core.analysis.walkthrough.walk", corrupted)
    words = words_of(open_steps(**HEAD))
    assert (
        "'hl-proof hl-unproved'" in words and "Not every number on this page could be verified: the error of Z" in words
    )


@pytest.mark.parametrize(("model", "attention"), [("en-fr", "encoder"), ("gaps", "encoder"), ("tales", "decoder")])
def test_the_first_look_is_at_a_given_word_in_the_first_layer_of_self_attention(
    open_steps: OpenApp, three_kinds: Any, model: str, attention: str
):
    app = open_steps(model=model)
    url = view_of(app)
    assert (url["attention"], url["layer"], url["head"]) == (attention, "0", "0")
    header, _ = figure(app)
    query = header["at"]["value"]["query"]
    assert re.search(r"\w", header["query"][query]) and not header["query"][query].startswith("<")
    if model == "tales":
        _, tokenizer = tc.load(three_kinds / model)
        assert query < len(tokenizer.encode(url["text"], bos=True)) < len(header["query"])


def test_the_first_look_of_a_guided_model_is_at_the_head_that_finds_the_noun(open_app: OpenApp):
    app = open_app("steps")
    url = view_of(app)
    assert (url["model"], url["attention"], url["layer"], url["head"]) == ("en-fr", "encoder", "1", "0")
    header, _ = figure(app)
    assert header["query"][header["at"]["value"]["query"]] == "it"
    assert "This head was guided" in words_of(app)
    app.session_state["head"] = 1
    app.run()
    assert view_of(app)["head"] == "1" and "This head was guided" not in words_of(app)


def test_the_first_look_of_the_papers_base_is_at_the_first_head_and_none_was_guided(open_app: OpenApp):
    app = open_app("steps", model="paper-base")
    url = view_of(app)
    assert (url["model"], url["attention"], url["layer"], url["head"]) == ("paper-base", "encoder", "0", "0")
    assert "guided" not in words_of(app)


def test_the_first_look_leaves_what_was_asked_for(open_steps: OpenApp):
    app = open_steps(model="en-fr", attention="cross", layer="1", head="3")
    assert (view_of(app)["attention"], view_of(app)["layer"], view_of(app)["head"]) == ("cross", "1", "3")
    app = open_steps(model="en-fr", layer="1")
    assert view_of(app)["layer"] == "1"


def test_a_distance_of_nothing_adds_zero_without_a_sign(open_app: OpenApp):
    app = open_app("steps", model="induction", layer="0", query="3", key="3")
    assert "the position bias adds 0.0000" in words_of(app)


def test_the_scale_leads_to_decodings_temperature_and_back(open_app: OpenApp):
    """One idea under two names: each page opens the other one where it can be seen."""
    app = open_app("steps")
    (link,) = (link for link in app.get("page_link") if "√d_k" in link.proto.label)
    assert "acts as a temperature" in link.proto.label and "temperature=2" in link.proto.query_string
    app.switch_page("explore/decoding/page.py").run()
    assert not app.exception
    (link,) = app.get("page_link")
    assert "√d_k" in link.proto.label and "stage=scale" in link.proto.query_string
