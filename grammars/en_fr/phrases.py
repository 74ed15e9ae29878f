"""What is said, before either language says it: a sentence as a tree of small records.

english.py and french.py each turn the same records into words. Whatever agrees with something points to it (a
pronoun to its antecedent, a relative clause to its noun): which word depends on which can be read off the tree.
"""

from dataclasses import dataclass
from typing import Literal

from grammars.en_fr.lexicon import Adjective, Gender, Noun, Person, Sensation
from grammars.en_fr.verbs import Verb

Determiner = Literal["the", "a", "some", "any", "this", "two", "three", "his", "her", "their"]
Tense = Literal["present", "progressive", "past", "past_progressive", "future", "future_after_when"]
Front = Literal["", "plain", "comma"]  # behind the clause; before it, without a comma or with one
Polarity = Literal["yes", "not", "n't", "never"]  # "did cross", "did not cross", "didn't cross", "never crossed"


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun with what stands around it."""

    noun: Noun
    plural: bool = False
    determiner: Determiner = "the"  # "this" is "these" in the plural; "any" only under negation
    adjectives: tuple[Adjective, ...] = ()  # in the order of English
    whole: "NounPhrase | None" = None  # the door *of the castle*
    relative: "Clause | None" = None  # its subject or object is a Gap for this noun

    @property
    def gender(self) -> Gender:
        """Gender of the French noun, or of the two together."""
        return self.noun.gender

    @property
    def kind(self) -> Person:
        """Whether English says he and she, or it."""
        return self.noun.kind


@dataclass(frozen=True, slots=True)
class Both:
    """Two nouns joined by "and": plural, and feminine only where both are."""

    first: NounPhrase
    second: NounPhrase
    plural = True

    @property
    def gender(self) -> Gender:
        """Gender of the French noun, or of the two together."""
        return "f" if self.first.gender == self.second.gender == "f" else "m"

    @property
    def kind(self) -> Person:
        """Whether English says he and she, or it."""
        return self.first.kind


@dataclass(frozen=True, slots=True)
class Pronoun:
    """It, he, she, they; as an object it, them."""

    antecedent: "Nominal"
    is_noisy: bool = False  # French says the other gender: see noise.py

    @property
    def gender(self) -> Gender:
        """Gender of the French noun, or of the two together; with noise the other one."""
        gender = self.antecedent.gender
        return gender if not self.is_noisy else "f" if gender == "m" else "m"

    @property
    def plural(self) -> bool:
        """Whether it is more than one."""
        return self.antecedent.plural

    @property
    def kind(self) -> Person:
        """Whether English says he and she, or it."""
        return self.antecedent.kind


@dataclass(frozen=True, slots=True)
class Gap(Pronoun):
    """A place in a clause that is filled from outside: nothing is said there, and the rest agrees all the same."""


Nominal = NounPhrase | Both | Pronoun


@dataclass(frozen=True, slots=True)
class Location:
    """Where: a preposition in both languages, and a noun phrase."""

    english: str
    french: str
    place: NounPhrase
    front: Front = ""


@dataclass(frozen=True, slots=True)
class Time:
    """When: an expression in both languages."""

    english: str
    french: str
    front: Front = ""


@dataclass(frozen=True, slots=True)
class Action:
    """Somebody does something. The object of "go" and its like is where they go."""

    verb: Verb
    object: Nominal | None = None
    recipient: NounPhrase | None = None
    modal: Verb | None = None  # want, can


@dataclass(frozen=True, slots=True)
class State:
    """Somebody or something is tired, too wide, very hungry."""

    quality: Adjective | Sensation
    degree: Literal["", "too", "very"] = ""


@dataclass(frozen=True, slots=True)
class Clause:
    """One subject and what is said of it."""

    subject: Nominal
    predicate: Action | State
    tense: Tense
    polarity: Polarity = "yes"
    location: Location | None = None
    time: Time | None = None


@dataclass(frozen=True, slots=True)
class Existence:
    """There is, there are, in the present or the past."""

    what: NounPhrase
    tense: Tense
    location: Location
    polarity: Polarity = "yes"
    time: Time | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A word that joins clauses, or a comma."""

    english: str
    french: str


BECAUSE = Link("because", "parce que")
WHEN = Link("when", "quand")
IF = Link("if", "si")
AND = Link("and", "et")
BUT = Link("but", "mais")
SO = Link(", so", ", alors")
COMMA = Link(",", ",")

Piece = Clause | Existence | Link


@dataclass(frozen=True, slots=True)
class Sentence:
    """Clauses and the words that join them."""

    kind: str  # "because", "action", ...: see sentences.py
    pieces: tuple[Piece, ...]
    reasons: tuple[tuple[str, str, str], ...] = ()  # (subject, object, quality) where a reason is given
