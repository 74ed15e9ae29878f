"""Programs to start from, each with inputs on which it is defined."""

import random
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

from headlight.programs.interpreter import run
from headlight.programs.program import Program
from transformer_core.errors import ProgramError

Inputs = Callable[[random.Random], list[str]]


def _of(vocab: tuple[str, ...], longest: int) -> Inputs:
    """Return a function that draws random inputs of any length up to the longest."""
    return lambda rng: rng.choices(vocab, k=rng.randint(1, longest))


def _without_repetition(vocab: tuple[str, ...], longest: int) -> Inputs:
    return lambda rng: rng.sample(vocab, k=rng.randint(1, len(vocab)))[:longest]


def _repeated(vocab: tuple[str, ...], longest: int) -> Inputs:
    """Return a function that draws a repeated block of distinct tokens: each has one successor."""

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


def _sums(vocab: tuple[str, ...], longest: int) -> Inputs:
    """Return a function that draws two numbers with equally many digits, the least significant digit first."""

    def inputs(rng: random.Random) -> list[str]:
        *digits, plus = vocab
        n = rng.randint(1, (longest - 1) // 2)
        return [*rng.choices(digits, k=n), plus, *rng.choices(digits, k=n)]

    return inputs


with (Path(__file__).parent / "examples.toml").open("rb") as _file:
    _WRITTEN = tomllib.load(_file)
EXAMPLES = MappingProxyType(
    {
        name: Program(**about | ({"vocab": tuple(about["vocab"])} if "vocab" in about else {}))
        for name, about in _WRITTEN.items()
    }
)
"""Programs by name."""
_UNUSUAL = {
    "sort_unique": _without_repetition,
    "induction": _repeated,
    "palindrome": _half_palindromes,
    "addition": _sums,
}
INPUTS = MappingProxyType(
    {name: _UNUSUAL.get(name, _of)(program.vocab, program.max_len) for name, program in EXAMPLES.items()}
)
"""Draws a random input of a program, by its name: one on which no head has to choose between different values."""

_N_TRIED, _FEWEST_DEFINED = 200, 0.5  # inputs of a kind that are tried, and the share on which a program is defined


def example_of(program: Program) -> str:
    """Return the name of the example with the lines, tokens and longest input of a program; "" if there is none."""
    return next((name for name, example in EXAMPLES.items() if _identity(program) == _identity(example)), "")


def inputs_of(program: Program) -> Inputs:
    """Return a function that draws random valid inputs of any program.

    An example has its own inputs; another program gets arbitrary tokens, or, if it is defined on more of those, a
    repeated block or tokens without repetition.

    Raises:
        ProgramError: it is undefined on most inputs of all these kinds.
    """
    if name := example_of(program):
        return INPUTS[name]
    kinds = [kind(program.vocab, program.max_len) for kind in (_of, _repeated, _without_repetition)]

    def share_defined(draw: Inputs) -> float:
        rng = random.Random(0)
        return sum(_is_defined(program, draw(rng)) for _ in range(_N_TRIED)) / _N_TRIED

    best = max(kinds, key=share_defined)
    if share_defined(best) < _FEWEST_DEFINED:
        raise ProgramError(
            "this program is undefined on most random inputs, because keys with different values are selected, so no "
            "model can be trained on its task; select one key, or average numbers"
        )

    def draw(rng: random.Random) -> list[str]:
        while not _is_defined(program, tokens := best(rng)):
            pass
        return tokens

    return draw


def _identity(program: Program) -> tuple[object, ...]:
    return tuple(program.lines.values()), program.vocab, program.max_len, program.is_causal


def _is_defined(program: Program, tokens: list[str]) -> bool:
    try:
        run(program, tokens)
    except ProgramError:
        return False
    return True
