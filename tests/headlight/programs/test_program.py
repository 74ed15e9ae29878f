"""Programs are read line by line; what is none is refused in a sentence that names the line."""

import pytest

from headlight.programs import Program, run
from headlight.programs.program import INDICES, TOKENS, Selector, SelectorWidth, steps_of
from transformer_core.errors import ProgramError

SAME = "select(tokens, tokens, lambda key, query: key == query)"


def test_lines_are_numbered_as_written_and_comments_left_out():
    program = Program(source=f"\n# how often\n\nsame = {SAME}\ncount = selector_width(same)\n")
    assert program.lines == {4: f"same = {SAME}", 5: "count = selector_width(same)"}
    count = program.output
    assert isinstance(count, SelectorWidth) and (count.line, count.name) == (5, "count")
    assert (count.selector.line, count.selector.name, count.selector.keys) == (4, "same", TOKENS)


def test_what_stands_within_a_line_is_a_step_of_that_line():
    program = Program(source=f"count = selector_width({SAME})\nlast = map(lambda a, b: a - b, count, indices)")
    selector = next(step for step in steps_of(program.output) if isinstance(step, Selector))
    assert (selector.line, selector.name) == (1, "")
    assert INDICES in steps_of(program.output)
    assert run(program, ["a", "a"]) == [2, 1]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("", "the program is empty"),
        ("tokens", "line 1: write name = expression"),
        (f"same = {SAME}", "must compute a sequence, not a selector"),
        ("tokens = map(lambda x: x, indices)", "line 1: the name tokens is taken"),
        ("map = map(lambda x: x, indices)", "the name map is taken"),
        ("a = map(lambda x: x, b)", "“b” is not defined before this line; there are tokens, indices"),
        ("a = map(lambda x: x, tokens)\nb = tokens + a", "line 2: “tokens \\+ a” is not a step"),
        ("a = open(tokens)", "“open\\(tokens\\)” is not a step"),
        ("a = select(tokens, tokens, lambda k q: k == q)", "line 1: “…okens, tokens, lambda k ▸q: k == q\\)” is not"),
        ("a = map(lambda x: x, tokens", "“map▸\\(lambda x: x, tokens” is not a Python expression"),
        ("a = map(lambda x: x y" + ", tokens" * 9, "“map\\(lambda x: ▸x y, tokens, tokens, tok…”"),
        ("a = map(lambda x: x, tokens + indices + tokens + indices)", "“tokens \\+ indices \\+ tokens \\+ indices” is"),
        ("a = map(lambda x: x, " + " + ".join(["tokens"] * 9) + ")", "“" + "tokens \\+ " * 5 + "to…” is not a step"),
        ("a = selector_width(tokens)", "a selector is needed here"),
        (f"a = aggregate({SAME}, {SAME})", "a sequence is needed here"),
        ("a = select(tokens, tokens)", "not the arguments of select"),
        ("a = select(tokens, tokens, lambda key: True)", "two parameters"),
        ("a = map(lambda x, y: x, tokens)", "one parameter for each sequence"),
        ("a = map(tokens, tokens)", "is not a function"),
        (f"a = aggregate({SAME}, tokens, tokens)", "must be a constant"),
        (f"n = numerical(indices)\na = aggregate({SAME}, n, 'x')", "line 2: the default of a mean"),
        ("n = numerical(indices)\na = select(n, n, lambda key, query: True)", "select needs categorical values"),
        ("n = numerical(indices)\na = numerical(n)", "numerical needs categorical values"),
        ("n = numerical(indices)\nm = numerical(indices)\na = map(lambda x, y: x, n, m)", "at most one numerical"),
        ("a = map(lambda x: x, tokens) " + "#" * 400, "at most 400 characters"),
        ("\n".join(f"a{i} = map(lambda x: x, tokens)" for i in range(61)), "at most 60 lines"),
        ("a = " + "(" * 300 + ")" * 90, "is not a Python expression|nested too deeply"),
        ("a = map(lambda x: x, *tokens)", "is not a step"),
        ("a = map(function=lambda x: x)", "is not a step"),
    ],
)
def test_what_is_no_program_is_refused(source: str, why: str):
    with pytest.raises(ProgramError, match=why):
        Program(source=source)
