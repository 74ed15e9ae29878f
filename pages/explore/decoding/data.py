"""The data of the Decoding page: the written branches, the selected step, and the selected attention."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from headlight.language import localized, say
from pages.explore.decoding import view_fields
from pages.explore.decoding.recipes import GENERATED, DecodingRecipe, tokens_of
from pages.shared import cache, devices
from pages.shared.heads import head_in_words
from pages.shared.lines import output_in_a_line
from pages.shared.models import ModelCard
from pages.shared.recipe import Expression, Print, each, named, value_of
from pages.shared.sources import Source
from pages.shared.view import state
from pages.shared.view.state import View
from transformer_core.cached_property import cached_property
from transformer_core.errors import TextError

if TYPE_CHECKING:
    from transformer_core.decoding.decoding_step import Aim, AttentionKind, DecodingStep, NextTokenPrediction
    from transformer_core.decoding.session import DecodingSession
    from transformer_core.decoding.tree import DecodingTree
    from transformer_core.text.interface import Tokenizer

FIRST_LENGTH = {"encoder_decoder": 64, "decoder_only": 24}  # tokens written by default
AHEAD = 8  # tokens written beyond the selected step, so that stepping forward needs no wait
N_ALTERNATIVES = 5
N_PRINTED = 12  # candidates that the code prints

TokenKind = Literal["given", "written", "forced", "kept", "ended", "dropped"]
"""Of a token: <bos> or of the prompt; by the model; chosen by a person; of a beam, kept, at its end, or dropped."""


@dataclass(frozen=True, kw_only=True)
class OutputToken:
    """A token of the output, and how it was chosen."""

    label: str  # with invisible characters made visible
    kind: TokenKind = "written"
    log_prob: float | None = None  # nats; None, like the next three, if the model did not predict it
    rank: int | None = None  # 0: the most probable
    entropy: float | None = None  # nats, of the distribution it was chosen from
    alternatives: tuple[tuple[str, float], ...] = ()  # most probable tokens there: label and probability in [0, 1]


@dataclass(frozen=True, kw_only=True, eq=False)
class DecodingData:
    """A step of a text that is being written; all parts of the page draw from it."""

    card: ModelCard
    view: View
    source: Source
    recipe: DecodingRecipe
    session: "DecodingSession"
    tokenizer: "Tokenizer"
    source_labels: tuple[str, ...]  # of the encoder's tokens; empty without an encoder
    left_out: range  # places of the tokens that were cut off for lack of room
    branches: "list[tuple[DecodingStep, ...]]"  # the tokens written so far on each branch
    at: "DecodingStep"  # the last token that was written at this step, or the last one given

    @classmethod
    def current(cls, card: ModelCard) -> "DecodingData | None":
        """Return the data of the page, with as many tokens as it needs; None without a text.

        Raises:
            HeadlightError: the model cannot be loaded, or the text cannot be read by it.
        """
        state.fit(card)
        view = state.current()
        if not view.text:
            return None
        source = view.source(card, continues=card.continues)
        view_fields.fit((source, view.text))
        recipe = DecodingRecipe.of(source, card.config, view.whole_text, _length(card))
        with devices.on(source.device):
            session, branches, given, tokenizer = value_of(
                (recipe.session, recipe.branches, recipe.given, recipe.tokenizer)
            )
            tree, here = session.tree, branches[view_fields.BRANCH.value]
            first = max(  # before the most uncertain of the tokens written by default
                (step.parent for step in here[: _usual_length(card)] if step.parent),
                key=lambda step: 0.0 if step.prediction is None else step.prediction.entropy,
                default=tree.start,
            )
            at = _step(tree, here, first)
            if not tree.has_ended(at):
                tree.read(at)
        cache.measure(GENERATED, recipe.tree)
        start = tree.start.position
        view_fields.drawn(
            [tuple(step.token for step in branch) for branch in branches], at.position - start, first.position - start
        )
        return cls(
            card=card,
            view=view,
            source=source,
            recipe=recipe,
            session=session,
            tokenizer=tokenizer.target,
            source_labels=given.labels if card.config.has_encoder else (),
            left_out=given.left_out,
            branches=branches,
            at=at,
        )

    @property
    def tree(self) -> "DecodingTree":
        """The tree of all continuations of this text."""
        return self.session.tree

    @property
    def branch(self) -> "tuple[DecodingStep, ...]":
        """The tokens written on the selected branch, including those after this step."""
        return self.branches[view_fields.BRANCH.value]

    @property
    def n_written(self) -> int:
        """The number of tokens written up to this step."""
        return self.at.position - self.tree.start.position

    @property
    def given(self) -> "tuple[DecodingStep, ...]":
        """<bos>, or the prompt."""
        return tuple(self.tree.start.path())

    @cached_property
    def at_recipe(self) -> Expression:
        """The last token at this step as code."""
        n = self.n_written
        return named("at", self.recipe.branch[n - 1] if n else self.recipe.tree.start)

    @cached_property
    def prediction_recipe(self) -> Expression:
        """The next-token prediction as code; the text must not have ended."""
        return named("prediction", self.recipe.session.prediction_after(self.at_recipe))

    @property
    def prediction(self) -> "NextTokenPrediction | None":
        """The next-token prediction; None if the text has ended."""
        return None if self.tree.has_ended(self.at) else value_of(self.prediction_recipe)

    @property
    def printed(self) -> list[Print]:
        """The lines of code that print the branch and the next-token prediction."""
        recipe, labels = self.recipe, self.recipe.tokenizer.target.labels
        lines = [
            Print(labels(tokens_of(recipe.branch)), "[tgt]"),
            Print(each("step", recipe.branch, lambda step: step.log_prob), "nats [tgt]"),
        ]
        if self.prediction is not None:
            drawn_from = named("drawn_from", recipe.session.distribution(self.at_recipe).exp())
            candidates = each(
                "one",
                self.prediction_recipe.candidates(N_PRINTED),
                lambda one: (labels([one.token])[0], one.probability, drawn_from[one.token].item()),
            )
            lines += [
                Print(candidates, "raw, and after sampling filters"),
                Print(self.prediction_recipe.entropy, "nats"),
                Print(labels([recipe.session.choice(self.at_recipe)]), "comes next"),
            ]
        return lines

    @property
    def ended(self) -> str | None:
        """A sentence on why nothing can be written after this step; None if something can."""
        if self.tree.has_ended(self.at):
            if self.n_written == 1:
                return say("The model ended the text at once: its first token is the end-of-sequence token.")
            return say("The model ended the text here (end-of-sequence token).")
        if not self.tree.room_after(self.at):
            n = self.card.config.max_seq_len
            return say("All {n:,} positions of this model are used, so no further token can be generated.", n=n)
        if self.is_at_limit:
            return say("The limit of {n:,} tokens is reached; the model could continue.", n=view_fields.LIMIT.value)
        return None

    @property
    def spaces_count(self) -> bool:
        """Whether a space in front of a word changes its tokens."""
        try:
            return not self.card.reads_ids and self.tokenizer.encode(" a") != self.tokenizer.encode("a")
        except TextError:  # a character tokenizer without one of these characters
            return True

    @property
    def is_at_limit(self) -> bool:
        """Whether only the page's own limit prevents further tokens."""
        return not self.tree.is_over(self.at) and self.n_written >= view_fields.LIMIT.value

    def labels(self, steps: "Sequence[DecodingStep]") -> tuple[str, ...]:
        """Return the labels of consecutive tokens, given all tokens before them."""
        before = [] if not steps or steps[0].parent is None else steps[0].parent.path()
        ids = [step.token for step in (*before, *steps)]
        return tuple(self.tokenizer.labels(ids)[len(before) :])

    @cached_property
    def labels_recipe(self) -> Expression:
        """The labels of all tokens of the branch, given ones first, as code."""
        last = self.recipe.branch[-1] if self.branch else self.recipe.tree.start
        return named("labels", self.recipe.tokenizer.target.labels(tokens_of(last.path())))

    @property
    def output_labels(self) -> list[str]:
        """The labels of all tokens of the branch, given ones first."""
        labels: list[str] = value_of(self.labels_recipe)
        return labels

    def tokens(self, steps: "Sequence[DecodingStep]") -> list[OutputToken]:
        """Return consecutive tokens, each with what the model predicted in its place."""
        return [
            OutputToken(
                label=label,
                kind="given" if step.is_given else "written",
                log_prob=None if step.chosen is None else step.log_prob,
                rank=None if step.chosen is None else step.chosen.rank,
                entropy=None if step.decision is None else step.decision.entropy,
                alternatives=self.alternatives(step.decision),
            )
            for step, label in zip(steps, self.labels(steps), strict=True)
        ]

    def alternatives(self, prediction: "NextTokenPrediction | None") -> tuple[tuple[str, float], ...]:
        """Return the labels and probabilities of the most probable tokens; none without a prediction."""
        best = () if prediction is None else prediction.candidates(N_ALTERNATIVES)
        return tuple((self.tokenizer.labels([one.token])[0], one.probability) for one in best)

    def text_of(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens of the output, in one line."""
        return output_in_a_line(self.tokenizer.decode(tokens)) or say("(empty)")

    @cached_property
    def aim(self) -> "Aim":
        """The selected head, or the mean of heads."""
        return view_fields.aim(self.card.config.n_decoder_layers)

    def kinds(self) -> "tuple[AttentionKind, ...]":
        """Return the attentions of the decoder."""
        return ("cross", "decoder") if self.card.config.has_encoder else ("decoder",)

    def who(self, kind: "AttentionKind") -> str:
        """Return the name of the selected head or mean of heads, for titles."""
        return head_in_words(kind, self.aim.layer, self.aim.head, self.aim.mean)

    def around(self, n_each_way: int) -> "dict[int, DecodingStep]":
        """Return the steps within `n_each_way` of this one that have a prediction, by number of written tokens."""
        steps = (self.tree.start, *self.branch)
        first = max(0, self.n_written - n_each_way)
        near = enumerate(steps[first : self.n_written + n_each_way + 1], first)
        return {n: step for n, step in near if step.prediction is not None and not self.tree.has_ended(step)}

    def file_name(self, *more: str) -> str:
        """Return the name of a file that is saved, without its ending."""
        return "-".join([self.view.model, "decoding", *more])


def _usual_length(card: ModelCard) -> int:
    """Return the number of tokens to write on a branch, regardless of the selected step."""
    return int(min(view_fields.LENGTH.value or FIRST_LENGTH[card.config.architecture], view_fields.LIMIT.value))


def _length(card: ModelCard) -> int:
    """Return the number of tokens to write on each branch."""
    ahead = 0 if view_fields.STEP.value is None else view_fields.STEP.value + AHEAD
    return max(_usual_length(card), min(ahead, view_fields.LIMIT.value))


def _step(tree: "DecodingTree", branch: "Sequence[DecodingStep]", first: "DecodingStep") -> "DecodingStep":
    """Return the selected step; `first` until one is chosen."""
    wanted = view_fields.STEP.value
    if wanted is None:
        return first
    return branch[min(wanted, len(branch)) - 1] if wanted and branch else tree.start


def signed(nats: float) -> str:
    """Return a log-probability with two decimals, without a sign if it rounds to zero."""
    return localized(round(nats, 2) + 0.0, ".2f").replace("-", "−")
