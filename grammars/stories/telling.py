"""Putting a plan into words: a wording for each event, and in its slots a name, a noun or a pronoun."""

from functools import cache

from grammars.stories.casting import Plan
from transformer_core.corpora.shipped.stories.references import Discourse
from transformer_core.corpora.shipped.stories.wording import (
    MAX_SENTENCES,
    SLOT,
    SPEECH,
    Slot,
    Wording,
    expand,
    slots_of,
)
from transformer_core.corpora.shipped.stories.world import (
    ALWAYS,
    CHILDREN,
    FAMILY,
    FORMS,
    PHRASE,
    PRONOUN,
    Deed,
    Roles,
    indefinite,
)

AGAIN = 0.8  # share of pronouns where one is unambiguous and the subject stays the same
CHANGE = 0.55  # and where it changes
LAST = 0.45  # and in the last sentence, where a name sounds better
LONGEST = 3  # pronouns for one person before the name is repeated
THING_PRONOUN = 0.5  # share of it and them for things that the previous passage mentions
SHORT = 0.85  # share of "the ball" among "the ball" and "the red ball"
OBJECT = {"he": "him", "she": "her", "it": "it", "they": "them"}
POSSESSIVE = {"he": "his", "she": "her", "it": "its", "they": "their"}


class NoWordsError(Exception):
    """The words chosen so far do not allow an unambiguous, short enough story."""


class Teller:
    """Puts the events of a plan into words."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.random = plan.random
        self.looks = plan.looks
        self.discourse = Discourse()
        self.room = MAX_SENTENCES - len(plan.events)  # sentences beyond one for each event
        self.last_subject = ""
        self.unnamed: dict[str, int] = {}  # person: pronouns since the latest name
        self.owners: set[str] = set()  # grown-ups whose latest mention is only a possessive
        self.at_the_end = False

    def tell(self) -> str:
        """Return the whole story.

        Raises:
            NoWordsError: it does not fit into seven sentences.
        """
        sentences: list[str] = []
        for deed, roles in self.plan.events:
            self.at_the_end = len(sentences) == len(self.plan.events) - 1
            sentences.append(self.put(deed, roles))
        return " ".join(sentences)

    def put(self, deed: Deed, roles: Roles) -> str:
        """Put one event into words that fit here."""
        wordings = list(deed.wordings)
        while wordings:
            wording = wordings.pop(int(self.random() * len(wordings)))
            if wording.n_sentences - 1 > self.room or not _roles_of(wording) <= roles.keys():
                continue
            if wording.guards and not _suits(wording, roles):
                continue
            variants = variants_of(wording)
            template, slots = variants[int(self.random() * len(variants))]
            try:
                text = template % tuple([self.fill(slot, roles) for slot in slots])
            except NoWordsError:  # a pronoun would not be clear
                self.discourse.now, self.discourse.subject = {}, ""
                continue
            self.room -= wording.n_sentences - 1
            self.last_subject = self.discourse.subject
            self.discourse.next_passage()
            return text
        raise NoWordsError(f"no wording of {deed.name!r} fits here")

    def fill(self, slot: Slot, roles: Roles) -> str:
        """Return the text of a slot."""
        who, kind = roles[slot.role[0]], slot.kind
        if kind == "fixed":
            text = FORMS[slot.form or "at"][who]
            if slot.introduces:
                self.discourse.mention(who)
        elif kind == "person":
            text = self.person(who, slot)
        elif kind == "thing":
            text = self.thing(who, slot.form)
        else:
            text = self.both(who, roles[slot.role[-1]])
        return text[0].upper() + text[1:] if slot.capital else text

    def person(self, who: str, slot: Slot) -> str:
        """Return a name, or a pronoun where it is unambiguous."""
        form, pronoun = slot.form, PRONOUN[who]
        must = form in _PRONOUNS
        discourse = self.discourse
        meant = discourse.object_candidates(pronoun) if form in ("o", "him") else discourse.candidates(pronoun)
        clear = slot.introduces != "+" and meant == [who]
        if must and not clear:
            raise NoWordsError(f"{pronoun!r} is not clear")
        if clear and (must or (form != "name" and self.prefers_pronoun(who))):
            self.unnamed[who] = self.unnamed.get(who, 0) + 1
            if form in ("", "he"):
                text = pronoun
            elif form in ("o", "him"):
                text = OBJECT[pronoun]
            else:
                text = f"{pronoun} {form}" if form in SPEECH else POSSESSIVE[pronoun]
        else:
            self.unnamed[who] = 0
            text = self.name(who)
            if form in SPEECH:
                text = f"{form} {text}"
            elif form == "s":
                text += "'s"
        if form == "s" and who in FAMILY:
            self.owners.add(who)
        else:
            self.owners.discard(who)
        discourse.mention(who, subject=form in _SUBJECTS)
        return text

    def prefers_pronoun(self, who: str) -> bool:
        """Draw whether to use an unambiguous pronoun."""
        if who in self.discourse.now:
            return True
        if self.unnamed.get(who, 0) > LONGEST or who in self.owners:
            return False
        share = LAST if self.at_the_end else AGAIN if who == self.last_subject else CHANGE
        return self.random() < share

    def name(self, who: str) -> str:
        """Return a name: Mia; the baker; her mother, or Mia's mother where "her" is ambiguous."""
        if who not in FAMILY:
            return who if who in CHILDREN else f"the {who}"
        child = self.plan.parents[who]
        clear = self.discourse.candidates(PRONOUN[child], other_than=who) == [child]
        self.discourse.mention(child)
        owner = POSSESSIVE[PRONOUN[child]] if clear else f"{child}'s"
        return f"{owner} {who}"

    def both(self, first: str, second: str) -> str:
        """Return both names, or they."""
        discourse = self.discourse
        clear = discourse.people() == {first, second} and not discourse.candidates("they")
        if clear and (discourse.now or self.random() < AGAIN):
            discourse.mention(first)
            discourse.mention(second)
            return "they"
        names = self.name(first)
        discourse.mention(first)
        names += f" and {self.name(second)}"
        discourse.mention(second)
        return names

    def thing(self, word: str, form: str) -> str:
        """Return a noun with article and adjective, or a pronoun."""
        discourse, pronoun = self.discourse, PRONOUN[word]
        if form in _THING_PRONOUNS:
            clear = discourse.candidates(pronoun) == [word]
            if form == "it" and pronoun == "they" and len(discourse.people()) > 1:
                clear = False  # "they" could be the people
            if form and not clear:
                raise NoWordsError(f"{pronoun!r} is not clear")
            if form or (clear and (word in discourse.now or self.random() < THING_PRONOUN)):
                discourse.mention(word)
                return pronoun if form == "it" else POSSESSIVE[pronoun] if form == "its" else OBJECT[pronoun]
        discourse.mention(word)
        look, phrase = self.looks[word], PHRASE[word]
        full = f"{look} {phrase}" if look else phrase
        if form == "full":
            return full
        if form == "new":
            return indefinite(word, full)
        if form == "noun":
            return word
        short = word if phrase != word or self.random() < SHORT else full
        return short if form == "np" else f"the {short}"


_PRONOUNS = frozenset(("he", "him", "his"))
_THING_PRONOUNS = frozenset(("", "it", "them", "its"))
_SUBJECTS = frozenset(("", "he", *SPEECH))


@cache
def variants_of(wording: Wording) -> tuple[tuple[str, tuple[Slot, ...]], ...]:
    """Return every text that the free choices allow: a template with %s for each slot, and the slots."""
    return tuple((SLOT.sub("%s", text), tuple(slots_of(text))) for text in expand(wording.text))


@cache
def _roles_of(wording: Wording) -> frozenset[str]:
    """Return all roles that the text or the guards name."""
    named = {role for slot in SLOT.finditer(wording.text) for role in slot[2].replace("+", "")}
    return frozenset(named.union(*(guard[1:] for guard in wording.guards)))


def _suits(wording: Wording, roles: Roles) -> bool:
    """Return True if the players have the features that the guards of a wording require."""
    return all((guard[0], *(roles[role] for role in guard[1:])) in ALWAYS for guard in wording.guards)
