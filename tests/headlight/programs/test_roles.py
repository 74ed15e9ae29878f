"""The role of each head is what its line says."""

import pytest

from headlight.programs import EXAMPLES, Program, roles
from headlight.programs import compile as compile_program


def kinds(program: Program) -> dict[tuple[int, int], tuple[object, ...]]:
    model, _ = compile_program(program)
    return {place: (role.kind, role.offset, role.counts, role.line) for place, role in roles(model).items()}


def test_roles_of_examples():
    assert kinds(EXAMPLES["induction"]) == {(0, 0): ("offset", 1, False, 1), (1, 0): ("induction", None, False, 2)}
    assert kinds(EXAMPLES["histogram"]) == {(0, 0): ("same_token", None, True, 2)}
    assert kinds(EXAMPLES["fraction_previous"]) == {(1, 0): ("uniform", None, False, 2)}
    assert [kind for kind, *_ in kinds(EXAMPLES["shuffle_dyck_2"]).values()] == ["fixed"] * 5
    assert kinds(EXAMPLES["sort_unique"])[0, 0][0] == "other"
    role = roles(compile_program(EXAMPLES["induction"])[0])[1, 0]
    assert role.name == "next" and role.source.startswith("next = aggregate(select(previous, tokens")


def test_an_induction_head_compares_with_the_previous_token_and_with_nothing_else_that_is_previous():
    """Of the inputs a, b: the token before, its opposite, and the token after."""
    opposite = 'other = map(lambda token: "b" if token == "a" else "a", tokens)'
    results = []
    for values, back in (("tokens", "query - 1"), ("other", "query - 1"), ("tokens", "query + 1")):
        before = f"before = aggregate(select(indices, indices, lambda key, query: key == {back}), {values}, '?')"
        count = "n = selector_width(select(before, tokens, lambda key, query: key == query))"
        program = Program(source="\n".join([opposite, before, count]), vocab=("a", "b"), max_len=4)
        results.append([kind for kind, *_ in kinds(program).values()][-1])
    assert results == ["induction", "other", "other"]


@pytest.mark.parametrize(
    ("predicate", "is_causal", "expected"),
    [
        ("key == query - 3", True, ("offset", 3)),
        ("key == query + 2", False, ("offset", -2)),
        ("key + 1 == query or key > query", True, ("offset", 1)),  # a later key is never seen
        ("key + 1 == query or key > query", False, ("other", None)),
        ("key < query", True, ("other", None)),
        ("key == 0", True, ("fixed", None)),
        ("key == 99", False, ("none", None)),
    ],
)
def test_offsets(predicate: str, is_causal: bool, expected: tuple[str, int | None]):
    source = f"n = selector_width(select(indices, indices, lambda key, query: {predicate}))"
    (actual,) = kinds(Program(source=source, is_causal=is_causal)).values()
    assert actual[:2] == expected
