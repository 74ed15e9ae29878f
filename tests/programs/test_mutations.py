"""Lines with one mistake: each is another line that can be read, and most change what the program computes."""

import random

import pytest

import transformer_core as tc
from transformer_core.errors import ProgramError
from transformer_core.programs import EXAMPLES, INPUTS, Program
from transformer_core.programs.mutations import mutations


def test_mutations_of_a_line_leave_all_else_as_it_is_written():
    line = "x = aggregate(select(indices, tokens, lambda key, query: key == query - 1), tokens)"
    assert mutations(line) == [
        "x = aggregate(select(tokens, indices, lambda key, query: key == query - 1), tokens)",
        "x = aggregate(select(indices, tokens, lambda key, query: key != query - 1), tokens)",
        "x = aggregate(select(indices, tokens, lambda key, query: key == query + 1), tokens)",
        "x = aggregate(select(indices, tokens, lambda key, query: key == query - 2), tokens)",
    ]
    line = "größe = map(lambda a,b: (a+'é') if (a) in ('x', \"ü\") else b -2, tokens, indices)"
    assert mutations(line) == [
        line.replace("in (", "not in ("),
        line.replace("a+", "a-"),
        line.replace("-2", "+2"),
        line.replace("-2", "-3"),
    ]
    assert mutations("x = aggregate(same, tokens)") == []
    assert mutations("x = map(lambda x: , tokens)") == mutations("") == mutations("x = " + "(" * 500) == []


@pytest.mark.parametrize("name", ["reverse", "histogram", "dyck_1", "addition"])
def test_some_mistake_in_each_example_is_seen_in_its_output(name: str):
    program, rng = EXAMPLES[name], random.Random(0)
    inputs = [INPUTS[name](rng) for _ in range(20)]
    right = [tc.programs.run(program, tokens) for tokens in inputs]
    n_seen = 0
    for line in program.lines.values():
        for changed in mutations(line):
            other = Program(source=program.source.replace(line, changed), is_causal=program.is_causal)
            try:
                n_seen += [tc.programs.run(other, tokens) for tokens in inputs] != right
            except ProgramError:
                n_seen += 1  # keys with different values are selected
    assert n_seen
