"""Example sentences. The corpus begins with them."""

from typing import cast

from grammars.en_fr.lexicon import ADJECTIVES, NOUNS, SENSATIONS
from grammars.en_fr.phrases import (
    BECAUSE,
    BUT,
    COMMA,
    SO,
    WHEN,
    Action,
    Both,
    Clause,
    Determiner,
    Gap,
    Nominal,
    NounPhrase,
    Polarity,
    Pronoun,
    Sentence,
    State,
    Tense,
)
from grammars.en_fr.verbs import VERBS


def phrase(words: str, *, plural: bool = False) -> NounPhrase:
    """Return a noun phrase from its words, the noun in the singular: "the small black dog"."""
    determiner, *adjectives, noun = words.split()
    return NounPhrase(NOUNS[noun], plural, cast(Determiner, determiner), tuple(ADJECTIVES[name] for name in adjectives))


def deed(subject: Nominal, verb: str, target: Nominal | None, tense: Tense, polarity: Polarity = "yes") -> Clause:
    """Return a clause with a verb: "the animal didn't cross the street"."""
    return Clause(subject, Action(VERBS[verb], target), tense, polarity)


def quality(subject: Nominal, name: str, tense: Tense = "past", *, too: bool = False) -> Clause:
    """Return a clause with a quality: "it was too tired"."""
    word = SENSATIONS[name] if name in SENSATIONS else ADJECTIVES[name]
    return Clause(subject, State(word, "too" if too else ""), tense)


def reason(subject: NounPhrase, verb: str, target: NounPhrase, referent: NounPhrase, name: str) -> Sentence:
    """Return a sentence like the best known one: "... didn't ... because it was too ..."."""
    return Sentence(
        "because",
        (
            deed(subject, verb, target, "past", "n't"),
            BECAUSE,
            quality(Pronoun(referent), name, too=True),
        ),
        ((subject.noun.english, target.noun.english, name),),
    )


def _examples() -> tuple[Sentence, ...]:
    animal, street, bridge = phrase("the animal"), phrase("the street"), phrase("the bridge", plural=True)
    cows, king, queen = phrase("the cow", plural=True), phrase("the king"), phrase("the queen")
    dog, letter, goat, apple = phrase("the dog"), phrase("the letter"), phrase("the goat"), phrase("the apple")
    box, girl, cat = phrase("the red box"), phrase("the girl"), phrase("the cat")
    wrote = deed(queen, "write", Gap(letter), "past")
    written = NounPhrase(letter.noun, relative=wrote)
    both = Both(king, queen)
    return (
        reason(animal, "cross", street, animal, "tired"),
        reason(animal, "cross", street, street, "wide"),
        reason(cows, "cross", bridge, cows, "tired"),
        reason(cows, "cross", bridge, bridge, "slippery"),
        Sentence("action", (deed(phrase("the small black dog"), "follow", phrase("a beautiful white bird"), "past"),)),
        Sentence("action", (deed(both, "come back", phrase("the market"), "past"),)),
        Sentence("relative", (quality(written, "long"),)),
        Sentence(
            "so",
            (quality(box, "heavy", too=True), SO, deed(girl, "carry", Pronoun(box), "past", "n't")),
            (("girl", "box", "heavy"),),
        ),
        Sentence(
            "contrast",
            (
                deed(goat, "find", apple, "past"),
                COMMA,
                BUT,
                deed(Pronoun(goat), "eat", Pronoun(apple), "past", "n't"),
            ),
        ),
        Sentence(
            "condition", (deed(dog, "bark", None, "future"), WHEN, deed(Pronoun(dog), "see", cat, "future_after_when"))
        ),
    )


EXAMPLES = _examples()
