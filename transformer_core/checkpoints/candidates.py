"""The loss on a text for each answer to the open questions of a model: that of the correct answer is the lowest."""

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import torch
from torch.nn import functional as F

from transformer_core.checkpoints.convert import convert
from transformer_core.checkpoints.foreign import open_saved, read_saved
from transformer_core.checkpoints.layout import Question, UndecidedError
from transformer_core.checkpoints.load import ModelLocation, find, tokenizer_in
from transformer_core.errors import CheckpointError, TextError
from transformer_core.model.transformer import NO_PREDICTIONS, Transformer
from transformer_core.text.interface import Given, Tokenizer

MOST_CANDIDATES = 64  # combinations of answers
MOST_TOKENS = 256  # of the text, per side
MOST_SECONDS = 30.0


@dataclass(frozen=True)
class CandidateLoss:
    """A combination of answers, and the loss of the model that it describes."""

    options: Mapping[str, Any]  # as for `load`
    loss: float  # mean over the tokens of the text, in nats; inf if the model cannot be built with these options


@torch.inference_mode()
def candidate_losses(
    source: str | os.PathLike[str] | ModelLocation,
    text: Given,
    *,
    options: Mapping[str, Any] | None = None,
    max_seconds: float = MOST_SECONDS,
) -> list[CandidateLoss]:
    """Return the loss on a text for each combination of answers to a model's open questions, the lowest first.

    The combinations of the most common answers are tried first, up to `MOST_CANDIDATES` and `max_seconds`.

    Args:
        source: as for `load`.
        text: that the model should know; for an encoder-decoder, source and target, or one text with a tab between
            them. At most `MOST_TOKENS` are used.
        options: answers that are certain.
        max_seconds: no further combination is tried after this time.

    Returns:
        Empty if no question is open.

    Raises:
        CheckpointError: as from `load`, except `UndecidedError`; or the model makes no predictions.
        TextError: the text has too few tokens.
    """
    end = time.monotonic() + max_seconds
    location = source if isinstance(source, ModelLocation) else find(source)
    where, given = location.name, dict(options or {})
    saved, files = read_saved(location.folder, where=where)
    try:
        open_saved(saved, files, where=where, options=given)
    except UndecidedError as error:
        combinations = _by_rank(error.questions)
    else:
        return []
    losses = []
    for answers in islice(combinations, MOST_CANDIDATES):
        try:
            opened = open_saved(saved, files, where=where, options=given | answers)
            model = convert(opened.values, opened.weights, where=where, place=lambda _, value: value.float())
        except UndecidedError:
            raise
        except CheckpointError:
            losses.append(CandidateLoss(answers, math.inf))
        else:
            tokenizer = opened.tokenizer or tokenizer_in(opened.folder, model.config, is_of_library=False, where=where)
            losses.append(CandidateLoss(answers, _loss(model, tokenizer, text)))
        if time.monotonic() > end:
            break
    return sorted(losses, key=lambda candidate: candidate.loss)


def _by_rank(questions: Sequence[Question]) -> list[dict[str, Any]]:
    """Return all combinations of candidates, those of the most common ones first."""
    ranked = sorted(product(*(enumerate(question.candidates) for question in questions)), key=_rank)
    return [
        {question.option: value for question, (_, value) in zip(questions, answers, strict=True)} for answers in ranked
    ]


def _rank(answers: Sequence[tuple[int, Any]]) -> int:
    return sum(place for place, _ in answers)


def _loss(model: Transformer, tokenizer: Tokenizer, text: Given) -> float:
    """Return the mean loss in nats: of the next token, or, in an encoder, of the token at each position."""
    config = model.config
    if not config.unembed:
        raise CheckpointError(NO_PREDICTIONS)
    most = min(MOST_TOKENS, config.max_seq_len)
    if config.architecture == "encoder_decoder":
        source, tab, rest = text.partition("\t") if isinstance(text, str) else (text[0], "\t", text[1])
        src = torch.tensor([tokenizer.encode_for(source, config.architecture)[:most]])
        target = tokenizer.target.encode(rest if tab else source)[: most - 1]
        tokens = torch.tensor([[config.bos_id, *target]])
        logits = model(src, tokens)[:, :-1]
    else:
        tokens = torch.tensor([tokenizer.encode_for(text, config.architecture)[:most]])
        logits = model(tokens)
        logits = logits[:, :-1] if config.has_decoder else logits
    labels = tokens[:, 1:] if config.has_decoder else tokens
    if not labels.numel():
        raise TextError("the loss needs a text of at least two tokens; type a longer one")
    loss = F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten())
    return math.inf if loss.isnan() else loss.item()
