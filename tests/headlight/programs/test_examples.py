"""The example programs: what they compute in plain Python, by the interpreter, and by the compiled Transformer."""

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import torch

import transformer_core as tc
from headlight.programs import EXAMPLES, INPUTS, Program, run
from headlight.programs import compile as compile_program
from headlight.programs.examples import inputs_of
from tests.headlight.programs.compiled_examples import example
from transformer_core.errors import ProgramError
from transformer_core.text.tokenizer import Tokenizer

Tokens = list[str]
N = 100  # random inputs


def induction(tokens: Tokens) -> Tokens:
    results = [[tokens[j + 1] for j in range(i) if tokens[j] == token] for i, token in enumerate(tokens)]
    return [followers[-1] if followers else "?" for followers in results]


def most_frequent(tokens: Tokens) -> str:
    counts = Counter(tokens)
    return max(counts, key=lambda token: (counts[token], token))


def brackets(tokens: Tokens, pairs: tuple[str, ...]) -> Tokens:
    depth, verdicts, is_wrong = dict.fromkeys(pairs, 0), [], False
    for token in tokens:
        for pair in pairs:
            depth[pair] += (token == pair[0]) - (token == pair[1])
            is_wrong |= depth[pair] < 0
        verdicts.append("no" if is_wrong else "open" if any(depth.values()) else "yes")
    return verdicts


def addition(tokens: Tokens) -> list[Any]:
    n = len(tokens) // 2
    total = sum(int("".join(reversed(part))) for part in (tokens[:n], tokens[n + 1 :]))
    return ["."] * (n + 1) + [total // 10**i % 10 for i in range(n)]


EXPECTED: dict[str, Callable[[Tokens], list[Any]]] = {
    "reverse": lambda x: x[::-1],
    "sort": sorted,
    "sort_unique": sorted,
    "histogram": lambda x: [x.count(token) for token in x],
    "double_histogram": lambda x: [sum(x.count(other) == x.count(token) for other in set(x)) for token in x],
    "most_frequent": lambda x: [most_frequent(x)] * len(x),
    "shift": lambda x: ["_", *x[:-1]],
    "rotate": lambda x: [*x[1:], x[0]],
    "fraction_previous": lambda x: [Fraction(x[: i + 1].count("a"), i + 1) for i in range(len(x))],
    "majority": lambda x: ["yes" if 2 * x[: i + 1].count("a") > i + 1 else "no" for i in range(len(x))],
    "induction": induction,
    "first_occurrence": lambda x: ["seen" if token in x[:i] else "new" for i, token in enumerate(x)],
    "distinct": lambda x: [len(set(x[: i + 1])) for i in range(len(x))],
    "parity": lambda x: [x[: i + 1].count("1") % 2 for i in range(len(x))],
    "dyck_1": lambda x: brackets(x, ("()",)),
    "shuffle_dyck_2": lambda x: brackets(x, ("()", "[]")),
    "palindrome": lambda x: ["yes" if x == x[::-1] else "no"] * len(x),
    "addition": addition,
}


def outputs(model: tc.Transformer, tokenizer: Tokenizer, inputs: list[Tokens]) -> list[Tokens]:
    """What the model predicts at each token of each input, all inputs in one padded batch."""
    ids = [tokenizer.encode_for(" ".join(tokens), model.config.architecture) for tokens in inputs]
    longest = max(map(len, ids))
    batch = torch.tensor([one + [tokenizer.pad_id] * (longest - len(one)) for one in ids])
    with torch.inference_mode():
        best = model(batch).argmax(dim=-1)
    return [tokenizer.tokens(row[1 : len(x) + 1]) for row, x in zip(best, inputs, strict=True)]


def drawn(name: str) -> list[Tokens]:
    rng = random.Random(name)
    return [INPUTS[name](rng) for _ in range(N)]


@pytest.mark.parametrize("name", EXAMPLES)
def test_interpreter_and_compiled_model_compute_what_plain_python_does(name: str):
    model, tokenizer = example(name)
    inputs = drawn(name)
    assert max(map(len, inputs)) == EXAMPLES[name].max_len  # the longest that it takes is among them
    for tokens, predicted in zip(inputs, outputs(model, tokenizer, inputs), strict=True):
        assert run(EXAMPLES[name], tokens) == EXPECTED[name](tokens), tokens
        assert predicted == [str(value) for value in EXPECTED[name](tokens)], tokens


@pytest.mark.parametrize("name", ["sort", "histogram", "fraction_previous", "most_frequent"])
def test_another_vocabulary_and_length(name: str):
    program, vocab = EXAMPLES[name], ("a", "x", "3", "ü", "?")
    model, tokenizer = compile_program(program, vocab=vocab, max_len=17)
    rng = random.Random(1)
    inputs = [rng.choices(vocab, k=rng.randint(1, 17)) for _ in range(40)]
    for tokens, predicted in zip(inputs, outputs(model, tokenizer, inputs), strict=True):
        assert predicted == [str(value) for value in run(program, tokens)], tokens


def test_an_example_that_is_written_again_has_its_own_inputs():
    again = Program(source=f"# lines\n{EXAMPLES['addition'].source}", vocab=EXAMPLES["addition"].vocab, max_len=9)
    assert inputs_of(again) is INPUTS["addition"]


def test_other_programs_get_inputs_on_which_they_are_defined():
    previous, next_ = EXAMPLES["induction"].source.strip().splitlines()
    changed = Program(source=f"{previous}\n{next_.replace('?', '.')}", is_causal=True)  # needs repeated blocks
    draw, rng = inputs_of(changed), random.Random(0)
    inputs = [draw(rng) for _ in range(100)]
    assert max(map(len, inputs)) == changed.max_len
    assert all(run(changed, tokens) for tokens in inputs)
    uniform = Program(source="mean = aggregate(select(tokens, tokens, lambda key, query: True), tokens)")
    with pytest.raises(ProgramError, match="no model can be trained"):
        inputs_of(uniform)
