"""Greedy decoding and beam search for lessons, with the candidates of each step."""

from dataclasses import dataclass

from pages.learn.tour.lesson_engine.errors import ExpressionError
from pages.learn.tour.lesson_engine.expressions import Parts
from pages.learn.tour.lesson_engine.run import Run
from pages.learn.tour.lesson_engine.value import Result, number
from transformer_core.decoding.beam_tree import search_beams
from transformer_core.decoding.decoding_step import DecodingStep
from transformer_core.decoding.inputs import tensor_of
from transformer_core.decoding.tree import DecodingTree


@dataclass(frozen=True, kw_only=True)
class Beginning:
    """A beginning of a text, and what became of it."""

    words: str  # of what was written
    log_prob: float  # nats, of all of it
    fate: str  # "kept", "ended" or "dropped"


@dataclass(frozen=True, kw_only=True)
class Searched:
    """A text that was written, and what was considered on the way."""

    words: str
    log_prob: float  # nats, of what was written
    levels: tuple[tuple[Beginning, ...], ...]  # after each token, the best first


def searched(run: Run, n_beams: int, n_tokens: int) -> Searched:
    """Return the result of a beam search.

    Args:
        run: of a model with a decoder.
        n_beams: beginnings kept at each step; 1: greedy decoding.
        n_tokens: generated at most.

    Raises:
        ConfigError: a model without a decoder, or more tokens than fit into its context.
    """
    result: Searched = run.once(("searched", n_beams, n_tokens), lambda: _search(run, n_beams, n_tokens))
    return result


def text(run: Run, parts: Parts) -> Result:
    """Return the text found by decoding: beams, tokens; tokens alone: greedy."""
    return _decoded(run, parts).words


def log_prob(run: Run, parts: Parts) -> Result:
    """Return the log-probability of that text, nats."""
    return number(_decoded(run, parts).log_prob)


def _decoded(run: Run, parts: Parts) -> Searched:
    *beams, n_tokens = map(_whole, parts)
    return searched(run, beams[0] if beams else 1, n_tokens)


def _whole(part: str | float) -> int:
    if isinstance(part, str) or part != int(part) or not 1 <= part <= 64:
        raise ExpressionError("“{part}” must be a whole number from 1 to 64", part=part)
    return int(part)


def _search(run: Run, n_beams: int, n_tokens: int) -> Searched:
    given = list(run.model_run.inputs[0])
    if run.model.config.architecture == "decoder_only":
        given = given[: run.model_run.n_given]
    tree = DecodingTree(run.model, tensor_of(given, run.model))
    result = search_beams(tree, n_beams=n_beams, max_new_tokens=n_tokens)
    levels = tuple(
        tuple(
            Beginning(words=_words(run, tree, one.parent, one.token), log_prob=one.total, fate=one.fate)
            for one in level
        )
        for level in result.levels
    )
    best = result.finished[0]
    return Searched(words=_words(run, tree, best.parent, best.token), log_prob=best.total, levels=levels)


def _words(run: Run, tree: DecodingTree, last: DecodingStep, token: int) -> str:
    """Return the generated text up to a token, after the prompt."""
    path = [step.token for step in last.path()]
    n_given = tree.start.position + 1
    tokenizer = run.tokenizer.target
    whole, given = tokenizer.decode([*path, token]), tokenizer.decode(path[:n_given])
    return whole[len(given) :].strip() if whole.startswith(given) else whole
