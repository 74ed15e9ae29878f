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
from transformer_core.checkpoints.load_foreign import tokenizer_in
from transformer_core.checkpoints.location import ModelLocation, find
from transformer_core.errors import CheckpointError, TextError
from transformer_core.model.transformer import NO_PREDICTIONS, Transformer
from transformer_core.text.interface import Given, Tokenizer

MOST_CANDIDATES = 64  # combinations of answers
MOST_TOKENS = 256  # of the text; in an encoder-decoder, of a source, and of all targets together
MOST_PAIRS = 16  # lines of source and target
LEAST_MARGIN = 0.1  # nats by which the lowest loss must differ from the next one to tell two values apart
MOST_SECONDS = 30.0


@dataclass(frozen=True)
class CandidateLoss:
    """A combination of answers, and the loss of the model that it describes."""

    options: Mapping[str, Any]  # as for `load`
    loss: float  # mean over the tokens of the text, in nats; inf if the model cannot be built with these options
    loss_by_chance: float = math.inf  # of equal probabilities for all tokens


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
        text: that the model should know; for an encoder-decoder, source and target, or a text with a source, a tab
            and a target on each line. At most `MOST_TOKENS` are used.
        options: answers that are certain.
        max_seconds: no further combination is tried after this time.

    Returns:
        Empty if no question is open.

    Raises:
        CheckpointError: as from `load`, except `UndecidedError`; or the model makes no predictions.
        TextError: the text has too few tokens, or a line without a target.
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
            loss = _loss(model, tokenizer, text)
            losses.append(CandidateLoss(answers, loss, math.log(model.config.vocab_size)))
        if time.monotonic() > end:
            break
    return sorted(losses, key=lambda candidate: candidate.loss)


def undecided_options(losses: Sequence[CandidateLoss]) -> list[str]:
    """Return the options that losses do not determine: another value is less than `LEAST_MARGIN` above the lowest.

    If the lowest loss is not below that of chance, none is determined.

    Args:
        losses: as from `candidate_losses`.
    """
    lowest = losses[0]
    if not lowest.loss < lowest.loss_by_chance:
        return [*lowest.options]
    close = [other for other in losses if other.loss - lowest.loss < LEAST_MARGIN]
    return [
        option for option, value in lowest.options.items() if any(other.options[option] != value for other in close)
    ]


def _by_rank(questions: Sequence[Question]) -> list[dict[str, Any]]:
    """Return all combinations of candidates, those of the most common ones first."""
    ranked = sorted(
        product(*(enumerate(question.candidates) for question in questions)),
        key=lambda answers: sum(place for place, _ in answers),
    )
    return [
        {question.option: value for question, (_, value) in zip(questions, answers, strict=True)} for answers in ranked
    ]


def _loss(model: Transformer, tokenizer: Tokenizer, text: Given) -> float:
    """Return the mean loss in nats: of the next token, or, in an encoder, of the token at each position."""
    config = model.config
    if not config.unembed:
        raise CheckpointError(NO_PREDICTIONS)
    most = min(MOST_TOKENS, config.max_seq_len)
    if config.architecture == "encoder_decoder":
        parts = [_of_pair(model, tokenizer, source, target, most) for source, target in _pairs(text)]
    else:
        tokens = torch.tensor([tokenizer.encode_for(text, config.architecture)[:most]])
        logits = model(tokens)[0]
        parts = [(logits[:-1], tokens[0, 1:]) if config.has_decoder else (logits, tokens[0])]
    logits, labels = (torch.cat(several)[:MOST_TOKENS] for several in zip(*parts, strict=True))
    if not labels.numel():
        raise TextError("the loss needs a text of at least two tokens; type a longer one")
    loss = F.cross_entropy(logits.float(), labels)
    return math.inf if loss.isnan() else loss.item()


def _of_pair(
    model: Transformer, tokenizer: Tokenizer, source: str, target: str, most: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the logits of a target [T, vocabulary] and its labels [T], which include its end as in training."""
    config = model.config
    src = tokenizer.encode_for(source, config.architecture)[:most]
    end = [] if config.eos_id is None else [config.eos_id]
    labels = [*tokenizer.target.encode(target), *end][:most]
    return model(torch.tensor([src]), torch.tensor([[config.bos_id, *labels[:-1]]]))[0], torch.tensor(labels)


def _pairs(text: Given) -> list[tuple[str, str]]:
    """Return the sources and targets of a text, one pair per line; at most `MOST_PAIRS`."""
    lines = [line for line in text.splitlines() if line.strip()] if isinstance(text, str) else []
    pairs = [line.partition("\t")[::2] for line in lines[:MOST_PAIRS]] if isinstance(text, str) else [text]
    if not pairs or not all(source.strip() and target.strip() for source, target in pairs):
        raise TextError("the loss of this model needs lines of a source, a tab and a target; add the target")
    return pairs
