"""A decoding session: a position in a tree of steps that moves forward, back, and to other branches.

>>> session = DecodingSession(model, src)          # greedy; or DecodingSession(model, src, sampling=Sampling(top_k=5))
>>> step = session.forward()                       # one token
>>> session.back()
>>> session.fork(other_token)                      # another token in its place
>>> end = session.to_end()
>>> end.total_log_prob, [step.token for step in end.written()]
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from transformer_core.arguments import check_kind
from transformer_core.decoding.decoding_step import DecodingStep, NextTokenPrediction
from transformer_core.decoding.sampling import draw, next_log_probs
from transformer_core.decoding.settings import GREEDY, Sampling
from transformer_core.decoding.tree import DecodingTree
from transformer_core.errors import Message, TextError
from transformer_core.model.transformer import Transformer


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """Two branches, split at their first difference."""

    shared: tuple[DecodingStep, ...]  # the generated steps that both branches share
    a: tuple[DecodingStep, ...]  # the remaining steps of each branch
    b: tuple[DecodingStep, ...]

    @property
    def parting(self) -> int | None:
        """The position of the first different token; None if one branch is the beginning of the other."""
        return self.a[0].position if self.a and self.b else None

    @property
    def whole(self) -> tuple[tuple[DecodingStep, ...], tuple[DecodingStep, ...]]:
        """Both branches from the first generated token on."""
        return (*self.shared, *self.a), (*self.shared, *self.b)


class DecodingSession:
    """Step-by-step generation in a tree, which several sessions may share.

    Attributes:
        tree: all steps so far.
        sampling: how the next token is chosen.
        at: the current step.
        tips: the last step of each branch of this session, in the order in which they began.
    """

    def __init__(
        self,
        model: Transformer,
        tokens: Int[Tensor, "one pos"],
        *,
        sampling: Sampling = GREEDY,
    ) -> None:
        """Read the source or the prompt.

        Args:
            model: in evaluation mode, with a decoder.
            tokens: one source, ending in <eos>, or one prompt.
            sampling: how the next token is chosen; greedily by default.

        Raises:
            TextError: more than one text, an empty or too long one, or an invalid token.
            ConfigError: a model without a decoder or without free positions.
        """
        check_kind("sampling", sampling, Sampling, Message("a Sampling, such as Sampling(temperature=0.8)"))
        self._begin(DecodingTree(model, tokens), sampling)

    @classmethod
    def of(cls, tree: DecodingTree, *, sampling: Sampling = GREEDY) -> "DecodingSession":
        """Return a session at the beginning of an existing tree."""
        session = cls.__new__(cls)
        session._begin(tree, sampling)
        return session

    def _begin(self, tree: DecodingTree, sampling: Sampling) -> None:
        self.tree, self.sampling = tree, sampling
        self.at = tree.start
        self.tips = [tree.start]

    @property
    def has_ended(self) -> bool:
        """Whether nothing can follow `at`: its token is an <eos>, or no position is left."""
        return self.tree.is_over(self.at)

    def forward(self) -> DecodingStep:
        """Generate a token, or, after going back, move to the next step of the branch.

        Raises:
            TextError: the text has ended, or no position is left.
            NotFiniteError: the outputs are NaN or infinite here.
        """
        ahead = self._ahead()
        return self.fork(self.choice(self.at)) if ahead is None else self.jump(ahead)

    def to_end(self, *, max_new_tokens: int | None = None) -> DecodingStep:
        """Continue until the text ends or no position is left, or by at most `max_new_tokens`.

        Raises:
            NotFiniteError: outputs that are NaN or infinite; `at` is the last token before them.
        """
        room = self.tree.room_after(self.at)
        for _ in range(room if max_new_tokens is None else min(room, max_new_tokens)):
            if self.has_ended:
                break
            self.forward()
        return self.at

    def back(self) -> DecodingStep:
        """Go back by one token, except at the beginning."""
        if self.at is not self.tree.start and self.at.parent is not None:
            self.at = self.at.parent
        return self.at

    def jump(self, step: DecodingStep) -> DecodingStep:
        """Go to any step of the tree.

        Raises:
            TextError: it belongs to another tree.
        """
        if self.tree.start not in step.path():
            raise TextError("this step belongs to another tree or to the prompt; choose one that was generated here")
        self.at = step
        return step

    def fork(self, *tokens: int) -> DecodingStep:
        """Continue with given tokens, on a new branch if there is another continuation.

        Raises:
            TextError: a token that cannot be generated, or the text or its positions end first; nothing is changed.
        """
        self.at = self.tree.teacher_force(self.at, tokens)
        path = self.at.path()
        if not any(self.at in tip.path() for tip in self.tips):
            grown = [self.at if tip in path else tip for tip in self.tips]
            self.tips = list(dict.fromkeys(grown)) if self.at in grown else [*self.tips, self.at]
        return self.at

    @property
    def prediction(self) -> NextTokenPrediction:
        """The prediction after `at`.

        Raises:
            TextError: the text has ended there.
        """
        return self.prediction_after(self.at)

    def prediction_after(self, step: DecodingStep) -> NextTokenPrediction:
        """Return the prediction after a step, which is read if necessary.

        Raises:
            TextError: the text has ended there.
        """
        if self.tree.has_ended(step):
            raise TextError("the text ends here; go back to continue differently")
        self.tree.read(step)
        assert step.prediction is not None, "it was read just now"
        return step.prediction

    def choice(self, step: DecodingStep) -> int:
        """Return the next token after a step by the session's sampling.

        Raises:
            TextError: the text has ended there.
            NotFiniteError: the outputs are NaN or infinite there.
        """
        if self.sampling not in step.choices:  # pages follow the same branches repeatedly
            step.choices[self.sampling] = self._chosen_after(step)
        return step.choices[self.sampling]

    def distribution(self, step: DecodingStep) -> Float[Tensor, " vocab"]:
        """Return the filtered log-probabilities of the next token after a step, in nats.

        Raises:
            TextError: the text has ended there.
        """
        logits = self.prediction_after(step).logits
        return next_log_probs(logits, [one.token for one in step.path()], self.sampling)

    def follow(
        self, forced: Mapping[int, Sequence[int]], *, max_new_tokens: int | None = None
    ) -> Iterator[DecodingStep]:
        """Iterate over the steps of a branch from the beginning, each as soon as it is computed.

        A branch also ends where the outputs are NaN or infinite, unless the next token is forced.

        Args:
            forced: forced tokens by the number of tokens generated before them; those of one entry are read in one
                forward pass. Entries after the end of the text are ignored.
            max_new_tokens: None: until the text ends or no position is left.

        Raises:
            TextError: a forced token that cannot be generated, has no position, or follows an <eos>.
        """
        step, waiting = self.tree.start, list[int]()
        while not self.tree.is_over(step):
            n_written = step.position - self.tree.start.position
            if max_new_tokens is not None and n_written >= max_new_tokens:
                return
            if n_written in forced:
                waiting = [*forced[n_written]]
                self.tree.teacher_force(step, waiting)
            if not waiting and not self.prediction_after(step).is_finite:
                return
            token = waiting.pop(0) if waiting else self.choice(step)
            step = self.tree.child(step, token)
            yield step

    def compare(self, a: DecodingStep, b: DecodingStep) -> Comparison:
        """Compare two branches."""
        written_a, written_b = a.written(), b.written()
        n_shared = sum(one is other for one, other in zip(written_a, written_b, strict=False))
        return Comparison(
            shared=tuple(written_a[:n_shared]), a=tuple(written_a[n_shared:]), b=tuple(written_b[n_shared:])
        )

    def compare_with_free_running(self, target: Sequence[int]) -> Comparison:
        """Compare teacher forcing on a target (a) with free-running generation of the same length (b).

        Raises:
            TextError: a token that cannot be generated, or a target that ends early or is too long.
        """
        forced = self.tree.teacher_force(self.tree.start, target)
        free = [self.tree.start, *self.follow({}, max_new_tokens=len(target))]
        return self.compare(forced, free[-1])

    def _chosen_after(self, step: DecodingStep) -> int:
        log_probs = self.distribution(step)
        self.tree.refuse_not_finite(step)
        if self.sampling.temperature == 0:
            return int(log_probs.argmax())
        return draw(log_probs, seed=self.sampling.seed, position=step.position + 1)

    def _ahead(self) -> DecodingStep | None:
        """Return the step after `at` on a branch of this session, the latest branch first."""
        for tip in reversed(self.tips):
            path = tip.path()
            if self.at in path[:-1]:
                return path[self.at.position + 1]
        return None
