"""Patterns that are given as arrays: those of a forward pass of any library, layer by layer."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from headlight.viewing.patterns import AttentionPatterns, Kind, PatternRecord
from transformer_core.errors import NO_MESSAGE, ArgumentError, Message
from transformer_core.text.labels import with_border

GIVEN = "Given patterns"
NOT_ONE = Message("Some rows do not sum to 1, as with dropout in training mode; call model.eval() first.")
_TOLERANCE = 2e-2  # of the sum of a row, in half precision
_LARGEST = 2.0  # a weight, with dropout of one half
ALONE = ""  # name of the only attention of a model, which then has that of its kind
_SPECIAL = frozenset(
    "[CLS] [SEP] [PAD] [MASK] <s> </s> <pad> <bos> <eos> <|endoftext|> <|begin_of_text|> <cls>".split()
)
_SIGNS = str.maketrans({"Ġ": "·", "▁": "·", "Ċ": "↵", "ĉ": "⇥"})  # of byte-level tokens and of SentencePiece
_NOT_SHOWN = frozenset(("", " ", "\n", "\t"))


def given_patterns(
    name: str,
    kind: Kind,
    attention: Any,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
) -> AttentionPatterns:
    """Return the record of an attention.

    Args:
        name: its name, or `ALONE`.
        kind: "cross", or another for self-attention, which is causal if no query attends to a later key.
        attention: [layer, head, query, key], or for each layer [head, query, key] or [1, head, query, key], arrays or
            tensors.
        queries: labels.
        keys: labels.
        layers: which to take; None: all.
        heads: which to take; None: all.

    Raises:
        ArgumentError: the arrays are no patterns, or do not fit the labels; there is no such layer or head.
    """
    title = f"{name}_attention" if name else "attention"
    patterns = _stacked(title, attention)
    chosen_layers = _within(layers, len(patterns), "layer")
    chosen_heads = _within(heads, patterns.shape[1], "head")
    patterns = patterns[chosen_layers][:, chosen_heads]
    for side, labels, n in (("queries", queries, patterns.shape[2]), ("keys", keys, patterns.shape[3])):
        if len(labels) != n:
            raise ArgumentError(
                "{name} has {n} {side}, but there are {n_labels} tokens; give one for each",
                name=title,
                n=n,
                side=side,
                n_labels=len(labels),
            )
    if kind != "cross":
        kind = "decoder" if _is_causal(patterns) else "encoder"
    return AttentionPatterns(
        name=kind if name == ALONE else name,
        kind=kind,
        patterns=patterns,
        queries=queries,
        keys=keys,
        layers=chosen_layers,
        heads=chosen_heads,
        special=[key in _SPECIAL for key in keys],
    )


def kind_of(name: str) -> Kind:
    """Return the kind of a given attention by its name; that of self-attention is corrected by its zeros."""
    return "cross" if name == "cross" else "encoder"


def record_of_arrays(attentions: Sequence[AttentionPatterns]) -> PatternRecord:
    """Return the record of given attentions, with a note if rows do not sum to 1."""
    sums = [attention.patterns.sum(axis=-1) for attention in attentions]
    is_whole = all(bool(np.all((abs(of - 1) < _TOLERANCE) | (of == 0) | np.isnan(of))) for of in sums)
    return PatternRecord(
        attentions={attention.name: attention for attention in attentions},
        model=GIVEN,
        computed_by=NO_MESSAGE,
        notes=() if is_whole else (NOT_ONE,),
    )


def labels_of(tokens: Sequence[Any], *, prettify: bool = True, border: int | None = None) -> tuple[str, ...]:
    """Return tokens as labels, in which "·" is a space.

    Args:
        tokens: texts, or ids.
        prettify: replace the signs of subwords, such as "Ġ".
        border: the first token of a second text.
    """
    texts = [str(token) for token in tokens]
    if prettify:
        texts = [text.removesuffix("</w>").translate(_SIGNS) for text in texts]
    shown = [repr(text) if text in _NOT_SHOWN else text for text in texts]
    return with_border(shown, border) if border else tuple(shown)


def of_steps(steps: Any, beam_indices: Any = None, *, n_keys: int | None = None) -> Any:
    """Return the patterns of generated tokens, given step by step, as [layer, head, query, key].

    Args:
        steps: for each step, for each layer [beam, head, query, key], as `generate` of transformers returns them.
        beam_indices: of the same output, [sequence, step], for its first sequence; None: without beams.
        n_keys: of cross-attention; None: self-attention.
    """
    from headlight.viewing.generated import join_steps

    rows = [0] * len(steps) if beam_indices is None else [int(row) for row in beam_indices[0] if row >= 0]
    steps = steps[: len(rows)]
    n_queries = sum(step[0].shape[2] for step in steps)
    return join_steps(steps, rows, n_keys or n_queries, n_queries if n_keys else 0)


def is_by_step(attention: Any) -> bool:
    """Return whether patterns are given step by step, and in each step layer by layer."""
    return isinstance(attention, tuple | list) and len(attention) > 0 and isinstance(attention[0], tuple | list)


def _stacked(name: str, attention: Any) -> Float[np.ndarray, "layer head query key"]:
    if isinstance(attention, tuple | list) and not attention:
        raise ArgumentError(
            "{name} has no layers: a model of the transformers library returns its patterns only after "
            "model.set_attn_implementation(“eager”)",
            name=name,
        )
    layers = [_array(layer) for layer in attention]
    if any(layer.ndim == 4 and len(layer) != 1 for layer in layers):
        raise ArgumentError("{name} has several texts; give the patterns of one", name=name)
    layers = [layer[0] if layer.ndim == 4 else layer for layer in layers]
    if any(layer.ndim != 3 or layer.shape != layers[0].shape or not layer.size for layer in layers):
        raise ArgumentError(
            "{name} has layers of shape {shape}; give [head, query, key] for each, all of one shape",
            name=name,
            shape=str([layer.shape for layer in layers][:4]),
        )
    patterns = np.stack(layers)
    lowest, highest = float(np.nanmin(patterns)), float(np.nanmax(patterns))
    if lowest < 0 or highest > _LARGEST:
        raise ArgumentError(
            "{name} has values from {lowest:.2f} to {highest:.2f}, but attention weights are in [0, 1]; give the "
            "weights after the softmax",
            name=name,
            lowest=lowest,
            highest=highest,
        )
    return patterns


def _array(values: Any) -> Float[np.ndarray, "..."]:
    values = values.detach().float().cpu().numpy() if hasattr(values, "detach") else np.asarray(values)
    return values.astype(np.float32, copy=False)


def _within(chosen: Sequence[int] | None, n: int, kind: str) -> list[int]:
    if chosen is None:
        return list(range(n))
    wrong = [i for i in chosen if not 0 <= i < n]
    if wrong or not chosen:
        raise ArgumentError(
            "there is no {kind} {i}; the last is {last}", kind=kind, i=str([*wrong, None][0]), last=n - 1
        )
    return [int(i) for i in chosen]


def _is_causal(patterns: Float[np.ndarray, "layer head query key"]) -> bool:
    """Return whether no query attends to a later key, in any head."""
    n_queries, n_keys = patterns.shape[2:]
    later = ~np.tri(n_queries, n_keys, n_keys - n_queries, dtype=bool)
    return n_keys > 1 and not np.any(patterns[:, :, later])
