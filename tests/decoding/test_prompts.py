"""Prompts of different lengths in one batch: each row is what it would be alone, whatever it ends with."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.model.building import DECODER, ENCODER, PAD, VARIATIONS, odd_config, random_tokens, shaken_model
from transformer_core.decoding.greedy import Decoding
from transformer_core.errors import ConfigError, TextError

EOS = 2
LENGTHS = (3, 9, 1, 4)


def wide_awake(**changes: Any) -> tc.Transformer:
    """A decoder whose probabilities are far from even, so that what it writes depends on what it read."""
    model = shaken_model(odd_config(**DECODER | {"tie_embeddings": "none"} | changes), seed=3)
    with torch.no_grad():
        model.unembed.weight.mul_(6)
    return model


def alone(model: tc.Transformer, prompts: Tensor, lengths: tuple[int, ...] = LENGTHS, **options: Any) -> list[Decoding]:
    """What becomes of each prompt without the others, and without padding."""
    return [tc.greedy_decode(model, prompts[i : i + 1, :n], **options) for i, n in enumerate(lengths)]


def check(together: Decoding, each_alone: list[Decoding], filler: int = PAD) -> None:
    """Each row is the same text with the same log-probabilities, and then what fills it up."""
    assert together.tokens.shape[1] == max(row.tokens.shape[1] for row in each_alone)
    for i, row in enumerate(each_alone):
        n = row.tokens.shape[1]
        assert together.tokens[i, :n].tolist() == row.tokens[0].tolist(), i
        assert set(together.tokens[i, n:].tolist()) <= {filler}
        torch.testing.assert_close(together.log_probs[i, : n - 1], row.log_probs[0], rtol=0, atol=1e-4)
        assert not together.log_probs[i, n - 1 :].any()


@pytest.mark.parametrize("variation", [name for name in VARIATIONS if name.startswith("decoder")])
@pytest.mark.parametrize("use_cache", [True, False])
def test_each_row_is_what_it_is_alone(variation: str, use_cache: bool):
    model = wide_awake(**VARIATIONS[variation])
    prompts = random_tokens(LENGTHS, vocab_size=37)
    together = tc.greedy_decode(model, prompts, max_new_tokens=7, use_cache=use_cache)
    check(together, alone(model, prompts, max_new_tokens=7))


@torch.no_grad()
def test_a_prompt_s_own_log_probabilities_are_those_of_reading_it():
    model, prompts = wide_awake(), random_tokens(LENGTHS, vocab_size=37)
    decoding = tc.greedy_decode(model, prompts, max_new_tokens=5)
    for i, n in enumerate(LENGTHS):
        text = decoding.tokens[i, : n + 5]
        text = text[text != PAD][None]
        expected = model(text[:, :-1]).log_softmax(-1).gather(-1, text[:, 1:, None])[0, :, 0]
        torch.testing.assert_close(decoding.log_probs[i, : len(expected)], expected, rtol=1e-5, atol=1e-5)


def test_an_end_inside_of_a_prompt_or_at_its_end_ends_nothing():
    model, prompts = wide_awake(), random_tokens(LENGTHS, vocab_size=37)
    prompts[1, 3] = prompts[1, 4] = EOS
    prompts[[0, 2, 3], [LENGTHS[row] - 1 for row in (0, 2, 3)]] = EOS
    check(tc.greedy_decode(model, prompts, max_new_tokens=7), alone(model, prompts, max_new_tokens=7))


def test_without_a_token_of_padding_prompts_are_as_long_as_they_are():
    model = wide_awake(pad_id=None)
    prompts = torch.tensor([[5, 0, 0], [0, 7, 3]])
    decoding = tc.greedy_decode(model, prompts, max_new_tokens=4)
    assert torch.equal(decoding.tokens[:, :3], prompts)
    check(decoding, alone(model, prompts, (3, 3), max_new_tokens=4), filler=EOS)


def test_a_prompt_without_a_token_is_refused():
    model = wide_awake()
    for prompts in (torch.empty(1, 0, dtype=torch.int64), random_tokens([3, 0], vocab_size=37)):
        with pytest.raises(TextError, match="no tokens to continue from; give at least one"):
            tc.greedy_decode(model, prompts)


@pytest.mark.parametrize("decode", [tc.greedy_decode, tc.beam_search])
def test_a_model_that_reads_only_is_refused(decode: Callable[..., Decoding]):
    model = shaken_model(odd_config(**ENCODER))
    with pytest.raises(ConfigError, match=r"^this model is encoder-only and does not generate text; choose"):
        decode(model, random_tokens([4], vocab_size=37))
