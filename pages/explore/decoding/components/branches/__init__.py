"""The tree of a text that is being written: a column a token, a line a branch; the path taken, forks, beams and ends.

What is clicked comes back as a trigger of the component's key, for one run; `sent_node` checks it like any input.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from headlight.figures import THEMES, sequential_scale
from headlight.figures.theme import DEEP
from headlight.language import say
from pages.components.mounting import component
from pages.shared.view.fields import sent
from transformer_core.errors import mark

Kind = Literal["given", "written", "forced", "kept", "ended", "dropped"]

GIVEN_SHOWN = 3  # the last tokens of a prompt; those before them are one node
_LARGEST = 2**53 - 1  # whole numbers up to this keep all digits in a browser


@dataclass(frozen=True, kw_only=True)
class Node:
    """A token of the tree."""

    id: int  # from 0 to 2^53 - 1; in every run the same for the same place in the tree
    parent: int | None  # the token before it; None: the first one
    position: int  # among the tokens of its path, from 0
    label: str  # as `text/labels.py` makes it
    log_prob: float | None = None  # nats, after the tokens before it; None where it was not for the model to say
    rank: int | None = None  # among all tokens there, 0: the most probable
    alternatives: tuple[tuple[str, float], ...] = ()  # the most probable tokens there, with their probabilities
    kind: Kind = "written"
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
    nodes: Sequence[Node],
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

    Raises:
        ValueError: the nodes are not a tree, or the selected one or an end is not among them.
    """
    _check(nodes, at, ends)
    drawn = _folded(nodes)
    known = {node.id for node in drawn}
    inner = {node.parent for node in drawn}
    alternatives = {result: place for place, result in enumerate(dict.fromkeys(node.alternatives for node in drawn))}
    data = {
        "name": say(name),
        "path": say(path),
        "nodes": [_sent(node, alternatives[node.alternatives]) for node in drawn],
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


def _check(nodes: Sequence[Node], at: int, ends: Sequence[BranchEnd]) -> None:
    known: set[int] = set()
    for node in nodes:
        if node.id in known or not 0 <= node.id <= _LARGEST:
            raise ValueError(f"Node {node.id} is there twice, or not from 0 to 2^53 - 1; give each a different number.")
        if (node.parent is None) != (not known) or (node.parent is not None and node.parent not in known):
            raise ValueError(
                f"Node {node.id} comes after {node.parent}, which is not among the nodes before it; give one first "
                "node without a parent, and each other one after its parent."
            )
        known.add(node.id)
    if unknown := {at, *(end.id for end in ends)} - known:
        raise ValueError(f"Of {sorted(unknown)} there is no node; look at one of the tree's, and end branches there.")


def _folded(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes with the first ones of a long prompt as one."""
    n_given = next((place for place, node in enumerate(nodes) if node.kind != "given"), len(nodes))
    n_folded = n_given - GIVEN_SHOWN
    if n_folded < 2:
        return [*nodes]
    last = nodes[n_folded - 1]
    whole = replace(last, parent=None, label=say("… {n} tokens", n=n_folded), log_prob=None, rank=None, alternatives=())
    return [whole, *nodes[n_folded:]]


def _sent(node: Node, alternatives: int) -> dict[str, Any]:
    """Return a node as the component reads it."""
    return {
        "id": node.id,
        "parent": node.parent,
        "position": node.position,
        "label": node.label,
        "log": None if node.log_prob is None else _finite(node.log_prob),
        "p": None if node.log_prob is None else min(1.0, math.exp(node.log_prob)),
        "rank": node.rank,
        "alternatives": alternatives,
        "kind": node.kind,
        "score": node.score,
        "taken": node.on_path,
    }


def _finite(log_prob: float) -> float | None:
    """Return a log-probability; None for that of what is never written, which JSON cannot say."""
    return log_prob if math.isfinite(log_prob) else None
