"""The tree of a text that is being written: a column a token, a line a branch; the path taken, forks, beams and ends.

What is clicked comes back as a trigger of the component's key, for one run; `sent_node` checks it like any input.
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

GIVEN_SHOWN = 3  # the last tokens of a prompt; those before them are one node
_LARGEST = 2**53 - 1  # whole numbers up to this keep all digits in a browser


@dataclass(frozen=True, kw_only=True)
class TreeNode:
    """A token in its place in the tree."""

    id: int  # from 0 to 2^53 - 1; in every run the same for the same place in the tree
    parent: int | None  # the token before it; None: the first one
    position: int  # among the tokens of its path, from 0
    token: OutputToken
    score: float | None = None  # nats; what a beam was kept or dropped for
    on_path: bool = False  # of the path taken


@dataclass(frozen=True, kw_only=True)
class BranchEnd:
    """What is written at the right end of a branch."""

    id: int  # of its last node
    text: str
    total: float  # nats, of all that was written on it
    n_tokens: int  # that were written
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
    """Time from left to right, and a line for each branch, colored by the probability of its tokens.

    Pointing at a token, or the focus on it, shows what else could have stood there. Arrow keys walk along a branch and
    between branches; a click, or Enter, asks for a token's step. A prompt's first tokens are folded into one.

    Args:
        nodes: each after its parent. The first child of a node goes straight on, later ones begin branches below. A
            token that is added after all others moves nothing.
        at: the selected node; it is outlined, and scrolled to when it changes.
        ends: of branches; one whose last node has children is not drawn.
        key: the component's key.
        on_node: called before the run in which `sent_node` gives what a person chose.
        height: px, at most; what is higher is scrolled. None: about nine branches.
        name: for screen readers.
        path: what the nodes that are `on_path` are together.
    """
    drawn = _folded(nodes)
    known = {node.id for node in drawn}
    inner = {node.parent for node in drawn}
    shared = dict.fromkeys(node.token.alternatives for node in drawn)
    alternatives = {one: place for place, one in enumerate(shared)}  # those that nodes share are sent once
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
    """Return the node that a person chose in the tree of this key; None: none of a tree's."""
    text = sent(key, "node")
    node = text.get("id") if isinstance(text, dict) else None
    return node if isinstance(node, int) and not isinstance(node, bool) and 0 <= node <= _LARGEST else None


def _folded(nodes: Sequence[TreeNode]) -> list[TreeNode]:
    """Return the nodes with the first ones of a long prompt as one."""
    n_given = next((place for place, node in enumerate(nodes) if node.token.kind != "given"), len(nodes))
    n_folded = n_given - GIVEN_SHOWN
    if n_folded < 2:
        return [*nodes]
    folded = OutputToken(label=say("… {n} tokens", n=n_folded), kind="given")
    return [replace(nodes[n_folded - 1], parent=None, token=folded), *nodes[n_folded:]]


def _sent(node: TreeNode, alternatives: int) -> dict[str, Any]:
    """Return a node as the component reads it."""
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
    """Return a log-probability; None for that of what is never written, which JSON cannot say."""
    return log_prob if math.isfinite(log_prob) else None
