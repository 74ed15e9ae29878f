"""Beam search against plain lists, against greedy decoding, and against transformers' own."""

import math
import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import transformer_core as tc
from tests.decoding.test_beam_tree import wide_awake
from tests.model.building import random_tokens
from transformer_core.decoding.beam import Beam, PenaltyForm, Search
from transformer_core.errors import ConfigError, TextError


@given(
    st.integers(0, 10**6), st.integers(1, 4), st.integers(3, 7), st.floats(-1, 3), st.sampled_from(["paper", "length"])
)
def test_each_step_of_a_search_is_that_of_plain_lists(
    seed: int, n_beams: int, vocab_size: int, alpha: float, form: PenaltyForm
):
    """Which hypotheses continue, which texts are found, and when the search ends: neither earlier nor later."""
    eos, n_new = 1, 6
    search = Search(n_beams=n_beams, eos_ids=(eos,), alpha=alpha, form=form)
    texts: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    expected_texts: list[tuple[tuple[int, ...], float]] = []
    for n in range(1, n_new + 1):
        of_each = [[*enumerate(distribution(f"{seed} {text}", vocab_size))] for text, _ in texts]
        after = [((*text, i), total + p) for (text, total), of in zip(texts, of_each, strict=True) for i, p in of]
        after = sorted(after, key=lambda one: -one[1])[: 2 * n_beams]
        penalty = ((5 + n) / 6 if form == "paper" else n) ** alpha
        expected_texts += [(text, total / penalty) for text, total in after[:n_beams] if text[-1] == eos or n == n_new]
        expected_texts = sorted(expected_texts, key=lambda one: -one[1])[:n_beams]
        texts = [one for one in after if one[0][-1] != eos][:n_beams]
        if n == n_new or (
            len(expected_texts) == n_beams and max(p for _, p in texts) / penalty <= expected_texts[-1][1]
        ):
            texts = []
        search.advance(search.extensions([[(p, i) for i, p in of] for of in of_each]), is_last=n == n_new)
        assert [tokens_of(beam) for beam in search.running] == [text for text, _ in texts]
        assert [(tokens_of(beam), beam.score) for beam in search.finished] == expected_texts
        assert search.is_over == (not texts)
        if search.is_over:
            break


@pytest.mark.parametrize(("running", "is_over"), [(-1.0, True), (math.nextafter(-1.0, 0), False)])
def test_a_text_that_would_rank_beside_the_last_found_one_is_not_gone_on_with(running: float, is_over: bool):
    search = Search(n_beams=1, eos_ids=(0,), alpha=0.0, form="length")
    search.finished = [Beam(token=0, log_prob=-1.0, score=-1.0, before=None)]
    search.advance(search.extensions([[(running, 5)]]), is_last=False)
    assert search.is_over == is_over and len(search.running) == 1 - is_over


def distribution(seed: str, vocab_size: int) -> list[float]:
    draw = random.Random(seed)
    weights = [draw.expovariate(1) ** 3 for _ in range(vocab_size)]
    return [math.log(weight / sum(weights)) for weight in weights]


def tokens_of(beam: Beam) -> tuple[int, ...]:
    return tuple(step.token for step in beam.written())


@pytest.mark.parametrize("architecture", ["decoder_only", "encoder_decoder"])
def test_one_beam_is_greedy_decoding(architecture: str):
    model = wide_awake(architecture, vocab_size=7)
    tokens = random_tokens([4, 4, 4], vocab_size=7)
    greedy = tc.greedy_decode(model, tokens, max_new_tokens=6)
    beam = tc.beam_search(model, tokens, n_beams=1, max_new_tokens=6)
    assert torch.equal(beam.tokens, greedy.tokens)
    torch.testing.assert_close(beam.log_probs, greedy.log_probs)


@pytest.mark.parametrize("use_cache", [True, False])
def test_a_row_depends_neither_on_the_others_nor_on_the_cache(use_cache: bool):
    model = wide_awake("encoder_decoder")
    src = random_tokens([5, 2, 4], vocab_size=13)
    together = tc.beam_search(model, src, max_new_tokens=8, use_cache=use_cache)
    for row, n_real in zip(range(3), (5, 2, 4), strict=True):
        alone = tc.beam_search(model, src[row : row + 1, :n_real], max_new_tokens=8)
        n = alone.tokens.shape[1]
        assert together.tokens[row, :n].tolist() == alone.tokens[0].tolist()
        assert set(together.tokens[row, n:].tolist()) <= {model.config.pad_id}
        torch.testing.assert_close(together.log_probs[row, : n - 1], alone.log_probs[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("n_beams, penalty", [(2, 0.0), (4, 1.0), (5, 2.0)])
def test_it_is_the_search_of_transformers(n_beams: int, penalty: float):
    """The same model, its decoder's logits asked for by their `generate`."""
    transformers = pytest.importorskip("transformers")
    from tests.decoding.foreign import as_gpt2

    model = wide_awake(vocab_size=7, positions="learned", norm_position="pre", scale_embeddings=False)
    theirs = as_gpt2(model, transformers)
    prompt = random_tokens([3, 3, 3], vocab_size=7)
    expected = theirs.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        num_beams=n_beams,
        do_sample=False,
        max_new_tokens=8,
        length_penalty=penalty,
        early_stopping=False,
    )
    actual = tc.beam_search(model, prompt, n_beams=n_beams, max_new_tokens=8, length_penalty=penalty)
    assert texts(actual.tokens, n_prompt=3) == texts(expected, n_prompt=3)


def texts(tokens: Tensor, *, n_prompt: int) -> list[list[int]]:
    """The texts after the prompt, up to the first <eos>, without padding."""
    rows = [row[n_prompt:] for row in tokens.tolist()]
    return [row[: row.index(2) + 1] if 2 in row else row for row in rows]


def test_what_makes_no_sense_is_refused():
    model = wide_awake(vocab_size=7)
    with pytest.raises(ConfigError, match="n_beams must be at least 1, got 0"):
        tc.beam_search(model, random_tokens([3], vocab_size=7), n_beams=0)
    for alpha in (-10, 10):
        Search(n_beams=1, eos_ids=(2,), alpha=alpha, form="paper")
    for alpha in (math.nan, math.inf, -10.01, 10.01):
        with pytest.raises(ConfigError, match=r"length_penalty \(.*\) must be from -10 to 10"):
            tc.beam_search(model, random_tokens([3], vocab_size=7), length_penalty=alpha)
    with pytest.raises(TextError, match="prompts of equal length"):
        tc.beam_search(model, random_tokens([3, 2], vocab_size=7))
