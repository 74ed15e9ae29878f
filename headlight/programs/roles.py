"""The role of each head of a compiled model: its line of the program, and its kind."""

from dataclasses import dataclass
from typing import Literal

from headlight.programs.compiler import Compiled, compiled
from headlight.programs.program import INDICES, TOKENS, Aggregate, Selector, SelectorWidth
from transformer_core.model.transformer import Transformer

Kind = Literal["offset", "same_token", "induction", "uniform", "fixed", "none", "other"]


@dataclass(frozen=True, kw_only=True)
class Role:
    """What a head does.

    Attributes:
        line: of the program, from 1 on.
        source: the line.
        name: what the line calls its result.
        kind: "offset": attends `offset` positions back; "same_token": to equal tokens; "induction": to the token after
            an earlier equal one; "uniform": to all equally; "fixed": to the same keys whatever the query; "none": to
            no key, and so to <bos> alone; "other".
        offset: 1 for the previous token; negative for later ones; None where the kind is another.
        counts: whether it counts the selected keys, and so attends to <bos>, too.
    """

    line: int
    source: str
    name: str
    kind: Kind
    offset: int | None = None
    counts: bool = False


def roles(model: Transformer) -> dict[tuple[int, int], Role]:
    """Return the roles of a compiled model's heads, by layer and head; idle heads have none.

    Raises:
        ProgramError: the model was not compiled from a program.
    """
    origin = compiled(model)
    by_head = {}
    for layer, steps in enumerate(origin.layout.heads):
        for head, step in enumerate(steps):
            kind, offset = _kind(step.selector, origin)
            by_head[layer, head] = Role(
                line=step.line,
                source=origin.program.lines[step.line],
                name=step.name,
                kind=kind,
                offset=offset,
                counts=isinstance(step, SelectorWidth),
            )
    return by_head


def _kind(selector: Selector, origin: Compiled) -> tuple[Kind, int | None]:
    """Return the kind of head of a selector, and its offset, if it has one."""
    keys, queries = (origin.layout.subspaces[of].values for of in (selector.keys, selector.queries))
    table = [[bool(selector.predicate(key, query)) for key in keys] for query in queries]
    if not any(map(any, table)):
        return "none", None
    if all(map(all, table)):
        return "uniform", None
    if (offset := offset_of(selector, origin)) is not None:
        return "offset", offset
    is_equality = all(
        chosen == (key == query)
        for row, query in zip(table, queries, strict=True)
        for chosen, key in zip(row, keys, strict=True)
    )
    if is_equality and selector.queries is TOKENS:
        if selector.keys is TOKENS:
            return "same_token", None
        of = selector.keys
        if isinstance(of, Aggregate) and of.values is TOKENS and offset_of(of.selector, origin) == 1:
            return "induction", None
    return ("fixed" if all(row == table[0] for row in table) else "other"), None


def offset_of(selector: Selector, origin: Compiled) -> int | None:
    """Return the fixed offset from each query back to its only selected key; None if there is none."""
    if selector.keys is not INDICES or selector.queries is not INDICES:
        return None
    places = range(origin.max_len)
    seen = [
        (
            query,
            [
                key
                for key in places
                if selector.predicate(key, query) and (key <= query or not origin.program.is_causal)
            ],
        )
        for query in places
    ]
    offsets = {query - key for query, keys in seen for key in keys}
    if len(offsets) != 1:
        return None
    (offset,) = offsets
    return offset if all(len(keys) == (query - offset in places) for query, keys in seen) else None
