"""A decoding session: a person at a place in a tree of steps, going forward, back, and aside.

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
from transformer_core.decoding.decoding_step import DecodingStep
from transformer_core.decoding.prediction import NextTokenPrediction
from transformer_core.decoding.sampling import draw, next_log_probs
from transformer_core.decoding.settings import GREEDY, Sampling
from transformer_core.decoding.tree import DecodingTree
from transformer_core.errors import Message, TextError
from transformer_core.model.transformer import Transformer


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """Two branches, and where they part."""

    shared: tuple[DecodingStep, ...]  # what both have written
    a: tuple[DecodingStep, ...]  # what each has written after that
    b: tuple[DecodingStep, ...]

    @property
    def parting(self) -> int | None:
        """The position of the first token in which they differ; None where one begins the other, or both are one."""
        return self.a[0].position if self.a and self.b else None

    @property
    def whole(self) -> tuple[tuple[DecodingStep, ...], tuple[DecodingStep, ...]]:
        """Both branches from the first token that was written."""
        return (*self.shared, *self.a), (*self.shared, *self.b)


class DecodingSession:
    """Writing, step by step, in a tree that several sessions may share.

    Attributes:
        tree: all that was written by all who share it.
        sampling: how the next token is chosen.
        at: the current step.
        tips: the last step of each branch that was begun here; the first branch is what was written first.
    """

    def __init__(
        self,
        model: Transformer,
        tokens: Int[Tensor, "one pos"],
        *,
        sampling: Sampling = GREEDY,
    ) -> None:
        """Read the source, or take in the prompt.

        Args:
            model: in evaluation mode, with a decoder.
            tokens: one source, ending in <eos>, or one prompt.
            sampling: how the next token is chosen; greedily if nothing is said.

        Raises:
            TextError: more than one text, an empty one, a source that is too long, or a token that cannot be read.
            ConfigError: a model that does not write or has no room to.
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
        """Whether nothing can come after `at`: its token ends texts, or the room has ended."""
        return self.tree.is_over(self.at)

    def forward(self) -> DecodingStep:
        """Go on by one token: along the branch where one has gone back in it, else to the token that is chosen.

        Raises:
            TextError: the text has ended here, or its room has.
            NotFiniteError: the outputs are NaN or infinite here.
        """
        ahead = self._ahead()
        return self.fork(self.choice(self.at)) if ahead is None else self.jump(ahead)

    def to_end(self, *, max_new_tokens: int | None = None) -> DecodingStep:
        """Go on until the text or its room ends, or by `max_new_tokens` at most.

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
        """Go back by one token; at the beginning stay there."""
        if self.at is not self.tree.start and self.at.parent is not None:
            self.at = self.at.parent
        return self.at

    def jump(self, step: DecodingStep) -> DecodingStep:
        """Go to any step of the tree.

        Raises:
            TextError: it is none of this tree.
        """
        if self.tree.start not in step.path():
            raise TextError("this step belongs to another tree or to the prompt; choose one that was generated here")
        self.at = step
        return step

    def fork(self, *tokens: int) -> DecodingStep:
        """Go on with a chosen token, or with several; what was written before stays a branch of its own.

        Raises:
            TextError: a token that cannot be generated, or the text or its room ends first; then nothing has changed.
        """
        self.at = self.tree.teacher_force(self.at, tokens)
        path = self.at.path()
        if not any(self.at in tip.path() for tip in self.tips):
            grown = [self.at if tip in path else tip for tip in self.tips]
            self.tips = list(dict.fromkeys(grown)) if self.at in grown else [*self.tips, self.at]
        return self.at

    @property
    def prediction(self) -> NextTokenPrediction:
        """What the model says after `at`, and where it looks to say it.

        Raises:
            TextError: the text has ended there.
        """
        return self.prediction_after(self.at)

    def prediction_after(self, step: DecodingStep) -> NextTokenPrediction:
        """Return what the model says after a step, and where it looks to say it; read now if it was not.

        Raises:
            TextError: the text has ended there.
        """
        if self.tree.has_ended(step):
            raise TextError("the text ends here; go back to continue differently")
        self.tree.read(step)
        assert step.prediction is not None, "it was read just now"
        return step.prediction

    def choice(self, step: DecodingStep) -> int:
        """Return the token that comes after a step by the session's sampling.

        Raises:
            TextError: the text has ended there.
            NotFiniteError: the outputs are NaN or infinite there.
        """
        if self.sampling not in step.choices:  # a page asks for the same branches again and again
            step.choices[self.sampling] = self._chosen_after(step)
        return step.choices[self.sampling]

    def distribution(self, step: DecodingStep) -> Float[Tensor, " vocab"]:
        """Return the log-probabilities, in nats, that the token after a step is drawn from; -inf where filtered out.

        Raises:
            TextError: the text has ended there.
        """
        logits = self.prediction_after(step).logits
        return next_log_probs(logits, [one.token for one in step.path()], self.sampling)

    def follow(
        self, forced: Mapping[int, Sequence[int]], *, max_new_tokens: int | None = None
    ) -> Iterator[DecodingStep]:
        """Iterate over the steps of a branch from its beginning on, each as soon as it is there.

        Args:
            forced: tokens that are not chosen, by how many were written before the first of them; those of one place
                are read in one forward. A place after the text's end is left out.
            max_new_tokens: end after so many; None: where the text or its room ends. Where the outputs are NaN or
                infinite, a branch ends in any case, unless it is forced on.

        Raises:
            TextError: a forced token that cannot be generated, has no room, or follows one that ends the text.
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
            step = self.tree.go_on(step, token)
            yield step

    def compare(self, a: DecodingStep, b: DecodingStep) -> Comparison:
        """Return what two branches share, and what each has for itself."""
        written_a, written_b = a.written(), b.written()
        n_shared = sum(one is other for one, other in zip(written_a, written_b, strict=False))
        return Comparison(
            shared=tuple(written_a[:n_shared]), a=tuple(written_a[n_shared:]), b=tuple(written_b[n_shared:])
        )

    def beside_free_running(self, target: Sequence[int]) -> Comparison:
        """Teacher-force the model on a target, and let it write freely for as many tokens.

        Returns:
            The teacher-forced branch (a) and the free-running one (b); the steps that they share were computed once.
            `parting` is the first position at which the model itself writes another token.

        Raises:
            TextError: a token that cannot be generated, or the target ends early or is longer than the room.
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
