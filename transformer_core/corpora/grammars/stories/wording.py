"""How an event may be put into words: sentences with slots, written so that both a teller and a reader can use them.

A wording is a sentence, or two or three, for example

    [One morning|One day], {?A} took {A.his} {+x.full} {P.to}.

`[a|b]` is a free choice. `{role.form}` is a slot: which role of the event it names, and how. `+` introduces somebody or
something new, `?` may do so, and without a sign it is known already. The forms are described in telling.py (those that
depend on what was said before) and in lexicon.py (those that the word itself decides).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from transformer_core.cached_property import cached_property

MIN_SENTENCES, MAX_SENTENCES = 3, 7  # of a tale
PERSON_ROLES = frozenset("ABCGT")  # children, grown-ups of the family, people of the village
THING_ROLES = frozenset("abcfgxyz")  # animals, food and things
SPEECH = ("asked", "called", "cried", "said", "thought", "whispered")
PERSON_FORMS = frozenset(("", "o", "s", "he", "him", "his", "name", *SPEECH))  # that depend on what was said before
THING_FORMS = frozenset(("", "new", "full", "np", "noun", "the", "it", "them", "its"))

SLOT = re.compile(r"\{([+?]?)(\w(?:\+\w)?)(?:\.(\w+))?\}")
_MARK = re.compile(r'[.!?"]')
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_TAG = re.compile(rf" (?:[a-z]|[A-Z][a-z]+ (?:{'|'.join(SPEECH)})\b)")  # who says it, behind what is said


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in a wording that is filled from the event."""

    role: str  # one letter, or two with a plus between
    form: str  # "" is the plain mention
    introduces: str  # "+" somebody new, "?" perhaps, "" somebody known
    capital: bool  # at the beginning of a sentence
    kind: Literal["both", "person", "thing", "fixed"]  # fixed words depend on nothing but who or what plays the role


Part = str | Slot


def sentences(text: str) -> list[str]:
    """Cut a text into sentences; what is said in quotation marks and who says it are one.

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
    def variants(self) -> tuple[tuple[str, tuple[Slot, ...]], ...]:
        """Every text that the free choices allow: with %s in place of its slots, and the slots."""
        return tuple((SLOT.sub("%s", text), tuple(_slots(text))) for text in _expand(self.text))

    @cached_property
    def roles(self) -> frozenset[str]:
        """All roles that it names, or asks a feature of."""
        named = {role for slot in SLOT.finditer(self.text) for role in slot[2].replace("+", "")}
        return frozenset(named.union(*(guard[1:] for guard in self.guards)))

    @cached_property
    def n_sentences(self) -> int:
        """How many sentences it is: 1 to 3."""
        return len(sentences(_plain(next(_expand(self.text)))))

    def pieces(self) -> Iterator[str | Slot | tuple[str, ...]]:
        """The text in reading order: literals, slots, and free choices as tuples of texts."""
        end = 0
        for choice in _CHOICE.finditer(self.text):
            yield from parts(self.text[end : choice.start()])
            yield tuple(choice[1].split("|"))
            end = choice.end()
        yield from parts(self.text[end:])


def wording(line: str) -> Wording:
    """Read a line of a table: the sentence, with features before a `>` where only some can be told so."""
    guards, arrow, text = line.rpartition(" > ")
    return Wording(text.strip(), tuple(tuple(guard.split()) for guard in guards.split(";")) if arrow else ())


def _expand(text: str) -> Iterator[str]:
    choice = _CHOICE.search(text)
    if choice is None:
        yield text
        return
    for option in choice[1].split("|"):
        yield from _expand(text[: choice.start()] + option + text[choice.end() :])


def parts(text: str) -> Iterator[Part]:
    """Cut a text without free choices into literals and slots."""
    literals = SLOT.split(text)[:: SLOT.groups + 1]
    for literal, slot in zip_longest(literals, _slots(text)):
        if literal:
            yield literal
        if slot:
            yield slot


def _slots(text: str) -> Iterator[Slot]:
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
    """The text with words in place of its slots."""
    return SLOT.sub("x", text).replace('." x', '." X')


def _is_beginning(before: str) -> bool:
    """Whether a word behind this text begins a sentence, or what somebody says."""
    if before.endswith(('!" ', '?" ')):
        return False
    return before.endswith(' "') or before in ("", '"') or sentences(before + "X")[-1].strip('"') == "X"
