"""Words, each with its parts of a record, by which French words are aligned with English ones.

An English word *expresses* parts: "didn't" the tense of its clause, which its verb shares, and the negation. A French
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
Word = tuple[str, tuple[Part, ...]]  # as written, except for the capital of a sentence; its parts

FUTURE: Part = (WHEN, "future")  # expressed by "will"; French also has it in the clause with "quand"


def spell(words: list[Word]) -> list[str]:
    """Return the words without their parts."""
    return [text for text, _ in words]


def say(text: str, *parts: Part) -> list[Word]:
    """Return a text of one or more words that all have the same parts."""
    return [(word, parts) for word in text.split()] if " " in text else [(text, parts)] if text else []


def place_adverb(adverb: Location | Time, words: list[Word], clause: list[Word]) -> list[Word]:
    """Add the words of a place or a time after those of a clause, or before them: "yesterday, the dog slept"."""
    comma: list[Word] = [(",", ((adverb, "comma"),))] if adverb.front == "comma" else []
    return [*words, *comma, *clause] if adverb.front else clause + words


def number_of(nominal: Nominal) -> tuple[Part, ...]:
    """Return the parts that determine number: the noun, or the pronoun."""
    if isinstance(nominal, NounPhrase):
        return ((nominal, "noun"),)
    if isinstance(nominal, Both):
        return number_of(nominal.first) + number_of(nominal.second)
    return number_of(nominal.antecedent) if isinstance(nominal, Gap) else ((nominal, "pronoun"),)


def agreement_of(nominal: Nominal) -> tuple[Part, ...]:
    """Return the parts that determine number and gender: the noun, or the pronoun and its antecedent."""
    if not isinstance(nominal, Pronoun):
        return number_of(nominal)
    antecedent = agreement_of(nominal.antecedent)
    return antecedent if isinstance(nominal, Gap) else ((nominal, "pronoun"), *antecedent)


def nouns_of(nominal: Nominal) -> tuple[Part, ...]:
    """Return the noun of a nominal or of its antecedent; both of two joined by "and"."""
    if isinstance(nominal, NounPhrase):
        return ((nominal, "noun"),)
    if isinstance(nominal, Both):
        return nouns_of(nominal.first) + nouns_of(nominal.second)
    return nouns_of(nominal.antecedent)
