"""The wordings as regular expressions, which find the slots in a sentence."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from transformer_core.cached_property import cached_property
from transformer_core.corpora.shipped.stories.lexicon import FAMILY, FORMS, LOOKS, PHRASE, VILLAGE
from transformer_core.corpora.shipped.stories.wording import SPEECH, Slot, Wording, parts
from transformer_core.corpora.shipped.stories.world import DEEDS, Deed


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
        if literal in passage:  # most wordings need no expression, which is slow to compile and to match
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
