"""The tree of a text being written: one column per token, one line per branch, with the path taken, forks and ends.

A click is sent as a trigger of the component's key, for one run; `sent_node` validates it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from headlight.figures import THEMES, sequential_scale
from headlight.figures.theme import DEEP
from headlight.language import say
from pages.components.mounting import component
from pages.explore.decoding.data import OutputToken
from pages.shared.view.fields import sent
from transformer_core.errors import mark

GIVEN_SHOWN = 3  # last tokens of a prompt that have their own nodes; earlier ones share a node
_LARGEST = 2**53 - 1  # largest integer that a browser represents exactly


@dataclass(frozen=True, kw_only=True)
class TreeNode:
    """A token in its place in the tree."""

    id: int  # from 0 to 2^53 - 1; the same in every run for the same place in the tree
    parent: int | None  # the token before it; None: the first one
    position: int  # index in its path, from 0
    token: OutputToken
    score: float | None = None  # nats; the score by which a beam was kept or dropped
    on_path: bool = False  # whether it lies on the path taken


@dataclass(frozen=True, kw_only=True)
class BranchEnd:
    """The label at the right end of a branch."""

    id: int  # of its last node
    text: str
    total: float  # nats, log-probability of all its written tokens
    n_tokens: int  # written tokens
    score: float | None = None  # nats; of a beam


def branches(
    *,
    nodes: Sequence[TreeNode],
    at: int,
    ends: Sequence[BranchEnd],
    key: str,
    on_node: Callable[[], None],
    height: int | None = None,
    name: str = mark("Tree of generated text"),
    path: str = mark("current branch"),
) -> None:
    """Draw the tree from left to right, with a line for each branch, colored by the probability of its tokens.

    Hovering over or focusing a token shows its alternatives. Arrow keys walk along a branch and
    between branches; a click or Enter selects a token. A prompt's first tokens are folded into one.

    Args:
        nodes: each after its parent. The first child of a node goes straight on, later ones begin branches below. A
            node appended at the end leaves the others in place.
        at: the selected node; it is outlined, and scrolled to when it changes.
        ends: labels of branches; not drawn if the last node has children.
        key: the component's key.
        on_node: called before the run in which `sent_node` returns the clicked node.
        height: maximum, in px; taller trees scroll. None: about nine branches.
        name: the label for screen readers.
        path: the name of the path of all `on_path` nodes.
    """
    drawn = _folded(nodes)
    known = {node.id for node in drawn}
    inner = {node.parent for node in drawn}
    shared = dict.fromkeys(node.token.alternatives for node in drawn)
    alternatives = {one: place for place, one in enumerate(shared)}  # equal ones are sent once
    data = {
        "name": say(name),
        "path": say(path),
        "nodes": [_sent(node, alternatives[node.token.alternatives]) for node in drawn],
        "alternatives": [*alternatives],
        "at": at if at in known else drawn[0].id,
        "ends": [asdict(end) | {"total": _finite(end.total)} for end in ends if end.id in known - inner],
        "scales": {
            theme.name: {"sequential": sequential_scale(theme), "inks": [theme.text, theme.background]}
            for theme in THEMES.values()
        },
        "deep": DEEP,
        "height": height,
    }
    component(__file__, "branches", isolated=True)(key=key, data=data, on_node_change=on_node)


def sent_node(key: str) -> int | None:
    """Return the node that a person chose in the tree of this key; None if it is invalid."""
    text = sent(key, "node")
    node = text.get("id") if isinstance(text, dict) else None
    return node if isinstance(node, int) and not isinstance(node, bool) and 0 <= node <= _LARGEST else None


def _folded(nodes: Sequence[TreeNode]) -> list[TreeNode]:
    """Return the nodes with the first tokens of a long prompt folded into one."""
    n_given = next((place for place, node in enumerate(nodes) if node.token.kind != "given"), len(nodes))
    n_folded = n_given - GIVEN_SHOWN
    if n_folded < 2:
        return [*nodes]
    folded = OutputToken(label=say("… {n} tokens", n=n_folded), kind="given")
    return [replace(nodes[n_folded - 1], parent=None, token=folded), *nodes[n_folded:]]


def _sent(node: TreeNode, alternatives: int) -> dict[str, Any]:
    """Return a node in the format of the component."""
    log_prob = node.token.log_prob
    return {
        "id": node.id,
        "parent": node.parent,
        "position": node.position,
        "label": node.token.label,
        "log": None if log_prob is None else _finite(log_prob),
        "p": None if log_prob is None else min(1.0, math.exp(log_prob)),
        "rank": node.token.rank,
        "alternatives": alternatives,
        "kind": node.token.kind,
        "score": node.score,
        "taken": node.on_path,
    }


def _finite(log_prob: float) -> float | None:
    """Return a log-probability; None for -inf, which JSON cannot represent."""
    return log_prob if math.isfinite(log_prob) else None
