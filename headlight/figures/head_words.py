"""A head in words: where it attends, and how much the loss rises without it."""

from headlight.analysis.heads.habits import NEAR
from headlight.analysis.heads.measures import HeadName, HeadScore
from transformer_core.errors import NO_MESSAGE, Message, mark

HABITS = {
    "antecedent": mark("puts {share:.0%} of its attention from pronouns on their antecedents"),
    "aligned": mark("puts {share:.0%} of its attention on the token that determines the next one"),
    "previous": mark("puts {share:.0%} of its attention on the previous token"),
    "first": mark("puts {share:.0%} of its attention on the first token (attention sink)"),
}


def sentence(score: HeadScore) -> Message:
    """Return the sentence about a head in a model's card, with its name."""
    name = HeadName(score.attention, score.layer, score.head)
    return Message.joined("", (name.in_words(), ": ", _in_words(score), "."))


def _in_words(score: HeadScore) -> Message:
    if not score.is_telling:
        return NO_MESSAGE
    habit = Message("matches no known pattern")
    if score.habit is not None:
        name, share = score.habit
        near = Message("puts {share:.0%} of its attention within {n} tokens", n=NEAR, share=share)
        habit = near if name == "near" else Message(HABITS[name], share=share)
    return Message.joined("; ", (habit, _loss_in_words(score.effect)))


def _loss_in_words(effect: float) -> Message:
    if abs(effect) < 0.005:
        return Message("ablating it leaves the loss unchanged")
    if effect > 0:
        return Message("ablating it raises the loss by {effect:.2f} nats", effect=effect)
    return Message("ablating it lowers the loss by {effect:.2f} nats", effect=-effect)
