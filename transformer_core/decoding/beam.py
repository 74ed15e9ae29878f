"""Beam search: several beginnings of a text are kept at each step, and the most probable whole one is given back."""

import math
from dataclasses import dataclass
from operator import itemgetter

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_core.decoding.greedy import Decoding
from transformer_core.decoding.steps import Writing
from transformer_core.errors import ConfigError, TextError
from transformer_core.model.transformer import Transformer


@dataclass(frozen=True)
class _Beam:
    """A text on its way, or at its end: its last token, and the beam that it goes on from."""

    token: int
    log_prob: float  # nats
    score: float  # nats, sum of what was written; of a finished text, divided by the length's penalty
    before: "_Beam | None"

    def written(self) -> list["_Beam"]:
        """Return the beams on its way, one a token that was written."""
        backwards, beam = [], self
        while beam.before is not None:
            backwards.append(beam)
            beam = beam.before
        return backwards[::-1]


class _Search:
    """The search for one row: the beams that go on, and the best texts that have ended."""

    def __init__(self, *, n_beams: int, eos_id: int) -> None:
        """Begin with one beam, of which nothing is written yet."""
        self.running = [_Beam(token=-1, log_prob=0.0, score=0.0, before=None)]
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
        ended = [one for one in best[: self.n_beams] if is_last or one[2] == self.eos_id]
        self.finished += [_Beam(token, p, score / penalty, self.running[b]) for score, b, token, p in ended]
        self.finished = sorted(self.finished, key=lambda beam: -beam.score)[: self.n_beams]
        going_on = [one for one in best if one[2] != self.eos_id][: self.n_beams]
        full = len(self.finished) == self.n_beams
        best_possible = going_on[0][0] / penalty if going_on else -math.inf
        self.is_over = is_last or not going_on or (full and best_possible <= self.finished[-1].score)
        self.running = [_Beam(token, p, score, self.running[b]) for score, b, token, p in going_on]
        return [(b, token) for _, b, token, _ in going_on]


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
    of_prompt = log_probs[:, :-1].gather(-1, prompt[:, 1:, None])[..., 0]
    searches = [_Search(n_beams=n_beams, eos_id=model.config.eos_id) for _ in prompt]
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


def _best(
    searches: list[_Search], log_probs: Float[Tensor, "batch beam vocab"], n_best: int
) -> list[list[tuple[float, int, int, float]]]:
    """Return, for each row, the best beginnings that are one token longer, as `_Search.go_on` takes them."""
    of_each, tokens = log_probs.topk(min(n_best, log_probs.shape[2]), dim=2)  # [batch, beam, best]
    found = []
    for search, row_log_probs, row_tokens in zip(searches, of_each.tolist(), tokens.tolist(), strict=True):
        longer = [
            (beam.score + p, i, token, p)
            for i, beam in enumerate(search.running)
            for p, token in zip(row_log_probs[i], row_tokens[i], strict=True)
            if p > -math.inf
        ]
        found.append(sorted(longer, key=itemgetter(0), reverse=True)[:n_best])
    return found
