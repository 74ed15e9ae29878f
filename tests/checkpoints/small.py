"""What small models of the `transformers` library are made of; those of each group are in a separate file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

VOCAB_SIZE, PAD, BOS, EOS = 61, 0, 1, 2
MAX_POSITIONS = 96  # the texts that are compared have at most 80 tokens, and a few are generated

TOKENS = {"vocab_size": VOCAB_SIZE, "pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS}


@dataclass(frozen=True)
class Small:
    """A small model: its classes in the library, and what its configuration is made of."""

    config_class: str
    model_class: str
    values: Mapping[str, Any]
    stacks: tuple[str, ...]  # of ours, in the order of the forward pass
    own_head: bool = False  # gives its last layer a separate matrix, regardless of the configuration
    final_scale: float = 1.0  # of its final states, divided by ours, whose last norm may contain the logits' scale


def two_stacks(config: str, task: str, values: Mapping[str, Any], *, own_head: bool = False, **changes: Any) -> Small:
    return Small(f"{config}Config", f"{config}{task}", {**values, **changes}, ("encoder", "decoder"), own_head)


def encoder(config: str, task: str, values: Mapping[str, Any], **changes: Any) -> Small:
    return Small(f"{config}Config", f"{config}{task}", {**values, **changes}, ("encoder",))


def decoder(config: str, task: str, values: Mapping[str, Any], *, own_head: bool = False, **changes: Any) -> Small:
    return Small(f"{config}Config", f"{config}{task}", {**values, **changes}, ("decoder",), own_head)
