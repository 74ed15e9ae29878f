"""`from_transformers`: a model of the `transformers` library in memory as one of ours, with its tokenizer."""

from typing import Any

from torch import nn

from headlight.analysis.trace.viewed_model import SHOW
from headlight.viewing.labels import tokenizer_of
from headlight.viewing.reading import as_transformers
from transformer_core.checkpoints.checkpoint import refuse_other_tokenizer
from transformer_core.checkpoints.load import load, with_tokenizer
from transformer_core.errors import CheckpointError
from transformer_core.model.transformer import Transformer
from transformer_core.text.foreign import ForeignTokenizer
from transformer_core.text.interface import Tokenizer


def from_transformers(model: nn.Module, tokenizer: Any = None) -> tuple[Transformer, Tokenizer]:
    """Return a model of the `transformers` library as one of ours, for every analysis of Headlight; weights are copied.

    >>> model, tokenizer = hl.from_transformers(their_model, their_tokenizer)
    >>> run = hl.run_text(model, tokenizer, "The cat sat.")

    Args:
        model: of a family that `transformer_core.load` supports; an adapter of the PEFT library is merged.
        tokenizer: its tokenizer; None: texts are token ids.

    Raises:
        ArgumentError: it is not a model of the library.
        CheckpointError: its family or one of its options is not supported, or the tokenizer is another model's.
    """
    as_transformers(model)
    name = type(model).__name__
    try:
        ours, ids = load(model)
    except CheckpointError as error:
        raise CheckpointError(SHOW, error=error) from error
    if tokenizer is None:
        return ours, ids
    own = tokenizer_of(tokenizer)
    if own is None:
        raise CheckpointError(
            "the tokenizer of {model} is not one of the tokenizers library; leave it out, and texts are token ids",
            model=name,
        )
    if isinstance(own, ForeignTokenizer) and own.beyond(ours.config.vocab_size):
        own = own.of_model(ours.config.vocab_size)  # texts with the tokens that the model lacks are refused
    refuse_other_tokenizer(name, ours.config, own)
    return with_tokenizer(ours, own)
