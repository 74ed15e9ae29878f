"""Greedy decoding: the most probable token at each step."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_core.decoding.cache import KeyValueCache
from transformer_core.errors import ConfigError
from transformer_core.model.transformer import Transformer


@dataclass(frozen=True)
class Decoding:
    """What a model wrote."""

    tokens: Int[Tensor, "batch pos"]  # <bos> first; <eos> ends a row unless its room ended; then padding
    log_probs: Float[Tensor, "batch pos-1"]  # nats, of each token behind <bos>; 0 for padding


@torch.no_grad()
def greedy_decode(
    model: Transformer,
    src: Int[Tensor, "batch src"],
    *,
    max_new_tokens: int | None = None,
    use_cache: bool = True,
) -> Decoding:
    """Write the target one token at a time, always the most probable one that is not padding.

    A row's result does not depend on the other rows, on padding, or on the cache.

    Args:
        model: in evaluation mode.
        src: source tokens, ending in <eos>, padded on the right.
        max_new_tokens: at most so many behind <bos>; None: as many as the model's positions allow.
        use_cache: keep keys and values between steps; without, each step reads everything anew.

    Raises:
        TextError: a source that is empty or longer than `max_seq_len`.
        ConfigError: more tokens asked for than the model has positions, or a model with one position.
    """
    config = model.config
    room = config.max_seq_len - 1
    if room < 1:
        raise ConfigError("this model has one position, which <bos> takes; a model that writes needs max_seq_len of 2")
    if max_new_tokens is not None and not 1 <= max_new_tokens <= room:
        raise ConfigError(
            f"max_new_tokens ({max_new_tokens}) must be from 1 to {room}, what the model's positions allow"
        )
    n_steps = max_new_tokens or room
    memory = model.encode(src)
    cache = KeyValueCache(config.n_decoder_layers, max_positions=n_steps) if use_cache else None
    after_end = config.eos_id if config.pad_id is None else config.pad_id

    tokens = src.new_full((src.shape[0], 1), config.bos_id)
    log_probs: list[Tensor] = []
    has_ended = torch.zeros(src.shape[0], dtype=torch.bool, device=src.device)
    for _ in range(n_steps):
        unread = tokens if cache is None else tokens[:, cache.n_positions :]
        logits = model.decode(unread, memory, src, cache)[:, -1]  # [batch, vocab]
        candidates = logits.log_softmax(dim=-1)  # [batch, vocab]
        if config.pad_id is not None:
            candidates[:, config.pad_id] = -math.inf
        log_prob, token = candidates.max(dim=-1)  # [batch]
        token = token.masked_fill(has_ended, after_end)
        log_probs.append(log_prob.masked_fill(has_ended, 0.0))
        tokens = torch.cat([tokens, token[:, None]], dim=1)
        has_ended = has_ended | (token == config.eos_id)
        if has_ended.all():
            break
    return Decoding(tokens, torch.stack(log_probs, dim=1))
