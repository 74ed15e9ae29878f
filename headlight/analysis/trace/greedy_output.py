"""What a model writes greedily after a source or a prompt, in the room that a model run has."""

from collections.abc import Sequence

import torch

from transformer_core.decoding.greedy import greedy_decode
from transformer_core.decoding.inputs import tensor_of
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Tokenizer

LEAST_ROOM = 64  # tokens of a target, <bos> included, that an encoder-decoder may write; for long sources twice theirs


@torch.inference_mode()
def greedy_output(
    model: Transformer,
    given: Sequence[int],
    *,
    max_tokens: int,
    max_new_tokens: int,
    begun: Sequence[int] = (),
) -> list[int]:
    """Return the tokens that a model writes, those that it has begun with included; <eos> too, where it ends.

    Args:
        model: in evaluation mode, with a decoder.
        given: tokens of the source, or of the prompt.
        max_tokens: as in `run_text`.
        max_new_tokens: as in `run_text`.
        begun: the first tokens that it writes; they are read in one forward pass.

    Raises:
        TextError: no token is given.
        ConfigError: a model whose positions have no room for an answer.
    """
    config = model.config
    max_tokens = min(max_tokens, config.max_seq_len)
    if config.has_encoder:
        room = min(max_tokens, max(LEAST_ROOM, 2 * len(given))) - 1 if max_new_tokens else 1
    elif max_new_tokens:
        room = max(1, min(max_new_tokens, max_tokens - len(given)))
    else:
        return []
    if begun and (len(begun) >= room or begun[-1] in config.eos_ids):
        return [*begun]
    written = greedy_decode(
        model, tensor_of(given, model), max_new_tokens=room - len(begun), begun=tensor_of(begun, model)
    )
    tokens: list[int] = written.tokens[0, 1 if config.has_encoder else len(given) :].tolist()
    return tokens


def output_text(model: Transformer, tokenizer: Tokenizer, given: Sequence[int], written: Sequence[int]) -> str:
    """Return a model's output as text: the target of an encoder-decoder, or the continuation of a decoder.

    Args:
        model: that wrote.
        tokenizer: the model's own.
        given: tokens of the source, or of the prompt.
        written: tokens, as `greedy_output` gives them.
    """
    if model.config.has_encoder:
        return tokenizer.decode(written)
    is_complete = bool(written) and written[-1] in model.config.eos_ids
    return tokenizer.continuation([*given, *(written[:-1] if is_complete else written)], len(given))
