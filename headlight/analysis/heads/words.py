"""A head in words: where it attends, and how much the loss rises without it."""

from dataclasses import dataclass

from headlight.analysis.heads.habits import NEAR
from headlight.analysis.heads.measures import HeadName
from transformer_core.errors import NO_MESSAGE, Message

_NOTABLE_SHARE, _NOTABLE_SHARE_NEAR, _NOTABLE_EFFECT = 0.4, 0.6, 0.04


@dataclass(frozen=True, kw_only=True)
class HeadScore:
    """One head, measured on some texts; of its attention, the mean shares, in [0, 1]; None where not known."""

    attention: str  # its name in ATTENTIONS
    layer: int
    head: int
    aligned: float | None  # on the positions that determine the next token; None: not known for these texts
    previous: float | None  # on the token before
    first: float | None  # on the first token
    near: float | None  # on the token itself and up to three to either side, of tokens that have more to look at
    effect: float  # nats by which the loss of what is determined rises without the head
    antecedent: float | None = None  # of pronouns of a source, on what they stand for; None where that is not known

    @property
    def habit(self) -> Message:
        """What it does with most of its attention, and with how much; nothing where it has none of the plain habits."""
        shares = {
            "antecedent": self.antecedent,
            "aligned": self.aligned,
            "previous": self.previous,
            "first": self.first,
        }
        known = ((name, share) for name, share in shares.items() if share is not None)
        name, share = max(known, key=lambda one: one[1], default=("", 0.0))  # in cross-attention there may be none
        if share >= _NOTABLE_SHARE:
            if name == "antecedent":
                return Message("puts {share:.0%} of its attention from pronouns on their antecedents", share=share)
            if name == "aligned":
                return Message(
                    "puts {share:.0%} of its attention on the token that determines the next one", share=share
                )
            if name == "previous":
                return Message("puts {share:.0%} of its attention on the previous token", share=share)
            return Message("puts {share:.0%} of its attention on the first token (attention sink)", share=share)
        if self.near is not None and self.near >= _NOTABLE_SHARE_NEAR:
            return Message("puts {share:.0%} of its attention within {n} tokens", n=NEAR, share=self.near)
        return NO_MESSAGE

    def sentence(self) -> Message:
        """Return the sentence about the head in a model's card, with its name."""
        name = HeadName(self.attention, self.layer, self.head)
        return Message.joined("", (name.in_words(), ": ", self.in_words(), "."))

    def in_words(self) -> Message:
        """Return one sentence about what the head does, or nothing where nothing stands out."""
        if not self.habit and self.effect < _NOTABLE_EFFECT:
            return NO_MESSAGE
        habit = self.habit or Message("matches no known pattern")
        return Message.joined("; ", (habit, self._loss_in_words()))

    def _loss_in_words(self) -> Message:
        if abs(self.effect) < 0.005:
            return Message("ablating it leaves the loss unchanged")
        if self.effect > 0:
            return Message("ablating it raises the loss by {effect:.2f} nats", effect=self.effect)
        return Message("ablating it lowers the loss by {effect:.2f} nats", effect=-self.effect)
