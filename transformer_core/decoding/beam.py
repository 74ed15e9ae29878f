"""Beam search: several beginnings of a text are kept at each step, and the most probable whole one is given back."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_core.decoding.greedy import Decoding
from transformer_core.decoding.steps import Writing
from transformer_core.errors import ConfigError, TextError
from transformer_core.model.transformer import Transformer


@dataclass(frozen=True)
class _Beam:
    """A text on its way, or at its end."""

    tokens: tuple[int, ...]
    log_probs: tuple[float, ...]  # nats, of each token behind the first
    score: float  # nats, sum of what was written; of a finished text, divided by the length's penalty


class _Search:
    """The search for one row: the beams that go on, and the best texts that have ended."""

    def __init__(self, prompt: list[int], prompt_log_probs: list[float], *, n_beams: int, eos_id: int) -> None:
        """Begin with one beam, the prompt."""
        self.running = [_Beam(tuple(prompt), tuple(prompt_log_probs), 0.0)]
        self.finished: list[_Beam] = []
        self.n_beams, self.eos_id = n_beams, eos_id
        self.is_over = False

    def go_on(
        self, best: list[tuple[float, int, int, float]], penalty: float, *, is_last: bool
    ) -> list[tuple[int, int]]:
        """Take in the best beginnings that are one token longer.

        Args:
            best: score, beam that it goes on from, token, and the token's log-probability; the best first.
            penalty: what the score of a text that ends now is divided by.
            is_last: all of them end here.

        Returns:
            Beam and token of each one that goes on.
        """
        longer = [_Beam((*(beam := self.running[b]).tokens, t), (*beam.log_probs, p), s) for s, b, t, p in best]
        ends = [is_last or beam.tokens[-1] == self.eos_id for beam in longer]
        ended = [beam for beam, has_ended in zip(longer[: self.n_beams], ends, strict=False) if has_ended]
        self.finished += [_Beam(beam.tokens, beam.log_probs, beam.score / penalty) for beam in ended]
        self.finished = sorted(self.finished, key=lambda beam: -beam.score)[: self.n_beams]
        chosen = [i for i in range(len(longer)) if longer[i].tokens[-1] != self.eos_id][: self.n_beams]
        self.running = [longer[i] for i in chosen]
        full = len(self.finished) == self.n_beams
        best_possible = self.running[0].score / penalty if self.running else -math.inf
        self.is_over = is_last or not self.running or (full and best_possible <= self.finished[-1].score)
        return [(best[i][1], best[i][2]) for i in chosen]


@torch.no_grad()
def beam_search(
    model: Transformer,
    tokens: Int[Tensor, "batch pos"],
    *,
    n_beams: int = 4,
    max_new_tokens: int | None = None,
    length_penalty: float = 1.0,
    use_cache: bool = True,
) -> Decoding:
    """Return the best text of each row that a search with `n_beams` beams finds.

    Texts that have ended are ranked by log P / length^length_penalty. A row's search ends when its best unfinished text
    ranks behind all `n_beams` finished ones.

    Args:
        model: in evaluation mode: an encoder-decoder or a decoder.
        tokens: the source, ending in <eos>, or prompts of one length; a source is padded on the right.
        n_beams: beginnings kept for each row.
        max_new_tokens: at most so many behind <bos> or the prompt; None: as many as the model's positions allow.
        length_penalty: 0 ranks by probability alone, which favours short texts; the larger, the longer.
        use_cache: keep keys and values between steps.

    Raises:
        TextError: a source or a prompt that is empty or too long, or prompts of different lengths.
        ConfigError: numbers that make no sense, or a model that does not write.

    Source: Vaswani et al. 2017, sec. 6.1 (beam 4, penalty 0.6, in the form of Wu et al. 2016). Differs: the length
    alone is the penalty's base, as in most libraries.
    """
    if n_beams < 1:
        raise ConfigError(f"n_beams must be at least 1, got {n_beams}")
    writing = Writing(model, tokens, max_new_tokens=max_new_tokens, use_cache=use_cache)
    prompt = writing.tokens
    if not prompt.shape[1] or int(writing.prompt_lengths.min()) < prompt.shape[1]:
        raise TextError("beam search goes on from prompts of one length, at least one token; search them one by one")

    log_probs = writing.read()  # [batch, new, vocab]
    of_prompt = log_probs[:, :-1].gather(-1, prompt[:, 1:, None])[..., 0].tolist()
    searches = [
        _Search(row, row_log_probs, n_beams=n_beams, eos_id=model.config.eos_id)
        for row, row_log_probs in zip(prompt.tolist(), of_prompt, strict=True)
    ]
    writing.repeat(n_beams)
    candidates = log_probs[:, -1:]  # [batch, beam, vocab]; at first all beams are the same text, and one counts
    for n_new in range(1, writing.n_new + 1):
        best = _best(searches, candidates, 2 * n_beams)
        rows, following = [], []
        for first, search, row_best in zip(range(0, len(searches) * n_beams, n_beams), searches, best, strict=True):
            going_on = (
                [] if search.is_over else search.go_on(row_best, n_new**length_penalty, is_last=n_new == writing.n_new)
            )
            going_on += [(0, writing.filler)] * (n_beams - len(going_on))  # rows of a search that is over idle along
            rows += [first + beam for beam, _ in going_on]
            following += [token for _, token in going_on]
        if all(search.is_over for search in searches):
            break
        writing.reorder(rows)
        writing.write(prompt.new_tensor(following))
        candidates = writing.read()[:, -1].unflatten(0, (len(searches), n_beams))
    return _decoding([search.finished[0] for search in searches], prompt, writing.filler)


def _best(
    searches: list[_Search], log_probs: Float[Tensor, "batch beam vocab"], n_best: int
) -> list[list[tuple[float, int, int, float]]]:
    """Return, for each row, the best beginnings that are one token longer, as `_Search.go_on` takes them."""
    n_beams, vocab_size = log_probs.shape[1:]
    so_far = [
        [search.running[i].score if i < len(search.running) else -math.inf for i in range(n_beams)]
        for search in searches
    ]
    sums = (log_probs + log_probs.new_tensor(so_far)[..., None]).flatten(1)  # [batch, beam * vocab]
    scores, places = sums.topk(min(n_best, sums.shape[1]), dim=1)
    found = zip(scores.tolist(), places.tolist(), log_probs.flatten(1).gather(1, places).tolist(), strict=True)
    return [
        [(s, i // vocab_size, i % vocab_size, p) for s, i, p in zip(*row, strict=True) if s > -math.inf]
        for row in found
    ]


def _decoding(texts: list[_Beam], like: Tensor, filler: int) -> Decoding:
    """Return texts of different lengths as one record, filled up on the right."""
    longest = max(len(text.tokens) for text in texts)
    rows = [[*text.tokens, *[filler] * (longest - len(text.tokens))] for text in texts]
    log_probs = [[*text.log_probs, *[0.0] * (longest - len(text.tokens))] for text in texts]
    return Decoding(like.new_tensor(rows), torch.tensor(log_probs, device=like.device))
