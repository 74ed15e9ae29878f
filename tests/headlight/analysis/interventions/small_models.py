"""Small random models of every variation, read by their token ids, and stacks of interventions for them."""

from functools import cache

import torch

import transformer_core as tc
from headlight.analysis.interventions.base import Base, read_base
from headlight.analysis.trace.attentions import attentions_of
from tests.model.building import random_tokens, varied_model
from transformer_core.text.ids import IdTokenizer
from transformer_core.text.interface import Tokenizer


@cache
def model_of(variation: str) -> tuple[tc.Transformer, Tokenizer]:
    """A model of `VARIATIONS`, and a tokenizer of numbers."""
    model = varied_model(variation)
    return model, IdTokenizer.of(model.config)


def text_of(n_tokens: int, *, seed: int = 0, least: int = 4, vocab_size: int = 37) -> str:
    """Random token ids as text, none of them special."""
    ids = random_tokens([n_tokens], vocab_size=vocab_size - least, seed=seed)[0] + least - 1
    return " ".join(map(str, ids.tolist()))


@cache
def base_of(variation: str) -> Base:
    """What a model of `VARIATIONS` does with a text of 7 tokens."""
    return read_base(*model_of(variation), text_of(7), max_tokens=16, max_new_tokens=4)


def tensors_of(base: Base) -> list[torch.Tensor]:
    """What the model read, [1, pos] each."""
    return [torch.tensor([ids]) for ids in base.run.inputs]


def last_attention(config: tc.ModelConfig) -> str:
    """The attention that a model computes last."""
    return [*attentions_of(config)][-1]
