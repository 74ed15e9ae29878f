"""Sentences independent of language: trees of small records.

english.py and french.py each turn the same records into words. A record that agrees with another refers to it (a
pronoun to its antecedent, a relative clause to its noun), so the dependencies between words can be read off the tree.
"""

from dataclasses import dataclass
from typing import Literal

from grammars.en_fr.lexicon import Adjective, Gender, Noun, Person, Sensation
from grammars.en_fr.verbs import Verb

Determiner = Literal["the", "a", "some", "any", "this", "two", "three", "his", "her", "their"]
Tense = Literal["present", "progressive", "past", "past_progressive", "future", "future_after_when"]
Front = Literal["", "plain", "comma"]  # after the clause; before it, without or with a comma
Polarity = Literal["yes", "not", "n't", "never"]  # "did cross", "did not cross", "didn't cross", "never crossed"


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun with its determiner, adjectives and complements."""

    noun: Noun
    plural: bool = False
    determiner: Determiner = "the"  # "this" is "these" in the plural; "any" only under negation
    adjectives: tuple[Adjective, ...] = ()  # in the order of English
    whole: "NounPhrase | None" = None  # the door *of the castle*
    relative: "Clause | None" = None  # its subject or object is a Gap for this noun

    @property
    def gender(self) -> Gender:
        """The gender of the French noun, or of the two together."""
        return self.noun.gender

    @property
    def kind(self) -> Person:
        """The kind of the noun: "he" and "she" for a person, else "it"."""
        return self.noun.kind


@dataclass(frozen=True, slots=True)
class Both:
    """Two nouns joined by "and": plural, and feminine only where both are."""

    first: NounPhrase
    second: NounPhrase
    plural = True

    @property
    def gender(self) -> Gender:
        """The gender of the French noun, or of the two together."""
        return "f" if self.first.gender == self.second.gender == "f" else "m"

    @property
    def kind(self) -> Person:
        """The kind of the noun: "he" and "she" for a person, else "it"."""
        return self.first.kind


@dataclass(frozen=True, slots=True)
class Pronoun:
    """It, he, she, they; as an object it, them."""

    antecedent: "Nominal"
    is_noisy: bool = False  # French has the other gender: see noise.py

    @property
    def gender(self) -> Gender:
        """The gender of the antecedent; with noise the other one."""
        gender = self.antecedent.gender
        return gender if not self.is_noisy else "f" if gender == "m" else "m"

    @property
    def plural(self) -> bool:
        """True for more than one."""
        return self.antecedent.plural

    @property
    def kind(self) -> Person:
        """The kind of the noun: "he" and "she" for a person, else "it"."""
        return self.antecedent.kind


@dataclass(frozen=True, slots=True)
class Gap(Pronoun):
    """A gap in a clause that an outer noun fills: it has no words, but the rest agrees with it."""


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
    """An action. The object of "go" and similar verbs is the destination."""

    verb: Verb
    object: Nominal | None = None
    recipient: NounPhrase | None = None
    modal: Verb | None = None  # want, can


@dataclass(frozen=True, slots=True)
class State:
    """A state: tired, too wide, very hungry."""

    quality: Adjective | Sensation
    degree: Literal["", "too", "very"] = ""


@dataclass(frozen=True, slots=True)
class Clause:
    """A subject and its predicate."""

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
    """Clauses and the links between them."""

    kind: str  # "because", "action", ...: see sentences.py
    pieces: tuple[Piece, ...]
    reasons: tuple[tuple[str, str, str], ...] = ()  # (subject, object, quality) of its reasons
