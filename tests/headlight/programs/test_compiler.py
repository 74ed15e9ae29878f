"""A compiled model: each head attends to what its line selects, and each subspace holds what its line computes."""

import random
from fractions import Fraction

import numpy as np
import pytest
import torch

import headlight as hl
import transformer_core as tc
from headlight.programs import EXAMPLES, INPUTS, Program
from headlight.programs import compile as compile_program
from headlight.programs.compiler import compiled
from headlight.programs.interpreter import trace
from headlight.programs.program import Aggregate
from tests.headlight.programs.compiled_examples import example
from transformer_core.errors import ProgramError


def activations(name: str, tokens: list[str]) -> tuple[tc.Transformer, dict[str, np.ndarray]]:
    """The compiled model, and all that passes its hook points on some tokens."""
    model, tokenizer = example(name)
    architecture = model.config.architecture
    ids = torch.tensor([tokenizer.encode_for(" ".join(tokens), architecture)])
    with torch.inference_mode(), tc.capture(model, "*.hook_pattern", "*.hook_resid_post") as acts:
        model(ids)
    return model, {site: values[0].numpy() for site, values in acts.items()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_head_attends_to_what_its_line_selects(name: str):
    rng = random.Random(name)
    stack = "decoder" if EXAMPLES[name].is_causal else "encoder"
    for _ in range(2):
        tokens = INPUTS[name](rng)
        model, seen = activations(name, tokens)
        computed = trace(EXAMPLES[name], tokens)
        for layer, steps in enumerate(compiled(model).layout.heads):
            pattern = seen[f"{stack}.blocks.{layer}.self_attn.hook_pattern"]  # [head, query, key]
            for head, step in enumerate(steps):
                for query, keys in enumerate(computed[step.selector]):
                    attended = [key + 1 for key in keys]  # after <bos>
                    if not isinstance(step, Aggregate):
                        attended = [0, *attended]  # which counts along
                    attended = attended or [0]
                    expected = np.zeros(pattern.shape[-1])
                    expected[attended] = 1 / len(attended)
                    np.testing.assert_allclose(pattern[head, query + 1], expected, atol=1e-5)


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_subspace_holds_what_its_line_computes_and_nothing_else_writes_there(name: str):
    rng = random.Random(name)
    stack = "decoder" if EXAMPLES[name].is_causal else "encoder"
    tokens = INPUTS[name](rng)
    model, seen = activations(name, tokens)
    layout = compiled(model).layout
    final = seen[f"{stack}.blocks.{layout.n_layers - 1}.hook_resid_post"][1 : len(tokens) + 1]  # [pos, d_model]
    computed = trace(EXAMPLES[name], tokens)
    for step, space in layout.subspaces.items():
        held = final[:, space.start : space.start + space.size]
        if space.is_numerical:
            expected = np.array([[float(value)] for value in computed[step]])
        else:
            expected = np.array([[float(value == one) for one in space.values] for value in computed[step]])
        np.testing.assert_allclose(held, expected, atol=1e-4, err_msg=space.name)
    spaces = [*layout.subspaces.values(), *layout.widths.values()]
    taken = sorted(place for space in spaces for place in range(space.start, space.start + space.size))
    assert taken == [*range(3, layout.d_model)]


def test_what_is_not_defined_is_none_and_goes_on_as_a_value():
    source = """
    first = aggregate(select(indices, indices, lambda key, query: key == query - 1), tokens)
    is_none = map(lambda token: token == None, first)
    """
    model, tokenizer = compile_program(Program(source=source, is_causal=True))
    ids = torch.tensor([tokenizer.encode_for("a b", "decoder_only")])
    with torch.inference_mode():
        assert tokenizer.tokens(model(ids)[0].argmax(-1))[1:] == ["True", "False"]


def test_a_default_that_is_no_value_has_room_in_a_head_with_few_keys():
    source = """
    is_a = map(lambda token: token == "a", tokens)
    of_others = aggregate(select(is_a, is_a, lambda key, query: key and not query), tokens, "?")
    """
    model, tokenizer = compile_program(Program(source=source))
    with torch.inference_mode():
        best = model(torch.tensor([tokenizer.encode_for("b a e", "encoder_only")]))[0].argmax(-1)
    assert tokenizer.tokens(best[1:-1]) == ["a", "?", "a"]


def test_a_number_beside_categories():
    source = """
    is_a = numerical(map(lambda token: token == "a", tokens))
    share = aggregate(select(tokens, tokens, lambda key, query: True), is_a)
    verdict = map(lambda share, token, i: "few" if share < 1 / 3 else token if i else "first", share, tokens, indices)
    """
    program = Program(source=source, vocab=("a", "b"), max_len=6)
    model, tokenizer = compile_program(program)
    rng = random.Random(0)
    for _ in range(20):
        tokens = rng.choices(["a", "b"], k=rng.randint(1, 6))
        share = Fraction(tokens.count("a"), len(tokens))
        expected = [*("few" if share < Fraction(1, 3) else token if i else "first" for i, token in enumerate(tokens))]
        with torch.inference_mode():
            best = model(torch.tensor([tokenizer.encode_for(" ".join(tokens), "encoder_only")]))[0].argmax(-1)
        assert tokenizer.tokens(best[1:-1]) == expected == hl.programs.run(program, tokens)


@pytest.mark.parametrize(
    ("vocab", "max_len", "why"),
    [
        *(([], 4, "at least one token"), (["a"], 0, "at least one token"), (["A"], 4, "“A” cannot be a token")),
        *((["two words"], 4, "cannot be a token"), ([f"w{i}" for i in range(500)], 4, "500 possible values")),
    ],
)
def test_what_cannot_be_compiled_is_refused_in_a_sentence(vocab: list[str], max_len: int, why: str):
    with pytest.raises(ProgramError, match=why):
        compile_program(EXAMPLES["reverse"], vocab=vocab, max_len=max_len)
