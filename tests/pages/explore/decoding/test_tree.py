"""The tree of branches and that of beams on the page Decoding: against plain forwards and against beam search."""

import html
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.explore.decoding import beams
from pages.explore.decoding import tree as decoding_tree
from pages.explore.decoding.components.branches import Node
from tests.pages.conftest import EXAMPLES, PROMPTS, component, url_of, words_of
from tests.pages.explore.decoding import decoding_parts
from transformer_core import language
from transformer_core.decoding.beam import beam_search, length_penalty

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("three_kinds_here")]
PAIR = {"model": "en-fr", "text": EXAMPLES[0]}


def opened(part: str, **parameters: Any) -> AppTest:
    return decoding_parts.opened(part, part=part, **parameters)


def alright(app: AppTest) -> AppTest:
    assert not app.exception
    return app


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the last tree was drawn from."""
    found: dict[str, Any] = {}
    for module in (decoding_tree, beams):
        monkeypatch.setattr(module, "branches", lambda **given: found.update(given))
    return found


def click(app: AppTest, drawn: dict[str, Any], node: int) -> None:
    app.session_state["clicked"] = (drawn["key"], {"node": {"id": node}}, drawn["on_node"])
    alright(app.run())


def path_to(nodes: Sequence[Node], last: int) -> list[Node]:
    """The nodes from the first one to this one."""
    by_id = {node.id: node for node in nodes}
    backwards = [by_id[last]]
    while (parent := backwards[-1].parent) is not None:
        backwards.append(by_id[parent])
    return backwards[::-1]


def read_pair(folder: Path) -> tuple[tc.Transformer, Any, torch.Tensor]:
    model, tokenizer = tc.load(folder / "en-fr")
    return model, tokenizer, torch.tensor([tokenizer.encode(EXAMPLES[0], eos=True)])


@torch.inference_mode()
def log_probs_of(model: tc.Transformer, src: torch.Tensor, written: Sequence[int]) -> list[float]:
    """Of each written token, in nats, by one forward over all."""
    tokens = torch.tensor([[model.config.bos_id, *written]])
    all_log_probs = model(src, tokens[:, :-1])[0].log_softmax(-1)
    return all_log_probs.gather(-1, tokens[0, 1:, None])[:, 0].tolist()


def two_tokens(folder: Path) -> tuple[int, int]:
    """Two tokens that the model would not write first."""
    model, _, src = read_pair(folder)
    first = tc.greedy_decode(model, src, max_new_tokens=1).tokens[0, -1].item()
    one, other = [token for token in range(10, 14) if token != first][:2]
    return one, other


def test_branches_are_one_tree_with_probabilities_as_a_forward_gives_them(three_kinds: Path, drawn: dict[str, Any]):
    model, tokenizer, src = read_pair(three_kinds)
    one, other = two_tokens(three_kinds)
    opened("tree", **PAIR, branches=f"~!{one}~{one}.!{other}", branch="1", step="1", length="6")
    nodes, ends = drawn["nodes"], drawn["ends"]
    assert len(ends) == 3
    assert sum(node.parent is None for node in nodes) == 1
    assert len({node.id for node in nodes}) == len(nodes)
    token_of = {tokenizer.target.labels([token])[0]: token for token in range(model.config.vocab_size)}
    for end in ends:
        path = path_to(nodes, end.id)[1:]
        expected = log_probs_of(model, src, [token_of[node.label] for node in path])
        assert [node.log_prob for node in path] == pytest.approx(expected, abs=1e-4)
        assert (end.total, end.n_tokens) == (pytest.approx(sum(expected), abs=1e-3), len(path))
        assert [node.position for node in path] == [*range(1, len(path) + 1)]
    second, third = (path_to(nodes, end.id) for end in ends[1:])
    assert second[1] is third[1] and second[2] is not third[2]
    assert (second[1].kind, third[2].kind) == ("forced", "forced")
    assert drawn["at"] == second[1].id
    assert {node.id for node in nodes if node.on_path} == {node.id for node in second}


def test_alternatives_are_the_most_probable_tokens_at_a_place(three_kinds: Path, drawn: dict[str, Any]):
    model, tokenizer, src = read_pair(three_kinds)
    opened("tree", **PAIR, length="3")
    with torch.inference_mode():
        best = model(src, torch.tensor([[model.config.bos_id]]))[0, -1].softmax(-1).topk(5)
    alternatives = drawn["nodes"][1].alternatives
    assert [label for label, _ in alternatives] == [tokenizer.target.labels([t])[0] for t in best.indices.tolist()]
    assert [p for _, p in alternatives] == pytest.approx(best.values.tolist(), abs=1e-5)


def test_a_table_says_what_branches_have_together_and_where_they_part(three_kinds: Path):
    one, _ = two_tokens(three_kinds)
    app = opened("tree", **PAIR, branches=f"~!{one}", length="6")
    table = app.dataframe[0].value
    tree = json.loads(component(app, "branches").json)
    assert table["nats"].tolist() == pytest.approx([end["total"] for end in tree["ends"]])
    assert (table["nats per token"] * table["tokens"]).tolist() == pytest.approx(table["nats"].tolist())
    first, forced = (node["label"] for node in tree["nodes"] if node["position"] == 1)
    assert table["parts"].tolist() == ["", f"from 1 at token 1: {forced} instead of {first}"]


def test_a_branch_is_told_from_the_one_that_it_has_most_in_common_with(three_kinds: Path):
    one, other = two_tokens(three_kinds)
    app = opened("tree", **PAIR, branches=f"~!{one}~{one}.!{other}", length="6")
    table = app.dataframe[0].value
    assert table["number"].tolist() == [1, 2, 3]
    _, second, third = table["parts"].tolist()
    assert second.startswith("from 1 at token 1: ") and third.startswith("from 2 at token 2: ")


def test_branches_that_begin_alike_are_told_from_where_they_part(three_kinds: Path):
    model, tokenizer, src = read_pair(three_kinds)
    greedy = tc.greedy_decode(model, src, max_new_tokens=6).tokens[0, 1:].tolist()
    other = next(token for token in range(10, 20) if token != greedy[4])
    app = opened("tree", **PAIR, branches=f"~{'.'.join(map(str, greedy[:4]))}.!{other}", length="6")
    whole = [tokenizer.decode(greedy), tokenizer.decode([*greedy[:4], other])]
    beginning = tokenizer.decode(greedy[:2])
    told = app.dataframe[0].value["branch"].tolist()
    assert told[0] == f"… {whole[0].removeprefix(beginning).strip()}"
    assert told[1].startswith(f"… {whole[1].removeprefix(beginning).strip()}")


def test_a_click_opens_a_moment_and_a_branch_is_forgotten(three_kinds: Path, drawn: dict[str, Any]):
    one, _ = two_tokens(three_kinds)
    app = opened("tree", **PAIR, branches=f"~!{one}", length="6")
    of_second = path_to(drawn["nodes"], drawn["ends"][1].id)
    click(app, drawn, of_second[3].id)
    assert drawn["at"] == of_second[3].id
    assert (url_of(app)["branch"], url_of(app)["step"]) == ("1", "3")
    click(app, drawn, of_second[0].id)
    assert drawn["at"] == of_second[0].id
    assert url_of(app)["branch"] == "1"
    click(app, drawn, 12345)  # no node of this tree
    assert drawn["at"] == of_second[0].id
    alright(app.button[0].click().run())
    assert len(drawn["ends"]) == 1
    assert "branches" not in url_of(app)


def test_a_prompt_is_given_and_only_what_is_behind_it_was_written(drawn: dict[str, Any]):
    opened("tree", model="tales", text=PROMPTS[0], length="4")
    kinds = [node.kind for node in drawn["nodes"]]
    n_given = kinds.count("given")
    assert n_given > 1 and kinds[:n_given] == ["given"] * n_given
    assert drawn["ends"][0].n_tokens == len(kinds) - n_given
    assert all(node.log_prob is None for node in drawn["nodes"][:n_given])


@pytest.mark.parametrize(
    ("n_beams", "alpha", "form"), [("3", "0.6", "paper"), ("1", "0", "paper"), ("2", "1", "length")]
)
def test_beams_are_those_of_beam_search(three_kinds: Path, drawn: dict[str, Any], n_beams: str, alpha: str, form: Any):
    model, tokenizer, src = read_pair(three_kinds)
    app = opened("beams", **PAIR, beams=n_beams, penalty=alpha, form=form)
    nodes = drawn["nodes"]
    best = max(drawn["ends"], key=lambda end: end.score)
    by_search = beam_search(
        model, src, n_beams=int(n_beams), length_penalty=float(alpha), penalty_form=form, max_new_tokens=31
    )
    written = by_search.tokens[0, 1:].tolist()
    assert [node.label for node in path_to(nodes, best.id)[1:]] == tokenizer.target.labels(written)
    assert best.total == pytest.approx(float(by_search.log_probs.sum()), abs=1e-3)
    assert best.score == pytest.approx(best.total / length_penalty(best.n_tokens, float(alpha), form=form), abs=1e-3)
    assert {node.id for node in nodes if node.on_path} == {node.id for node in path_to(nodes, best.id)}
    for position in range(1, max(node.position for node in nodes) + 1):
        level = [node for node in nodes if node.position == position]
        kept, dropped = ([node.score for node in level if node.kind == kind] for kind in ("kept", "dropped"))
        assert len(kept) <= int(n_beams) and len(level) <= 2 * int(n_beams)
        assert all(worse <= max(kept, default=math.inf) for worse in dropped)
    assert f"{best.text}” ({best.total:.2f}".replace("-", "−") in html.unescape(words_of(app)).replace("-", "−")


def test_a_beam_that_goes_on_has_one_that_was_kept_in_its_line(drawn: dict[str, Any]):
    opened("beams", **PAIR, beams="4")
    children: dict[int, list[Node]] = {}
    for node in drawn["nodes"]:
        if node.parent is not None:
            children.setdefault(node.parent, []).append(node)
    for siblings in children.values():
        if any(node.kind != "dropped" for node in siblings):
            assert siblings[0].kind != "dropped"
        if any(node.on_path for node in siblings):
            assert siblings[0].on_path


def test_a_kept_beam_is_opened_and_a_dropped_one_begins_a_branch(drawn: dict[str, Any]):
    app = opened("beams", **PAIR, beams="2", length="6")
    dropped = next(node for node in drawn["nodes"] if node.kind == "dropped" and node.position == 2)
    click(app, drawn, dropped.id)
    assert drawn["at"] == dropped.id
    address = url_of(app)
    assert (address["step"], address["branch"]) == ("2", "1")
    assert address["branches"].count("!") == 1
    kept = next(node for node in drawn["nodes"] if node.kind == "kept" and not node.on_path)
    click(app, drawn, kept.id)
    assert drawn["at"] == kept.id
    assert url_of(app)["branches"].count("!") == 1


def test_who_looks_where_the_search_has_not_been_sees_where_it_left(three_kinds: Path, drawn: dict[str, Any]):
    model, _, src = read_pair(three_kinds)
    with torch.inference_mode():
        unlikely = model(src, torch.tensor([[model.config.bos_id]]))[0, -1].argmin()
    opened("beams", **PAIR, beams="1", branches=f"~!{int(unlikely)}", branch="1", step="3", length="6")
    assert drawn["at"] == drawn["nodes"][0].id


def test_the_controls_are_kept_in_the_address_and_the_search_is_made_again(drawn: dict[str, Any]):
    app = opened("beams", **PAIR, beams="2")
    former = len(drawn["nodes"])
    alright(app.slider(key="decoding-beams-box").set_value(5).run())
    assert url_of(app)["beams"] == "5"
    assert len(drawn["nodes"]) > former
    alright(app.slider(key="decoding-penalty-box").set_value(1.5).run())
    assert url_of(app)["penalty"] == "1.5"
    assert not app.code  # the page has it, after its own


def test_readers_of_two_languages_share_a_search(drawn: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    opened("beams", **PAIR, beams="2")
    nodes = drawn["nodes"]
    monkeypatch.setattr(language, "_ask", lambda: "de")
    opened("beams", **PAIR, beams="2")
    assert drawn["nodes"] is nodes
