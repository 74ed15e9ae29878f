"""All branches of a text that is being written, in one tree."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

import streamlit as st

from headlight.figures import isolate
from headlight.language import localized, say
from pages.explore.decoding import view_fields
from pages.explore.decoding.components.branches import BranchEnd, TreeNode, branches, sent_node
from pages.explore.decoding.data import DecodingData, OutputToken, TokenKind
from pages.explore.decoding.recipes import tokens_of
from pages.shared.recipe import Expression, Print, call, each, value_of
from transformer_core.errors import mark

if TYPE_CHECKING:
    from transformer_core.decoding.decoding_step import DecodingStep
    from transformer_core.decoding.session import Comparison

KEY = "decoding-branch-tree"
N_BEFORE = 2  # tokens shown in the table before the place where branches diverge
_NO_TOKEN = 0  # node number before the first given token
_N_NUMBERS = 2**53  # integers that a browser represents exactly


def show(data: DecodingData) -> None:
    """Draw the tree of all branches, and a table with a row for each."""
    _tree(data)
    _table(data)
    if here := view_fields.BRANCH.value:
        st.button(say("Delete this branch"), on_click=view_fields.without, args=(here,), type="tertiary")


def code(data: DecodingData) -> list[Print]:
    """Return the lines that print the text, length and log-probability of each branch."""
    decode = data.recipe.tokenizer.target.decode
    texts = each("one", data.recipe.branches, lambda one: decode(tokens_of(one)))
    return [Print(texts), Print(_lengths_and_totals(data), "tokens, and nats")]


def _lengths_and_totals(data: DecodingData) -> Expression:
    """Return the length and log-probability of each branch, as code."""
    return each(
        "one",
        data.recipe.branches,
        lambda one: (call(len, one), call(math.fsum, each("step", one, lambda step: step.log_prob))),
    )


def _tree(data: DecodingData) -> None:
    nodes, steps = _nodes(data)
    id_of = {step: node for node, step in steps.items()}
    ends = [
        BranchEnd(
            id=id_of[branch[-1]],
            text=data.text_of([step.token for step in branch]),
            total=branch[-1].total_log_prob,
            n_tokens=len(branch),
        )
        for branch in data.branches
        if branch
    ]
    branches(
        nodes=nodes,
        at=id_of[data.at],
        ends=ends,
        key=KEY,
        on_node=lambda: _open(steps),
        name=mark("Tree of all branches"),
    )


def _table(data: DecodingData) -> None:
    last = [branch[-1] if branch else data.tree.start for branch in data.branches]
    lengths, totals = zip(*value_of(_lengths_and_totals(data)), strict=True)
    partings = {"number": [*range(1, len(last) + 1)], "parts": _partings(data, last)} if len(last) > 1 else {}
    columns = partings | {
        "branch": _ends(data),
        "tokens": lengths,
        "nats": totals,
        "nats per token": [total / max(1, n_tokens) for total, n_tokens in zip(totals, lengths, strict=True)],
    }
    import pandas as pd

    decimals = {name: partial(localized, form=form) for name, form in (("nats", ".2f"), ("nats per token", ".3f"))}
    st.dataframe(
        pd.DataFrame(columns).style.format(decimals),
        hide_index=True,
        height="content",
        column_config={
            "number": st.column_config.NumberColumn(say("no."), width=40),
            "parts": st.column_config.TextColumn(
                say("first difference"),
                width=230,
                help=say("Compared with the branch above that shares the longest prefix"),
            ),
            "branch": st.column_config.TextColumn(say("branch"), width=200),
            "tokens": st.column_config.NumberColumn(say("tokens"), width=60),
            "nats": st.column_config.NumberColumn(
                say("nats"),
                width=70,
                help=say("Log-probability of the branch: the sum over its tokens"),
            ),
            "nats per token": st.column_config.NumberColumn(
                say("nats per token"), width=95, help=say("The mean over its tokens")
            ),
        },
    )


def numbers(start: int, tokens: Iterable[int]) -> list[int]:
    """Return the number of a node and of each node reached from it by the tokens; the same in every run."""
    return [*accumulate(tokens, lambda parent, token: hash((parent, token)) % _N_NUMBERS, initial=start)]


def given_nodes(data: DecodingData) -> list[TreeNode]:
    """Return a node for each given token."""
    ids = numbers(_NO_TOKEN, [step.token for step in data.given])
    tokens = [OutputToken(label=label, kind="given") for label in data.labels(data.given)]
    return [
        TreeNode(id=own, parent=parent if step.parent else None, position=step.position, token=token, on_path=True)
        for parent, own, step, token in zip(ids, ids[1:], data.given, tokens, strict=False)
    ]


def _nodes(data: DecodingData) -> "tuple[list[TreeNode], dict[int, DecodingStep]]":
    """Return a node for each distinct token of all branches, and the step of each node."""
    nodes = given_nodes(data)
    steps = {node.id: step for node, step in zip(nodes, data.given, strict=True)}
    start = nodes[-1].id
    on_path = {*numbers(start, [step.token for step in data.branch])}
    for branch, led in zip(data.branches, view_fields.BRANCHES.value, strict=True):
        ids = numbers(start, [step.token for step in branch])
        n_known = sum(node in steps for node in ids[1:])  # nodes shared with earlier branches
        new = zip(branch[n_known:], data.tokens(branch[n_known:]), strict=True)
        for place, (step, token) in enumerate(new, n_known):
            parent, own = ids[place : place + 2]
            kind: TokenKind = "ended" if data.tree.has_ended(step) else "forced" if place in led.forced else "written"
            token = replace(token, kind=kind)
            nodes.append(TreeNode(id=own, parent=parent, position=step.position, token=token, on_path=own in on_path))
            steps[own] = step
    return nodes, steps


def _open(steps: "dict[int, DecodingStep]") -> None:
    """Select the step after the clicked token; for a given token, the beginning."""
    step = steps.get(sent_node(KEY) or 0)
    if step is not None:
        view_fields.open_path([one.token for one in step.written()])


def _ends(data: DecodingData) -> list[str]:
    """Return the text of each branch, starting shortly before the first difference."""
    tokens = [[step.token for step in branch] for branch in data.branches]
    texts = [*map(data.text_of, tokens)]
    if len(texts) == 1:
        return texts
    n_alike = next((n for n, column in enumerate(zip(*tokens, strict=False)) if len({*column}) > 1), 0)
    beginning = data.text_of(tokens[0][: max(0, n_alike - N_BEFORE)]) if n_alike > N_BEFORE else ""
    if not beginning or not all(text.startswith(beginning) for text in texts):
        return texts
    return [f"… {text[len(beginning) :].removeprefix(' ')}" for text in texts]


def _partings(data: DecodingData, last: "Sequence[DecodingStep]") -> list[str]:
    """Say where each branch diverges from the branch above with the longest shared prefix; "" for the first."""
    messages = [""]
    for n, other in enumerate(last[1:], 1):
        comparisons = [data.session.compare(one, other) for one in last[:n]]
        nearest = max(range(n), key=lambda i: len(comparisons[i].shared))
        messages.append(_parting(data, comparisons[nearest], nearest + 1))
    return messages


def _parting(data: DecodingData, comparison: "Comparison", number: int) -> str:
    """Say where a branch diverges from the branch with this number, counted from 1."""
    if not comparison.b:
        return say("prefix of {number}", number=number)
    if not comparison.a:
        return say("continues {number}", number=number)
    has, instead = (isolate(data.labels(steps[:1])[0]) for steps in (comparison.a, comparison.b))
    return say(
        "from {number} at token {place}: {instead} instead of {has}",
        number=number,
        place=comparison.parting,
        instead=instead,
        has=has,
    )
