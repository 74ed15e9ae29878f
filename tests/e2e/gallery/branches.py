"""A page with one tree and nothing else: forks, beams, or a long text, as its address says."""

import math

import streamlit as st

from pages.explore.decoding.components.branches import BranchEnd, Kind, Node, branches, sent_node

SAID = (("chat", 0.6), ("chien", 0.25), ("<b>x</b>", 0.1), ("שלום", 0.03), ("·", 0.02))
TEXTS = {  # of each tree, its branches: how many tokens of the first one they share, and what comes behind these
    "forks": [
        (0, "Le chat n' a pas vu le chien parce qu' il était fatigué . <eos>".split()),
        (7, "son petit frère <img·src=x> . <eos>".split()),
        (10, "elle était fatiguée . <eos>".split()),
    ],
    "growing": [(0, "Once there was a little cat who".split()), (2, "were two".split())],
    "long": [(0, [f"token{place}" for place in range(120)]), (60, [f"other{place}" for place in range(8)])],
    "tall": [(0, ["Once", "."]), *((1, [f"branch{place}"]) for place in range(20))],
}


def forks(tree: str, n_more: int) -> tuple[list[Node], list[BranchEnd]]:
    """Branches that part from the first one, which grows by `n_more` tokens."""
    nodes = [Node(id=0, parent=None, position=0, label="given0", kind="given", on_path=True)]
    first, ends = [0], []
    for place, (n_shared, tokens) in enumerate(TEXTS[tree]):
        path = first[: 1 + n_shared]
        words = [*tokens, *(f"more{i}" for i in range(n_more))] if place == 0 else tokens
        for i, label in enumerate(words):
            p = 0.999 - 0.07 * (i % 14)
            kind: Kind = "forced" if place and i == 0 else "ended" if label == "<eos>" else "written"
            node = Node(
                id=len(nodes),
                parent=path[-1],
                position=len(path),
                label=label,
                log_prob=math.log(p),
                rank=i % 3,
                alternatives=SAID,
                kind=kind,
                on_path=place == 0,
            )
            nodes.append(node)
            path = [*path, node.id]
        first = path if place == 0 else first
        ends.append(BranchEnd(id=path[-1], text=" ".join(words), total=-1.5 * len(words), n_tokens=len(words)))
    return nodes, ends


def beams(n_steps: int, n_beams: int) -> tuple[list[Node], list[BranchEnd]]:
    """Beams of which each goes on once, and the first one twice; all others are dropped."""
    nodes = [Node(id=0, parent=None, position=0, label="<bos>", kind="given", on_path=True)]
    kept, ends = [0], []
    for step in range(1, n_steps + 1):
        following = []
        for beam, parent in enumerate(kept):
            for child in range(2):
                is_kept = child == 0 or (beam == 0 and len(kept) < n_beams)
                kind: Kind = "dropped" if not is_kept else "ended" if step == n_steps else "kept"
                node = Node(
                    id=len(nodes),
                    parent=parent,
                    position=step,
                    label=f"b{beam}{'abc'[child] * (1 + step % 4)}",
                    log_prob=-0.5 - beam - child,
                    rank=child,
                    kind=kind,
                    score=-1.0 * step - beam - child,
                    on_path=beam == 0 and child == 0,
                )
                nodes.append(node)
                if is_kept:
                    following.append(node.id)
                if kind == "ended":
                    ends.append(
                        BranchEnd(id=node.id, text=f"text {beam}", total=-9.0, n_tokens=n_steps, score=-4.5 - beam)
                    )
        kept = following
    return nodes, ends


def page() -> None:
    """Draw the tree, and in words what it sent last."""
    tree = st.query_params.get("tree", "forks")
    more = st.session_state.get("more", 0)
    nodes, ends = beams(6, 4) if tree == "beams" else forks(tree, more)
    at = st.session_state.get("at", int(st.query_params.get("at", 3)))
    at = nodes[at].id if not more else max(node.id for node in nodes if node.label.startswith("more"))
    branches(nodes=nodes, at=at, ends=ends, key="tree", on_node=opened)
    st.button("Add a token", on_click=lambda: st.session_state.update(more=more + 1))
    st.text(f"sent {st.session_state.get('sent')}, {len(nodes)} nodes")


def opened() -> None:
    """Keep what was clicked."""
    st.session_state["sent"] = st.session_state["at"] = sent_node("tree")


page()
