"""Greedy decoding: the most probable token at each step."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_core.decoding.steps import Writing
from transformer_core.errors import TextError
from transformer_core.model.transformer import Transformer


@dataclass(frozen=True)
class Decoding:
    """What a model wrote."""

    tokens: Int[Tensor, "batch pos"]  # <bos> or the prompt first; <eos> ends a row unless its room ended; then padding
    log_probs: Float[Tensor, "batch pos-1"]  # nats, of each token behind the first; 0 for padding


@torch.no_grad()
def greedy_decode(
    model: Transformer,
    tokens: Int[Tensor, "batch pos"],
    *,
    max_new_tokens: int | None = None,
    use_cache: bool = True,
) -> Decoding:
    """Write one token at a time, always the most probable one that is not padding.

    A row's result does not depend on the other rows, on padding, or on the cache.

    Args:
        model: in evaluation mode: an encoder-decoder, which writes the target, or a decoder, which goes on.
        tokens: the source, ending in <eos>, or the prompt; padded on the right.
        max_new_tokens: at most so many behind <bos> or each prompt; None: as many as the model's positions allow.
        use_cache: keep keys and values between steps; without, each step reads everything anew.

    Raises:
        TextError: a source or a prompt that is empty or longer than `max_seq_len`.
        ConfigError: more tokens asked for than the model has positions, or a model that does not write.
    """
    writing = Writing(model, tokens, max_new_tokens=max_new_tokens, use_cache=use_cache)
    prompt, lengths = writing.tokens, writing.prompt_lengths
    if not int(lengths.min()):
        raise TextError("there is no token to go on from; give at least one")
    shortest, longest = int(lengths.min()), int(lengths.max())

    writing.tokens = prompt[:, :shortest]
    log_probs: list[Tensor] = []
    has_ended = torch.zeros(prompt.shape[0], dtype=torch.bool, device=prompt.device)
    for place in range(shortest, longest + writing.n_new):
        candidates = writing.read()  # [batch, new, vocab]
        if place == shortest > 1:  # the first reading also says how probable the prompts were
            log_probs.append(candidates[:, : shortest - 1].gather(-1, prompt[:, 1:shortest, None])[..., 0])
        log_prob, token = candidates[:, -1].max(dim=-1)  # [batch]
        if shortest < longest:  # prompts of different lengths: some still stand here, some have had their room
            is_prompt = lengths > place
            token = torch.where(is_prompt, prompt[:, min(place, longest - 1)], token)
            log_prob = candidates[:, -1].gather(-1, token[:, None])[:, 0]
            has_ended = has_ended & ~is_prompt | (lengths + writing.n_new <= place)
        token = token.masked_fill(has_ended, writing.filler)
        log_probs.append(log_prob.masked_fill(has_ended, 0.0)[:, None])
        writing.write(token)
        has_ended = has_ended | (token == model.config.eos_id)
        if place >= longest - 1 and bool(has_ended.all()):
            break
    return Decoding(writing.tokens, torch.cat(log_probs, dim=1))
