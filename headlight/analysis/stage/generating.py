"""Generates the text that the stage shows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from headlight.analysis.stage.panels import (
    LEAST_NEW_TOKENS,
    MOST_TOKENS,
    MOST_WITH_BLANKS,
    USUAL_TOKENS,
    StageText,
)
from headlight.analysis.trace.traced_forward import EncodedInput
from transformer_core.decoding.filling import NOTHING, BlankPrediction, FillingTree
from transformer_core.decoding.inputs import tensor_of
from transformer_core.decoding.sampling import draw, next_log_probs
from transformer_core.decoding.session import DecodingSession
from transformer_core.decoding.settings import GREEDY, Sampling
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Given, Tokenizer
from transformer_core.text.words import is_ignored, unknown_words


def generate(
    model: Transformer, tokenizer: Tokenizer, text: Given, *, chosen: Sequence[int] = (), sampling: Sampling = GREEDY
) -> StageText:
    """Return a text and a model's continuation of it, as far as the stage has room for it.

    An encoder-only model fills blanks instead, as many as there are chosen tokens, the most certain one first.

    Args:
        model: in evaluation mode.
        tokenizer: of the model.
        text: the source, the prompt, or a text with blanks.
        chosen: tokens that are generated first, whatever the settings say.
        sampling: how the tokens after them are chosen.

    Raises:
        TextError: the model cannot read the text, or cannot generate the chosen tokens.
    """
    config = model.config
    most = MOST_WITH_BLANKS if config.architecture == "encoder_only" else MOST_TOKENS
    room = min(most, config.max_seq_len - (config.architecture == "decoder_only"))
    given = EncodedInput.of(tokenizer, text, config.architecture, room)
    if config.has_decoder and not config.unembed:
        generated = _read(model, tokenizer, given)
    elif config.has_decoder:
        generated = _continued(model, tokenizer, given, chosen, sampling)
    elif config.unembed and tokenizer.mask_id in given.ids:
        generated = _filled(model, tokenizer, given, chosen, sampling)
    else:
        generated = StageText(
            architecture="encoder_only", source=tuple(given.ids), source_labels=given.labels, n_given=len(given.ids)
        )
    return replace(
        generated,
        segments=tuple(given.segments or ()),
        border=given.border,
        unknown=unknown_words(tokenizer, text),
        ignores_white_space=is_ignored(tokenizer, text),
        n_left_out=len(given.left_out),
    )


def _read(model: Transformer, tokenizer: Tokenizer, given: EncodedInput) -> StageText:
    """Return a text for a decoder without an output layer; an encoder-decoder reads the source as target, too."""
    tokens, labels, source = [*given.ids], [*given.labels], dict[str, Any]()
    if model.config.has_encoder:
        assert model.config.bos_id is not None, "an encoder-decoder has it"
        tokens = [model.config.bos_id, *given.ids[:-1]]
        labels = tokenizer.target.labels(tokens)
        source = {"source": tuple(given.ids), "source_labels": given.labels}
    return StageText(
        architecture=model.config.architecture,
        target=tuple(tokens),
        target_labels=tuple(labels),
        n_given=len(tokens),
        **source,
    )


def _continued(
    model: Transformer, tokenizer: Tokenizer, given: EncodedInput, chosen: Sequence[int], sampling: Sampling
) -> StageText:
    is_pair = model.config.has_encoder
    session = DecodingSession(model, tensor_of(given.ids, model), sampling=sampling)
    tree = session.tree
    n_new = USUAL_TOKENS - 1 if is_pair else max(LEAST_NEW_TOKENS, USUAL_TOKENS - len(given.ids))
    forced = {0: chosen} if chosen else {}
    last = ([*session.follow(forced, max_new_tokens=max(n_new, len(chosen)))] or [tree.start])[-1]
    has_ended = tree.has_ended(last)
    is_over = tree.is_over(last) or not session.prediction_after(last).is_finite
    path = [*(step.token for step in last.path()), *([] if is_over else [session.choice(last)])]
    n_given = len(tree.start.path())
    labels = tokenizer.target.labels(path)
    if not is_pair:
        labels[:n_given] = given.labels
    n_read = last.position + (not has_ended)  # the end of a text is not read any more
    nothing = [] if len(path) > n_read else [None]  # there is no room for it
    return StageText(
        architecture=model.config.architecture,
        source=tuple(given.ids) if is_pair else (),
        source_labels=given.labels if is_pair else (),
        target=tuple(path[:n_read]),
        target_labels=tuple(labels[:n_read]),
        n_given=n_given,
        rows=tuple(range(n_given - 1, n_read)),
        next_tokens=(*path[n_given:], *nothing),
        next_labels=(*labels[n_given:], *("" for _ in nothing)),
        has_ended=has_ended,
    )


def _filled(
    model: Transformer, tokenizer: Tokenizer, given: EncodedInput, chosen: Sequence[int], sampling: Sampling
) -> StageText:
    tree = FillingTree(model, *(tensor_of(ids, model) for ids in given.inputs), mask_id=tokenizer.mask_id)
    filling = NOTHING
    for token in chosen:
        filling = tree.fill(filling, None, token)
    state = tree.read(filling)
    labels = [*given.labels]
    for step in filling.steps:
        labels[step.position] = tokenizer.labels([step.chosen.token])[0]
    next_blanks = state.certain_first[:1]
    next_tokens = [_choice(blank, sampling) if blank.is_finite else None for blank in next_blanks]
    return StageText(
        architecture="encoder_only",
        source=state.tokens,
        source_labels=tuple(labels),
        n_given=len(labels),
        rows=tuple(blank.position for blank in next_blanks),
        next_tokens=tuple(next_tokens),
        next_labels=tuple("" if token is None else tokenizer.labels([token])[0] for token in next_tokens),
        n_filled=len(filling.steps),
        has_ended=not next_blanks,
    )


def _choice(blank: BlankPrediction, sampling: Sampling) -> int:
    log_probs = next_log_probs(torch.from_numpy(blank.log_probs), [], sampling)
    if sampling.temperature == 0:
        return int(log_probs.argmax())
    return draw(log_probs, seed=sampling.seed, position=blank.position)
