"""A reader who knows the grammar and the laws of the world, but not the plots: what does not hang together in a tale?

It takes each sentence for an event, finds out whom its names and pronouns mean, looks whether that event is possible as
things stand, changes the world as the event does, and asks at the end what was left open. It never compares a text with
those that were generated.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from transformer_core.corpora.grammars.stories.lexicon import ALWAYS, FORMS, all_with
from transformer_core.corpora.grammars.stories.patterns import Pattern, matches
from transformer_core.corpora.grammars.stories.references import References
from transformer_core.corpora.grammars.stories.surface import surface_faults
from transformer_core.corpora.grammars.stories.wording import MAX_SENTENCES, MIN_SENTENCES, Slot, sentences
from transformer_core.corpora.grammars.stories.world import Roles, World


def faults(text: str) -> list[str]:
    """Say what does not hang together in a text that is taken for a tale; an empty list for a good one.

    Args:
        text: a whole tale, such as a model has written.
    """
    problems = list(surface_faults(text))
    sentence_list = sentences(text)
    if not MIN_SENTENCES <= len(sentence_list) <= MAX_SENTENCES:
        problems.append(f"it has {len(sentence_list)} sentences; a tale has {MIN_SENTENCES} to {MAX_SENTENCES}")
    now = State()
    while sentence_list:
        best = min(_readings(sentence_list, now), key=lambda reading: len(reading.faults), default=None)
        if best is None:
            problems.append(f"{sentence_list[0]!r} is no sentence of a tale")
            now.references.discourse.go_on()
            del sentence_list[0]
        else:
            passage = " ".join(sentence_list[: best.n_sentences])
            problems += [f"{passage!r}: {fault}" for fault in best.faults]
            now = best.state
            del sentence_list[: best.n_sentences]
    return problems + now.world.loose_ends()


@dataclass
class State:
    """What is known so far: how things stand, and who was spoken of."""

    world: World = field(default_factory=World)
    references: References = field(default_factory=References)

    def copy(self) -> "State":
        """Return another one in the same state."""
        return State(self.world.copy(), self.references.copy())


def is_grammatical(text: str) -> bool:
    """Whether marks and words are right, and each sentence is one that the grammar can make, whatever it means."""
    sentence_list = sentences(text)
    while sentence_list:
        n_read = max((pattern.wording.n_sentences for pattern, _ in _matches(sentence_list)), default=0)
        if not n_read:
            return False
        del sentence_list[:n_read]
    return not any(surface_faults(text))


def _matches(sentence_list: list[str]) -> Iterator[tuple[Pattern, re.Match[str]]]:
    """All wordings that the next sentence, or the next two or three, can be."""
    for n_sentences in range(1, min(len(sentence_list), 3) + 1):
        passage = " ".join(sentence_list[:n_sentences])
        yield from matches(passage, n_sentences)


def _readings(sentence_list: list[str], now: State) -> Iterator["Reading"]:
    """Everything that the next sentence, or the next two or three, can be taken for."""
    for pattern, match in _matches(sentence_list):
        yield Reading(pattern, match, now.copy())
        if any(slot.kind == "both" for slot in pattern.slots):
            yield Reading(pattern, match, now.copy(), swapped=True)


class Reading:
    """One passage, taken for one event."""

    def __init__(self, pattern: Pattern, match: re.Match[str], state: State, *, swapped: bool = False) -> None:
        self.state = state
        self.deed = pattern.deed
        self.n_sentences = pattern.wording.n_sentences
        self.swapped = swapped  # "they" are B and A
        self.roles: Roles = {}
        self.faults: list[str] = state.references.faults
        fixed = []
        for slot, text in zip(pattern.slots, match.groups(), strict=True):
            if text is not None:
                self.take(slot, text)
                if slot.kind == "fixed":
                    fixed.append((slot, text))
        self.judge(pattern, fixed)
        state.references.discourse.go_on()

    def take(self, slot: Slot, text: str) -> None:
        """Find out who or what is meant in a slot, and that it fits the role."""
        references = self.state.references
        if slot.kind == "fixed":
            meant = [who for who, words in FORMS[slot.form or "at"].items() if text in (words, _capital(words))]
            if len(meant) == 1:
                if slot.introduces:
                    references.introduce(slot, meant[0])
                self.cast(slot.role, meant[0])
        elif slot.kind == "thing":
            self.cast(slot.role, references.thing(slot, text))
        elif slot.kind == "person":
            self.cast(slot.role, references.person(slot, text))
        else:
            pair = references.both(slot, text)
            if self.swapped:
                pair = pair[::-1]
            for role, who in zip(slot.role[::2], pair, strict=True):
                self.cast(role, who)

    def cast(self, role: str, who: str) -> None:
        """Note who plays a role; "" is nobody that could be found out."""
        if who and self.roles.setdefault(role, who) != who:
            self.faults.append(f"{who} where {self.roles[role]} should be")

    def judge(self, pattern: Pattern, fixed: list[tuple[Slot, str]]) -> None:
        """Look whether the event is possible, and let it happen."""
        world, deed = self.state.world, self.deed
        for child, grown_up in self.state.references.families.items():
            world.facts.add(("family_of", child, grown_up))
        for guard in pattern.wording.guards:
            players = all_with(guard[0])
            if guard[1] not in self.roles and len(players) == 1:
                self.cast(guard[1], players[0])
        self.roles = world.fill(deed.needs, self.roles) or self.roles
        for fact in world.obstacles(deed, self.roles):
            self.faults.append(f"to {deed.name}, it would have to be so: {' '.join(fact)}")
        for guard in pattern.wording.guards:
            if (guard[0], *(self.roles.get(role, role) for role in guard[1:])) not in ALWAYS:
                self.faults.append(f"that is not said of the {self.roles.get(guard[1])}")
        for slot, text in fixed:
            who = self.roles.get(slot.role, "")
            words = FORMS[slot.form or "at"].get(who, "")
            if who and text not in (words, _capital(words)):
                self.faults.append(f"{text!r} does not go with {who}")
        world.happen(deed, self.roles)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
