"""How the models of another library are read: a family is a configuration map and a table of keys.

To add one, add one file in `families/`. It holds

- a function that reads the foreign config.json (`Options`) into a `ModelConfig`, and refuses by name what this core
  does not compute;
- a function that returns, for such a configuration, an `Entry` for each tensor of the foreign file: its key, and the
  parameters of ours that it fills;
- what else may lie in such files and is not needed, each with the reason (`Ignored`);
- `FAMILIES`, a tuple of the `Family` records, one for each `model_type` that the file serves.

The file is found by being there. Then give `tests/checkpoints/foreign.py` a small model of that family: the tests
compare its logits, hidden states, patterns and decoded tokens with those of the `transformers` library, and fail where
the table does not cover the model, or where a family has no small model. The model never asks for a family: what a
family needs and the core lacks becomes a choice in `ModelConfig`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from transformer_core.checkpoints.generation import not_taken_over
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError, ConfigError, Message

Cut = Callable[[Tensor], Sequence[Tensor]]
"""Takes a tensor of the foreign file and returns one for each of the parameters that it fills."""


def as_it_is(weight: Tensor) -> Sequence[Tensor]:
    """Return the tensor itself, for one parameter."""
    return (weight,)


def only_row(weight: Tensor) -> Sequence[Tensor]:
    """[1, width] -> [width]."""
    return (weight.squeeze(0),)


@dataclass(frozen=True)
class Entry:
    """A tensor of the foreign file, and where it goes."""

    key: str  # in the foreign file
    names: tuple[str, ...]  # of our parameters
    cut: Cut = as_it_is  # how the tensor becomes one for each of the names
    copies: tuple[str, ...] = ()  # other keys of the same tensor: any of them will do, and all that are there are equal


def module(theirs: str, ours: str, parts: Sequence[str] = ("weight", "bias")) -> tuple[Entry, ...]:
    """Return the entries of a module that both sides have alike: a linear layer, or a normalization."""
    return tuple(Entry(f"{theirs}.{part}", (f"{ours}.{part}",)) for part in parts)


def fused(
    theirs: str,
    ours: str,
    names: Sequence[str] = ("q", "k", "v"),
    *,
    cut: Cut | None = None,
    parts: Sequence[str] = ("weight", "bias"),
) -> tuple[Entry, ...]:
    """Return the entries of linear layers that are one in the foreign file: as `cut` says, else one below the other."""
    return tuple(
        Entry(
            f"{theirs}.{part}",
            tuple(f"{ours}.{name}.{part}" for name in names),
            cut or (lambda weight: weight.chunk(len(names))),
        )
        for part in parts
    )


def embeddings(config: ModelConfig, key: str, *, head: str, copies: tuple[str, ...] = ()) -> tuple[Entry, ...]:
    """Return the entries of the embedding, which two stacks have in common, and of the last layer's matrix.

    Args:
        config: says whether the two are tied.
        key: of the embedding.
        head: of the last layer's matrix; where that is tied, one more copy of the embedding.
        copies: other keys of the embedding.
    """
    stacks = (*(("encoder",) if config.has_encoder else ()), *(("decoder",) if config.has_decoder else ()))
    if config.tie_embeddings == "none":
        names = tuple(f"{stack}.embed.weight" for stack in stacks)
        last = (Entry(head, ("unembed.weight",)),) if config.unembed else ()
        return Entry(key, names, lambda weight: [weight] * len(names), copies), *last
    return (Entry(key, (f"{stacks[-1]}.embed.weight",), copies=(*copies, head)),)


@dataclass(frozen=True)
class Ignored:
    """Tensors that foreign files may hold beside the weights."""

    pattern: str  # a regular expression for the whole key
    reason: Message  # why nothing is lost
    holds: Callable[[Tensor, ModelConfig], bool] | None = None  # whether a tensor is what we compute in its place


def counts_up(table: Tensor, config: ModelConfig) -> bool:
    """Return whether a table of positions is 0, 1, 2, ..., as it is where positions are counted."""
    return torch.equal(table.flatten().long(), torch.arange(table.numel(), device=table.device))


def is_causal_mask(table: Tensor) -> bool:
    """Return whether a tensor marks, with ones or with what is added to scores, which keys a query may see, or not."""
    n = table.shape[-1] if table.ndim > 1 else 0
    if n < 2 or table.shape[-2:].numel() != table.numel() or table.shape[-2] != n:
        return False
    square = table.reshape(n, n)
    marked = square != 0
    ahead = torch.ones_like(marked).triu(1)
    is_whole = torch.equal(marked, ahead) or torch.equal(marked, ~ahead)
    return is_whole and bool((square[marked] == square[marked][0]).all())


JUDGES = Ignored(
    r"(.*\.)?(pooler\.dense|classifier(\..*)?|pre_classifier|qa_outputs|score|(v|multiple_choice)_head\.summary)"
    r"\.(weight|bias)",
    Message("only used for classification, not for masked tokens or attention"),
)
EVERYWHERE = (
    Ignored(r"(.*\.)?_extra_state", Message("extra state of a module, not weights")),
    Ignored(r"(.*\.)?position_ids", Message("position indices, which are recomputed"), counts_up),
    Ignored(
        r"(.*\.)?token_type_ids",
        Message("segment ids of 0, which are the default"),
        lambda table, _: not table.any().item(),
    ),
    Ignored(
        r"(.*\.)?(rotary_emb|rotary|rope)\.(original_)?(inv_freq|cos_cached|sin_cached)",
        Message("RoPE frequencies, which follow from the configuration"),
    ),
    Ignored(r"(.*\.)?(attn|attention)\.masked_bias", Message("the value of masked scores, which are excluded here")),
    JUDGES,
)
"""What files of any family may hold beside the weights."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """One `model_type` of the `transformers` library."""

    model_type: str
    read: Callable[[Options], ModelConfig]
    keys: Callable[[ModelConfig], tuple[Entry, ...]]
    head: str  # key of the last layer's matrix; absent from files where it is tied
    needs_head: bool = True  # else files without one are read too, as models that make no predictions
    prefix: str = ""  # of all keys but the head's; files of a model without a head lack it
    renamed: Mapping[str, str] = field(default_factory=dict)  # parts of keys, as they were in older files
    ignored: tuple[Ignored, ...] = ()

    def config(
        self,
        values: Mapping[str, Any],
        *,
        where: str | Message = "config.json",
        on_note: Callable[[Message], object] = lambda _: None,
    ) -> ModelConfig:
        """Return our configuration of a foreign config.json.

        Args:
            values: the object in the file.
            where: what to call it in messages.
            on_note: told in a sentence which special tokens and which settings of generation are not used.

        Raises:
            CheckpointError: it lacks something, contradicts itself, or asks for what this core does not compute.
        """
        options = Options(values, where=where)
        try:
            config = self.read(options)
            if config.has_decoder:
                config = replace(config, more_eos_ids=tuple(options.tokens("eos_token_id")[1:]))
        except ConfigError as error:
            raise CheckpointError(
                "{where} does not describe a model that can be built: {error}", where=where, error=error
            ) from error
        options.finish()
        if options.beyond:
            on_note(
                Message(
                    "Its vocabulary of {n:,} tokens has no {tokens}, so it has no such special token.",
                    n=config.vocab_size,
                    tokens=", ".join(options.beyond),
                )
            )
        if config.has_decoder and (settings := not_taken_over(values, config)):
            on_note(Message("Its generation settings are not used: {settings}.", settings=settings))
        return config
