"""Patterns that are given as arrays: those of a forward pass of any library, layer by layer."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from headlight.viewing.patterns import AttentionPatterns, Kind, PatternRecord, as_array, is_causal
from transformer_core.errors import NO_MESSAGE, ArgumentError, Message
from transformer_core.text.labels import Token, byte_level_text, is_byte_level, labels, with_border

GIVEN = "Attention patterns"
NOT_ONE = Message(
    "Some rows do not sum to 1, as with dropout in training mode; call model.eval() first. Weights above 1 are shown "
    "as 1."
)
_NO_PATTERNS = Message(
    "{name} has no patterns: a model of the transformers library returns them with output_attentions=True, if it was "
    "loaded with attn_implementation=“eager” or after model.set_attn_implementation(“eager”)"
)
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
    title = _title(name)
    patterns = _stacked(title, attention)
    chosen_layers = _within(layers, len(patterns), "layer")
    chosen_heads = _within(heads, patterns.shape[1], "head")
    patterns = patterns[chosen_layers][:, chosen_heads]
    for side, side_labels, n in (("queries", queries, patterns.shape[2]), ("keys", keys, patterns.shape[3])):
        if len(side_labels) != n:
            raise ArgumentError(
                "{name} has {n} {side}, but there are {n_labels} tokens; give one for each",
                name=title,
                n=n,
                side=side,
                n_labels=len(side_labels),
            )
    if kind != "cross":
        kind = "decoder" if patterns.shape[3] > 1 and is_causal(patterns) else "encoder"
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


def record_of_arrays(
    given: Mapping[str, Any],
    labels: Mapping[str, Sequence[str] | None],
    sides: Mapping[str, tuple[str, str]],
    *,
    beam_indices: Any = None,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
) -> PatternRecord:
    """Return the record of given attentions, with a note if rows do not sum to 1.

    Args:
        given: patterns by name of attention, as for `given_patterns` or `of_steps`; None: not given.
        labels: by the name of their argument.
        sides: for each attention, the arguments with the labels of its queries and of its keys.
        beam_indices: as for `of_steps`.
        layers: as for `given_patterns`.
        heads: as for `given_patterns`.

    Raises:
        ArgumentError: labels are missing, or as from `given_patterns`.
    """
    attentions = []
    for name, patterns in given.items():
        if patterns is None:
            continue
        queries, keys = (labels[argument] for argument in sides[name])
        if queries is None or keys is None:
            missing = next(argument for argument in reversed(sides[name]) if labels[argument] is None)
            raise ArgumentError(
                "the attention {name} needs {missing}, a label for each token", name=name or "decoder", missing=missing
            )
        layered = of_steps(name, patterns, beam_indices) if is_by_step(patterns) else patterns
        kind: Kind = "cross" if name == "cross" else "encoder"  # that of self-attention is corrected by its zeros
        attentions.append(given_patterns(name, kind, layered, queries, keys, layers=layers, heads=heads))
    return _with_note(attentions)


def _with_note(attentions: Sequence[AttentionPatterns]) -> PatternRecord:
    sums = [attention.patterns.sum(axis=-1) for attention in attentions]
    is_whole = all(bool(np.all((abs(of - 1) < _TOLERANCE) | (of == 0) | np.isnan(of))) for of in sums)
    return PatternRecord(
        attentions={attention.name: attention for attention in attentions},
        model=GIVEN,
        computed_by=NO_MESSAGE,
        notes=() if is_whole else (NOT_ONE,),
    )


def labels_of(tokens: Sequence[Any], *, prettify: bool = True, border: int | None = None) -> tuple[str, ...]:
    """Return tokens as labels, in which "·" is a space; byte-level ones as the characters of their text.

    Args:
        tokens: texts, or ids.
        prettify: replace the signs of subwords, such as "Ġ".
        border: the first token of a second text.
    """
    texts = [str(token) for token in tokens]
    if prettify and _are_parts_of_a_text(texts):
        return with_border(labels([Token(text=byte_level_text(text)) for text in texts]), border)
    if prettify:
        texts = [text.removesuffix("</w>").translate(_SIGNS) for text in texts]
    shown = [repr(text) if text in _NOT_SHOWN else text for text in texts]
    return with_border(shown, border) if border else tuple(shown)


def _are_parts_of_a_text(tokens: Sequence[str]) -> bool:
    """Return whether tokens are byte-level: their characters are the bytes of a text, not all of them ASCII."""
    if not all(map(is_byte_level, tokens)) or "".join(tokens).isascii():
        return False
    try:
        b"".join(map(byte_level_text, tokens)).decode()
    except UnicodeDecodeError:
        return False
    return True


def of_steps(name: str, steps: Any, beam_indices: Any = None) -> Any:
    """Return the patterns of generated tokens, given step by step, as [layer, head, query, key].

    Args:
        name: of the attention; "cross": each step has all keys.
        steps: for each step, for each layer [beam, head, query, key], as `generate` of transformers returns them.
        beam_indices: of the same output, [sequence, step], for its first sequence; None: without beams.

    Raises:
        ArgumentError: there are no layers.
    """
    from headlight.viewing.generated import join_steps

    if not steps[0]:
        raise ArgumentError(Message(_NO_PATTERNS, name=_title(name)))
    rows = [0] * len(steps) if beam_indices is None else [int(row) for row in beam_indices[0] if row >= 0]
    steps = steps[: len(rows)]
    n_queries = sum(step[0].shape[2] for step in steps)
    if name == "cross":
        return join_steps(steps, rows, steps[0][0].shape[3], n_queries)
    return join_steps(steps, rows, n_queries)


def is_by_step(attention: Any) -> bool:
    """Return whether patterns are given step by step, and in each step layer by layer."""
    first = attention[0] if isinstance(attention, tuple | list) and attention else None
    return isinstance(first, tuple | list) and all(getattr(layer, "ndim", 0) == 4 for layer in first)


def _title(name: str) -> str:
    """Return the name of the argument with the patterns of an attention."""
    return f"{name}_attention" if name else "attention"


def _stacked(name: str, attention: Any) -> Float[np.ndarray, "layer head query key"]:
    if isinstance(attention, tuple | list) and all(layer is None for layer in attention):
        raise ArgumentError(Message(_NO_PATTERNS, name=name))
    try:
        layers = [as_array(layer) for layer in attention]
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            "{name} is not made of numbers ({error}); give [head, query, key] for each layer", name=name, error=error
        ) from error
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
    lowest, highest = (float(end.reduce(patterns, axis=None)) for end in (np.fmin, np.fmax))  # without NaN
    if lowest < 0 or highest > _LARGEST:
        raise ArgumentError(
            "{name} has values from {lowest:.2f} to {highest:.2f}, but attention weights are in [0, 1]; give the "
            "weights after the softmax",
            name=name,
            lowest=lowest,
            highest=highest,
        )
    return patterns


def _within(chosen: Sequence[int] | None, n: int, kind: str) -> list[int]:
    if chosen is None:
        return list(range(n))
    numbers = [int(i) for i in chosen]
    if not numbers:
        raise ArgumentError("no {kind} is chosen; give numbers from 0 to {last}", kind=kind, last=n - 1)
    if wrong := [i for i in numbers if not 0 <= i < n]:
        raise ArgumentError("there is no {kind} {i}; the last is {last}", kind=kind, i=wrong[0], last=n - 1)
    return numbers
