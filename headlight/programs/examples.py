"""Programs to start from, each with inputs on which it is defined."""

import random
from collections.abc import Callable
from types import MappingProxyType

from headlight.programs.interpreter import run
from headlight.programs.program import Program
from transformer_core.errors import ProgramError

Inputs = Callable[[random.Random], list[str]]
DIGITS = tuple("0123456789")

REVERSE = """\
length = selector_width(select(tokens, tokens, lambda key, query: True))
opposite = map(lambda n, i: n - 1 - i, length, indices)
reversed = aggregate(select(indices, opposite, lambda key, query: key == query), tokens)
"""
SORT = """\
order = map(lambda token, i: (token, i), tokens, indices)
rank = selector_width(select(order, order, lambda key, query: key < query))
sorted = aggregate(select(rank, indices, lambda key, query: key == query), tokens)
"""
SORT_UNIQUE = """\
rank = selector_width(select(tokens, tokens, lambda key, query: key < query))
sorted = aggregate(select(rank, indices, lambda key, query: key == query), tokens)
"""
HISTOGRAM = """\
same = select(tokens, tokens, lambda key, query: key == query)
count = selector_width(same)
"""
DOUBLE_HISTOGRAM = """\
count = selector_width(select(tokens, tokens, lambda key, query: key == query))
positions = selector_width(select(count, count, lambda key, query: key == query))
tokens_with_this_count = map(lambda n, count: n // count, positions, count)
"""
SHIFT = """\
shifted = aggregate(select(indices, indices, lambda key, query: key == query - 1), tokens, "_")
"""
FRACTION = """\
is_a = numerical(map(lambda token: token == "a", tokens))
fraction = aggregate(select(tokens, tokens, lambda key, query: True), is_a)
"""
MAJORITY = """\
is_a = numerical(map(lambda token: token == "a", tokens))
share = aggregate(select(tokens, tokens, lambda key, query: True), is_a)
majority = map(lambda share: "yes" if share > 1 / 2 else "no", share)
"""
DYCK_1 = """\
opened = selector_width(select(tokens, tokens, lambda key, query: key == "("))
closed = selector_width(select(tokens, tokens, lambda key, query: key == ")"))
balance = map(lambda opened, closed: opened - closed, opened, closed)
mistakes = selector_width(select(balance, balance, lambda key, query: key < 0))
verdict = map(lambda mistakes, balance: "no" if mistakes > 0 else "yes" if balance == 0 else "open", mistakes, balance)
"""
SHUFFLE_DYCK_2 = """\
opened = selector_width(select(tokens, tokens, lambda key, query: key == "("))
closed = selector_width(select(tokens, tokens, lambda key, query: key == ")"))
opened_2 = selector_width(select(tokens, tokens, lambda key, query: key == "["))
closed_2 = selector_width(select(tokens, tokens, lambda key, query: key == "]"))
balance = map(lambda opened, closed: opened - closed, opened, closed)
balance_2 = map(lambda opened, closed: opened - closed, opened_2, closed_2)
least = map(lambda a, b: min(a, b), balance, balance_2)
most = map(lambda a, b: max(a, b), balance, balance_2)
mistakes = selector_width(select(least, least, lambda key, query: key < 0))
verdict = map(lambda mistakes, most: "no" if mistakes > 0 else "yes" if most == 0 else "open", mistakes, most)
"""
INDUCTION = """\
previous = aggregate(select(indices, indices, lambda key, query: key == query - 1), tokens)
next = aggregate(select(previous, tokens, lambda key, query: key == query), tokens, "?")
"""
MOST_FREQUENT = """\
count = selector_width(select(tokens, tokens, lambda key, query: key == query))
order = map(lambda count, token: (count, token), count, tokens)
above = selector_width(select(order, order, lambda key, query: key > query))
most_frequent = aggregate(select(above, above, lambda key, query: key == 0), tokens)
"""
PALINDROME = """\
length = selector_width(select(tokens, tokens, lambda key, query: True))
opposite = map(lambda n, i: n - 1 - i, length, indices)
reversed = aggregate(select(indices, opposite, lambda key, query: key == query), tokens)
differs = map(lambda a, b: a != b, tokens, reversed)
differences = selector_width(select(differs, differs, lambda key, query: key))
palindrome = map(lambda n: "yes" if n == 0 else "no", differences)
"""
FIRST_OCCURRENCE = """\
so_far = selector_width(select(tokens, tokens, lambda key, query: key == query))
is_first = map(lambda n: "new" if n == 1 else "seen", so_far)
"""
DISTINCT = """\
so_far = selector_width(select(tokens, tokens, lambda key, query: key == query))
distinct = selector_width(select(so_far, so_far, lambda key, query: key == 1))
"""
PARITY = """\
ones = selector_width(select(tokens, tokens, lambda key, query: key == "1"))
parity = map(lambda n: n % 2, ones)
"""
ROTATE = """\
length = selector_width(select(tokens, tokens, lambda key, query: True))
source = map(lambda i, n: (i + 1) % n, indices, length)
rotated = aggregate(select(indices, source, lambda key, query: key == query), tokens)
"""
ADDITION = """\
is_plus = map(lambda token: token == "+", tokens)
n = aggregate(select(is_plus, is_plus, lambda key, query: key), indices)
partner = map(lambda i, n: i - n - 1 if i > n else None, indices, n)
other = aggregate(select(indices, partner, lambda key, query: key == query), tokens)
column = map(lambda a, b: None if b == None else int(a) + int(b), tokens, other)
known = map(lambda sum: None if sum == None else sum != 9, column)
place = map(lambda i, known: (i, known), indices, known)
before = selector_width(select(place, indices, lambda key, query: key[1] and key[0] < query))
decided = map(lambda before, known: before if known else None, before, known)
carries = map(lambda sum: sum > 9 if sum != None else False, column)
wanted = map(lambda before: before - 1, before)
carry = aggregate(select(decided, wanted, lambda key, query: key == query and key != None), carries, False)
digit = map(lambda sum, carry: "." if sum == None else (sum + carry) % 10, column, carry)
"""


def _of(vocab: tuple[str, ...], longest: int) -> Inputs:
    """Return random inputs of any length up to the longest."""
    return lambda rng: rng.choices(vocab, k=rng.randint(1, longest))


def _without_repetition(vocab: tuple[str, ...]) -> Inputs:
    return lambda rng: rng.sample(vocab, k=rng.randint(1, len(vocab)))


def _repeated(vocab: tuple[str, ...], longest: int) -> Inputs:
    """Return a block without repetition, again and again: what follows a token is always the same."""

    def inputs(rng: random.Random) -> list[str]:
        block = rng.sample(vocab, k=rng.randint(1, len(vocab)))
        return (block * longest)[: rng.randint(1, longest)]

    return inputs


def _half_palindromes(vocab: tuple[str, ...], longest: int) -> Inputs:
    def inputs(rng: random.Random) -> list[str]:
        half = rng.choices(vocab, k=rng.randint(1, longest // 2))
        whole = half + half[::-1]
        if rng.random() < 0.5:
            whole[rng.randrange(len(whole))] = rng.choice(vocab)
        return whole

    return inputs


def _sums(most_digits: int) -> Inputs:
    """Return two numbers of as many digits each, the ones first."""

    def inputs(rng: random.Random) -> list[str]:
        n = rng.randint(1, most_digits)
        return [*rng.choices(DIGITS, k=n), "+", *rng.choices(DIGITS, k=n)]

    return inputs


LETTERS, BITS, ROUND, BRACKETS = tuple("abcde"), ("0", "1"), ("(", ")"), ("(", ")", "[", "]")
_WITH_INPUTS: dict[str, tuple[Program, Inputs]] = {
    "reverse": (Program(source=REVERSE), _of(LETTERS, 10)),
    "sort": (Program(source=SORT), _of(LETTERS, 10)),
    "sort_unique": (
        Program(source=SORT_UNIQUE, vocab=tuple("abcdefgh"), max_len=8),
        _without_repetition(tuple("abcdefgh")),
    ),
    "histogram": (Program(source=HISTOGRAM), _of(LETTERS, 10)),
    "double_histogram": (Program(source=DOUBLE_HISTOGRAM), _of(LETTERS, 10)),
    "most_frequent": (Program(source=MOST_FREQUENT), _of(LETTERS, 10)),
    "shift": (Program(source=SHIFT, is_causal=True), _of(LETTERS, 10)),
    "rotate": (Program(source=ROTATE), _of(LETTERS, 10)),
    "fraction_previous": (Program(source=FRACTION, is_causal=True), _of(LETTERS, 10)),
    "majority": (Program(source=MAJORITY, vocab=("a", "b")), _of(("a", "b"), 10)),
    "induction": (Program(source=INDUCTION, max_len=12, is_causal=True), _repeated(LETTERS, 12)),
    "first_occurrence": (Program(source=FIRST_OCCURRENCE, is_causal=True), _of(LETTERS, 10)),
    "distinct": (Program(source=DISTINCT, is_causal=True), _of(LETTERS, 10)),
    "parity": (Program(source=PARITY, vocab=BITS, is_causal=True), _of(BITS, 10)),
    "dyck_1": (Program(source=DYCK_1, vocab=ROUND, max_len=12, is_causal=True), _of(ROUND, 12)),
    "shuffle_dyck_2": (Program(source=SHUFFLE_DYCK_2, vocab=BRACKETS, max_len=12, is_causal=True), _of(BRACKETS, 12)),
    "palindrome": (Program(source=PALINDROME), _half_palindromes(LETTERS, 10)),
    "addition": (Program(source=ADDITION, vocab=(*DIGITS, "+"), max_len=9), _sums(4)),
}
EXAMPLES = MappingProxyType({name: program for name, (program, _) in _WITH_INPUTS.items()})
"""Programs by name."""
INPUTS = MappingProxyType({name: inputs for name, (_, inputs) in _WITH_INPUTS.items()})
"""Draws a random input of a program, by its name: one on which no head has to choose between different values."""

_N_TRIED, _FEWEST_DEFINED = 200, 0.5  # inputs of a kind that are tried, and the share on which a program is defined


def example_of(program: Program) -> str:
    """Return the name of the example that a program is, with the same lines, tokens and longest input; "": of none."""
    return next((name for name, example in EXAMPLES.items() if _identity(program) == _identity(example)), "")


def inputs_of(program: Program) -> Inputs:
    """Return a function that draws random valid inputs of any program.

    Those of an example are its own; of another program any tokens, or, if it is defined on more of those, a block again
    and again, or tokens without repetition.

    Raises:
        ProgramError: it is undefined on most inputs of all these kinds.
    """
    if name := example_of(program):
        return INPUTS[name]
    kinds: tuple[Inputs, ...] = (
        _of(program.vocab, program.max_len),
        _repeated(program.vocab, program.max_len),
        lambda rng: _without_repetition(program.vocab)(rng)[: program.max_len],
    )

    def share_defined(draw: Inputs) -> float:
        rng = random.Random(0)
        return sum(_is_defined(program, draw(rng)) for _ in range(_N_TRIED)) / _N_TRIED

    best = max(kinds, key=share_defined)
    if share_defined(best) < _FEWEST_DEFINED:
        raise ProgramError(
            "this program is undefined on most random inputs, because keys with different values are selected, so no "
            "model can be trained on its task; select one key, or average numbers"
        )
    return lambda rng: next(tokens for tokens in iter(lambda: best(rng), None) if _is_defined(program, tokens))


def _identity(program: Program) -> tuple[object, ...]:
    return tuple(program.lines.values()), program.vocab, program.max_len, program.is_causal


def _is_defined(program: Program, tokens: list[str]) -> bool:
    try:
        run(program, tokens)
    except ProgramError:
        return False
    return True
