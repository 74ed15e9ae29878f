"""Samples of what a decoder writes, drawn at random.

Always taking the most probable token makes any small language model run in circles, however well it has learnt
(Holtzman et al. 2020), so that such a sample says nothing of the training.
"""

from zlib import crc32

import torch

from transformer_core.decoding.sampling import draw, next_log_probs
from transformer_core.decoding.settings import Sampling
from transformer_core.decoding.steps import GenerationState, room_for
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer

SAMPLING = Sampling(temperature=0.8)
_N_TOKENS, _N_CHARACTERS = 24, 80  # about a line of either


@torch.inference_mode()
def continuation(model: Transformer, tokenizer: Tokenizer, prompt: str) -> str:
    """Return how a decoder goes on from a prompt; the same for the same weights, and other draws for each prompt.

    Args:
        model: a decoder in evaluation mode.
        tokenizer: the model's own.
        prompt: of a long one the end is read, half as many tokens as the model takes.

    Raises:
        TextError: a prompt without a token that can be read.
    """
    begin, *text = tokenizer.encode_for(prompt, "decoder_only")
    ids = [begin, *text[-(model.config.max_seq_len // 2) :]]
    room = room_for(model.config, len(ids), None)
    n_new = min(room, _N_CHARACTERS if tokenizer.kind == "character" else _N_TOKENS)
    writing = GenerationState(model, torch.tensor([ids], device=next(model.parameters()).device), max_new_tokens=n_new)
    tokens, seed = [*ids], crc32(prompt.encode())
    while len(tokens) < len(ids) + n_new and tokens[-1] != model.config.eos_id:
        log_probs = next_log_probs(writing.read()[0, -1], tokens, SAMPLING)
        tokens.append(draw(log_probs, seed=seed, position=len(tokens)))
        writing.write([tokens[-1]])
    return tokenizer.continuation(tokens, len(ids))
