"""The interface of a model that another library computes, which has patterns and logits, but no hook points."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor, nn

from headlight.analysis.trace.attention_maps import AttentionMaps
from transformer_core.config import ModelConfig
from transformer_core.errors import mark

SHOW = mark("{error}; hl.show(model, tokenizer, text) shows the attention patterns that transformers computes")


class ViewedModel(nn.Module, ABC):
    """A model that another library computes.

    Attributes:
        config: its architecture, numbers of layers and heads, sizes and special tokens; all other fields are defaults
            without a meaning.
    """

    config: ModelConfig

    @abstractmethod
    def trace(self, inputs: Sequence[Tensor]) -> tuple[Float[Tensor, "1 pos vocab"], Mapping[str, AttentionMaps]]:
        """Return the logits, and the patterns by name of attention; without an output layer, its final states."""

    @abstractmethod
    def greedy(self, given: Sequence[int], *, n_new: int, begun: Sequence[int]) -> list[int]:
        """Return the tokens that it generates greedily, `begun` and a final <eos> included.

        Args:
            given: tokens of the source, or of the prompt.
            n_new: generated at most, after `begun`.
            begun: the first tokens of the output.
        """

    def logits_of(self, final: Float[Tensor, "1 pos vocab"]) -> Float[Tensor, "1 pos vocab"]:
        """Return the logits of some positions, which `trace` returned."""
        return final
