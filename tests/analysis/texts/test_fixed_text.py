"""A fixed text: the tokens that a model read and wrote, as `analysis.run_text` labels them."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.analysis.conftest import TEXTS, Made
from transformer_core.analysis.texts.fixed_text import FixedText, fix_text, watch
from transformer_core.analysis.trace.model_run import run_text
from transformer_core.config import Architecture

Make = Callable[..., Made]


def judged_by_hand(model: tc.Transformer, fixed: FixedText) -> np.ndarray:
    """The log-probabilities of what is expected."""
    with torch.inference_mode():
        log_probs = model(*(torch.tensor([ids]) for ids in fixed.inputs)).log_softmax(-1)[0]
    return np.array([log_probs[at, token] for at, token in zip(fixed.judged, fixed.expected, strict=True)])


def test_what_an_encoder_decoder_writes(make: Make):
    model, tokenizer = make("encoder_decoder")
    fixed, said = fix_text(model, tokenizer, TEXTS[0]), run_text(model, tokenizer, TEXTS[0])
    src = tokenizer.encode(TEXTS[0], eos=True)
    written = tc.greedy_decode(model, torch.tensor([src]), max_new_tokens=19).tokens[0].tolist()
    assert fixed.inputs == (tuple(src), tuple(written[:-1]))
    assert fixed.expected == tuple(written[1:])
    assert fixed.judged == tuple(range(len(written) - 1))
    assert (fixed.source, fixed.target, fixed.output) == (said.source, said.target, said.output)
    np.testing.assert_allclose(judged_by_hand(model, fixed), said.log_probs, atol=1e-5)


def test_a_typed_target(make: Make):
    model, tokenizer = make("encoder_decoder")
    fixed = fix_text(model, tokenizer, TEXTS[0], target=TEXTS[2])
    said = run_text(model, tokenizer, TEXTS[0], target=TEXTS[2])
    typed = tokenizer.encode(TEXTS[2], bos=True, eos=True)
    assert fixed.inputs[1] == tuple(typed[:-1])
    assert fixed.expected == tuple(typed[1:])
    assert (fixed.target, fixed.output, fixed.n_given) == (said.target, TEXTS[2], len(typed) - 1)
    np.testing.assert_allclose(judged_by_hand(model, fixed), said.log_probs, atol=1e-5)


@pytest.mark.parametrize("seed", range(4))  # some models end by themselves, some do not
def test_a_decoder_is_judged_by_what_it_wrote_behind_the_prompt(make: Make, seed: int):
    model, tokenizer = make("decoder_only", seed=seed)
    fixed, said = fix_text(model, tokenizer, "The cat"), run_text(model, tokenizer, "The cat")
    prompt = tokenizer.encode_for("The cat", "decoder_only")
    assert fixed.inputs[0][: len(prompt)] == tuple(prompt)
    written = fixed.inputs[0][len(prompt) :]
    assert fixed.target == said.target == (*said.target[: len(prompt)], *tokenizer.labels([*written]))
    assert fixed.expected[: len(written)] == written
    assert fixed.judged[0] == len(prompt) - 1
    assert len(fixed.expected) == len(said.target) - said.n_given + said.is_complete
    mean = np.exp(judged_by_hand(model, fixed).mean())
    assert mean == pytest.approx(said.mean_probability, abs=1e-6)


def test_an_encoder_is_judged_by_its_blanks(make: Make):
    model, tokenizer = make("encoder_only")
    text = "The ____ sees the <mask>."
    fixed, said = fix_text(model, tokenizer, text), run_text(model, tokenizer, text)
    assert fixed.judged == tuple(blank.position for blank in said.blanks)
    assert [tokenizer.labels([token])[0] for token in fixed.expected] == [b.candidates[0].label for b in said.blanks]
    best = [blank.candidates[0].probability for blank in said.blanks]
    np.testing.assert_allclose(np.exp(judged_by_hand(model, fixed)), best, atol=1e-6)
    assert (fixed.output, fixed.target) == (said.output, ())


@pytest.mark.parametrize("architecture", ["encoder_decoder", "decoder_only", "encoder_only"])
def test_a_long_text_is_cut_as_a_reading_cuts_it(make: Make, architecture: Architecture):
    model, tokenizer = make(architecture)
    text = "the cat " * 30
    fixed, said = fix_text(model, tokenizer, text, max_tokens=12), run_text(model, tokenizer, text, max_tokens=12)
    assert fixed.left_out == said.left_out != range(0)
    assert (fixed.source, fixed.target) == (said.source, said.target)
    seen = watch(model, fixed.inputs)
    for name, patterns in said.patterns.items():
        np.testing.assert_array_equal(seen.patterns[name], patterns)
