"""The trees of the page Decoding: a number for each place in a tree, and log-probabilities in words."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

from pages.explore.decoding.nodes import given_nodes, numbers, signed, text_of
from pages.shared.models import ROOT


def test_a_place_in_a_tree_has_one_number_in_every_run_and_no_other_place_has_it():
    one, other = numbers(0, [5, 6, 7]), numbers(0, [5, 7, 7, 6])
    assert [len(one), len(other)] == [4, 5]
    assert one[0] == other[0] == 0 and one[1] == other[1]
    assert len({*one, *other}) == 4 + 3
    assert numbers(one[2], [7]) == one[2:], "from any node on"
    assert all(0 <= number < 2**53 for number in one + other), "a browser keeps all digits"
    script = "from pages.explore.decoding.nodes import numbers; print(numbers(0, [5, 6, 7]))"
    again = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert again.stdout.strip() == str(one), "links and open pages name nodes"


def test_what_rounds_to_nothing_has_no_sign():
    assert [signed(nats) for nats in (-1.234, -0.004, -0.0, 0.5)] == ["−1.23", "0.00", "0.00", "0.50"]


def steps(*tokens: int, first: int = 0) -> list[Any]:
    return [SimpleNamespace(token=token, position=first + place) for place, token in enumerate(tokens)]


def test_given_tokens_are_a_line_of_nodes_that_begins_without_a_parent():
    data: Any = SimpleNamespace(given=steps(3, 5, 5), labels=lambda of: [f"<{step.token}>" for step in of])
    nodes = given_nodes(data)
    assert [node.id for node in nodes] == numbers(0, [3, 5, 5])[1:]
    assert [node.parent for node in nodes] == [None, nodes[0].id, nodes[1].id]
    assert [(node.label, node.position) for node in nodes] == [("<3>", 0), ("<5>", 1), ("<5>", 2)]
    assert all(node.kind == "given" and node.on_path and node.log_prob is None for node in nodes)


def test_a_text_for_reading_has_no_half_characters_and_is_never_empty():
    for decoded, said in ((" le chat ", "le chat"), ("le\ufffd", "le"), (" \ufffd", "(empty)")):
        data: Any = SimpleNamespace(tokenizer=SimpleNamespace(decode={(7, 8): decoded}.__getitem__))
        assert text_of(data, (7, 8)) == said
