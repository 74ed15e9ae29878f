"""Beam search: keep several hypotheses at each step, and return the best finished text."""

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from numbers import Real
from operator import attrgetter
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_core.arguments import NUMBER, check_choice, check_kind, check_whole
from transformer_core.decoding.greedy import Decoding
from transformer_core.decoding.steps import GenerationState
from transformer_core.errors import ConfigError, TextError
from transformer_core.model.embeddings import check_tokens
from transformer_core.model.transformer import Transformer, check_model

PenaltyForm = Literal["paper", "length"]
Fate = Literal["kept", "ended", "dropped"]

_LARGEST_ALPHA = 10.0  # for larger values only the length matters


def length_penalty(n_tokens: int, alpha: float, *, form: PenaltyForm) -> float:
    """Return the divisor of a text's log-probability, which offsets the preference of beam search for short texts.

    paper: ((5 + n_tokens) / 6)^alpha. length: n_tokens^alpha, as in most libraries, which is stronger.

    Args:
        n_tokens: length of the text, including <eos>.
        alpha: 0 ranks by probability alone; larger values favour longer texts.
        form: "paper" or "length".

    Source: Vaswani et al. 2017, sec. 6.1, in the form of Wu et al. 2016, eq. (14), without its coverage penalty.
    """
    return float(((5 + n_tokens) / 6 if form == "paper" else n_tokens) ** alpha)


class Extension(NamedTuple):
    """A beam extended by one token."""

    total: float  # nats, of all generated tokens
    beam: int  # index of the running beam that it extends
    token: int
    log_prob: float  # nats, of the token


@dataclass(frozen=True)
class Beam:
    """A text, unfinished or finished, stored as its last token and the beam that it extends."""

    token: int
    log_prob: float  # nats
    score: float  # nats, of all generated tokens; of a finished text, divided by the length penalty
    before: "Beam | None"

    def written(self) -> "list[Beam]":
        """Return the beams on its path, one per generated token."""
        backwards, beam = [], self
        while beam.before is not None:
            backwards.append(beam)
            beam = beam.before
        return backwards[::-1]


class Search:
    """The state of the search from one prompt: the running beams, and the best finished texts.

    Attributes:
        running: the unfinished beams; none when the search is over.
        finished: the best `n_beams` finished texts so far, the best first.
        is_over: no positions are left, or the best running beam ranks, at its current length, after `n_beams` finished
            texts. For alpha above 0 this is a heuristic, as in transformers with `early_stopping=False`: a dropped beam
            could have overtaken them.
    """

    def __init__(self, *, n_beams: int, eos_ids: Collection[int], alpha: float, form: PenaltyForm) -> None:
        """Start with one empty beam; arguments as for `beam_search`.

        Raises:
            ConfigError: an invalid number.
        """
        check_whole("n_beams", n_beams)
        if n_beams < 1:
            raise ConfigError("n_beams must be at least 1, got {n_beams}", n_beams=n_beams)
        check_kind("length_penalty", alpha, Real, NUMBER)
        if not -_LARGEST_ALPHA <= alpha <= _LARGEST_ALPHA:
            raise ConfigError(
                "length_penalty ({alpha}) must be from {least:g} to {most:g}; the paper's is 0.6",
                alpha=alpha,
                least=-_LARGEST_ALPHA,
                most=_LARGEST_ALPHA,
            )
        check_choice("penalty_form", form, get_args(PenaltyForm))
        self.n_beams, self.eos_ids, self.alpha, self.form = n_beams, eos_ids, alpha, form
        self.running = [Beam(token=-1, log_prob=0.0, score=0.0, before=None)]
        self.finished: list[Beam] = []
        self.n_written = 0  # tokens of each running beam
        self.is_over = False

    @property
    def n_considered(self) -> int:
        """Candidates per step: enough to continue even if each beam could end with every <eos> token."""
        return (1 + max(1, len(self.eos_ids))) * self.n_beams

    def score(self, total: float) -> float:
        """Return the score of a text of `n_written` tokens, by which texts of all lengths are ranked."""
        return total / length_penalty(self.n_written, self.alpha, form=self.form)

    def extensions(self, candidates: Iterable[Iterable[tuple[float, int]]]) -> list[Extension]:
        """Return the best extensions of the running beams by one token, the best first.

        Args:
            candidates: of each running beam, log-probability and token of the `n_considered` best next tokens.
        """
        extensions = [
            Extension(beam.score + p, i, token, p)
            for i, (beam, next_tokens) in enumerate(zip(self.running, candidates, strict=False))
            for p, token in next_tokens
            if p > -math.inf
        ]
        return sorted(extensions, key=attrgetter("total"), reverse=True)[: self.n_considered]

    def advance(self, best: list[Extension], *, is_last: bool) -> list[Fate]:
        """Advance the search by one token.

        Args:
            best: from `extensions`.
            is_last: there are no further positions, so all texts end here.

        Returns:
            "kept", "ended" or "dropped" for each. An <eos> ends a text only among the first `n_beams`. When the search
            is over, none is kept.
        """
        self.n_written += 1
        ended = [one for one in best[: self.n_beams] if is_last or one.token in self.eos_ids]
        self.finished += [self._beam(one, self.score(one.total)) for one in ended]
        self.finished = sorted(self.finished, key=lambda beam: -beam.score)[: self.n_beams]
        kept = [one for one in best if one.token not in self.eos_ids][: self.n_beams]
        full = len(self.finished) == self.n_beams
        self.is_over = is_last or not kept or (full and self.score(kept[0].total) <= self.finished[-1].score)
        if self.is_over:
            kept = []
        self.running = [self._beam(one, one.total) for one in kept]
        return ["ended" if one in ended else "kept" if one in kept else "dropped" for one in best]

    def _beam(self, one: Extension, score: float) -> Beam:
        return Beam(one.token, one.log_prob, score, self.running[one.beam])


@torch.no_grad()
def beam_search(
    model: Transformer,
    tokens: Int[Tensor, "batch pos"],
    *,
    n_beams: int = 4,
    max_new_tokens: int | None = None,
    length_penalty: float = 1.0,
    penalty_form: PenaltyForm = "length",
    use_cache: bool = True,
) -> Decoding:
    """Return the best text of each row by beam search.

    Finished texts are ranked by log P / penalty(length). A row's search ends when its best unfinished text ranks after
    `n_beams` finished ones.

    Args:
        model: an encoder-decoder or a decoder, in evaluation mode.
        tokens: sources, ending in <eos> and padded on the right, or prompts of equal length.
        n_beams: hypotheses kept per row.
        max_new_tokens: after <bos> or the prompt; None: as many as the model has positions.
        length_penalty: alpha; 0 ranks by probability alone; larger values favour longer texts.
        penalty_form: "length" divides by length^alpha, "paper" by ((5 + length) / 6)^alpha.
        use_cache: cache keys and values between steps.

    Raises:
        TextError: a source or a prompt that is empty or too long, or prompts of different lengths.
        NotFiniteError: outputs that are NaN or infinite.
        ConfigError: an invalid number, or a model without a decoder.

    Source: Vaswani et al. 2017, sec. 6.1: four beams, alpha 0.6, "paper". Differs: the usual form is "length", as in
    most libraries.
    """
    check_model(model)
    check_tokens(tokens)
    searches = [
        Search(n_beams=n_beams, eos_ids=model.config.eos_ids, alpha=length_penalty, form=penalty_form) for _ in tokens
    ]
    writing = GenerationState(model, tokens, max_new_tokens=max_new_tokens, use_cache=use_cache)
    prompt = writing.tokens
    if not prompt.shape[1] or int(writing.prompt_lengths.min()) < prompt.shape[1]:
        raise TextError("beam search needs prompts of equal length with at least one token; run them one at a time")

    log_probs = writing.read()  # [batch, new, vocab]
    of_prompt = log_probs[:, :-1].gather(-1, prompt[:, 1:, None])[..., 0]
    writing.repeat(n_beams)
    candidates = log_probs[:, -1:]  # [batch, beam, vocab]; at first all beams are the same, so only one counts
    for n_new in range(1, writing.n_new + 1):
        is_over = torch.tensor([[search.is_over] for search in searches], device=candidates.device)
        writing.refuse_not_finite(candidates.amax(dim=-1).masked_fill(is_over, 0.0).flatten())
        best = _best(searches, candidates)
        rows, following = [], []
        for first, search, row_best in zip(range(0, len(searches) * n_beams, n_beams), searches, best, strict=True):
            continued: list[tuple[int, int]] = []
            if not search.is_over:
                fates = search.advance(row_best, is_last=n_new == writing.n_new)
                continued = [(one.beam, one.token) for one, fate in zip(row_best, fates, strict=True) if fate == "kept"]
            continued += [(0, writing.filler)] * (n_beams - len(continued))  # unused rows of the batch
            rows += [first + beam for beam, _ in continued]
            following += [token for _, token in continued]
        if all(search.is_over for search in searches):
            break
        writing.reorder(rows)
        writing.write(following)
        candidates = writing.read()[:, -1].unflatten(0, (len(searches), n_beams))
    texts = [search.finished[0].written() for search in searches]
    longest = max(map(len, texts))
    written = [[beam.token for beam in text] + [writing.filler] * (longest - len(text)) for text in texts]
    of_written = [[beam.log_prob for beam in text] + [0.0] * (longest - len(text)) for text in texts]
    return Decoding(
        torch.cat([prompt, prompt.new_tensor(written)], dim=1),
        torch.cat([of_prompt, of_prompt.new_tensor(of_written)], dim=1),
    )


def _best(searches: list[Search], log_probs: Float[Tensor, "batch beam vocab"]) -> list[list[Extension]]:
    """Return the best extensions for each row, as `Search.advance` takes them."""
    of_each, tokens = log_probs.topk(min(searches[0].n_considered, log_probs.shape[2]), dim=2)  # [batch, beam, best]
    rows = zip(searches, of_each.tolist(), tokens.tolist(), strict=True)
    return [search.extensions(map(zip, row_log_probs, row_tokens)) for search, row_log_probs, row_tokens in rows]
