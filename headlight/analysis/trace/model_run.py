"""A model run: one text through a model of any architecture, with its output and the pattern of every head."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float

from headlight.analysis.trace import traced_forward
from headlight.analysis.trace.attention_maps import AttentionMaps
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.analysis.trace.traced_forward import NOT_FINITE, EncodedInput, FixedText, TracedForward
from headlight.analysis.trace.viewed_model import ViewedModel
from transformer_core.decoding.inputs import tensor_of
from transformer_core.errors import Message, NotFiniteError, TextError
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import ONE_TEXT, WRITTEN_MASK, Given, Tokenizer
from transformer_core.text.labels import visible
from transformer_core.text.words import is_ignored, unknown_words, word_places

N_CANDIDATES = 5  # candidates for each blank
_AT_ONCE = 64  # blanks whose predictions are held in memory at once


@dataclass(frozen=True, kw_only=True)
class FillingCandidate:
    """A token that an encoder-only model may predict."""

    label: str
    probability: float  # in [0, 1]


@dataclass(frozen=True, kw_only=True)
class Blank:
    """A position where an encoder-only model predicts, and its candidates."""

    position: int  # among the tokens of the text
    candidates: tuple[FillingCandidate, ...]  # the most probable first


@dataclass(frozen=True, kw_only=True)
class Detour:
    """A position at which a typed target differs from the model's own prediction."""

    typed: str  # label of the token
    probability: float  # of it, in [0, 1]
    instead: str  # label of the most probable token


@dataclass(frozen=True, kw_only=True)
class ModelRun(FixedText):
    """One text run through a model: tokens, output, and the pattern of every head."""

    following: tuple[str, ...] = ()  # label of the token after each one of `target`; what comes next, after the last
    predicted: tuple[str, ...] = ()  # label of the token that the model finds most probable after each one of `target`
    log_probs: Float[np.ndarray, " target"]  # nats, of `following`; NaN where the logits are not finite
    blanks: tuple[Blank, ...] = ()  # in the order of the text: its masks; without a mask token, each token of the text
    unknown: tuple[str, ...]  # words that the model has no token for, each once
    ignores_white_space: bool  # the tokenizer ignores some white space of the text
    is_complete: bool  # the model ended its output on its own
    end_id: int | None = None  # the token that it ended it with
    has_mask: bool = True  # False: an encoder-only model without a mask token, whose output has a token for each token
    not_finite: str | None  # the first site where a value is NaN or infinite; None if all predictions are finite
    predicts: bool = True  # False: a checkpoint without an output layer, which has patterns but predicts nothing
    special: Mapping[str, tuple[bool, ...]]  # "source", "target": which of these tokens are no text, such as <bos>
    words: Mapping[str, tuple[int, ...]]  # "source", "target": which word each of these tokens belongs to
    attention_maps: Mapping[str, AttentionMaps]  # by name of attention

    @property
    def n_left_out(self) -> int:
        """How many tokens of the text and of a typed target were not read, for lack of room."""
        return len(self.left_out) + len(self.target_left_out)

    def sides(self, attention: str) -> dict[str, Any]:
        """Return the labels, words and special tokens of an attention's queries and keys, for `picture`."""
        kind = ATTENTIONS[attention]
        sides = (kind.queries_from, kind.keys_from)
        words, special = (tuple(map(of.__getitem__, sides)) for of in (self.words, self.special))
        return {"labels": self.labels(attention), "words": words, "special": special}

    @property
    def patterns(self) -> Mapping[str, Float[np.ndarray, "layer head query key"]]:
        """All materialized patterns, by name of attention; for short texts."""
        return {name: attention_maps.full() for name, attention_maps in self.attention_maps.items()}

    @property
    def masks(self) -> Mapping[str, Bool[np.ndarray, "layer query key"]]:
        """The materialized masks, True = may attend, by name of attention; for short texts."""
        return {name: attention_maps.masks for name, attention_maps in self.attention_maps.items()}

    @property
    def n_bytes(self) -> int:
        """Memory that the run takes, in bytes."""
        return sum(attention_maps.n_bytes for attention_maps in self.attention_maps.values())

    @property
    def mean_probability(self) -> float:
        """The geometric mean, in [0, 1], over the tokens that the model wrote or was made to write; nan without any."""
        if not self.predicts:
            return float("nan")
        if self.architecture == "encoder_decoder":
            return float(np.exp(self.log_probs.mean()))
        end = len(self.log_probs) - (not self.is_complete)
        written = self.log_probs[self.n_given - 1 : end]
        return float(np.exp(written.mean())) if len(written) else float("nan")

    @property
    def detours(self) -> tuple[Detour, ...]:
        """The positions at which a typed target differs from the model's own prediction."""
        return tuple(
            Detour(typed=typed, probability=float(np.exp(log_prob)), instead=predicted)
            for typed, predicted, log_prob in zip(self.following, self.predicted, self.log_probs, strict=True)
            if self.architecture == "encoder_decoder" and self.n_given > 1 and typed != predicted != NOT_FINITE
        )


@torch.inference_mode()
def run_text(
    model: Transformer | ViewedModel,
    tokenizer: Tokenizer,
    text: Given,
    *,
    target: str | None = None,
    max_tokens: int = 64,
    max_new_tokens: int = 24,
) -> ModelRun:
    """Generate the output, then run the model once over text and output with hooks on.

    An encoder-decoder writes greedily, or is teacher-forced on a target. A decoder continues greedily from the
    text. An encoder fills in the blanks of the text, each on its own; one without a mask token predicts at each token,
    as a compiled program does; one without an output layer predicts nothing.

    Args:
        model: in evaluation mode, on any device and in any precision; or one that another library computes.
        tokenizer: the model's.
        text: the source, the prompt, or a text with blanks: "<mask>", "[MASK]" or "____". For an encoder whose
            tokenizer `takes_pairs`, two texts may be given: ("The cat sleeps.", "It is ____.").
        target: for an encoder-decoder, what to make it write; None: what it writes on its own.
        max_tokens: at most this many tokens are read on each side, special ones and what the model wrote included; the
            model's `max_seq_len` at most.
        max_new_tokens: for a decoder, at most this many after the prompt. 0: only the text is read, and an
            encoder-decoder generates only its first token.

    Returns:
        The model run. Each row of a pattern sums to 1 over `key`. Row i of decoder and cross-attention belongs to the
        decoder's input token i, and determined the token after it.

    Raises:
        TextError: the text has no token, the model takes no target, or it does not take two texts.
        ConfigError: the model's positions have no room for an answer.
    """
    config = model.config
    max_tokens = min(max_tokens, config.max_seq_len)
    if target is not None and config.architecture != "encoder_decoder":
        raise TextError(
            "this model is {kind}: it takes one text and no target", kind=Message(config.architecture.replace("_", "-"))
        )
    if config.architecture == "encoder_only":
        return _read_blanks(model, tokenizer, text, max_tokens)
    if not isinstance(text, str):
        raise TextError(ONE_TEXT)
    if not config.unembed:
        return _read_only(model, tokenizer, text, target, max_tokens)
    if config.architecture == "encoder_decoder":
        return _read_source(model, tokenizer, text, target, max_tokens, max_new_tokens)
    return _read_prompt(model, tokenizer, text, max_tokens, max_new_tokens)


def _read_source(
    model: Transformer | ViewedModel,
    tokenizer: Tokenizer,
    text: str,
    target: str | None,
    max_tokens: int,
    max_new_tokens: int,
) -> ModelRun:
    """Read a source, and generate the target, or its first token alone, or force a given one."""
    source = EncodedInput.of(tokenizer, text, "encoder_decoder", max_tokens)
    encoded = EncodedInput(ids=[], labels=(), left_out=range(0))
    bos_id = model.config.bos_id
    assert bos_id is not None, "an encoder-decoder has it"
    if target is None:
        try:
            written = traced_forward.greedy_output(
                model, source.ids, max_tokens=max_tokens, max_new_tokens=max_new_tokens
            )
            is_broken = False
        except NotFiniteError as error:  # the text as far as it was written is shown, and what comes of it
            written, is_broken = error.written[0][1:], True
        labels = (*tokenizer.target.labels([bos_id, *written]), *([NOT_FINITE] if is_broken else []))
    else:
        encoded = EncodedInput.of(tokenizer.target, target, "encoder_decoder", max_tokens)
        written, is_broken = encoded.ids, False
        labels = (*tokenizer.target.labels([bos_id]), *encoded.labels)
    tgt = [bos_id, *(written if is_broken else written[:-1])]
    traced = TracedForward(model, tensor_of(source.ids, model), tensor_of(tgt, model), following=written)
    unknown = [*tokenizer.unknown_words(text), *tokenizer.target.unknown_words(target or "")]
    return ModelRun(
        architecture="encoder_decoder",
        output=traced_forward.output_text(model, tokenizer, source.ids, written) if target is None else target,
        source=source.labels,
        target=labels[:-1],
        n_given=1 if target is None else len(tgt),
        following=labels[1:],
        predicted=traced.predicted(tokenizer.target, [*written, -1][: len(tgt)], labels[1:]),
        log_probs=traced.log_probs,
        judged=tuple(range(len(written))),
        expected=tuple(written),
        unknown=tuple(dict.fromkeys(unknown)),
        ignores_white_space=is_ignored(tokenizer, text) or is_ignored(tokenizer.target, target or ""),
        left_out=source.left_out,
        target_left_out=encoded.left_out,
        is_complete=target is not None or (not is_broken and written[-1] in model.config.eos_ids),
        not_finite=traced.not_finite,
        end_id=written[-1] if written and written[-1] in model.config.eos_ids else None,
        **_about(source=(tokenizer, source.ids), target=(tokenizer.target, tgt)),
        attention_maps=traced.attention_maps,
    )


def _read_prompt(
    model: Transformer | ViewedModel, tokenizer: Tokenizer, text: str, max_tokens: int, max_new_tokens: int
) -> ModelRun:
    """Read a prompt with a decoder and continue it; the output is read too, except for <eos>."""
    # Of the room, for what a long prompt makes the model write.
    at_least = max(1, min(max_new_tokens, max_tokens // 4)) if max_new_tokens else 0
    prompt = EncodedInput.of(tokenizer, text, "decoder_only", max(1, max_tokens - at_least))
    n_given = len(prompt.ids)
    try:
        written = traced_forward.greedy_output(model, prompt.ids, max_tokens=max_tokens, max_new_tokens=max_new_tokens)
    except NotFiniteError as error:
        written = error.written[0][n_given:]
    tokens = [*prompt.ids, *written]
    is_complete = bool(written) and written[-1] in model.config.eos_ids
    if is_complete:
        tokens.pop()
    following = [*tokens[1:], *written[-1:]] if is_complete else tokens[1:]
    traced = TracedForward(model, tensor_of(tokens, model), following=following)
    if not is_complete:
        following = [*following, traced.best[-1]]
    labels = (*prompt.labels, *tokenizer.labels([*tokens, following[-1]])[n_given:])
    if not traced.is_number[-1]:
        labels = (*labels[:-1], NOT_FINITE)
    has_next = is_complete or len(tokens) == n_given  # the prediction after the last token is compared with a token
    judged = range(n_given - 1, len(tokens) if has_next else len(tokens) - 1)
    return ModelRun(
        architecture="decoder_only",
        output=traced_forward.output_text(model, tokenizer, prompt.ids, written),
        source=(),
        judged=tuple(judged),
        expected=tuple(following[place] for place in judged),
        target=labels[:-1],
        n_given=n_given,
        following=labels[1:],
        predicted=traced.predicted(tokenizer, following, labels[1:]),
        log_probs=traced.log_probs,
        unknown=tuple(tokenizer.unknown_words(text)),
        ignores_white_space=is_ignored(tokenizer, text),
        left_out=prompt.left_out,
        is_complete=is_complete,
        not_finite=traced.not_finite,
        end_id=following[-1] if is_complete else None,
        **_about(target=(tokenizer, tokens)),
        attention_maps=traced.attention_maps,
    )


def _read_only(
    model: Transformer | ViewedModel, tokenizer: Tokenizer, text: str, target: str | None, max_tokens: int
) -> ModelRun:
    """Read a text with a decoder, or a pair with an encoder-decoder, that has no output layer.

    Without a target, an encoder-decoder reads the source again, as classifiers of the transformers library do.
    """
    config = model.config
    source = EncodedInput.of(tokenizer, text, config.architecture, max_tokens)
    last, cutter = (
        (source, tokenizer)
        if target is None
        else (EncodedInput.of(tokenizer.target, target, config.architecture, max_tokens), tokenizer.target)
    )
    tokens, labels = last.ids, last.labels
    if config.has_encoder:
        assert config.bos_id is not None, "an encoder-decoder has it"
        tokens = [config.bos_id, *last.ids[:-1]]
        labels = (*cutter.labels(tokens[:1]), *last.labels[:-1])
    inputs = (source.ids, tokens) if config.has_encoder else (tokens,)
    traced = TracedForward(model, *(tensor_of(ids, model) for ids in inputs))
    return ModelRun(
        architecture=config.architecture,
        output=text if target is None else target,
        source=source.labels if config.has_encoder else (),
        target=tuple(labels),
        n_given=len(tokens),
        judged=(),
        expected=(),
        log_probs=np.zeros(0, dtype=np.float32),
        unknown=tuple(dict.fromkeys([*tokenizer.unknown_words(text), *tokenizer.target.unknown_words(target or "")])),
        ignores_white_space=is_ignored(tokenizer, text) or is_ignored(tokenizer.target, target or ""),
        left_out=source.left_out,
        target_left_out=range(0) if target is None else last.left_out,
        is_complete=True,
        not_finite=traced.not_finite,
        predicts=False,
        **_about(**({"source": (tokenizer, source.ids)} if config.has_encoder else {}), target=(cutter, tokens)),
        attention_maps=traced.attention_maps,
    )


def _read_blanks(model: Transformer | ViewedModel, tokenizer: Tokenizer, text: Given, max_tokens: int) -> ModelRun:
    """Read one or two texts with an encoder, and return its predictions, if it has an output layer."""
    encoded = EncodedInput.of(tokenizer, text, "encoder_only", max_tokens)
    traced = TracedForward(model, *(tensor_of(ids, model) for ids in encoded.inputs))
    blanks = list[Blank]()
    predicts, has_mask = model.config.unembed, tokenizer.mask_id is not None
    around = tokenizer.encode_for("", "encoder_only")  # such as <bos> and <eos>
    places = [place for place, i in enumerate(encoded.ids) if (i == tokenizer.mask_id if has_mask else i not in around)]
    for first in range(0, len(places) if predicts else 0, _AT_ONCE):
        positions = places[first : first + _AT_ONCE]
        top = traced.log_probs_at(positions).topk(min(N_CANDIDATES, model.config.vocab_size))
        for position, log_probs, ids in zip(positions, top.values, top.indices.tolist(), strict=True):
            candidates = [
                FillingCandidate(label=tokenizer.labels([i])[0], probability=probability)
                for i, probability in zip(ids, log_probs.exp().tolist(), strict=True)
            ]
            if not traced.is_number[position]:
                candidates = [FillingCandidate(label=NOT_FINITE, probability=math.nan)]
            blanks.append(Blank(position=position, candidates=tuple(candidates)))
    best = tokenizer.tokens(traced.best[place] for place in places) if predicts else []
    best = [token if traced.is_number[place] else NOT_FINITE for place, token in zip(places, best, strict=False)]
    texts = (text,) if isinstance(text, str) else text
    whole = " ".join(texts)
    return ModelRun(
        architecture="encoder_only",
        output=_filled_in(whole, best) if has_mask else " ".join(token.strip() or visible(token) for token in best),
        source=encoded.labels,
        target=(),
        n_given=0,
        judged=tuple(blank.position for blank in blanks),
        expected=tuple(traced.best[blank.position] for blank in blanks),
        log_probs=np.zeros(0, dtype=np.float32),
        blanks=tuple(blanks),
        unknown=unknown_words(tokenizer, text),
        ignores_white_space=is_ignored(tokenizer, text),
        left_out=encoded.left_out,
        is_complete=True,
        not_finite=traced.not_finite,
        has_mask=has_mask,
        predicts=predicts,
        **_about(source=(tokenizer, encoded.ids)) | {"inputs": encoded.inputs},
        border=encoded.border,
        attention_maps=traced.attention_maps,
    )


def _about(**sides: tuple[Tokenizer, Sequence[int]]) -> dict[str, Any]:
    return {
        "inputs": tuple(tuple(ids) for _, ids in sides.values()),
        "special": {side: tuple(tokenizer.is_special(ids)) for side, (tokenizer, ids) in sides.items()},
        "words": {side: word_places(tokenizer, ids) for side, (tokenizer, ids) in sides.items()},
    }


def _filled_in(text: str, words: Sequence[str]) -> str:
    """Return the text with its first blanks replaced; one that begins the text gets a capital."""
    filled, rest = "", text
    for word in words:
        before, rest = WRITTEN_MASK.split(rest, maxsplit=1)
        filled += before.removesuffix(" ") if word.startswith(" ") else before
        filled += word if filled else word.lstrip()[:1].upper() + word.lstrip()[1:]
    return filled + rest
