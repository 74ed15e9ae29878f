"""A reader who knows the grammar and the laws of the world, but not the plots, finds what is incoherent in a story.

Each sentence is read as an event: regular expressions made of the wordings find its slots, its names and pronouns are
resolved, the event is checked against the state of the world, and the world is changed accordingly; at the end, nothing
may be left open. A text is never compared with generated ones.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from transformer_core.cached_property import cached_property
from transformer_core.corpora.shipped.stories.references import References
from transformer_core.corpora.shipped.stories.wording import (
    MAX_SENTENCES,
    MIN_SENTENCES,
    SLOT,
    SPEECH,
    Slot,
    Wording,
    parts,
    sentences,
)
from transformer_core.corpora.shipped.stories.world import (
    ALWAYS,
    CHILDREN,
    DEEDS,
    FAMILY,
    FORMS,
    LOOKS,
    PHRASE,
    VILLAGE,
    Deed,
    Roles,
    World,
    all_with,
)


@dataclass(frozen=True)
class Pattern:
    """A wording of a deed, as the reader matches it."""

    deed: Deed
    wording: Wording

    @cached_property
    def _compiled(self) -> tuple[re.Pattern[str], tuple[Slot, ...]]:
        slots: list[Slot] = []
        expression = ""
        for piece in self.wording.pieces():
            if isinstance(piece, tuple):
                expression += f"(?:{'|'.join(_expression(parts(option), slots) for option in piece)})"
            else:
                expression += _expression((piece,), slots)
        return re.compile(expression), tuple(slots)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """All slots, in the order of the groups."""
        return self._compiled[1]

    def match(self, passage: str) -> re.Match[str] | None:
        """Match a whole passage; one group for each slot."""
        return self._compiled[0].fullmatch(passage)


def matches(passage: str, n_sentences: int) -> Iterator[tuple[Pattern, re.Match[str]]]:
    """Yield all wordings of `n_sentences` sentences that match a passage."""
    for literal, pattern in _by_literal(n_sentences):
        if literal in passage:  # avoids most expressions, which are slow to compile and to match
            match = pattern.match(passage)
            if match:
                yield pattern, match


@cache
def _by_literal(n_sentences: int) -> tuple[tuple[str, Pattern], ...]:
    """Return all wordings of `n_sentences` sentences, each after its longest literal, which all its texts contain."""
    patterns = []
    for deed in DEEDS.values():
        for wording in deed.wordings:
            if wording.n_sentences == n_sentences:
                literal = max((piece for piece in wording.pieces() if isinstance(piece, str)), key=len)
                patterns.append((literal, Pattern(deed, wording)))
    return tuple(patterns)


def any_of(options: Iterable[str]) -> str:
    """Return an expression for any of these texts, the longest first."""
    return f"(?:{'|'.join(map(re.escape, sorted(set(options), key=len, reverse=True)))})"


_LOOK = any_of(look for looks in LOOKS.values() for look in looks if look)
NOUN = any_of([*PHRASE, *PHRASE.values()])
NOUN_PHRASE = rf"(?:{_LOOK} )?{NOUN}"
PERSON = rf"(?:(?:[Hh]is|[Hh]er|[A-Z][a-z]+'s) {any_of(FAMILY)}|[Tt]he {any_of(VILLAGE)}|[A-Z][a-z]+)"
_PERSON_FORMS = {
    "": rf"{PERSON}|[Hh]e|[Ss]he",
    "o": rf"{PERSON}|him|her",
    "s": rf"{PERSON}'s|[Hh]is|[Hh]er",
    "he": "[Hh]e|[Ss]he",
    "him": "him|her",
    "his": "[Hh]is|[Hh]er",
    "name": PERSON,
} | {verb: rf"{verb} {PERSON}|(?:he|she) {verb}" for verb in SPEECH}
_THING_FORMS = {
    "": rf"[Tt]he {NOUN_PHRASE}|[Ii]t|them",
    "the": rf"[Tt]he {NOUN_PHRASE}",
    "new": rf"(?:[Aa]n?|[Ss]ome|[Aa] pair of) {NOUN_PHRASE}",
    "it": "[Ii]t|[Tt]hey",
    "them": "it|them",
    "its": "[Ii]ts|[Tt]heir",
}


def _expression(pieces: Iterable[str | Slot], slots: list[Slot]) -> str:
    """Return the expression for literals and slots; the slots are appended to `slots`."""
    expression = ""
    for piece in pieces:
        if isinstance(piece, str):
            expression += re.escape(piece)
        else:
            slots.append(piece)
            expression += f"({_slot(piece)})"
    return expression


@cache
def _slot(slot: Slot) -> str:
    if slot.kind == "fixed":
        texts = FORMS[slot.form or "at"].values()
        return any_of([*texts, *(text[0].upper() + text[1:] for text in texts)] if slot.capital else texts)
    if slot.kind == "person":
        return _PERSON_FORMS[slot.form]
    return _THING_FORMS.get(slot.form, NOUN_PHRASE) if slot.kind == "thing" else rf"[Tt]hey|{PERSON} and {PERSON}"


_WORD = re.compile(r"[A-Za-z]+(?:-[a-z]+)*(?:'s)?")
_PRONOUNS = "he him his she her it its they them their the a an some pair of and"
_PROPER = frozenset((*CHILDREN, *FORMS["call"].values(), "Sunday", "Sundays", "I"))


def faults(text: str) -> list[str]:
    """Return the faults of a text that is read as a story; an empty list for a coherent one.

    Args:
        text: a whole story, such as a model wrote.
    """
    problems = list(surface_faults(text))
    remaining = sentences(text)
    if not MIN_SENTENCES <= len(remaining) <= MAX_SENTENCES:
        problems.append(f"it has {len(remaining)} sentences; a story has {MIN_SENTENCES} to {MAX_SENTENCES}")
    now = State()
    while remaining:
        best = min(_readings(remaining, now), key=lambda reading: len(reading.faults), default=None)
        if best is None:
            problems.append(f"{remaining[0]!r} is no sentence of a story")
            now.references.discourse.next_passage()
            del remaining[0]
        else:
            passage = " ".join(remaining[: best.n_sentences])
            problems += [f"{passage!r}: {fault}" for fault in best.faults]
            now = best.state
            del remaining[: best.n_sentences]
    return problems + now.world.loose_ends()


def is_grammatical(text: str) -> bool:
    """Return True if punctuation and words are correct and the grammar can produce each sentence, whatever it means."""
    remaining = sentences(text)
    while remaining:
        n_read = max((pattern.wording.n_sentences for pattern, _ in _matches(remaining)), default=0)
        if not n_read:
            return False
        del remaining[:n_read]
    return not any(surface_faults(text))


def surface_faults(text: str) -> Iterator[str]:
    """Yield the faults in punctuation, capitals and words, one sentence per fault."""
    if text.count('"') % 2:
        yield "a quotation mark has no partner"
    if not re.search(r'[.!?]"?$', text):
        yield "it does not end with a full stop"
    if re.search(r"\s\s|\s[.,!?]|^\s|\s$|[.,!?][A-Za-z]|[,.!?][.,!?]", text):
        yield "a space or a mark is out of place"
    for sentence in sentences(text):
        for word in _WORD.finditer(sentence):
            before = sentence[: word.start()]
            opens = before in ("", '"') or before.endswith((' "', ". ", "! ", "? "))
            name = word[0].removesuffix("'s") in _PROPER
            if opens and word[0][0].islower() and not before.endswith(', "'):
                yield f"no capital: {word[0]!r}"
            elif word[0][0].isupper() and not opens and not name:
                yield f"a capital within a sentence: {word[0]!r}"
            if word[0] not in _known_words() and (word[0][0].lower() + word[0][1:]) not in _known_words():
                yield f"an unknown word: {word[0]!r}"
    for article, word in re.findall(r"\b([Aa]n?) ([A-Za-z]+)", text):
        if (article.lower() == "an") != (word[0].lower() in "aeiou"):
            yield f"{article} {word}"


@cache
def _known_words() -> frozenset[str]:
    """Return every word form that a story can have, in lower case except names."""
    texts = [
        *(SLOT.sub(" ", wording.text) for deed in DEEDS.values() for wording in deed.wordings),
        *(text for words in FORMS.values() for text in words.values()),
        *(look for looks in LOOKS.values() for look in looks),
        *(*PHRASE, *PHRASE.values(), *FAMILY, *VILLAGE, _PRONOUNS),
    ]
    words = {word if word in _PROPER else word.lower() for text in texts for word in _WORD.findall(text)}
    return frozenset(words | {*CHILDREN} | {f"{who}'s" for who in (*CHILDREN, *FAMILY, *VILLAGE)})


@dataclass
class State:
    """The state so far: the facts that are true in the world, and the mentions."""

    world: World = field(default_factory=World)
    references: References = field(default_factory=References)

    def copy(self) -> "State":
        """Return a copy of this state."""
        return State(self.world.copy(), self.references.copy())


def _matches(remaining: list[str]) -> Iterator[tuple[Pattern, re.Match[str]]]:
    """Yield all wordings that match the next sentence, or the next two or three."""
    for n_sentences in range(1, min(len(remaining), 3) + 1):
        yield from matches(" ".join(remaining[:n_sentences]), n_sentences)


def _readings(remaining: list[str], now: State) -> Iterator["Reading"]:
    """Yield every possible reading of the next sentence, or of the next two or three."""
    for pattern, match in _matches(remaining):
        yield Reading(pattern, match, now.copy())
        if any(slot.kind == "both" for slot in pattern.slots):
            yield Reading(pattern, match, now.copy(), swapped=True)


class Reading:
    """One passage, read as one event."""

    def __init__(self, pattern: Pattern, match: re.Match[str], state: State, *, swapped: bool = False) -> None:
        self.state = state
        self.n_sentences = pattern.wording.n_sentences
        self.faults: list[str] = state.references.faults
        self._swapped = swapped  # "they" are B and A
        self._roles: Roles = {}
        fixed = []
        for slot, text in zip(pattern.slots, match.groups(), strict=True):
            if text is not None:
                self._resolve(slot, text)
                if slot.kind == "fixed":
                    fixed.append((slot, text))
        self._judge(pattern, fixed)
        state.references.discourse.next_passage()

    def _resolve(self, slot: Slot, text: str) -> None:
        """Find the referent of a slot, and check that it fits the role."""
        references = self.state.references
        if slot.kind == "fixed":
            meant = [who for who, words in FORMS[slot.form or "at"].items() if text in (words, _capital(words))]
            if len(meant) == 1:
                if slot.introduces:
                    references.introduce(slot, meant[0])
                self._cast(slot.role, meant[0])
        elif slot.kind == "thing":
            self._cast(slot.role, references.thing(slot, text))
        elif slot.kind == "person":
            self._cast(slot.role, references.person(slot, text))
        else:
            pair = references.both(slot, text)
            if self._swapped:
                pair = pair[::-1]
            for role, who in zip(slot.role[::2], pair, strict=True):
                self._cast(role, who)

    def _cast(self, role: str, who: str) -> None:
        """Record who plays a role; "" stands for an unresolved reference."""
        if who and self._roles.setdefault(role, who) != who:
            self.faults.append(f"{who} where {self._roles[role]} should be")

    def _judge(self, pattern: Pattern, fixed: list[tuple[Slot, str]]) -> None:
        """Check that the event is possible, and change the world."""
        world, deed = self.state.world, pattern.deed
        for child, grown_up in self.state.references.families.items():
            world.facts.add(("family_of", child, grown_up))
        for guard in pattern.wording.guards:
            players = all_with(guard[0])
            if guard[1] not in self._roles and len(players) == 1:
                self._cast(guard[1], players[0])
        self._roles = roles = world.fill(deed.needs, self._roles) or self._roles
        for fact in world.obstacles(deed, roles):
            self.faults.append(f"to {deed.name}, this would have to be true: {' '.join(fact)}")
        for guard in pattern.wording.guards:
            if (guard[0], *(roles.get(role, role) for role in guard[1:])) not in ALWAYS:
                self.faults.append(f"that does not go with the {roles.get(guard[1])}")
        for slot, text in fixed:
            who = roles.get(slot.role, "")
            words = FORMS[slot.form or "at"].get(who, "")
            if who and text not in (words, _capital(words)):
                self.faults.append(f"{text!r} does not go with {who}")
        world.happen(deed, roles)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
