"""`show`: the attention of a model on a text, and `head_view` and `model_view`, which take BertViz's arguments."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Literal

import numpy as np
from torch import nn

from headlight.analysis.trace.model_run import ModelRun, run_text
from headlight.figures.labels import shorten
from headlight.notebook.arrays import ALONE, given_patterns, is_by_step, labels_of, of_steps
from headlight.notebook.attention_view import AttentionView, Figure, Start
from headlight.notebook.packing import check_size
from headlight.viewing.generated import read_generated
from headlight.viewing.patterns import AttentionPatterns, DecodingSteps, Kind, PatternRecord
from headlight.viewing.reading import read_transformers
from transformer_core.checkpoints.load import tokenizer_of
from transformer_core.errors import NO_MESSAGE, ArgumentError
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Tokenizer

GIVEN = "Given patterns"
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
    >>> hl.show(generated, hf_tokenizer, inputs)  # what its `generate` returned, with beams, too
    >>> hl.show(attentions=output.attentions, tokens=tokens)  # arrays of any library

    Args:
        model: one of ours, or of the transformers library, or the output of its `generate`.
        tokenizer: of the model; may be left out for a model that `tc.load` returned.
        text: a text, a pair of texts, or the inputs of a model of the transformers library.
        target: what an encoder-decoder is made to write; None: its own output.
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
    heads = [head] if isinstance(head, int) else [*head]
    start = Start(attention=attention, layer=layer, heads=heads, figure=figure, measure=measure, order=order)
    return AttentionView(record, start=start, exact=exact, title=title)


def head_view(
    attention: Any = None,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    html_action: Literal["view", "return"] = "view",
) -> Any:
    """Show the heads of a layer as lines, with the arguments of BertViz's `head_view`.

    Args:
        attention: patterns of self-attention, for each layer [1, head, query, key]; or those of the other arguments.
        tokens: of `attention`.
        sentence_b_start: the first token of a second text.
        prettify_tokens: replace the signs of subwords, such as "Ġ".
        layer: shown first; by default the first.
        heads: shown first; by default all, eight at most.
        encoder_attention: of an encoder-decoder.
        decoder_attention: of an encoder-decoder.
        cross_attention: of an encoder-decoder.
        encoder_tokens: of an encoder-decoder.
        decoder_tokens: of an encoder-decoder.
        include_layers: the layers to show; None: all.
        html_action: "view" shows the view; "return" returns it as IPython's HTML.

    Raises:
        ArgumentError: the arguments do not fit each other.

    Source of the arguments: Vig 2019, "A Multiscale Visualization of Attention in the Transformer Model" (BertViz).
    """
    record = _as_bertviz(
        (attention, encoder_attention, decoder_attention, cross_attention),
        (tokens, encoder_tokens, decoder_tokens),
        sentence_b_start,
        prettify_tokens,
        include_layers,
        None,
    )
    first = next(iter(record.attentions.values()))
    place = 0 if layer is None else _place_of(layer, first.layers)
    chosen = [*(heads if heads is not None else range(first.patterns.shape[1]))]
    return _shown(AttentionView(record, start=Start(layer=place, heads=chosen, figure="lines")), html_action)


def model_view(
    attention: Any = None,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    display_mode: str = "dark",
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    html_action: Literal["view", "return"] = "view",
) -> Any:
    """Show all heads, with the arguments of BertViz's `model_view`; see `head_view`.

    Args:
        attention: as for `head_view`.
        tokens: as for `head_view`.
        sentence_b_start: as for `head_view`.
        prettify_tokens: as for `head_view`.
        display_mode: ignored: the view is light or dark as the notebook.
        encoder_attention: as for `head_view`.
        decoder_attention: as for `head_view`.
        cross_attention: as for `head_view`.
        encoder_tokens: as for `head_view`.
        decoder_tokens: as for `head_view`.
        include_layers: the layers to show; None: all.
        include_heads: the heads to show; None: all.
        html_action: as for `head_view`.

    Raises:
        ArgumentError: the arguments do not fit each other.
    """
    record = _as_bertviz(
        (attention, encoder_attention, decoder_attention, cross_attention),
        (tokens, encoder_tokens, decoder_tokens),
        sentence_b_start,
        prettify_tokens,
        include_layers,
        include_heads,
    )
    return _shown(AttentionView(record), html_action)


def _of_model(
    model: Any, tokenizer: Any, text: Any, target: str | None, max_tokens: int, max_new_tokens: int
) -> PatternRecord:
    if text is None and not isinstance(tokenizer, Tokenizer):
        tokenizer, text = None, tokenizer  # show(model, text)
    if isinstance(model, Transformer):
        tokenizer = tokenizer or tokenizer_of(model)
        if tokenizer is None or text is None:
            raise ArgumentError("show needs a model, its tokenizer and a text: hl.show(model, tokenizer, text)")
        is_pair = model.config.has_encoder and model.config.has_decoder
        n_new = 64 if is_pair else max_new_tokens
        run = run_text(model, tokenizer, text, target=target, max_tokens=max_tokens, max_new_tokens=n_new)
        return record_of(run, text if isinstance(text, str) else " ".join(text))
    if isinstance(model, nn.Module):
        return read_transformers(model, tokenizer, text, target=target)
    if isinstance(model, Mapping) and "sequences" in model:
        return read_generated(model, tokenizer, text)
    raise ArgumentError(
        "show takes a model of ours or of the transformers library, or the output of its generate; got {kind}; give "
        "arrays by name: hl.show(attentions=..., tokens=...)",
        kind=type(model).__name__,
    )


def record_of(run: ModelRun, text: str) -> PatternRecord:
    """Return the patterns of one of our models on a text, which is also their title.

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
    return PatternRecord(attentions=attentions, model=shorten(text, _TITLE), computed_by=NO_MESSAGE, steps=steps)


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
    records = []
    sides = {
        "encoder": (encoder_tokens, encoder_tokens),
        "decoder": (tokens, tokens),
        "cross": (tokens, encoder_tokens),
    }
    given = {"encoder": encoder_attentions, "decoder": attentions, "cross": cross_attentions}
    is_alone = encoder_attentions is None and cross_attentions is None
    for name, arrays in given.items():
        if arrays is None:
            continue
        if is_by_step(arrays):
            arrays = of_steps(arrays, beam_indices, n_keys=arrays[0][0].shape[3] if name == "cross" else None)
        labels = [None if side is None else labels_of(side) for side in sides[name]]
        if labels[0] is None or labels[1] is None:
            missing = "encoder_tokens" if encoder_tokens is None and name != "decoder" else "tokens"
            raise ArgumentError(
                "the attention {name} needs {missing}, a label for each token", name=name, missing=missing
            )
        records.append(given_patterns(ALONE if is_alone else name, _kind(name), arrays, labels[0], labels[1]))
    return PatternRecord(attentions=_by_name(records), model=GIVEN, computed_by=NO_MESSAGE)


def _as_bertviz(
    attentions: tuple[Any, Any, Any, Any],
    tokens: tuple[Sequence[str] | None, Sequence[str] | None, Sequence[str] | None],
    sentence_b_start: int | None,
    prettify: bool,
    layers: Sequence[int] | None,
    heads: Sequence[int] | None,
) -> PatternRecord:
    own, encoder, decoder, cross = attentions
    of_own, of_encoder, of_decoder = tokens
    others = (encoder, decoder, cross)
    if own is not None:
        if of_own is None:
            raise ArgumentError("attention needs tokens, a label for each")
        if any(other is not None for other in (*others, of_encoder, of_decoder)):
            raise ArgumentError(
                "attention is given together with arguments of an encoder-decoder; give attention and tokens for one "
                "stack, or encoder_attention, decoder_attention, cross_attention, encoder_tokens and decoder_tokens"
            )
        given: Mapping[str, tuple[Any, Sequence[str] | None, Sequence[str] | None]] = {ALONE: (own, of_own, of_own)}
    else:
        if all(other is None for other in others):
            raise ArgumentError("there is no attention to show; give attention, or those of an encoder-decoder")
        given = {
            "encoder": (encoder, of_encoder, of_encoder),
            "decoder": (decoder, of_decoder, of_decoder),
            "cross": (cross, of_decoder, of_encoder),
        }
    records = []
    for name, (arrays, queries, keys) in given.items():
        if arrays is None:
            continue
        if queries is None or keys is None:
            missing = "encoder_tokens" if name == "encoder" or queries is not None else "decoder_tokens"
            raise ArgumentError(
                "the attention {name} needs {missing}, a label for each token", name=name, missing=missing
            )
        border = sentence_b_start if own is not None else None
        labels = [labels_of(side, prettify=prettify, border=border) for side in (queries, keys)]
        records.append(given_patterns(name, _kind(name), arrays, *labels, layers=layers, heads=heads))
    return PatternRecord(attentions=_by_name(records), model=GIVEN, computed_by=NO_MESSAGE)


def _kind(name: str) -> Kind:
    return "cross" if name == "cross" else "encoder"


def _by_name(records: Sequence[AttentionPatterns]) -> dict[str, AttentionPatterns]:
    return {record.name: record for record in records}


def _place_of(layer: int, layers: Sequence[int]) -> int:
    if layer not in layers:
        raise ArgumentError("there is no layer {layer}; there are: {layers}", layer=layer, layers=str([*layers]))
    return [*layers].index(layer)


def _shown(view: AttentionView, html_action: str) -> Any:
    if html_action not in ("view", "return"):
        raise ArgumentError("html_action is “view” or “return”, not {action}", action=html_action)
    try:
        from IPython.display import HTML, display
    except ImportError as error:
        raise ArgumentError(
            "there is no notebook: install IPython, or write a file with hl.show(attentions=..., tokens=...).save(path)"
        ) from error
    if html_action == "return":
        return HTML(view._repr_html_())
    return display(view)
