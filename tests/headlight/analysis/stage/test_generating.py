"""The text on the stage, against greedy decoding and the model's own logits."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import transformer_core as tc
from headlight.analysis.stage.generating import generate
from headlight.analysis.stage.panels import MOST_TOKENS, MOST_WITH_BLANKS, USUAL_TOKENS, StageText
from tests.headlight.analysis.conftest import TEXT_OF
from transformer_core.config import Architecture
from transformer_core.decoding.sampling import next_log_probs
from transformer_core.decoding.settings import Sampling
from transformer_core.errors import TextError

Made = Callable[..., Any]


def logits_of(model: tc.Transformer, text: StageText) -> torch.Tensor:
    """The logits [pos, vocab] of one forward pass over the whole text."""
    with torch.no_grad():
        return model(*(torch.tensor([ids]) for ids in text.inputs))[0]


@pytest.mark.parametrize("architecture", ["encoder_decoder", "decoder_only"])
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_greedily_it_is_what_greedy_decoding_gives(make: Made, architecture: Architecture, seed: int):
    model, tokenizer = make(architecture, seed=seed, max_seq_len=40)
    text = generate(model, tokenizer, TEXT_OF[architecture])
    ids = tokenizer.encode_for(TEXT_OF[architecture], architecture)
    n_new = USUAL_TOKENS - 1 if architecture == "encoder_decoder" else USUAL_TOKENS - len(ids)
    (row,) = tc.greedy_decode(model, torch.tensor([ids]), max_new_tokens=n_new).tokens.tolist()
    written = row[text.n_given :]
    assert [*text.next_tokens[: len(written)]] == written
    assert len(text.next_tokens) == len(written) + (not text.has_ended)
    logits = logits_of(model, text)
    suppressed = model.config.suppressed_token_id
    if suppressed is not None:
        logits[:, suppressed] = -torch.inf
    assert [int(logits[row].argmax()) for row in text.rows] == [*text.next_tokens]
    assert text.target_labels[text.n_given :] == text.next_labels[: len(text.target) - text.n_given]


@pytest.mark.parametrize("architecture", ["encoder_decoder", "decoder_only"])
def test_chosen_tokens_come_first_and_the_settings_choose_the_rest(make: Made, architecture: Architecture):
    model, tokenizer = make(architecture, max_seq_len=40)
    free = generate(model, tokenizer, TEXT_OF[architecture])
    other = next(token for token in range(4, tokenizer.vocab_size) if token != free.next_tokens[0])
    led = generate(model, tokenizer, TEXT_OF[architecture], chosen=[other])
    assert led.target[led.n_given] == other and led.next_tokens[0] == other
    sampling = Sampling(temperature=1.0, top_k=3, seed=5)
    sampled = generate(model, tokenizer, TEXT_OF[architecture], chosen=[other], sampling=sampling)
    logits = logits_of(model, sampled)
    for step, (row, token) in enumerate(zip(sampled.rows, sampled.next_tokens, strict=True)):
        if step and token is not None:
            assert next_log_probs(logits[row], [], sampling)[token] > -torch.inf


def test_blanks_are_filled_one_after_the_other_the_most_certain_first(make: Made):
    model, tokenizer = make("encoder_only")
    text = generate(model, tokenizer, TEXT_OF["encoder_only"])
    masks = [place for place, token in enumerate(text.source) if token == tokenizer.mask_id]
    log_probs = logits_of(model, text).log_softmax(dim=-1)
    log_probs[:, [tokenizer.mask_id, model.config.pad_id]] = -torch.inf
    best = max(masks, key=lambda place: float(log_probs[place].max()))
    assert text.rows == (best,) and text.next_tokens == (int(log_probs[best].argmax()),)
    assert (text.n_filled, text.has_ended) == (0, False)
    filled = generate(model, tokenizer, TEXT_OF["encoder_only"], chosen=[7])
    assert filled.source[best] == 7 and filled.n_filled == 1
    assert {*filled.rows} == {*masks} - {best}
    whole = generate(model, tokenizer, TEXT_OF["encoder_only"], chosen=[7, 8])
    assert whole.has_ended and whole.rows == () and whole.n_filled == 2
    with pytest.raises(TextError, match="every blank is filled"):
        generate(model, tokenizer, TEXT_OF["encoder_only"], chosen=[7, 8, 9])
    assert generate(model, tokenizer, "The cat sees the dog.").rows == ()


@pytest.mark.parametrize("architecture", [*TEXT_OF])
@pytest.mark.parametrize("max_seq_len", [6, 64])
def test_of_a_long_text_the_first_tokens_are_read_and_the_model_keeps_to_its_positions(
    make: Made, architecture: Architecture, max_seq_len: int
):
    model, tokenizer = make(architecture, max_seq_len=max_seq_len)
    text = generate(model, tokenizer, "The cat sees the dog. " * 30)
    most = min(MOST_WITH_BLANKS if architecture == "encoder_only" else MOST_TOKENS, max_seq_len)
    assert text.n_left_out > 0
    assert all(0 < len(ids) <= max_seq_len for ids in text.inputs)
    given = text.target[: text.n_given] if architecture == "decoder_only" else text.source
    assert most - 1 <= len(given) <= most
    if max_seq_len == 6 and architecture == "decoder_only" and not text.has_ended:
        assert text.next_tokens[-1] is None and text.next_labels[-1] == ""
    logits_of(model, text)  # it can be read


def test_a_text_that_cannot_be_read_is_refused_in_a_sentence(make: Made):
    model, tokenizer = make("encoder_decoder")
    with pytest.raises(TextError):
        generate(model, tokenizer, TEXT_OF["encoder_decoder"], chosen=[10_000])
