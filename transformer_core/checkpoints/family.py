"""Model families of other libraries: each converts a configuration, and has a table of keys.

To add one, add a file in `families/` with

- a function that converts the foreign config.json (`Options`) to a `ModelConfig`, and rejects unsupported options by
  name; its source is the paper, and the library's class where the two differ;
- a function that returns an `Entry` for each tensor of the foreign file: its key, and our parameters that it fills;
- the tensors in such files that are not needed, each with the reason (`Ignored`);
- `FAMILIES`, a tuple of `Family` records, one per `model_type`.

The file is found automatically. Then add a small model of the family to `tests/checkpoints/foreign.py`: the tests
compare its logits, hidden states, patterns and decoded tokens with the `transformers` library, and fail if the table
does not cover the model, or if a family has no small model. The model code does not know families: whatever a family
needs becomes an option of `ModelConfig`.
"""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor

from transformer_core.checkpoints.entries import Entry
from transformer_core.checkpoints.options import Options, not_taken_over
from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError, ConfigError, Message

# Settings shared by all families of one architecture.
encoder_only = partial(
    ModelConfig,
    architecture="encoder_only",
    n_decoder_layers=0,
    embedding_norm=True,
    scale_embeddings=False,
    unembed_transform=True,
)
decoder_only = partial(
    ModelConfig, architecture="decoder_only", n_encoder_layers=0, norm_position="pre", scale_embeddings=False
)

CONSTANTS_IN_WEIGHTS = Message(
    "Constants of this family, such as factors and signs, are in its weights, so some differ from those of the file."
)

_SIZES = {
    **{"vocab_size": "vocab_size", "d_model": "hidden_size", "d_ff": "intermediate_size"},
    "n_heads": "num_attention_heads",
}


def sizes(options: Options, *, n_layers: str = "n_decoder_layers") -> dict[str, Any]:
    """Return the sizes that most families give the same names; `n_layers` is ours of the number of layers."""
    return {ours: options.whole(name) for ours, name in {**_SIZES, n_layers: "num_hidden_layers"}.items()}


FULL, WINDOW = "full_attention", "sliding_attention"


def windows(
    options: Options,
    n_layers: int,
    width: int | None,
    *,
    usual: Container[int] = (),
    name: str = "layer_types",
    of_layers: object = None,
    kinds: tuple[str, str] = (FULL, WINDOW),
) -> dict[str, Any]:
    """Return the fields of a sliding window in some layers, given a list of the kinds of all layers.

    Args:
        options: of the whole model.
        n_layers: of the model.
        width: of the window, the query included; None: no layer has one.
        usual: the layers without a window if the list is missing.
        name: of the list.
        of_layers: the list; None: the option of that name.
        kinds: without and with a window.

    Raises:
        CheckpointError: the list does not have one of the two kinds for each layer.
    """
    full, window = kinds
    if of_layers is None:
        of_layers = options.value(name, [full if width is None or i in usual else window for i in range(n_layers)])
    possible = (full,) if width is None else kinds
    if type(of_layers) is not list or len(of_layers) != n_layers or any(kind not in possible for kind in of_layers):
        raise options.error(name, Message("supported are {kinds}, once for each layer", kinds=", ".join(possible)))
    without = tuple(i for i, kind in enumerate(of_layers) if kind == full)
    return {} if len(without) == n_layers else {"sliding_window": width, "layers_without_window": without}


@dataclass(frozen=True)
class Ignored:
    """Tensors of foreign files that are not needed."""

    pattern: str  # a regular expression for the whole key
    reason: Message  # why they are not needed
    holds: Callable[[Tensor, ModelConfig], bool] | None = None  # whether a tensor has the values that we compute


def counts_up(table: Tensor, config: ModelConfig) -> bool:
    """Return whether a table of positions is 0, 1, 2, ..."""
    return torch.equal(table.flatten().long(), torch.arange(table.numel(), device=table.device))


def is_causal_mask(table: Tensor) -> bool:
    """Return whether a tensor is a causal mask, either of ones or of values that are added to the scores."""
    n = table.shape[-1] if table.ndim > 1 else 0
    if n < 2 or table.shape[-2:].numel() != table.numel() or table.shape[-2] != n:
        return False
    square = table.reshape(n, n)
    marked = square != 0
    ahead = torch.ones_like(marked).triu(1)
    is_whole = torch.equal(marked, ahead) or torch.equal(marked, ~ahead)
    return is_whole and bool((square[marked] == square[marked][0]).all())


_FOR_OTHER_TASKS = Message("only used for classification, not for tokens or attention")
JUDGES = Ignored(
    r"(.*\.)?(classifier(\..*)?|pre_classifier|qa_outputs|score|classification_head\..+"
    r"|sequence_summary\.summary|discriminator_predictions\..+)"
    r"\.(weight|bias)",
    _FOR_OTHER_TASKS,
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
        r"(.*\.)?((rotary_emb|rotary|rope)\.(original_)?(inv_freq|cos_cached|sin_cached|freqs)"
        r"|rotary_pos_emb\.inv_freq|(att\.|attn\.rotary_)(sin|cos))",
        Message("RoPE frequencies, which follow from the configuration"),
    ),
    Ignored(r"(.*\.)?(attn|attention)\.masked_bias", Message("the value of masked scores, which are excluded here")),
    Ignored(r"(.*\.)?(pooler(\.dense)?|(v|multiple_choice)_head\.summary)\.(weight|bias)", _FOR_OTHER_TASKS),
    JUDGES,
)
"""Unneeded tensors in files of any family."""


Computed = Callable[[ModelConfig], Mapping[str, Tensor]]
"""Returns tensors by the keys of the table; they replace those of the file with the same key."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """One `model_type` of the `transformers` library, or the layout of a program."""

    model_type: str
    program: str = ""  # whose layout it is
    read: Callable[[Options], ModelConfig]
    keys: Callable[..., tuple[Entry, ...]]  # of a ModelConfig, and what `beyond_config` returns
    head: str  # key of the output layer's matrix; may be missing if it is tied
    prefix: str = ""  # shared by all keys except the head's; absent in files of a model without a head
    renamed: Mapping[str, str] = field(default_factory=dict)  # maps parts of keys in older files to their new names
    ignored: tuple[Ignored, ...] = ()
    computed: Computed | None = None  # tensors that follow from the configuration
    note: Message | None = None  # on what a user of any such model should know
    beyond_config: Callable[[Options], Mapping[str, Any]] | None = None  # further arguments of `keys`, by name

    def of_file(self, values: Mapping[str, Any], *, where: str | Message) -> Self:
        """Return the family with the table for a config.json, of which `keys` needs more than the configuration."""
        if self.beyond_config is None:
            return self
        return replace(self, keys=partial(self.keys, **self.beyond_config(Options(values, where=where))))

    def config(
        self,
        values: Mapping[str, Any],
        *,
        where: str | Message = "config.json",
        on_note: Callable[[Message], object] = lambda _: None,
    ) -> ModelConfig:
        """Convert the object in a foreign config.json.

        Args:
            values: the object in the file.
            where: name of the file in messages.
            on_note: called with notes on special tokens and generation settings that are not used.

        Raises:
            CheckpointError: it is incomplete, contradictory, or not supported.
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
        for note in (*options.notes, *((self.note,) if self.note is not None else ())):
            on_note(note)
        if config.has_decoder and (settings := not_taken_over(values, config)):
            on_note(Message("Its generation settings are not used: {settings}.", settings=settings))
        return config
