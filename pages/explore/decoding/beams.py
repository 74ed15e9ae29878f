"""Beam search from the beginning of the text: all kept and dropped hypotheses as a tree."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from headlight.figures import isolate
from headlight.language import say
from pages.explore.decoding import view_fields
from pages.explore.decoding.components.branches import BranchEnd, TreeNode, branches, sent_node
from pages.explore.decoding.data import FIRST_LENGTH, DecodingData, OutputToken, signed
from pages.explore.decoding.recipes import session_of, tokens_of
from pages.explore.decoding.tree import given_nodes, numbers
from pages.shared import cache, devices, prose
from pages.shared.glossary.links import definitions
from pages.shared.recipe import Expression, Print, call, each, literal, named, through, value_of
from transformer_core.errors import NotFiniteError, mark

if TYPE_CHECKING:
    from transformer_core.decoding.beam_tree import BeamCandidate, BeamTree
    from transformer_core.decoding.decoding_step import DecodingStep

KEY = "decoding-beam-tree"
HEIGHT = 520  # px
LARGEST_ALPHA = 2.0
FORMS = {"paper": "((5 + n) / 6)^α", "length": "n^α"}  # length penalties, by which a total is divided
CONTEXT = 16  # preceding tokens that the label of a token may depend on
LEAD = mark(
    "At each step, beam search keeps the most probable hypotheses, one per beam, and drops the rest. A hypothesis "
    "of n tokens is scored by its total log-probability divided by a length penalty. Click a dropped token to "
    "continue from it."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawnSearch:
    """The drawn tree of a beam search; holds no tensors."""

    nodes: tuple[TreeNode, ...]
    ends: dict[int, tuple[float, float | None]]  # by last node: total and score, nats
    paths: dict[int, tuple[int, ...]]  # by node: the tokens written up to it
    dropped: frozenset[int]
    best: tuple[int, ...]
    greedy: tuple[tuple[int, ...], float]  # tokens of greedy decoding, and their total, nats


def show(data: DecodingData) -> None:
    """Draw the search's numbers, its tree, and what it found."""
    _controls()
    with st.spinner(say("Searching …"), show_time=True):
        drawn = through(literal(_recipe(data)), lambda _: _search(data))
        try:
            result = value_of(cache.kept(mark("beam searches"), drawn))
        except NotFiniteError as error:
            prose.note(prose.sentence(error))
            return
    written = numbers(result.nodes[len(data.given) - 1].id, [step.token for step in data.branch[: data.n_written]])
    branches(
        nodes=result.nodes,
        at=next(node for node in reversed(written) if node in result.paths),
        ends=[
            BranchEnd(
                id=node,
                text=data.text_of(result.paths[node]),
                total=total,
                n_tokens=len(result.paths[node]),
                score=score,
            )
            for node, (total, score) in result.ends.items()
        ],
        key=KEY,
        on_node=lambda: _open(result),
        height=HEIGHT,
        name=mark("Beam search tree"),
        path=mark("best hypothesis"),
    )
    prose.paragraph(_in_words(data, result))


def code(data: DecodingData) -> list[Print]:
    """Return the lines that print the results of beam search and of greedy decoding."""
    result, greedy = _recipe(data)
    decode = data.recipe.tokenizer.target.decode
    texts = each("one", result.finished, lambda one: (decode(tokens_of(one.step.written())), one.total, one.score))
    return [Print(texts), Print((decode(tokens_of(greedy)), greedy[-1].total_log_prob), "greedy decoding")]


def _recipe(data: DecodingData) -> tuple[Expression, Expression]:
    """Return the beam search and the output of greedy decoding, as code."""
    from transformer_core.decoding.beam_tree import search_beams

    tree, arguments = data.recipe.tree, _arguments(data)
    greedy = session_of(tree).follow({}, max_new_tokens=arguments["max_new_tokens"])
    return named("found", call(search_beams, tree, **arguments)), named("greedy", call(tuple, greedy))


def _arguments(data: DecodingData) -> dict[str, Any]:
    return {
        "n_beams": view_fields.N_BEAMS.value,
        "length_penalty": min(view_fields.PENALTY.value, LARGEST_ALPHA),
        "penalty_form": view_fields.PENALTY_FORM.value,
        "max_new_tokens": min(FIRST_LENGTH[data.card.config.architecture], data.tree.max_positions - len(data.given)),
    }


def _controls() -> None:
    """Draw the choices of the number of beams and of the length penalty."""
    prose.small(say(LEAD), definitions("beam-search", "length-penalty", "greedy-decoding"))
    with st.container(horizontal=True, vertical_alignment="bottom", key="hl-decoding-beams"):
        view_fields.N_BEAMS.slider(say("Beams"), 1, view_fields.MOST_BEAMS)
        view_fields.PENALTY.slider(
            say("Length penalty α"),
            0.0,
            LARGEST_ALPHA,
            step=0.1,
            shown=min(view_fields.PENALTY.value, LARGEST_ALPHA),
            help=say(
                "0: no length normalization, which favors short outputs. 0.6: as in “Attention Is All You Need”, "
                "sec. 6.1"
            ),
        )
        view_fields.PENALTY_FORM.segmented(
            say("Length normalization"), [*FORMS], name=FORMS.__getitem__, label_visibility="visible"
        )


def _search(data: DecodingData) -> DrawnSearch:
    """Run the search and return the data to draw."""
    tree: BeamTree
    greedy: tuple[DecodingStep, ...]
    with devices.on(data.source.device):
        tree, greedy = value_of(_recipe(data))
    nodes = given_nodes(data)
    paths: dict[int, tuple[int, ...]] = {node.id: () for node in nodes}
    ids, dropped, ends = {data.tree.start: nodes[-1].id}, set[int](), dict[int, tuple[float, float | None]]()
    best = tuple(step.token for step in tree.best.written())
    on_path = {*numbers(nodes[-1].id, best)}
    for level in tree.levels:
        alternatives = {parent: data.alternatives(parent.prediction) for parent in {one.parent for one in level}}
        ranked = [(one, numbers(ids[one.parent], [one.token])[-1]) for one in level]
        straight: dict[DecodingStep, BeamCandidate] = {}  # the candidate that continues straight on from each beam
        for one, _ in sorted(ranked, key=lambda it: (it[1] not in on_path, it[0].fate == "dropped")):
            straight.setdefault(one.parent, one)
        # Dropped candidates are short, so they come right after the straight one, before other continuations.
        for one, node in sorted(ranked, key=lambda it: (straight[it[0].parent] is not it[0], it[0].fate != "dropped")):
            paths[node] = (*paths[ids[one.parent]], one.token)
            nodes.append(
                TreeNode(
                    id=node,
                    parent=ids[one.parent],
                    position=one.parent.position + 1,
                    token=_token(data, one, alternatives[one.parent]),
                    score=one.score,
                    on_path=node in on_path,
                )
            )
            if one.step is None:
                dropped.add(node)
            else:
                ids[one.step] = node
            if one.fate == "ended":
                ends[node] = one.total, one.score
    return DrawnSearch(
        nodes=tuple(nodes),
        ends=ends,
        paths=paths,
        dropped=frozenset(dropped),
        best=best,
        greedy=(tuple(step.token for step in greedy), greedy[-1].total_log_prob),
    )


def _token(data: DecodingData, one: "BeamCandidate", alternatives: tuple[tuple[str, float], ...]) -> OutputToken:
    context = [step.token for step in one.parent.path()[-CONTEXT:]]
    assert one.parent.prediction is not None, "the search has read it"
    return OutputToken(
        label=data.tokenizer.labels([*context, one.token])[-1],
        kind=one.fate,
        log_prob=one.log_prob,
        rank=one.parent.prediction.candidate(one.token).rank,
        alternatives=alternatives,
    )


def _open(search: DrawnSearch) -> None:
    """Go to the step of the clicked token; a dropped token starts a new branch."""
    node = sent_node(KEY)
    if node in search.paths:
        path = search.paths[node]
        view_fields.open_path(path, forced=[len(path) - 1] if node in search.dropped else ())


def _in_words(data: DecodingData, search: DrawnSearch) -> str:
    """Describe the best hypothesis, and the output of greedy decoding."""
    best_total, best_score = next(end for node, end in search.ends.items() if search.paths[node] == search.best)
    assert best_score is not None, "it was searched for"
    text = say(
        "“{text}” ({total} nats, score {score})",
        text=isolate(data.text_of(search.best)),
        total=signed(best_total),
        score=signed(best_score),
    )
    tokens, total = search.greedy
    if tokens == search.best:
        return say("Beam search and greedy decoding both find {text}.", text=text)
    other = say("“{text}” ({total} nats)", text=isolate(data.text_of(tokens)), total=signed(total))
    return say("Beam search finds {text}; greedy decoding finds {other}.", text=text, other=other)
