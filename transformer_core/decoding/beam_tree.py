"""Beam search in a tree of steps: like `beam_search`, but records all kept and dropped candidates."""

from dataclasses import dataclass

from transformer_core.decoding.beam import Extension, Fate, PenaltyForm, Search
from transformer_core.decoding.decoding_step import DecodingStep
from transformer_core.decoding.tree import DecodingTree
from transformer_core.errors import ConfigError


@dataclass(frozen=True, kw_only=True, eq=False)
class BeamCandidate:
    """A candidate of a beam search, and its fate."""

    parent: DecodingStep  # the last step of the beam that it extends
    token: int
    log_prob: float  # nats, of the token
    total: float  # nats, of all tokens that the search has generated so far
    score: float  # nats, total / penalty(length), by which texts of all lengths are ranked
    rank: int  # among the candidates of its level; 0: the best
    fate: Fate
    step: DecodingStep | None  # the step of the candidate; None if it was dropped


@dataclass(frozen=True, kw_only=True, eq=False)
class BeamTree:
    """A finished beam search."""

    levels: tuple[tuple[BeamCandidate, ...], ...]  # the candidates at each token, the best first
    finished: tuple[BeamCandidate, ...]  # the finished texts, at most `n_beams`, the best first

    @property
    def best(self) -> DecodingStep:
        """The last step of the best text."""
        best = self.finished[0].step
        assert best is not None, "what has ended has a step"
        return best


def search_beams(
    tree: DecodingTree,
    *,
    n_beams: int = 4,
    length_penalty: float = 0.6,
    penalty_form: PenaltyForm = "paper",
    max_new_tokens: int | None = None,
) -> BeamTree:
    """Search for the best text, and return all candidates.

    Each step considers the `Search.n_considered` best extensions. Those among the first `n_beams` that end
    become finished texts; the `n_beams` best others continue, until none of them ranks before `n_beams` finished texts.
    One forward pass reads all beams of a step, except those already read in the tree.

    Args:
        tree: to search in; the kept steps are added to it.
        n_beams: hypotheses kept at each step.
        length_penalty: alpha; 0 ranks by probability alone; larger values favour longer texts.
        penalty_form: "length" divides by length^alpha, "paper" by ((5 + length) / 6)^alpha.
        max_new_tokens: after <bos> or the prompt; None: as many as there are positions.

    Raises:
        NotFiniteError: outputs that are NaN or infinite.
        ConfigError: an invalid number.

    Source: Vaswani et al. 2017, sec. 6.1 (four beams, alpha 0.6).
    """
    search = Search(n_beams=n_beams, eos_ids=tree.model.config.eos_ids, alpha=length_penalty, form=penalty_form)
    room = tree.room_after(tree.start)
    if max_new_tokens is not None and not 1 <= max_new_tokens <= room:
        raise ConfigError(
            "max_new_tokens ({n}) must be from 1 to {room}, the positions that the model has left",
            n=max_new_tokens,
            room=room,
        )
    n_new = max_new_tokens or room
    ends, levels = [tree.start], list[tuple[BeamCandidate, ...]]()
    while not search.is_over:
        best = _best(tree, search, ends)
        fates = search.advance(best, is_last=len(levels) + 1 == n_new)
        level = tuple(
            BeamCandidate(
                parent=ends[one.beam],
                token=one.token,
                log_prob=one.log_prob,
                total=one.total,
                score=search.score(one.total),
                rank=rank,
                fate=fate,
                step=None if fate == "dropped" else tree.child(ends[one.beam], one.token),
            )
            for rank, (one, fate) in enumerate(zip(best, fates, strict=True))
        )
        levels.append(level)
        ends = [one.step for one in level if one.fate == "kept" and one.step is not None]
    ended = {one.step: one for level in levels for one in level if one.fate == "ended"}
    texts = [[beam.token for beam in text.written()] for text in search.finished]
    return BeamTree(levels=tuple(levels), finished=tuple(ended[tree.teacher_force(tree.start, text)] for text in texts))


def _best(tree: DecodingTree, search: Search, ends: list[DecodingStep]) -> list[Extension]:
    """Read the beams together, and return their best extensions."""
    tree.read(*ends)
    for end in ends:
        tree.refuse_not_finite(end)
    predictions = [end.prediction for end in ends if end.prediction is not None]
    return search.extensions(
        [(one.log_prob, one.token) for one in prediction.candidates(search.n_considered)] for prediction in predictions
    )
