"""Model families of other libraries: each converts a configuration, and has a table of keys.

To add one, add a file in `families/` with

- a function that converts the foreign config.json (`Options`) to a `ModelConfig`, and rejects unsupported options by
  name;
- a function that returns an `Entry` for each tensor of the foreign file: its key, and our parameters that it fills;
- the tensors in such files that are not needed, each with the reason (`Ignored`);
- `FAMILIES`, a tuple of `Family` records, one per `model_type`.

The file is found automatically. Then add a small model of the family to `tests/checkpoints/foreign.py`: the tests
compare its logits, hidden states, patterns and decoded tokens with the `transformers` library, and fail if the table
does not cover the model, or if a family has no small model. The model code does not know families: whatever a family
needs becomes an option of `ModelConfig`.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor

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

Cut = Callable[[Tensor], Sequence[Tensor]]
"""Splits a tensor of the foreign file into the parameters that it fills."""


def as_it_is(weight: Tensor) -> Sequence[Tensor]:
    """Return the tensor itself, for one parameter."""
    return (weight,)


def only_row(weight: Tensor) -> Sequence[Tensor]:
    """Remove the first axis: [1, width] -> [width]."""
    return (weight.squeeze(0),)


@dataclass(frozen=True)
class Entry:
    """A tensor of the foreign file, and the parameters that it fills."""

    key: str  # in the foreign file
    names: tuple[str, ...]  # names of our parameters
    cut: Cut = as_it_is  # splits the tensor, one part per name
    copies: tuple[str, ...] = ()  # alternative keys of the tensor; one key is enough, and all that exist must be equal
    others: tuple[str, ...] = ()  # keys of further tensors, which are joined with it
    joined: Callable[[list[Tensor]], Tensor] = torch.stack  # joins them
    instead: tuple[str, ...] = ()  # other tensors, of which the first that exists is used without it


def computed(name: str, compute: Callable[[], Tensor]) -> Tensor:
    """Return a tensor that is computed from others, which may be missing in a file, or have any shape.

    Raises:
        CheckpointError: the computation fails.
    """
    try:
        return compute()
    except (LookupError, RuntimeError, TypeError, ValueError) as error:
        raise CheckpointError(
            "{name!r} cannot be computed from the tensors of the file, as some are missing or have other shapes "
            "({reason}); copy the whole file again",
            name=name,
            reason=str(error)[:100],
        ) from error


def module(theirs: str, ours: str, parts: Sequence[str] = ("weight", "bias")) -> tuple[Entry, ...]:
    """Return the entries of a module with the same parameters in both models: a linear layer, or a normalization."""
    return tuple(Entry(f"{theirs}.{part}", (f"{ours}.{part}",)) for part in parts)


def fused(
    theirs: str,
    ours: str,
    names: Sequence[str] = ("q", "k", "v"),
    *,
    cut: Cut | None = None,
    parts: Sequence[str] = ("weight", "bias"),
) -> tuple[Entry, ...]:
    """Return the entries of linear layers that are fused in the foreign file: split by `cut`, or else stacked rows."""
    return tuple(
        Entry(
            f"{theirs}.{part}",
            tuple(f"{ours}.{name}.{part}" for name in names),
            cut or (lambda weight: weight.chunk(len(names))),
        )
        for part in parts
    )


def shared(theirs: str, ours: Sequence[str], parts: Sequence[str] = ("weight", "bias")) -> tuple[Entry, ...]:
    """Return the entries of a module that several of ours copy, such as the one norm of parallel sub-layers."""
    return tuple(
        Entry(f"{theirs}.{part}", tuple(f"{name}.{part}" for name in ours), lambda weight: [weight] * len(ours))
        for part in parts
    )


def zero_bias(theirs: str, ours: str) -> Entry:
    """Return the entry of a linear layer that has a bias in our model only, which is 0."""

    def cut(weight: Tensor) -> Sequence[Tensor]:
        return weight, weight.new_zeros(weight.shape[0])

    return Entry(f"{theirs}.weight", (f"{ours}.weight", f"{ours}.bias"), cut)


def scaled(entries: Iterable[Entry], factors: Mapping[str, float | Tensor]) -> tuple[Entry, ...]:
    """Return the entries, with some of our parameters multiplied: an option that weights can express.

    Args:
        entries: of a model.
        factors: by parameter; a number, or one for each row.
    """

    def multiplied(name: str, part: Tensor) -> Tensor:
        if name not in factors:
            return part
        wide = torch.float64 if part.dtype == torch.float64 else torch.float32
        factor = torch.as_tensor(factors[name], dtype=wide, device=part.device)
        by_row = factor.reshape(-1, *[1] * (part.ndim - 1)) if factor.ndim else factor
        return part.to(wide) * by_row

    def cut(entry: Entry) -> Cut:
        return lambda weight: [multiplied(entry.names[i], part) for i, part in enumerate(entry.cut(weight))]

    return tuple(replace(entry, cut=cut(entry)) if factors.keys() & {*entry.names} else entry for entry in entries)


def embeddings(config: ModelConfig, key: str, *, head: str, copies: tuple[str, ...] = ()) -> tuple[Entry, ...]:
    """Return the entries of the embedding, which is shared by all stacks, and of the output layer.

    Args:
        config: determines whether the two are tied.
        key: the embedding's key.
        head: the key of the output layer's matrix, which is a copy of the embedding if the two are tied.
        copies: alternative keys of the embedding.
    """
    stacks = (*(("encoder",) if config.has_encoder else ()), *(("decoder",) if config.has_decoder else ()))
    if config.tie_embeddings == "none":
        names = tuple(f"{stack}.embed.weight" for stack in stacks)
        last = (Entry(head, ("unembed.weight",)),) if config.unembed else ()
        return Entry(key, names, lambda weight: [weight] * len(names), copies), *last
    return (Entry(key, (f"{stacks[-1]}.embed.weight",), copies=(*copies, head)),)


def output_bias(config: ModelConfig, key: str, *, of_layer: str) -> Entry:
    """Return the entry of the output layer's bias, which the library stores under two keys.

    Args:
        config: determines whether the two are tied, as the layer and the embedding are.
        key: in all files.
        of_layer: key of the bias that is used; may be missing.
    """
    if config.tie_embeddings == "none":
        return Entry(of_layer, ("unembed.bias",), instead=(key,))
    return Entry(key, ("unembed.bias",), copies=(of_layer,))


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
        r"(.*\.)?(rotary_emb|rotary|rope)\.(original_)?(inv_freq|cos_cached|sin_cached)",
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
    """One `model_type` of the `transformers` library."""

    model_type: str
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
