"""Beam search in a tree of steps: the same search as `beam_search`, with all that it kept and all that it dropped."""

from dataclasses import dataclass

from transformer_core.decoding.beam import Fate, Longer, PenaltyForm, Search
from transformer_core.decoding.decoding_step import DecodingStep
from transformer_core.decoding.tree import DecodingTree
from transformer_core.errors import ConfigError, TextError


@dataclass(frozen=True, kw_only=True, eq=False)
class BeamCandidate:
    """A beginning, or a whole text, that a search considered, and what became of it."""

    parent: DecodingStep  # the beam that it goes on from
    token: int
    log_prob: float  # nats, of the token
    total: float  # nats, of all that the search wrote up to here
    score: float  # nats, total / penalty(length): how it ranks among texts of all lengths
    rank: int  # among the candidates of its level; 0: the best
    fate: Fate
    step: DecodingStep | None  # its own, where it was kept or has ended


@dataclass(frozen=True, kw_only=True, eq=False)
class BeamTree:
    """A search from its beginning to its end."""

    levels: tuple[tuple[BeamCandidate, ...], ...]  # after each token: what was considered, the best first
    finished: tuple[BeamCandidate, ...]  # the texts that it found, at most as many as beams, the best first

    @property
    def best(self) -> DecodingStep:
        """The last step of the text that the search gives back."""
        best = self.finished[0].step
        assert best is not None, "what has ended has a step"
        return best


def search_beams(
    tree: DecodingTree,
    start: DecodingStep | None = None,
    *,
    n_beams: int = 4,
    length_penalty: float = 0.6,
    penalty_form: PenaltyForm = "paper",
    max_new_tokens: int | None = None,
) -> BeamTree:
    """Search for the best text after a step, and return all that was considered on the way.

    In each step the `Search.n_considered` best beginnings that are one token longer are considered. Of those that end,
    the ones among the first `n_beams` are kept as texts; the `n_beams` best others go on. The search ends when none of
    these ranks before all `n_beams` texts. It reads all beams of a step in one forward, and none that the tree has
    read.

    Args:
        tree: all that was written so far; the search adds what it keeps.
        start: what it goes on from; None: the beginning. What was written before counts neither in log-probabilities
            nor in lengths, like a prompt.
        n_beams: beginnings kept at each step.
        length_penalty: alpha; 0 ranks by probability alone, which favours short texts; the larger, the longer.
        penalty_form: "length" divides by length^alpha, "paper" by ((5 + length) / 6)^alpha.
        max_new_tokens: at most so many after `start`; None: as many as there is room for.

    Raises:
        TextError: `start` is of another tree, or nothing can come after it.
        NotFiniteError: outputs that are NaN or infinite.
        ConfigError: numbers that make no sense.

    Source: Vaswani et al. 2017, sec. 6.1 (four beams, alpha 0.6).
    """
    start = tree.start if start is None else start
    search = Search(n_beams=n_beams, eos_ids=tree.model.config.eos_ids, alpha=length_penalty, form=penalty_form)
    n_new = _room_after(tree, start, max_new_tokens)
    ends, levels = [start], list[tuple[BeamCandidate, ...]]()
    while not search.is_over:
        best = _best(tree, search, ends)
        fates = search.go_on(best, is_last=len(levels) + 1 == n_new)
        level = tuple(
            BeamCandidate(
                parent=ends[one.beam],
                token=one.token,
                log_prob=one.log_prob,
                total=one.total,
                score=search.score(one.total),
                rank=rank,
                fate=fate,
                step=None if fate == "dropped" else tree.go_on(ends[one.beam], one.token),
            )
            for rank, (one, fate) in enumerate(zip(best, fates, strict=True))
        )
        levels.append(level)
        ends = [one.step for one in level if one.fate == "kept" and one.step is not None]
    ended = {one.step: one for level in levels for one in level if one.fate == "ended"}
    texts = [[beam.token for beam in text.written()] for text in search.finished]
    return BeamTree(levels=tuple(levels), finished=tuple(ended[tree.teacher_force(start, text)] for text in texts))


def _best(tree: DecodingTree, search: Search, ends: list[DecodingStep]) -> list[Longer]:
    """Return the best beginnings that are one token longer than the beams, read side by side."""
    tree.read(*ends)
    for end in ends:
        tree.refuse_not_finite(end)
    predictions = [end.prediction for end in ends if end.prediction is not None]
    return search.longer(
        [(one.log_prob, one.token) for one in prediction.candidates(search.n_considered)] for prediction in predictions
    )


def _room_after(tree: DecodingTree, start: DecodingStep, max_new_tokens: int | None) -> int:
    """Return how many tokens may come after a step at most."""
    if tree.start not in start.path():
        raise TextError("this step belongs to another tree or to the prompt; choose one that was generated here")
    if tree.has_ended(start):
        raise TextError("the text ends here; go back to search for other continuations")
    room = tree.max_positions - 1 - start.position
    if not room:
        raise TextError(
            "a text has at most {max_positions} tokens here, and all are used", max_positions=tree.max_positions
        )
    if max_new_tokens is not None and not 1 <= max_new_tokens <= room:
        raise ConfigError(
            "max_new_tokens ({n}) must be from 1 to {room}, the positions left after this token",
            n=max_new_tokens,
            room=room,
        )
    return max_new_tokens or room
