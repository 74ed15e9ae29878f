"""Samples of what a decoder writes, drawn at random.

Always taking the most probable token makes any small language model run in circles, however well it has learnt
(Holtzman et al. 2020), so that such a sample says nothing of the training.
"""

from dataclasses import replace
from zlib import crc32

import torch

from transformer_core.decoding.session import DecodingSession
from transformer_core.decoding.settings import Sampling
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
    tokens = torch.tensor([ids], device=next(model.parameters()).device)
    session = DecodingSession(model, tokens, sampling=replace(SAMPLING, seed=crc32(prompt.encode())))
    end = session.to_end(max_new_tokens=_N_CHARACTERS if tokenizer.kind == "character" else _N_TOKENS)
    return tokenizer.continuation([step.token for step in end.path()], len(ids))
