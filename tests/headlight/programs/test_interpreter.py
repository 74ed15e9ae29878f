"""What the interpreter leaves to no program: who is selected, and that one value is chosen."""

import pytest

from headlight.programs import Program, run
from headlight.programs.interpreter import trace
from headlight.programs.program import Selector
from transformer_core.errors import ProgramError

ALL = "select(tokens, tokens, lambda key, query: True)"


@pytest.mark.parametrize(("is_causal", "expected"), [(True, [(0,), (0, 1), (0, 1, 2)]), (False, [(0, 1, 2)] * 3)])
def test_a_causal_program_selects_no_later_key(is_causal: bool, expected: list[tuple[int, ...]]):
    program = Program(source=f"n = selector_width({ALL})", is_causal=is_causal)
    computed = trace(program, ["a", "b", "a"])
    assert next(values for step, values in computed.items() if isinstance(step, Selector)) == expected
    assert run(program, ["a", "b", "a"]) == [len(keys) for keys in expected]


def test_different_values_cannot_be_one():
    program = Program(source=f"\nx = aggregate({ALL}, tokens)")
    assert run(program, ["a", "a"]) == ["a", "a"]
    with pytest.raises(ProgramError, match="line 2: keys with different values are selected \\(a, b\\)"):
        run(program, ["a", "b"])
