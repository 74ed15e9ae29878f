"""`show`: the attention of a model on a text, or given as arrays."""

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np
from torch import nn

from headlight.analysis.trace.model_run import ModelRun, run_text
from headlight.figures.labels import shorten
from headlight.notebook.arrays import ALONE, labels_of, record_of_arrays
from headlight.notebook.attention_view import AttentionView, Figure, Start
from headlight.notebook.packing import check_size
from headlight.viewing.generated import read_generated
from headlight.viewing.labels import tokenizer_of as ours_of
from headlight.viewing.media import open_media
from headlight.viewing.media_model import MediaModel, run_media
from headlight.viewing.model import TransformersModel
from headlight.viewing.patterns import AttentionPatterns, DecodingSteps, PatternRecord
from headlight.viewing.reading import COMPUTED_BY, read_transformers
from transformer_core.checkpoints.load import tokenizer_of
from transformer_core.errors import NO_MESSAGE, ArgumentError, Message
from transformer_core.model.transformer import Transformer

_TITLE = 60  # characters of a text in a title


def show(
    model: Any = None,
    tokenizer: Any = None,
    text: Any = None,
    *,
    target: str | None = None,
    attentions: Any = None,
    encoder_attentions: Any = None,
    cross_attentions: Any = None,
    tokens: Sequence[Any] | None = None,
    encoder_tokens: Sequence[Any] | None = None,
    beam_indices: Any = None,
    attention: str = "",
    layer: int = 0,
    head: int | Sequence[int] = 0,
    figure: Figure = "cells",
    measure: str = "",
    order: Literal["", "ascending", "descending"] = "",
    max_tokens: int = 256,
    max_new_tokens: int = 0,
    exact: bool = False,
    title: str = "",
) -> AttentionView:
    """Return an interactive view of all heads, which a notebook shows and `save` writes to a file.

    >>> model, tokenizer = tc.load("checkpoints/en-fr")
    >>> hl.show(model, "The cats sleep.")  # the tokenizer is that of the checkpoint
    >>> hl.show(hf_model, hf_tokenizer, "The cats sleep.")  # a model of the transformers library
    >>> hl.show(bart, hf_tokenizer, "The cats sleep.", target="Les chats dorment.")  # an encoder-decoder
    >>> hl.show(generated, hf_tokenizer, inputs)  # what its `generate` returned, with beams, too
    >>> hl.show(attentions=output.attentions, tokens=tokens)  # arrays of any library

    Args:
        model: one of ours, or of the transformers library, or the output of its `generate`.
        tokenizer: of the model; may be left out for a model that `tc.load` returned.
        text: a text, or a pair of texts (first, second); for a model of the transformers library, also a tensor of
            token ids, or its inputs by name. For a model of `load_for_viewing` that reads images or sounds, one of
            `open_media` or `example_media`, or the path of a file.
        target: given by name: what an encoder-decoder is made to write; None: its own output.
        attentions: patterns of self-attention, [head, query, key] for each layer; those of an encoder-decoder's
            decoder. Or, for each step of `generate`, such a list.
        encoder_attentions: of an encoder-decoder's encoder.
        cross_attentions: of an encoder-decoder.
        tokens: a label for each query and key of `attentions`.
        encoder_tokens: labels of an encoder-decoder's source.
        beam_indices: of `generate`, where steps were given that have several beams.
        attention: the attention that is shown first, such as "cross"; "": the first.
        layer: shown first.
        head: shown first; several are combined.
        figure: how the chosen head is drawn first, as "cells" or as "lines".
        measure: below each head: "entropy", "distance", "diagonality", "first", "special", "previous" or "induction".
        order: of the heads, by the measure; "": by layer.
        max_tokens: read on each side at most.
        max_new_tokens: for our decoders, tokens generated after the text; an encoder-decoder's output ends on its own.
        exact: round weights to 1e-5; otherwise as finely as fits into about 1.5 MB.
        title: heading; "": the name of the model.

    Raises:
        ArgumentError: the arguments do not fit each other, or the patterns are too large.
        TextError: the model cannot read the text.
    """
    if model is not None and attentions is not None:
        raise ArgumentError("give a model and a text, or arrays, not both")
    if model is None:
        record = _of_arrays(attentions, encoder_attentions, cross_attentions, tokens, encoder_tokens, beam_indices)
    else:
        record = _of_model(model, tokenizer, text, target, max_tokens, max_new_tokens)
    heads = np.atleast_1d(np.asarray(head)).tolist()
    start = Start(attention=attention, layer=layer, heads=heads, figure=figure, measure=measure, order=order)
    return AttentionView(record, start=start, exact=exact, title=title)


def _of_model(
    model: Any, tokenizer: Any, text: Any, target: str | None, max_tokens: int, max_new_tokens: int
) -> PatternRecord:
    if text is None and isinstance(tokenizer, str | tuple | Mapping):
        tokenizer, text = None, tokenizer  # show(model, text)
    if tokenizer is None and isinstance(model, Transformer):
        tokenizer = tokenizer_of(model)
    is_of_headlight = isinstance(model, Transformer | TransformersModel)
    if is_of_headlight and tokenizer is not None:
        tokenizer = ours_of(tokenizer)
    if isinstance(model, nn.Module) and (text is None or (is_of_headlight and tokenizer is None)):
        raise ArgumentError("show needs a model, its tokenizer and a text: hl.show(model, tokenizer, text)")
    if is_of_headlight:
        is_pair = model.config.has_encoder and model.config.has_decoder
        n_new = 64 if is_pair else max_new_tokens
        run = run_text(model, tokenizer, text, target=target, max_tokens=max_tokens, max_new_tokens=n_new)
        is_ours = isinstance(model, Transformer)
        by = NO_MESSAGE if is_ours else Message(COMPUTED_BY, model=type(model.theirs).__name__)
        return record_of(run, text if isinstance(text, str) else " ".join(text), by)
    if isinstance(model, MediaModel):
        media = open_media(text, model.medium) if isinstance(text, str) else text
        title = text if isinstance(text, str) else Path(model.theirs.name_or_path).name
        run = run_media(model, tokenizer, media, target=target)
        return record_of(run, title, Message(COMPUTED_BY, model=type(model.theirs).__name__))
    if isinstance(model, nn.Module):
        return read_transformers(model, tokenizer, text, target=target)
    if isinstance(model, Mapping) and "sequences" in model:
        return read_generated(model, tokenizer, text)
    raise ArgumentError(
        "show takes a model of ours or of the transformers library, or the output of its generate; got {kind}; give "
        "arrays by name: hl.show(attentions=..., tokens=...)",
        kind=type(model).__name__,
    )


def record_of(run: ModelRun, text: str, computed_by: Message = NO_MESSAGE) -> PatternRecord:
    """Return the patterns of a run of a model on a text, which is also their title.

    Args:
        run: of the model.
        text: that it read.
        computed_by: a sentence, where it was another library.

    Raises:
        ArgumentError: they are too large for a view.
    """
    check_size(sum(prod(maps.shape) for maps in run.attention_maps.values()))
    attentions = {}
    for name, maps in run.attention_maps.items():
        sides = run.sides(name)
        queries, keys = sides["labels"]
        attentions[name] = AttentionPatterns(
            name=name,
            kind=name,  # type: ignore[arg-type]
            patterns=maps.full(),
            queries=queries,
            keys=keys,
            layers=range(maps.shape[0]),
            mask=maps.masks,
            special=sides["special"][1],
        )
    steps = None
    if run.architecture != "encoder_only" and np.isfinite(run.log_probs).all():
        first = run.n_given - 1
        probabilities = np.exp(run.log_probs[first:]).tolist()
        steps = DecodingSteps(first_query=first, tokens=run.following[first:], probabilities=probabilities)
    return PatternRecord(attentions=attentions, model=shorten(text, _TITLE), computed_by=computed_by, steps=steps)


def _of_arrays(
    attentions: Any,
    encoder_attentions: Any,
    cross_attentions: Any,
    tokens: Sequence[Any] | None,
    encoder_tokens: Sequence[Any] | None,
    beam_indices: Any,
) -> PatternRecord:
    if attentions is None and encoder_attentions is None and cross_attentions is None:
        raise ArgumentError("show needs a model and a text, or arrays: hl.show(attentions=..., tokens=...)")
    is_alone = encoder_attentions is None and cross_attentions is None
    own = ALONE if is_alone else "decoder"
    named = {"tokens": tokens, "encoder_tokens": encoder_tokens}
    return record_of_arrays(
        {"encoder": encoder_attentions, own: attentions, "cross": cross_attentions},
        {name: None if side is None else labels_of(side) for name, side in named.items()},
        {
            "encoder": ("encoder_tokens", "encoder_tokens"),
            own: ("tokens", "tokens"),
            "cross": ("tokens", "encoder_tokens"),
        },
        beam_indices=beam_indices,
    )
