"""A reading: what an encoder-decoder says to a text, and where every head looked while it said so."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float

from transformer_core.decoding.greedy import greedy_decode
from transformer_core.instrument.capture import capture
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Attention:
    """One of the three attentions of an encoder-decoder (Vaswani et al. 2017, sec. 3.2.3)."""

    name: str  # short and stable, for addresses and files
    title: str
    module: str  # module path, with {layer}
    queries_from: str  # "source" or "target"
    keys_from: str  # "source" or "target"

    def site(self, layer: int, stem: str = "hook_pattern") -> str:
        """Return the name of a hook point of this attention."""
        return f"{self.module.format(layer=layer)}.{stem}"


ATTENTIONS: Mapping[str, Attention] = {
    attention.name: attention
    for attention in (
        Attention(
            name="encoder",
            title="Encoder self-attention",
            module="encoder.blocks.{layer}.self_attn",
            queries_from="source",
            keys_from="source",
        ),
        Attention(
            name="decoder",
            title="Decoder self-attention",
            module="decoder.blocks.{layer}.self_attn",
            queries_from="target",
            keys_from="target",
        ),
        Attention(
            name="cross",
            title="Cross-attention",
            module="decoder.blocks.{layer}.cross_attn",
            queries_from="target",
            keys_from="source",
        ),
    )
}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One text, read and answered, with every head's pattern."""

    output: str  # the text that the model wrote
    source: tuple[str, ...]  # labels of the encoder's tokens, as typed; unknown words behind "<unk> "; <eos> last
    target: tuple[str, ...]  # labels of the decoder's input: <bos>, then what was written
    predicted: tuple[str, ...]  # labels of what each target position made the model write next; <eos> last
    log_probs: Float[np.ndarray, " tgt"]  # nats, of `predicted`
    unknown: tuple[str, ...]  # words that the model has no token for, each once
    n_left_out: int  # tokens of the text behind the last one that was read
    is_complete: bool  # the model ended its output by itself
    patterns: Mapping[str, Float[np.ndarray, "layer head query key"]]  # by name of attention
    masks: Mapping[str, Bool[np.ndarray, "query key"]]  # by name of attention; True = may attend

    def labels(self, attention: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the labels of the queries and of the keys of an attention."""
        kind = ATTENTIONS[attention]
        return getattr(self, kind.queries_from), getattr(self, kind.keys_from)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One query, one key, and the weight between them."""

    query: int
    key: int
    value: float


@torch.inference_mode()
def read_translation(model: Transformer, tokenizer: Tokenizer, text: str, *, max_tokens: int = 64) -> Reading:
    """Decode greedily, then run the whole model once over text and output, watched.

    Args:
        model: in evaluation mode.
        tokenizer: the model's.
        text: what the encoder reads; must hold at least one token.
        max_tokens: at most so many tokens are read, <eos> included, and so many in the decoder, <bos> included; the
            model's `max_seq_len` at most.

    Returns:
        The reading. Each row of a pattern sums to 1 over `key`; row i of decoder and cross-attention belongs to the
        decoder's input token i, and decided what comes after it.
    """
    max_tokens = min(max_tokens, model.config.max_seq_len)
    ids, typed = tokenizer.encode(text), tokenizer.pieces(text)
    n_read = min(len(ids), max_tokens - 1)
    unknown_label = tokenizer.tokens([tokenizer.unk_id])[0]
    labels = [
        f"{unknown_label} {piece}" if i == tokenizer.unk_id else piece
        for i, piece in zip(ids[:n_read], typed[:n_read], strict=True)
    ]
    src = torch.tensor([[*ids[:n_read], tokenizer.eos_id]])
    decoding = greedy_decode(model, src, max_new_tokens=max_tokens - 1)
    written = decoding.tokens[0]
    tgt = decoding.tokens[:, :-1]
    with capture(model, "*.hook_pattern", "*.hook_mask") as activations:
        model(src, tgt)

    n_layers = {"encoder": model.config.n_encoder_layers, "decoder": model.config.n_decoder_layers}
    patterns, masks = {}, {}
    for name, attention in ATTENTIONS.items():
        layers = range(n_layers[attention.module.split(".")[0]])
        patterns[name] = np.stack([activations[attention.site(layer)][0].float().numpy() for layer in layers])
        mask = activations[attention.site(0, "hook_mask")][0, 0].numpy()  # query or 1, key
        masks[name] = np.broadcast_to(mask, patterns[name].shape[2:]).copy()
    return Reading(
        output=tokenizer.decode(written.tolist()),
        source=(*labels, *tokenizer.tokens([tokenizer.eos_id])),
        target=tuple(tokenizer.tokens(tgt[0].tolist())),
        predicted=tuple(tokenizer.tokens(written[1:].tolist())),
        log_probs=decoding.log_probs[0].float().numpy(),
        unknown=tuple(tokenizer.unknown_words(text)),
        n_left_out=len(ids) - n_read,
        is_complete=int(written[-1]) == tokenizer.eos_id,
        patterns=patterns,
        masks=masks,
    )


def strongest_cell(pattern: Float[np.ndarray, "query key"], mask: Bool[np.ndarray, "query key"]) -> Cell:
    """Return the largest weight among the queries that had a choice: those with at least two keys allowed.

    Args:
        pattern: attention weights.
        mask: True = may attend.

    Returns:
        The cell; of the whole pattern where no query had a choice. The first in reading order where several are equal.
    """
    has_choice = mask.sum(axis=-1) >= 2
    values = np.where(has_choice[:, None], pattern, -1.0) if has_choice.any() else pattern
    query, key = np.unravel_index(int(values.argmax()), pattern.shape)
    return Cell(query=int(query), key=int(key), value=float(pattern[query, key]))
