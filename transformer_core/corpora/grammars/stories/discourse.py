"""Who has been spoken of, and whom a pronoun can therefore mean.

The teller says "she" only where that can mean one person; the reader takes it for that person, and complains where it
could be nobody or more than one.
"""

from transformer_core.corpora.grammars.stories.lexicon import PRONOUN

OBJECT = {"he": "him", "she": "her", "it": "it", "they": "them"}
POSSESSIVE = {"he": "his", "she": "her", "it": "its", "they": "their"}


class Discourse:
    """The mentions in the passage that is being told and in the one before it, each a sentence or two."""

    def __init__(self) -> None:
        self.before: dict[str, str] = {}  # who: the pronoun
        self.now: dict[str, str] = {}
        self.subject = ""  # of the clause that is being told

    def mention(self, who: str, *, subject: bool = False) -> None:
        """Note that somebody or something is spoken of here."""
        self.now[who] = PRONOUN[who]
        if subject:
            self.subject = who

    def meant_by(self, pronoun: str, *, other_than: str = "") -> list[str]:
        """Whom a pronoun can mean here: those of this passage, and if there are none, those of the one before.

        Args:
            pronoun: "he", "she", "it" or "they", also for his, her, its and the like.
            other_than: who is certainly not meant.
        """
        candidates = [who for who, its in self.now.items() if its == pronoun and who != other_than]
        return candidates or [who for who, its in self.before.items() if its == pronoun and who != other_than]

    def meant_as_object(self, pronoun: str) -> list[str]:
        """Whom him, her or them can mean: not the subject of the clause, unless there is nobody else."""
        return self.meant_by(pronoun, other_than=self.subject) or self.meant_by(pronoun)

    def people(self) -> set[str]:
        """All persons of this passage and the one before; "they" are two."""
        return {who for who, its in (self.before | self.now).items() if its in ("he", "she")}

    def copy(self) -> "Discourse":
        """Return another one in the same state."""
        other = Discourse()
        other.before, other.now, other.subject = dict(self.before), dict(self.now), self.subject
        return other

    def go_on(self) -> None:
        """Begin the next passage."""
        self.before, self.now, self.subject = self.now, {}, ""

    def take_back(self) -> None:
        """Forget what was said in this passage."""
        self.now, self.subject = {}, ""
