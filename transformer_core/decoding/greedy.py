"""Greedy decoding: the most probable token at each step."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_core.config import ModelConfig
from transformer_core.decoding.steps import GenerationState
from transformer_core.errors import TextError
from transformer_core.model.transformer import Transformer


@dataclass(frozen=True)
class Decoding:
    """The output of decoding a batch."""

    tokens: Int[Tensor, "batch pos"]  # <bos> or the prompt, generated tokens with <eos> if there is room, padding
    log_probs: Float[Tensor, "batch pos-1"]  # nats, of each token after the first; 0 for padding


def until_end(written: list[int], config: ModelConfig) -> list[int]:
    """Return the tokens of a row up to the first end-of-sequence token, if there is one."""
    return written[: next((place for place, token in enumerate(written, 1) if token in config.eos_ids), None)]


@torch.no_grad()
def greedy_decode(
    model: Transformer,
    tokens: Int[Tensor, "batch pos"],
    *,
    max_new_tokens: int | None = None,
    use_cache: bool = True,
    begun: Int[Tensor, "row begun"] | None = None,
) -> Decoding:
    """Generate the most probable token at each step, except padding.

    A row's result does not depend on the other rows, on padding, or on the cache.

    Args:
        model: an encoder-decoder or a decoder, in evaluation mode.
        tokens: sources, ending in <eos>, or prompts; padded on the right.
        max_new_tokens: after all given tokens; None: as many as the model has positions.
        use_cache: cache keys and values between steps; otherwise each step reads all tokens again.
        begun: the beginning of each output, after <bos> or after prompts of equal length, without an <eos>; it is read
            in one forward pass.

    Raises:
        TextError: a source or a prompt that is empty or longer than `max_seq_len`.
        NotFiniteError: outputs that are NaN or infinite; its `written` has the rows so far.
        ConfigError: `max_new_tokens` exceeds the model's positions, or the model has no decoder.
    """
    writing = GenerationState(model, tokens, max_new_tokens=max_new_tokens, use_cache=use_cache, begun=begun)
    prompt, lengths = writing.tokens, writing.prompt_lengths.tolist()
    shortest, longest = min(lengths), max(lengths)
    if not shortest:
        raise TextError("there are no tokens to continue from; give at least one")

    writing.rows = prompt[:, :shortest].tolist()
    of_prompt = prompt.new_zeros((len(lengths), 0), dtype=torch.float32)  # log-probabilities
    of_written: list[Tensor] = []
    has_ended = [False] * len(lengths)
    for place in range(shortest, longest + writing.n_new):
        candidates = writing.read()  # [batch, new, vocab]
        if place == shortest > 1:  # the first forward pass also gives the probabilities of the prompts
            of_prompt = candidates[:, : shortest - 1].gather(-1, prompt[:, 1:shortest, None])[..., 0]
        log_prob, token = candidates[:, -1].max(dim=-1)  # [batch]
        if shortest < longest:  # prompts of different lengths: some are not over, some rows have used their positions
            is_prompt = writing.prompt_lengths > place
            token = torch.where(is_prompt, prompt[:, min(place, longest - 1)], token)
            log_prob = candidates[:, -1].gather(-1, token[:, None])[:, 0]
            has_ended = [
                (ended and length < place) or length + writing.n_new <= place
                for ended, length in zip(has_ended, lengths, strict=True)
            ]
        if any(has_ended):
            is_over = torch.tensor(has_ended, device=token.device)
            token = token.masked_fill(is_over, writing.filler)
            log_prob = log_prob.masked_fill(is_over, 0.0)
        of_written.append(log_prob)
        writing.refuse_not_finite(log_prob)
        written = token.tolist()
        writing.write(written)
        has_ended = [ended or one in model.config.eos_ids for ended, one in zip(has_ended, written, strict=True)]
        rows = zip(has_ended, lengths, strict=True)
        if place >= longest - 1 and all(ended or length + writing.n_new <= place + 1 for ended, length in rows):
            break
    return Decoding(writing.tokens, torch.cat([of_prompt, torch.stack(of_written, dim=1)], dim=1))
