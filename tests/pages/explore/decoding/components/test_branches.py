"""The tree of branches: what is sent to the browser says what the nodes say, and what comes back is checked."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.explore.decoding.components.branches import BranchEnd, TreeNode, sent_node
from pages.explore.decoding.data import OutputToken
from tests.pages.conftest import component


def chain(n: int, *, n_given: int) -> list[TreeNode]:
    """One branch; every token after the given ones has probability 1/2."""
    messages = (("a", 0.5), ("b", 0.25))
    nodes = []
    for i in range(n):
        token = OutputToken(label=f"t{i}", log_prob=math.log(0.5), rank=0, alternatives=messages)
        token = OutputToken(label=f"t{i}", kind="given") if i < n_given else token
        nodes.append(TreeNode(id=10 + i, parent=9 + i if i else None, position=i, token=token))
    return nodes


def page() -> None:
    """The page of these tests, with the tree that the session holds."""
    import streamlit as st

    from pages.explore.decoding.components.branches import branches

    branches(key="tree", on_node=lambda: None, **st.session_state["tree-given"])


def data_of(**given: Any) -> dict[str, Any]:
    """What the browser gets."""
    app = AppTest.from_function(page)
    app.session_state["tree-given"] = {"ends": [], **given}
    app.run()
    assert not app.exception
    return json.loads(component(app, "branches").json)


def test_a_node_says_its_probability_rank_and_place():
    nodes = chain(3, n_given=1)
    dropped = replace(nodes[2].token, label="שלום", rank=1, alternatives=(), kind="dropped")
    nodes.append(replace(nodes[2], id=5, token=dropped, score=-2.5))
    data = data_of(nodes=nodes, at=11)
    root, first, _, other = data["nodes"]
    assert (root["parent"], root["p"], root["log"], root["kind"]) == (None, None, None, "given")
    assert (first["id"], first["parent"], first["position"], first["label"]) == (11, 10, 1, "t1")
    assert first["p"] == pytest.approx(0.5) and first["log"] == pytest.approx(-0.6931, abs=1e-4)
    assert (other["label"], other["rank"], other["score"]) == ("שלום", 1, -2.5)
    assert data["at"] == 11
    assert data["alternatives"] == [[], [["a", 0.5], ["b", 0.25]]], "those that nodes share are sent once"
    assert [node["alternatives"] for node in data["nodes"]] == [0, 1, 1, 0]


def test_what_is_never_written_has_probability_zero_and_no_number_that_json_lacks():
    nodes = chain(2, n_given=1)
    nodes[1] = replace(nodes[1], token=replace(nodes[1].token, log_prob=-math.inf, kind="forced"))
    ends = [BranchEnd(id=11, text="no", total=-math.inf, n_tokens=1)]
    data = data_of(nodes=nodes, at=11, ends=ends)
    assert (data["nodes"][1]["p"], data["nodes"][1]["log"], data["ends"][0]["total"]) == (0.0, None, None)


@pytest.mark.parametrize(("n_given", "labels"), [(4, ["t0", "t1", "t2", "t3"]), (40, ["… 37 tokens", "t37"])])
def test_a_long_prompt_is_folded(n_given: int, labels: list[str]):
    data = data_of(nodes=chain(n_given + 2, n_given=n_given), at=10 + n_given)
    assert [node["label"] for node in data["nodes"]][: len(labels)] == labels
    assert data["nodes"][0]["parent"] is None
    for before, node in zip(data["nodes"], data["nodes"][1:], strict=False):
        assert node["parent"] == before["id"]
    assert len(data["nodes"]) == (6 if n_given == 4 else 1 + 3 + 2)
    data = data_of(nodes=chain(n_given + 2, n_given=n_given), at=11)
    assert data["at"] == (11 if n_given == 4 else data["nodes"][0]["id"]), "folded nodes are selected as one"


def test_only_leaves_have_ends():
    ends = [BranchEnd(id=i, text=f"to {i}", total=-1.0, n_tokens=i - 10, score=-0.5) for i in (11, 12)]
    (end,) = data_of(nodes=chain(3, n_given=1), at=10, ends=ends)["ends"]
    assert end == {"id": 12, "text": "to 12", "total": -1.0, "n_tokens": 2, "score": -0.5}


@pytest.mark.parametrize(
    ("sent", "chosen"),
    [
        *((node, node) for node in (11, 0)),
        *((node, None) for node in (-1, 2**53, True, 1.5, "11", None)),
    ],
)
def test_only_the_number_of_a_node_comes_back(sent: Any, chosen: int | None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(st, "session_state", {"tree": {"node": {"id": sent}}})
    assert sent_node("tree") == chosen
    sessions: tuple[dict[str, Any], ...] = ({"tree": {"node": sent}}, {"tree": {}}, {})
    for session in sessions:
        monkeypatch.setattr(st, "session_state", session)
        assert sent_node("tree") is None
