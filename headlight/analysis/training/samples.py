"""Random samples of a decoder's output.

Greedy decoding makes any small language model repeat itself, however good it is (Holtzman et al. 2020).
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
    """Return a decoder's continuation of a prompt, seeded by the prompt.

    Args:
        model: a decoder in evaluation mode.
        tokenizer: the model's own.
        prompt: cut on the left to half the model's maximum length.

    Raises:
        TextError: the prompt has no known token.
    """
    begin, *text = tokenizer.encode_for(prompt, "decoder_only")
    ids = [begin, *text[-(model.config.max_seq_len // 2) :]]
    tokens = torch.tensor([ids], device=next(model.parameters()).device)
    session = DecodingSession(model, tokens, sampling=replace(SAMPLING, seed=crc32(prompt.encode())))
    end = session.to_end(max_new_tokens=_N_CHARACTERS if tokenizer.kind == "character" else _N_TOKENS)
    return tokenizer.continuation([step.token for step in end.path()], len(ids))
