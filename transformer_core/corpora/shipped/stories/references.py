"""Resolving the names, nouns and pronouns of a text, by the mentions of people and things before them.

The grammar writes "she" only where it is unambiguous; the reader resolves the pronoun, and reports a fault if it can
refer to nobody or to more than one person.
"""

import re
from dataclasses import dataclass, field

from transformer_core.corpora.shipped.stories.wording import SPEECH, Slot
from transformer_core.corpora.shipped.stories.world import (
    CHILDREN,
    FAMILY,
    LOOKS,
    PEOPLE,
    PHRASE,
    PRONOUN,
    indefinite,
)


class Discourse:
    """The mentions in the current passage and in the previous one; a passage is one event, a sentence or more."""

    def __init__(self) -> None:
        self.before: dict[str, str] = {}  # who: the pronoun
        self.now: dict[str, str] = {}
        self.subject = ""  # of the current clause

    def mention(self, who: str, *, subject: bool = False) -> None:
        """Record a mention of a person or thing."""
        self.now[who] = PRONOUN[who]
        if subject:
            self.subject = who

    def candidates(self, pronoun: str, *, other_than: str = "") -> list[str]:
        """Return everyone a pronoun can refer to: from this passage, or, if there is nobody, from the previous one.

        Args:
            pronoun: "he", "she", "it" or "they", also for his, her, its and the like.
            other_than: a person to exclude.
        """
        candidates = [who for who, its in self.now.items() if its == pronoun and who != other_than]
        return candidates or [who for who, its in self.before.items() if its == pronoun and who != other_than]

    def object_candidates(self, pronoun: str) -> list[str]:
        """Return the possible referents of him, her or them: the subject of the clause only if there is nobody else."""
        return self.candidates(pronoun, other_than=self.subject) or self.candidates(pronoun)

    def people(self) -> set[str]:
        """Return all people of this passage and the previous one; "they" are two."""
        return {who for who, its in (self.before | self.now).items() if its in ("he", "she")}

    def copy(self) -> "Discourse":
        """Return a copy of this state."""
        other = Discourse()
        other.before, other.now, other.subject = dict(self.before), dict(self.now), self.subject
        return other

    def next_passage(self) -> None:
        """Begin the next passage."""
        self.before, self.now, self.subject = self.now, {}, ""


_PRONOUN = {
    "he": "he", "him": "he", "his": "he", "she": "she", "her": "she", "it": "it", "its": "it", "they": "they",
    "them": "they", "their": "they",
}  # fmt: skip
_ARTICLE = re.compile(r"^(?:[Aa] pair of|[Aa]n?|[Ss]ome|[Tt]he) ")
_NOUN = {phrase: word for word, phrase in PHRASE.items()} | {word: word for word in PHRASE}


@dataclass
class References:
    """Who has been introduced, what things look like, and the latest mentions."""

    discourse: Discourse = field(default_factory=Discourse)
    known: set[str] = field(default_factory=set)
    looks: dict[str, str] = field(default_factory=dict)  # thing: its adjective
    families: dict[str, str] = field(default_factory=dict)  # grown-up: child
    faults: list[str] = field(default_factory=list)  # in the current passage

    def copy(self) -> "References":
        """Return a copy of this state, without the faults."""
        return References(self.discourse.copy(), set(self.known), dict(self.looks), dict(self.families))

    def introduce(self, slot: Slot, who: str) -> None:
        """Record a person or thing as new or as known, whichever the slot requires."""
        if slot.introduces == "+" and who in self.known:
            self.faults.append(f"{who} is there already")
        elif not slot.introduces and who not in self.known:
            self.faults.append(f"{who} was never introduced")
        self.known.add(who)
        self.discourse.mention(who, subject=slot.form in ("", "he", *SPEECH) and who in PEOPLE)

    def pronoun(self, text: str, *, as_object: bool = False, other_than: str = "") -> str:
        """Return the referent of a pronoun; "" where it is ambiguous."""
        word = _PRONOUN[text.lower()]
        discourse = self.discourse
        meant = discourse.object_candidates(word) if as_object else discourse.candidates(word, other_than=other_than)
        if len(meant) != 1:
            self.faults.append(f"{text!r} could be {' or '.join(meant) or 'nobody'}")
        return meant[0] if len(meant) == 1 else ""

    def person(self, slot: Slot, text: str) -> str:
        """Return the person that a name or a pronoun refers to."""
        for verb in SPEECH:
            text = text.removeprefix(f"{verb} ").removesuffix(f" {verb}")
        if text.lower() in _PRONOUN:
            who = self.pronoun(text, as_object=slot.form in ("o", "him"))
        else:
            who = self.named(slot, text.removesuffix("'s") if slot.form == "s" else text)
        if who:
            self.introduce(slot, who)
        return who

    def named(self, slot: Slot, text: str) -> str:
        """Return the person that a name refers to; "her mother" is named through her."""
        owner, _, noun = text.rpartition(" ")
        if noun not in FAMILY:
            if noun not in CHILDREN and owner.lower() != "the":
                self.faults.append(f"nobody is called {noun}")
                return ""
            return noun
        child = self.pronoun(owner, other_than=noun) if owner.lower() in _PRONOUN else owner.removesuffix("'s")
        if not child:
            return noun
        if child not in self.known and (self.known & PEOPLE.keys() or not slot.introduces):
            self.faults.append(f"{child} was never introduced")
        self.known.add(child)
        if self.families.setdefault(noun, child) != child:
            self.faults.append(f"the {noun} is not {child}'s")
        self.discourse.mention(child)
        return noun

    def both(self, slot: Slot, text: str) -> tuple[str, str]:
        """Return the two people that "they" or two names refer to."""
        if text.lower() == "they":
            people = sorted(self.discourse.people())
            if len(people) != 2:
                self.faults.append(f"'they' could be {' and '.join(people) or 'nobody'}")
                return "", ""
            self.discourse.mention(people[0])
            self.discourse.mention(people[1])
            return people[0], people[1]
        first, second = text.split(" and ")
        return self._mentioned(slot, first), self._mentioned(slot, second)

    def _mentioned(self, slot: Slot, text: str) -> str:
        who = self.named(slot, text)
        if who:
            self.introduce(slot, who)
        return who

    def thing(self, slot: Slot, text: str) -> str:
        """Return the thing that a noun or a pronoun refers to."""
        if text.lower() in _PRONOUN:
            word = self.pronoun(text)
            if word:
                self.introduce(slot, word)
            return word
        phrase = _ARTICLE.sub("", text) if slot.form in ("", "new", "the") else text
        look, noun = ("", phrase) if phrase in _NOUN else phrase.split(" ", 1)
        word = _NOUN[noun]
        if look and self.looks.setdefault(word, look) != look:
            self.faults.append(f"the {word} is {self.looks[word]}, not {look}")
        if look and look not in LOOKS[word]:
            self.faults.append(f"no {word} is {look}")
        if slot.form == "new" and text[0].lower() + text[1:] != indefinite(word, phrase):
            self.faults.append(f"{text!r} for {indefinite(word, phrase)!r}")
        self.introduce(slot, word)
        return word
