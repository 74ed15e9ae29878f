"""What the interpreter leaves to no program: who is selected, and that one value is chosen."""

import random
import re
import time
from fractions import Fraction
from itertools import product

import pytest

from headlight.programs import EXAMPLES, INPUTS, Program, run
from headlight.programs import compile as compile_program
from headlight.programs.functions import MOST_PARTS
from headlight.programs.interpreter import trace, value_sets
from headlight.programs.program import Selector, Sequence
from transformer_core import cancellation
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


def of_output(source: str, vocab: tuple[str, ...] = ("a", "b"), max_len: int = 4) -> tuple[object, ...]:
    program = Program(source=source)
    return value_sets(program, vocab, max_len)[program.output]


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_input_gives_another_value(name: str):
    program, rng = EXAMPLES[name], random.Random(name)
    sets = value_sets(program, program.vocab, program.max_len)
    for _ in range(5):
        for step, values in trace(program, INPUTS[name](rng)).items():
            if isinstance(step, Sequence):
                assert set(values) <= set(sets[step]), step


def test_means_are_all_fractions_that_can_be():
    source = f"n = numerical(map(lambda token: 2 if token == 'a' else 0, tokens))\nmean = aggregate({ALL}, n)"
    expected = {Fraction(sum(values), n) for n in range(1, 5) for values in product((0, 1, 2), repeat=n)}
    assert of_output(source) == tuple(sorted(expected))


def test_what_cannot_be_averaged_is_refused():
    half = f"n = numerical(map(lambda i: i / 2, indices))\nmean = aggregate({ALL}, n)"
    with pytest.raises(ProgramError, match="line 2: only whole numbers can be averaged"):
        of_output(half)
    with pytest.raises(ProgramError, match="line 1: numerical needs numbers"):
        of_output("n = numerical(tokens)")
    with pytest.raises(ProgramError, match="line 2: the numbers that are averaged are too far apart"):
        of_output(f"n = numerical(map(lambda i: i * 9000, indices))\nmean = aggregate({ALL}, n)")


PAIRS = "p = map(lambda token, i: (token, i), tokens, indices)"
COUNTED = "n{i} = selector_width(select({of}, {of}, lambda key, query: key < query))"
SUM = "s{i} = map(lambda a, b: (a + b) % 7, {before}, n{i})"


def summed(n: int, of: str) -> list[str]:
    lines = ["s = map(lambda i: i % 7, indices)"]
    for i in range(n):
        lines += [COUNTED.format(i=i, of=of), SUM.format(i=i, before=f"s{i - 1}" if i else "s")]
    return lines


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([PAIRS, "q = map(lambda p, i: (p, i), p, indices)"], "line 2: this sequence has 7,200 possible values"),
        ([PAIRS, *summed(9, "p")], "line 11: up to here, the program takes .* steps to compute, more than 1,500,000"),
        (summed(24, "indices"), "this program needs a model of .* parameters, more than 30,000,000"),
    ],
)
def test_too_large_a_program_is_refused(lines: list[str], why: str):
    with pytest.raises(ProgramError, match=why):
        compile_program("\n".join(lines), vocab=["a", "b"], max_len=60)


GROWING = (  # of a value x of an earlier line; none is larger than its own line by much, and each by a factor
    *(f"({', '.join(['x'] * n)})" for n in (2, 9, 40)),
    *("str((x, x, x))", "str(x)", "(str(x), x)", "((x, 1), (x, 2))", "x * x + 1 / 999979", "x * 997 + 1", "x"),
)


def growing(rng: random.Random) -> Program:
    """A program whose lines put the values of earlier ones together, in up to 30 lines."""
    lines = [rng.choice(("v = map(lambda i: (i + 1) / 999983, indices)", "v = map(lambda a: a, tokens)"))]
    for n in range(rng.randint(2, 30)):
        of = "v" if n == 0 else f"v{rng.randrange(max(0, n - 2), n)}"
        lines.append(f"v{n} = map(lambda x: {rng.choice(GROWING)}, {of})")
    return Program(source="\n".join(lines))


def n_parts(value: object) -> int:
    if isinstance(value, tuple):
        return 1 + sum(map(n_parts, value))
    return len(value) if isinstance(value, str) else 1


@pytest.mark.parametrize("n", [300, pytest.param(10_000, marks=pytest.mark.full)])
def test_no_program_makes_a_value_grow_without_bound(n: int):
    """It is refused in a sentence that names the limit, or each of its values is small, compiled or run."""
    rng, n_refused = random.Random(n), 0
    for _ in range(n):
        program = growing(rng)
        for compute in (lambda p=program: value_sets(p, p.vocab, 24), lambda p=program: trace(p, list("abcde" * 4))):
            try:
                for values in compute().values():
                    assert max(map(n_parts, values)) <= MOST_PARTS
            except ProgramError as error:
                n_refused += 1
                limits = "parts or characters|a denominator above|exceeds 1,000,000|possible values"
                assert re.match(rf"line \d+: .*({limits})", str(error))
    assert n / 2 < n_refused < 2 * n


@pytest.mark.parametrize(
    ("source", "n_tokens", "max_len"),
    [
        ("t = map(lambda a: (" + "(" * 40 + "a" + ",)" * 40 + "), tokens)\n"
         "s = selector_width(select(t, t, lambda k, q: (k, q) == (q, k)))", 300, 10),
        ("s = map(lambda a, b: str((a, b)) < str((b, a)), tokens, tokens)", 300, 10),
        ("s = map(lambda a, b: " + " and ".join(["a == b or a != b"] * 6) + ", tokens, tokens)", 300, 10),
        ("s = selector_width(select(tokens, tokens, lambda k, q: k == q))", 2, 20_000),
        ("s = aggregate(select(tokens, tokens, lambda k, q: True), numerical(map(lambda t: t == 'w1', tokens)))",
         2, 20_000),
        ("s = aggregate(select(tokens, tokens, lambda k, q: True), numerical(map(lambda i: i // 8, indices)))",
         2, 400),
    ],
)  # fmt: skip
def test_what_takes_too_long_is_refused_before_it_is_computed(source: str, n_tokens: int, max_len: int):
    """Each keeps its values small and its cases few, and still took from 1 s to minutes."""
    program, start = Program(source=source), time.process_time()
    with pytest.raises(ProgramError, match=r"line \d: (up to here, the program takes|.* too far apart)"):
        value_sets(program, [f"w{i}" for i in range(n_tokens)], max_len)
    assert time.process_time() - start < 1.0


def test_a_program_that_nobody_waits_for_is_called_off(monkeypatch: pytest.MonkeyPatch):
    """What calls it off is no Exception, and passes all that looks for faults of the program."""
    arguments: list[None] = []

    def end_it() -> None:
        arguments.append(None)
        if len(arguments) == 50:
            raise KeyboardInterrupt

    monkeypatch.setattr(cancellation, "_checks", [])
    cancellation.add_cancellation_check(end_it)
    with pytest.raises(KeyboardInterrupt):
        value_sets(Program(source="s = map(lambda a, b: a == b, tokens, tokens)"), [*"abcdefghijklmnop"], 5)
    assert len(arguments) == 50
