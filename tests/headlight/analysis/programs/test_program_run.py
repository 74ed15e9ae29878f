"""A program and its compiled model on one input: the lines, the heads that they became, and what those do."""

import random
from dataclasses import replace

import pytest

import headlight as hl
import transformer_core as tc
from headlight.analysis.programs.program_run import ProgramRun, program_run
from headlight.programs import EXAMPLES, INPUTS, Program
from headlight.programs import compile as compile_program
from tests.model.building import small_config
from transformer_core.errors import ProgramError, TextError


def run_of(program: Program, tokens: list[str]) -> ProgramRun:
    model, tokenizer = compile_program(program)
    return program_run(model, tokenizer, tokens)


@pytest.mark.parametrize("name", [*EXAMPLES])
def test_the_model_says_what_the_program_says_and_its_last_line_computes_that(name: str):
    rng, (model, tokenizer) = random.Random(1), compile_program(EXAMPLES[name])
    for _ in range(20):
        tokens = INPUTS[name](rng)
        run = program_run(model, tokenizer, tokens)
        expected = tuple(map(str, hl.programs.run(EXAMPLES[name], tokens)))
        assert run.problem is None and run.output == run.predicted == expected
        assert tuple(map(str, run.lines[-1].values or ())) == expected
        assert {*hl.programs.roles(model)} <= {head for line in run.lines for head in line.heads}


def test_a_selector_has_the_heads_that_attend_as_it_says_and_its_values_are_positions():
    same, count = run_of(EXAMPLES["histogram"], [*"aba"]).lines
    assert same.is_selector and same.heads == count.heads == ((0, 0),) and not count.is_selector
    assert same.values == ((0, 2), (1,), (0, 2)) and [space.name for space in same.subspaces] == ["tokens"]


def test_a_line_that_the_output_does_not_need_is_not_compiled():
    run = run_of(Program(source="n = map(lambda i: i + 1, indices)\nx = map(lambda t: t, tokens)"), ["a"])
    assert not run.lines[0].is_used and run.lines[0].values is None and run.lines[1].is_used


def test_where_the_program_has_no_output_the_lines_before_have_values_and_the_model_still_runs():
    source = """\
everywhere = select(tokens, tokens, lambda key, query: True)
n = selector_width(everywhere)
x = aggregate(everywhere, tokens)
y = map(lambda n, x: (n, x), n, x)"""
    run = run_of(Program(source=source), ["a", "b"])
    assert run.problem is not None and "different values" in str(run.problem)
    assert run.lines[1].values == (2, 2) and run.lines[2].values is None and run.output == ()
    assert run.patterns.shape[2:] == (4, 4) and len(run.predicted) == 2


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("indices, opposite, lambda", "opposite, indices, lambda", True),  # the opposite of the opposite is the index
        ("n - 1 - i", "n - 2 - i", False),
        ("lambda key, query: True", "lambda key, query: key == 'a'", False),
    ],
)
def test_runs_agree_where_values_outputs_and_patterns_are_the_same(old: str, new: str, is_same: bool):
    program = EXAMPLES["reverse"]
    run, other = (run_of(replace(program, source=program.source.replace(old, to)), [*"abc"]) for to in (old, new))
    assert old in program.source and run.agrees_with(other) == is_same


@pytest.mark.parametrize(
    ("source", "case"),
    [
        ("y = map(lambda i: 1 // i, indices)", (1, "lambda i: 1 // i", (0,), False)),
        ("y = map(lambda t: None, tokens)", None),
        (
            "n = selector_width(select(tokens, indices, lambda key, query: key < query))",
            (1, "lambda key, query: key < query", ("b", 0), True),
        ),
    ],
)
def test_the_first_value_for_which_a_line_is_not_defined_is_named(source: str, case: tuple[object, ...] | None):
    undefined = run_of(Program(source=source), ["b", "a"]).undefined
    actual = undefined and (undefined.number, undefined.code, undefined.values, undefined.is_key)
    assert actual == case


@pytest.mark.parametrize(
    ("tokens", "words"),
    [([], "no tokens"), (["a"] * 11, "reads 10 at most"), (["x"], "“x” is not in the vocabulary; use a, b, c, d, e")],
)
def test_inputs_that_cannot_be_read(tokens: list[str], words: str):
    with pytest.raises(TextError, match=words):
        run_of(EXAMPLES["reverse"], tokens)


def test_a_trained_model_has_no_program():
    with pytest.raises(ProgramError, match="was not compiled"):
        program_run(tc.build(small_config()), compile_program(EXAMPLES["shift"])[1], ["a"])
