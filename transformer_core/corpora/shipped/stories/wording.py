"""How an event can be put into words: sentences with slots, used both by the grammar and by the reader.

A wording is a sentence, or two or three, for example

    [One morning|One day], {?A} took {A.his} {+x.full} {P.to}.

`[a|b]` is a free choice. `{role.form}` is a slot: a role of the event, and how it is named. `+` introduces somebody or
something new, `?` may do so; without a sign, it is known already. Forms of a person and of a thing that depend on the
text before:

| slot | person | thing |
|---|---|---|
| `{A}` `{x}` | name, or he and she where that is unambiguous | the ball, or it and them |
| `{A.o}` `{A.s}` | name, or him and her; Mia's, or his and her | |
| `{A.said}` | said Mia, or she said; likewise all verbs of speech | |
| `{A.he}` `{A.him}` `{A.his}`, `{x.it}` `{x.them}` | the pronoun; where ambiguous, another wording is used | |
| `{A.name}`, `{A+B}` | the name; both names, or they | |
| `{x.new}` `{x.full}` `{x.np}` `{x.noun}` `{x.the}` | | a red ball, red ball, (red) ball, ball, the (red) ball |

All other forms are in `world.FORMS`. Features before a `>` restrict a wording: "toy x > ..." is only for toys.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from transformer_core.cached_property import cached_property

MIN_SENTENCES, MAX_SENTENCES = 3, 7  # of a story
PERSON_ROLES = frozenset("ABCGT")  # children, grown-ups of the family, people of the village
THING_ROLES = frozenset("abcfgxyz")  # animals, food and things
SPEECH = ("asked", "called", "cried", "said", "thought", "whispered")
PERSON_FORMS = frozenset(("", "o", "s", "he", "him", "his", "name", *SPEECH))
THING_FORMS = frozenset(("", "new", "full", "np", "noun", "the", "it", "them", "its"))

SLOT = re.compile(r"\{([+?]?)(\w(?:\+\w)?)(?:\.(\w+))?\}")
_MARK = re.compile(r'[.!?"]')
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_TAG = re.compile(rf" (?:[a-z]|[A-Z][a-z]+ (?:{'|'.join(SPEECH)})\b)")  # the speaker, after direct speech


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in a wording that is filled from the event."""

    role: str  # one letter, or two with a plus between
    form: str  # "" is the plain mention
    introduces: str  # "+" somebody new, "?" perhaps, "" somebody known
    capital: bool  # at the beginning of a sentence
    kind: Literal["both", "person", "thing", "fixed"]  # fixed words depend only on the player of the role


def sentences(text: str) -> list[str]:
    """Split a text into sentences; direct speech and its speaker are one sentence.

    >>> sentences('"Where is it?" Mia asked. "Here it is!" said Tom. He laughed.')
    ['"Where is it?" Mia asked.', '"Here it is!" said Tom.', 'He laughed.']
    """
    parts, start, quoted = [], 0, False
    for mark in _MARK.finditer(text):
        end = mark.end()
        if mark[0] == '"':
            quoted = not quoted
            before = text[end - 2 : end - 1]
            ends = not quoted and (before == "." or (before in ("!", "?") and not _TAG.match(text, end)))
        else:
            ends = not quoted
        if ends:
            parts.append(text[start:end].strip())
            start = end
    if text[start:].strip():
        parts.append(text[start:].strip())
    return parts


@dataclass(frozen=True)
class Wording:
    """One way to tell an event."""

    text: str
    guards: tuple[tuple[str, ...], ...] = ()  # features that the roles must have: ("toy", "x")

    @cached_property
    def n_sentences(self) -> int:
        """The number of sentences: 1 to 3."""
        return len(sentences(_plain(next(expand(self.text)))))

    def pieces(self) -> Iterator[str | Slot | tuple[str, ...]]:
        """Yield the text in reading order: literals, slots, and free choices as tuples of texts."""
        end = 0
        for choice in _CHOICE.finditer(self.text):
            yield from parts(self.text[end : choice.start()])
            yield tuple(choice[1].split("|"))
            end = choice.end()
        yield from parts(self.text[end:])


def wording(line: str) -> Wording:
    """Read a wording of deeds.txt, with its guards before a `>`, separated by semicolons."""
    guards, arrow, text = line.rpartition(" > ")
    return Wording(text.strip(), tuple(tuple(guard.split()) for guard in guards.split(";")) if arrow else ())


def expand(text: str) -> Iterator[str]:
    """Yield every text that the free choices of a wording allow."""
    choice = _CHOICE.search(text)
    if choice is None:
        yield text
        return
    for option in choice[1].split("|"):
        yield from expand(text[: choice.start()] + option + text[choice.end() :])


def parts(text: str) -> Iterator[str | Slot]:
    """Split a text without free choices into literals and slots."""
    literals = SLOT.split(text)[:: SLOT.groups + 1]
    for literal, slot in zip_longest(literals, slots_of(text)):
        if literal:
            yield literal
        if slot:
            yield slot


def slots_of(text: str) -> Iterator[Slot]:
    """Yield the slots of a text without free choices."""
    for slot in SLOT.finditer(text):
        role, form = slot[2], slot[3] or ""
        yield Slot(role, form, slot[1], _is_beginning(_plain(text[: slot.start()])), _kind(role, form))


def _kind(role: str, form: str) -> Literal["both", "person", "thing", "fixed"]:
    if len(role) > 1:
        return "both"
    if role in PERSON_ROLES and form in PERSON_FORMS:
        return "person"
    return "thing" if role in THING_ROLES and form in THING_FORMS else "fixed"


def _plain(text: str) -> str:
    """Return the text with words in place of its slots."""
    return SLOT.sub("x", text).replace('." x', '." X')


def _is_beginning(before: str) -> bool:
    """Return True if a word after this text begins a sentence or direct speech."""
    if before.endswith(('!" ', '?" ')):
        return False
    return before.endswith(' "') or before in ("", '"') or sentences(before + "X")[-1].strip('"') == "X"
