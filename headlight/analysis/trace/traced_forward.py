"""A text truncated to the model's maximum length, a forward pass that keeps its patterns, and greedy outputs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headlight.analysis.trace.attention_maps import AttentionMaps
from headlight.analysis.trace.attentions import ATTENTIONS, Attention, attentions_of
from headlight.analysis.trace.viewed_model import ViewedModel
from transformer_core.config import Architecture
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.decoding.inputs import final_states, tensor_of
from transformer_core.errors import TextError
from transformer_core.instrument.capture import LazyActivations, capture
from transformer_core.instrument.finite import first_not_finite
from transformer_core.model.attention import MultiHeadAttention
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import NO_TOKENS, Given, Tokenizer
from transformer_core.text.labels import with_border

NOT_FINITE = "⟨NaN⟩"  # in place of a token that would have to be chosen from logits that are not finite


@dataclass(frozen=True, kw_only=True)
class EncodedInput:
    """A user's input as tokens, truncated to the model's maximum length."""

    ids: list[int]
    labels: tuple[str, ...]  # the label of the second text's first token begins with `BORDER`
    left_out: range
    segments: list[int] | None = None  # of each token, where there are two texts
    border: int | None = None  # position of the second text's first token; None where none of it is read

    @property
    def inputs(self) -> tuple[tuple[int, ...], ...]:
        """The tokens as `final_states` takes them, of two texts with their segments."""
        return (tuple(self.ids),) if self.segments is None else (tuple(self.ids), tuple(self.segments))

    @classmethod
    def of(cls, tokenizer: Tokenizer, text: Given, architecture: Architecture, max_tokens: int) -> "EncodedInput":
        """Return the tokens of a text, or of a pair.

        If there are too many, the last ones are dropped, except the special tokens after them.

        Raises:
            TextError: the tokenizer has no tokens for a text that is not empty, such as a space.
        """
        ids, labels = tokenizer.encode_for(text, architecture), tokenizer.labels_for(text, architecture)
        template = tokenizer.encode_for("", architecture)
        if text and ids == template:
            raise TextError(NO_TOKENS)
        n_in_front = next((i for i, (a, b) in enumerate(zip(template, ids, strict=False)) if a != b), len(template))
        end = len(ids) - (len(template) - n_in_front)
        left_out = range(max(n_in_front, end - max(0, len(ids) - max_tokens)), end)
        del ids[left_out.start : left_out.stop], labels[left_out.start : left_out.stop]
        if isinstance(text, str) or not text[1]:
            return cls(ids=ids, labels=tuple(labels), left_out=left_out)
        segments, border = tokenizer.segments_for(text)
        del segments[left_out.start : left_out.stop]
        if border is not None and border >= left_out.start:  # nothing of the second text is read
            border = None
        shown = with_border(labels, border)
        return cls(ids=ids, labels=shown, left_out=left_out, segments=segments, border=border)


@dataclass(frozen=True, kw_only=True)
class FixedText:
    """A tokenized text with a model's output or a given one, on which other models are teacher-forced."""

    architecture: Architecture
    inputs: tuple[tuple[int, ...], ...]  # as `final_states` takes them: tokens of the text, and of the decoder
    source: tuple[str, ...]  # labels of the encoder's tokens, unknown words as typed after "<unk> "; () without encoder
    target: tuple[str, ...]  # labels of the decoder's input; () without decoder
    border: int | None = None  # in `source`, the first token of the second text; None where there is one text
    n_given: int  # tokens at the beginning of `target` that the model did not write: <bos>, a prompt, a typed target
    output: str  # what the model wrote, or was made to write; encoder-only: the text with its blanks filled in
    judged: tuple[int, ...]  # positions of the last input at which a token of the output is expected
    expected: tuple[int, ...]  # the token at each of them
    left_out: range  # places of the tokens of the text that were not read, for lack of room
    target_left_out: range = range(0)  # the same of a typed target

    def labels(self, attention: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the labels of the queries and of the keys of an attention."""
        kind = ATTENTIONS[attention]
        return getattr(self, kind.queries_from), getattr(self, kind.keys_from)


class TracedForward:
    """One forward pass on a single text, with the patterns that were captured in it.

    Attributes:
        attention_maps: what every head looked at, by name of attention.
        best: the most probable token at each position; none of a model without a last layer.
        log_probs: nats, of the token that follows each position; empty where none was given.
        is_number: whether the logits of each position, or its final states, are finite.
        not_finite: the first site where a value is NaN or infinite; None if all predictions are finite.
    """

    def __init__(
        self, model: Transformer | ViewedModel, *tokens: Tensor, following: Sequence[int] | None = None
    ) -> None:
        """Run the model.

        Args:
            model: in evaluation mode.
            tokens: [1, pos] each, as `final_states` takes them.
            following: the token after each position; without the last one, it is the most probable. None: nothing
                follows, as for an encoder.
        """
        self._model = model
        self._final, self.attention_maps = (  # logits, of a model that is only viewed; otherwise final states
            model.trace(tokens) if isinstance(model, ViewedModel) else _captured(model, tokens)
        )
        self.best, self.log_probs, self.is_number = self._judged(following)
        self.not_finite = None if all(self.is_number) else self._first_not_finite(tokens)

    @property
    def patterns(self) -> dict[str, np.ndarray]:
        """All patterns [layer, head, query, key], by name of attention."""
        return {name: attention_maps.full() for name, attention_maps in self.attention_maps.items()}

    @property
    def masks(self) -> dict[str, np.ndarray]:
        """The masks [layer, query, key], True = may attend, by name of attention."""
        return {name: attention_maps.masks for name, attention_maps in self.attention_maps.items()}

    @torch.inference_mode()
    def log_probs_at(self, positions: Sequence[int]) -> Float[Tensor, "position vocab"]:
        """Return the log-probabilities, in nats, of all tokens at some positions."""
        logits = self._model.logits_of(self._final[:, list(positions)])[0]
        return logits.float().log_softmax(dim=-1)

    def predicted(self, tokenizer: Tokenizer, following: Sequence[int], labels: Sequence[str]) -> tuple[str, ...]:
        """Return the label of the most probable token after each position; in context where it is correct."""
        return tuple(
            NOT_FINITE if not is_number else label if best == actual else tokenizer.labels([best])[0]
            for best, actual, label, is_number in zip(self.best, following, labels, self.is_number, strict=True)
        )

    def _first_not_finite(self, tokens: Sequence[Tensor]) -> str | None:
        model = self._model
        if isinstance(model, ViewedModel):
            return "logits"
        n_scores = max(of.shape[1] for of in tokens) ** 2
        return first_not_finite(model, lambda: self._said(final_states(model, tokens)), n_scores=n_scores)

    def _said(self, final: Tensor) -> Tensor:
        """Return the logits of final states, or the states themselves if the model has no output layer."""
        return self._model.logits_of(final) if self._model.config.unembed else final

    def _judged(self, following: Sequence[int] | None) -> tuple[list[int], Float[np.ndarray, " pos"], list[bool]]:
        """Return, by position, the best token, the log-probability of the following one, and whether logits are finite.

        Only some of the positions are in memory at a time.
        """
        config = self._model.config
        suppressed = config.suppressed_token_id
        if not config.unembed:
            return [], np.zeros(0, dtype=np.float32), self._final[0].isfinite().all(dim=-1).tolist()
        n_at_once = max(1, _LOGITS_AT_ONCE // config.vocab_size)
        best: list[int] = []
        is_number: list[bool] = []
        log_probs: list[Tensor] = []
        for first in range(0, self._final.shape[1], n_at_once):
            logits = self._model.logits_of(self._final[:, first : first + n_at_once])[0].float()  # [pos, vocab]
            likely = logits if suppressed is None else logits.clone()
            if suppressed is not None:
                likely[:, suppressed] = -torch.inf  # nothing to write
            highest = likely.max(dim=-1)  # of NaN and a number, NaN
            best += highest.indices.tolist()
            is_number += highest.values.isfinite().tolist()
            if following is not None:
                next_tokens = [*following[first : first + len(logits)], best[-1]][: len(logits)]
                chosen = torch.tensor(next_tokens, device=logits.device)[:, None]
                log_probs.append(logits.log_softmax(dim=-1).gather(-1, chosen)[:, 0])
        return best, torch.cat(log_probs).cpu().numpy() if log_probs else np.zeros(0, dtype=np.float32), is_number


_LOGITS_AT_ONCE = 16 << 20  # numbers: 64 MiB in single precision


def _captured(model: Transformer, tokens: Sequence[Tensor]) -> tuple[Tensor, dict[str, AttentionMaps]]:
    """Return the final states [1, pos, d_model], and the patterns by name of attention."""
    with capture(model, "*.hook_pattern", "*.hook_v", lazy=True) as activations:
        final = final_states(model, tokens)
    attentions = attentions_of(model.config)
    return final, {name: _attention_maps(model, attention, activations) for name, attention in attentions.items()}


def _attention_maps(model: Transformer, attention: Attention, activations: LazyActivations) -> AttentionMaps:
    layers = range(attention.n_layers(model.config))
    modules = [model.get_submodule(attention.module.format(layer=layer)) for layer in layers]
    return AttentionMaps(
        [activations.patterns[attention.site(layer)] for layer in layers],
        [cast(Tensor, activations[attention.site(layer, "hook_v")]) for layer in layers],
        cast(list[MultiHeadAttention], modules),
    )


@torch.inference_mode()
def captured(model: Transformer, inputs: Iterable[Sequence[int]], *sites: str) -> Mapping[str, Tensor]:
    """Return the values at some hook points [1, ...] for a text; logits are not computed.

    Args:
        model: in evaluation mode.
        inputs: as for `final_states`.
        sites: within the stacks.
    """
    with capture(model, *sites) as activations:
        final_states(model, inputs)
    return activations


LEAST_ROOM = 64  # tokens of a target, <bos> included, that an encoder-decoder may write; for long sources twice theirs


@torch.inference_mode()
def greedy_output(
    model: Transformer | ViewedModel,
    given: Sequence[int],
    *,
    max_tokens: int,
    max_new_tokens: int,
    begun: Sequence[int] = (),
) -> list[int]:
    """Return the tokens that a model generates greedily, starting with `begun`, and including a final <eos>.

    Args:
        model: in evaluation mode, with a decoder.
        given: tokens of the source, or of the prompt.
        max_tokens: as in `run_text`.
        max_new_tokens: as in `run_text`.
        begun: the first tokens of the output; they are read in one forward pass.

    Raises:
        TextError: no token is given.
        ConfigError: the model's positions have no room for an answer.
    """
    config = model.config
    max_tokens = min(max_tokens, config.max_seq_len)
    if config.has_encoder:
        room = min(max_tokens, max(LEAST_ROOM, 2 * len(given))) - 1 if max_new_tokens else 1
    elif max_new_tokens:
        room = max(1, min(max_new_tokens, max_tokens - len(given)))
    else:
        return []
    if begun and (len(begun) >= room or begun[-1] in config.eos_ids):
        return [*begun]
    if isinstance(model, ViewedModel):
        return model.greedy(given, n_new=room - len(begun), begun=begun)
    written = greedy_decode(
        model, tensor_of(given, model), max_new_tokens=room - len(begun), begun=tensor_of(begun, model)
    )
    tokens: list[int] = written.tokens[0, 1 if config.has_encoder else len(given) :].tolist()
    return tokens


def output_text(
    model: Transformer | ViewedModel, tokenizer: Tokenizer, given: Sequence[int], written: Sequence[int]
) -> str:
    """Return a model's output as text: the target of an encoder-decoder, or the continuation of a decoder.

    Args:
        model: that wrote.
        tokenizer: the model's own.
        given: tokens of the source, or of the prompt.
        written: tokens, as `greedy_output` gives them.
    """
    if model.config.has_encoder:
        return tokenizer.target.decode(written)
    is_complete = bool(written) and written[-1] in model.config.eos_ids
    return tokenizer.continuation([*given, *(written[:-1] if is_complete else written)], len(given))
