"""The tree of branches on the Decoding page: against plain forwards, and what clicks open."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.explore.decoding import tree as decoding_tree
from pages.explore.decoding.components.branches import TreeNode
from pages.explore.decoding.tree import numbers
from pages.shared.models import ROOT
from tests.pages.conftest import EXAMPLES, PROMPTS, url_of
from tests.pages.explore.decoding import decoding_parts
from tests.pages.explore.decoding.decoding_parts import again, loaded, log_probs

pytestmark = pytest.mark.usefixtures("three_kinds_here")


def opened(**parameters: Any) -> AppTest:
    return decoding_parts.opened("tree", part="tree", **{"model": "en-fr", "text": EXAMPLES[0], **parameters})


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the last tree was drawn from."""
    results: dict[str, Any] = {}
    monkeypatch.setattr(decoding_tree, "branches", lambda **given: results.update(given))
    return results


def click(app: AppTest, drawn: dict[str, Any], node: int) -> None:
    app.session_state["clicked"] = (drawn["key"], {"node": {"id": node}}, drawn["on_node"])
    again(app)


def path_to(nodes: Sequence[TreeNode], last: int) -> list[TreeNode]:
    """The nodes from the first one to this one."""
    by_id = {node.id: node for node in nodes}
    backwards = [by_id[last]]
    while (parent := backwards[-1].parent) is not None:
        backwards.append(by_id[parent])
    return backwards[::-1]


def two_tokens(folder: Path) -> tuple[int, int]:
    """Two tokens that the model would not write first."""
    first = int(log_probs(folder, ()).argmax())
    one, other = [token for token in range(10, 14) if token != first][:2]
    return one, other


def test_branches_are_one_tree_whose_ends_stand_in_a_table(three_kinds: Path, drawn: dict[str, Any]):
    one, other = two_tokens(three_kinds)
    app = opened(branches=f"~!{one}~{one}.!{other}", branch="1", step="1", length="6")
    nodes, ends = drawn["nodes"], drawn["ends"]
    assert len({node.id for node in nodes}) == len(nodes)
    first, second, third = paths = [path_to(nodes, end.id) for end in ends]
    assert first[1].token.log_prob == pytest.approx(float(log_probs(three_kinds, ()).max()), abs=1e-4)
    assert second[1] is third[1] and (second[1].token.kind, third[2].token.kind) == ("forced", "forced")
    assert drawn["at"] == second[1].id
    assert {node.id for node in nodes if node.on_path} == {node.id for node in second}
    totals = [sum(node.token.log_prob or 0 for node in path[1:]) for path in paths]
    assert [end.total for end in ends] == pytest.approx(totals)
    table = app.dataframe[0].value
    assert table["nats"].tolist() == pytest.approx(totals)
    parts = table["parts"].tolist()
    assert parts[0] == "" and parts[1].startswith("from 1 at token 1: ") and parts[2].startswith("from 2 at token 2: ")


def test_branches_that_begin_alike_are_shown_from_where_they_part(three_kinds: Path):
    model, tokenizer, src = loaded(three_kinds)
    greedy = tc.greedy_decode(model, src, max_new_tokens=6).tokens[0, 1:].tolist()
    other = next(token for token in range(10, 20) if token != greedy[4])
    app = opened(branches=f"~{'.'.join(map(str, greedy[:4]))}.!{other}", length="6")
    whole = [tokenizer.decode(greedy), tokenizer.decode([*greedy[:4], other])]
    beginning = tokenizer.decode(greedy[:2])
    text = app.dataframe[0].value["branch"].tolist()
    assert text[0] == f"… {whole[0].removeprefix(beginning).strip()}"
    assert text[1].startswith(f"… {whole[1].removeprefix(beginning).strip()}")


def test_a_click_opens_a_step_and_a_branch_is_deleted(three_kinds: Path, drawn: dict[str, Any]):
    one, _ = two_tokens(three_kinds)
    app = opened(branches=f"~!{one}", length="6")
    of_second = path_to(drawn["nodes"], drawn["ends"][1].id)
    click(app, drawn, of_second[3].id)
    assert drawn["at"] == of_second[3].id
    assert (url_of(app)["branch"], url_of(app)["step"]) == ("1", "3")
    click(app, drawn, of_second[0].id)
    assert drawn["at"] == of_second[0].id
    assert url_of(app)["branch"] == "1"
    click(app, drawn, 12345)  # no node of this tree
    assert drawn["at"] == of_second[0].id
    app.button[0].click()
    again(app)
    assert len(drawn["ends"]) == 1
    assert "branches" not in url_of(app)


def test_a_prompt_is_given_and_only_what_follows_it_was_written(drawn: dict[str, Any]):
    opened(model="tales", text=PROMPTS[0], length="4")
    kinds = [node.token.kind for node in drawn["nodes"]]
    n_given = kinds.count("given")
    assert n_given > 1 and kinds[:n_given] == ["given"] * n_given
    assert drawn["ends"][0].n_tokens == len(kinds) - n_given
    assert all(node.token.log_prob is None for node in drawn["nodes"][:n_given])


def test_a_place_in_a_tree_has_one_number_in_every_run_and_no_other_place_has_it():
    one, other = numbers(0, [5, 6, 7]), numbers(0, [5, 7, 7, 6])
    assert [len(one), len(other)] == [4, 5]
    assert one[0] == other[0] == 0 and one[1] == other[1]
    assert len({*one, *other}) == 4 + 3
    assert numbers(one[2], [7]) == one[2:], "from any node on"
    assert all(0 <= number < 2**53 for number in one + other), "a browser keeps all digits"
    script = "from pages.explore.decoding.tree import numbers; print(numbers(0, [5, 6, 7]))"
    again = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert again.stdout.strip() == str(one), "links and open pages name nodes"
