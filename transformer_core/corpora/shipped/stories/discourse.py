"""The mentions of people and things, and what a pronoun can therefore refer to.

The grammar writes "she" only where that is unambiguous; the reader resolves it, and reports it where nobody or more
than one can be meant.
"""

from transformer_core.corpora.shipped.stories.lexicon import PRONOUN

OBJECT = {"he": "him", "she": "her", "it": "it", "they": "them"}
POSSESSIVE = {"he": "his", "she": "her", "it": "its", "they": "their"}


class Discourse:
    """The mentions in the current passage and in the previous one; a passage is one event, a sentence or more."""

    def __init__(self) -> None:
        self.before: dict[str, str] = {}  # who: the pronoun
        self.now: dict[str, str] = {}
        self.subject = ""  # of the current clause

    def mention(self, who: str, *, subject: bool = False) -> None:
        """Note that somebody or something is mentioned here."""
        self.now[who] = PRONOUN[who]
        if subject:
            self.subject = who

    def candidates(self, pronoun: str, *, other_than: str = "") -> list[str]:
        """Return everyone a pronoun can refer to: from this passage, or, if there is nobody, from the previous one.

        Args:
            pronoun: "he", "she", "it" or "they", also for his, her, its and the like.
            other_than: who is certainly not meant.
        """
        candidates = [who for who, its in self.now.items() if its == pronoun and who != other_than]
        return candidates or [who for who, its in self.before.items() if its == pronoun and who != other_than]

    def object_candidates(self, pronoun: str) -> list[str]:
        """Return everyone him, her or them can refer to: not the subject of the clause, unless nobody else."""
        return self.candidates(pronoun, other_than=self.subject) or self.candidates(pronoun)

    def people(self) -> set[str]:
        """Return all people of this passage and the previous one; "they" are two."""
        return {who for who, its in (self.before | self.now).items() if its in ("he", "she")}

    def copy(self) -> "Discourse":
        """Return another one in the same state."""
        other = Discourse()
        other.before, other.now, other.subject = dict(self.before), dict(self.now), self.subject
        return other

    def next_passage(self) -> None:
        """Begin the next passage."""
        self.before, self.now, self.subject = self.now, {}, ""

    def restart_passage(self) -> None:
        """Forget the mentions in this passage."""
        self.now, self.subject = {}, ""
