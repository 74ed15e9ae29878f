"""Words, each with the parts of the record that it comes from: by these, French words are aligned with English ones.

An English word *says* parts: "didn't" says the tense of its clause, which its verb shares, and the negation. A French
word *depends* on parts: "fatiguée" on the adjective and on the noun that it agrees with. A part is a record and a role
in it: (clause, "negation"), (noun phrase, "determiner").
"""

from grammars.en_fr.phrases import (
    WHEN,
    Both,
    Gap,
    Location,
    Nominal,
    NounPhrase,
    Pronoun,
    Time,
)

Part = tuple[object, str]
Word = tuple[str, tuple[Part, ...]]  # as it is written, but for the capital in front of a sentence; its parts

FUTURE: Part = (WHEN, "future")  # "will" says it; French says it in the clause with "quand" as well


def spell(words: list[Word]) -> list[str]:
    """Return the words without what they come from."""
    return [text for text, _ in words]


def say(text: str, *parts: Part) -> list[Word]:
    """Return a text of one or more words that all come from the same parts."""
    return [(word, parts) for word in text.split()] if " " in text else [(text, parts)] if text else []


def place_adverb(adverb: Location | Time, said: list[Word], clause: list[Word]) -> list[Word]:
    """Put the words of a place or a time behind those of a clause, or before them: "yesterday, the dog slept"."""
    comma: list[Word] = [(",", ((adverb, "comma"),))] if adverb.front == "comma" else []
    return [*said, *comma, *clause] if adverb.front else clause + said


def number_of(nominal: Nominal) -> tuple[Part, ...]:
    """Return what tells a verb whether its subject is one or many: the noun, or the pronoun where there is one."""
    if isinstance(nominal, NounPhrase):
        return ((nominal, "noun"),)
    if isinstance(nominal, Both):
        return number_of(nominal.first) + number_of(nominal.second)
    return number_of(nominal.antecedent) if isinstance(nominal, Gap) else ((nominal, "pronoun"),)


def agreement_of(nominal: Nominal) -> tuple[Part, ...]:
    """Return what tells number and gender: the noun; with a pronoun, that and the noun that it stands for."""
    if not isinstance(nominal, Pronoun):
        return number_of(nominal)
    antecedent = agreement_of(nominal.antecedent)
    return antecedent if isinstance(nominal, Gap) else ((nominal, "pronoun"), *antecedent)


def nouns_of(nominal: Nominal) -> tuple[Part, ...]:
    """Return the noun that something is, or stands for; of two joined by "and" both."""
    if isinstance(nominal, NounPhrase):
        return ((nominal, "noun"),)
    if isinstance(nominal, Both):
        return nouns_of(nominal.first) + nouns_of(nominal.second)
    return nouns_of(nominal.antecedent)
