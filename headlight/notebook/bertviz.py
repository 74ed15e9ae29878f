"""`head_view` and `model_view`, which take the arguments of BertViz's functions of these names.

Source of the arguments: Vig 2019, "A Multiscale Visualization of Attention in the Transformer Model" (BertViz).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headlight.notebook.arrays import ALONE, labels_of, record_of_arrays
from headlight.notebook.attention_view import AttentionView, Start
from headlight.viewing.patterns import PatternRecord
from transformer_core.errors import ArgumentError


@dataclass(frozen=True)
class Html:
    """HTML that a notebook displays; used as IPython's `HTML`, without IPython."""

    data: str

    def _repr_html_(self) -> str:
        return self.data


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
        html_action: "view" shows the view, for which it needs IPython; "return" returns its HTML, as `.data`.

    Raises:
        ArgumentError: the arguments do not fit each other.
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
    elif all(other is None for other in others):
        raise ArgumentError("there is no attention to show; give attention, or those of an encoder-decoder")
    border = sentence_b_start if own is not None else None
    named = {"tokens": of_own, "encoder_tokens": of_encoder, "decoder_tokens": of_decoder}
    return record_of_arrays(
        {ALONE: own, "encoder": encoder, "decoder": decoder, "cross": cross},
        {
            name: None if side is None else labels_of(side, prettify=prettify, border=border)
            for name, side in named.items()
        },
        {
            ALONE: ("tokens", "tokens"),
            "encoder": ("encoder_tokens", "encoder_tokens"),
            "decoder": ("decoder_tokens", "decoder_tokens"),
            "cross": ("decoder_tokens", "encoder_tokens"),
        },
        layers=layers,
        heads=heads,
    )


def _place_of(layer: int, layers: Sequence[int]) -> int:
    if layer not in layers:
        raise ArgumentError("there is no layer {layer}; there are: {layers}", layer=layer, layers=str([*layers]))
    return [*layers].index(layer)


def _shown(view: AttentionView, html_action: str) -> Any:
    if html_action not in ("view", "return"):
        raise ArgumentError("html_action is “view” or “return”, not {action}", action=html_action)
    if html_action == "return":
        return Html(view._repr_html_())
    try:
        from IPython.display import display
    except ImportError as error:
        raise ArgumentError(
            "there is no notebook: install IPython, or write a file with hl.show(attentions=..., tokens=...).save(path)"
        ) from error
    return display(view)
