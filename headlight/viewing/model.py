"""A text model that the `transformers` library computes, in the form that pages and analyses of patterns take."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.analysis.trace.attention_maps import AttentionMaps
from headlight.analysis.trace.viewed_model import ViewedModel
from headlight.viewing.eager import alone
from headlight.viewing.patterns import PatternRecord
from headlight.viewing.reading import run_with_patterns, takes
from transformer_core.config import Architecture, ModelConfig
from transformer_core.errors import CheckpointError, Message, TextError
from transformer_core.reasons import reason

ATTENTIONS_OF: Mapping[Architecture, tuple[str, ...]] = {
    "encoder_only": ("encoder",),
    "decoder_only": ("decoder",),
    "encoder_decoder": ("encoder", "decoder", "cross"),
}
MOST_BYTES = 128 << 20  # of the patterns of a text, in single precision
_LENGTHS = ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "max_seq_length")
_RESERVED = 2  # positions that some tables keep for padding
_N_PROBED = 4  # tokens


class TransformersModel(ViewedModel):
    """A text model of the `transformers` library, with the architecture and sizes of its attention."""

    def __init__(self, theirs: Any, config: ModelConfig) -> None:
        """Wrap a model in evaluation mode, loaded with eager attention; `config` is from `shape_of`."""
        super().__init__()
        self.theirs, self.config = theirs, config

    def trace(self, inputs: Sequence[Tensor]) -> tuple[Float[Tensor, "1 pos vocab"], Mapping[str, AttentionMaps]]:
        """Return the logits, or without an output layer the final states, and the patterns by name of attention."""
        output, record = run_with_patterns(self.theirs, _named(self.theirs, self.config.architecture, inputs))
        maps = {name: AttentionMaps.of_arrays(record.attentions[name].patterns) for name in record.attentions}
        return output["logits" if self.config.unembed else "last_hidden_state"], maps

    def greedy(self, given: Sequence[int], *, n_new: int, begun: Sequence[int]) -> list[int]:
        """Return the tokens that the model generates greedily, `begun` and a final <eos> included."""
        from transformers import GenerationConfig

        config, is_pair = self.config, self.config.architecture == "encoder_decoder"
        before = [*([config.bos_id] if is_pair else given), *begun]
        settings = GenerationConfig(
            max_new_tokens=n_new,
            do_sample=False,
            num_beams=1,
            eos_token_id=[*config.eos_ids] or None,
            pad_token_id=config.pad_id if config.pad_id is not None else 0,
            decoder_start_token_id=config.bos_id,
        )
        device = next(self.theirs.parameters()).device
        source = {"input_ids": torch.tensor([[*given]], device=device)} if is_pair else {}
        own = {"decoder_input_ids" if is_pair else "input_ids": torch.tensor([before], device=device)}
        try:
            with alone(self.theirs):
                written = self.theirs.generate(**source, **own, generation_config=settings)[0].tolist()
        except Exception as error:  # of any model
            raise TextError(
                "transformers cannot generate with this model ({error:.300}); turn off its continuation, or give a "
                "target",
                error=str(reason(error)) or type(error).__name__,
            ) from error
        return [int(token) for token in written[len(before) - len(begun) :]]


def shape_of(theirs: Any) -> tuple[ModelConfig, tuple[Message, ...]]:
    """Return the architecture, sizes and special tokens of a model, and notes, after running it on a few tokens.

    Args:
        theirs: a model in evaluation mode.

    Raises:
        ArgumentError: it has no patterns, or cannot read token ids.
        CheckpointError: its attentions are not those of one encoder, decoder, or encoder-decoder; or it returns
            neither logits nor final states.
    """
    about = theirs.config.get_text_config()
    n_tokens = theirs.get_input_embeddings().weight.shape[0]
    ids = torch.arange(3, 3 + _N_PROBED, device=next(theirs.parameters()).device)[None] % n_tokens
    is_pair = bool(theirs.config.is_encoder_decoder)
    probed: Architecture = "encoder_decoder" if is_pair else "decoder_only"
    output, record = run_with_patterns(theirs, _named(theirs, probed, (ids, ids) if is_pair else (ids,)))
    logits = output.get("logits")
    unembed = logits is not None and logits.ndim == 3 and logits.shape[1] == _N_PROBED and logits.shape[2] >= n_tokens
    if not unembed and "last_hidden_state" not in output:
        raise CheckpointError("it returns neither logits nor final states of tokens")
    n_heads = sum(len(of.layers) * of.patterns.shape[1] for of in record.attentions.values())
    return config_of(
        theirs,
        record,
        vocab_size=logits.shape[2] if unembed else n_tokens,
        max_seq_len=_most_tokens(about, n_heads),
        unembed=unembed,
        special=special_tokens(theirs, n_tokens),
    )


def config_of(
    theirs: Any, record: PatternRecord, *, vocab_size: int, max_seq_len: int, unembed: bool, special: Mapping[str, Any]
) -> tuple[ModelConfig, tuple[Message, ...]]:
    """Return the architecture and sizes of a model with these patterns, and notes.

    Args:
        theirs: the model.
        record: its patterns on some input.
        vocab_size: as in `ModelConfig`, like the arguments after it.
        max_seq_len: the same.
        unembed: the same.
        special: its special tokens, as `special_tokens` returns them.

    Raises:
        CheckpointError: its attentions are not those of one encoder, decoder, or encoder-decoder.
    """
    names, heads = tuple(record.attentions), {of.patterns.shape[1] for of in record.attentions.values()}
    architecture = next((architecture for architecture, has in ATTENTIONS_OF.items() if has == names), None)
    if architecture is None or len(heads) != 1:
        raise CheckpointError(
            "its attentions ({names}) are not those of one encoder, decoder or encoder-decoder; "
            "hl.show(model, tokenizer, text) shows them in a notebook",
            names=", ".join(names),
        )
    about = theirs.config.get_text_config()
    n_heads, n_layers = heads.pop(), {name: len(of.layers) for name, of in record.attentions.items()}
    width = getattr(about, "hidden_size", None) or n_heads
    config = ModelConfig(
        vocab_size=vocab_size,
        architecture=architecture,
        d_model=width,
        d_head=getattr(about, "head_dim", None) or max(1, width // n_heads),
        n_heads=n_heads,
        n_encoder_layers=n_layers.get("encoder", 0),
        n_decoder_layers=n_layers.get("decoder", 0),
        max_seq_len=max_seq_len,
        unembed=unembed,
        tie_embeddings="none",
        **special,
    )
    layers = next(iter(record.attentions.values())).layers
    counted = Message("Its layers with attention, {layers}, are numbered from 0.", layers=", ".join(map(str, layers)))
    return config, (record.computed_by, *record.notes, *([] if [*layers] == [*range(len(layers))] else [counted]))


def _named(theirs: Any, architecture: Architecture, inputs: Sequence[Tensor]) -> dict[str, Tensor]:
    """Return the inputs by the names that models of the library use."""
    if architecture == "encoder_decoder":
        return dict(zip(("input_ids", "decoder_input_ids"), inputs, strict=True))
    names = ("input_ids", "token_type_ids") if takes(theirs, "token_type_ids") else ("input_ids",)
    return dict(zip(names, inputs, strict=False))


def _most_tokens(about: Any, n_heads: int) -> int:
    """Return how many tokens have room: in the model's positions, and in memory."""
    known = [n for name in _LENGTHS if isinstance(n := getattr(about, name, None), int) and n > _RESERVED]
    in_memory = math.isqrt(MOST_BYTES // (4 * n_heads))
    return max(1, min([in_memory, *(n - _RESERVED for n in known)]))


def special_tokens(theirs: Any, n_tokens: int) -> dict[str, Any]:
    """Return the special tokens of a configuration; ids beyond the vocabulary are left out."""
    settings = [
        of for of in (getattr(theirs, "generation_config", None), theirs.config, theirs.config.get_text_config()) if of
    ]

    def tokens(*names: str) -> tuple[int, ...]:
        for name in names:
            for of in settings:
                value = getattr(of, name, None)
                ids = value if isinstance(value, list | tuple) else [value]
                if ids := [i for i in ids if type(i) is int and 0 <= i < n_tokens]:
                    return tuple(ids)
        return ()

    starts = ("decoder_start_token_id",) if theirs.config.is_encoder_decoder else ()
    pad, bos, eos = tokens("pad_token_id"), tokens(*starts, "bos_token_id"), tokens("eos_token_id")
    bos = bos or (pad if starts else ())  # T5 starts with padding
    return {
        "pad_id": pad[0] if pad else None,
        "bos_id": bos[0] if bos else None,
        "eos_id": eos[0] if eos else None,
        "more_eos_ids": tuple(dict.fromkeys(i for i in eos[1:] if i != eos[0])),
    }
