"""The two languages against translations written by hand, rule by rule."""

import pytest

from transformer_core.corpora.grammars.en_fr import translate
from transformer_core.corpora.grammars.en_fr.examples import deed, phrase, quality, reason
from transformer_core.corpora.grammars.en_fr.french import elide, join_preposition
from transformer_core.corpora.grammars.en_fr.lexicon import ADJECTIVES, SENSATIONS
from transformer_core.corpora.grammars.en_fr.phrases import (
    AND,
    BECAUSE,
    COMMA,
    IF,
    SO,
    WHEN,
    Action,
    Both,
    Clause,
    Existence,
    Gap,
    Location,
    NounPhrase,
    Piece,
    Pronoun,
    Sentence,
    State,
    Time,
)
from transformer_core.corpora.grammars.en_fr.verbs import VERBS
from transformer_core.corpora.grammars.en_fr.words import Word, spell


def bare(words: str) -> list[Word]:
    """Words that come from nothing."""
    return [(word, ()) for word in words.split()]


def said(*pieces: Piece) -> Sentence:
    return Sentence("test", pieces)


def modified(words: str, clause: Clause, *, plural: bool = False) -> NounPhrase:
    bare = phrase(words, plural=plural)
    return NounPhrase(bare.noun, bare.plural, bare.determiner, bare.adjectives, relative=clause)


def negated(words: str, name: str, tense: str, polarity: str) -> Clause:
    known = SENSATIONS[name] if name in SENSATIONS else ADJECTIVES[name]
    return Clause(phrase(words), State(known), tense, polarity)  # type: ignore[arg-type]


ANIMAL, STREET, DOG, COW = phrase("the animal"), phrase("the street"), phrase("the dog"), phrase("the cow")
BRIDGES, MICE = phrase("the bridge", plural=True), phrase("the mouse", plural=True)
MAN, GIRL, KING, QUEEN = phrase("the man"), phrase("the girl"), phrase("the king"), phrase("the queen")
GOAT, PRINCESS, HEDGEHOG = phrase("the goat"), phrase("the princess"), phrase("the hedgehog")
LETTERS, APPLES = phrase("the letter", plural=True), phrase("the apple", plural=True)

TRANSLATIONS = {
    "the pronoun": [
        (
            reason(ANIMAL, "cross", STREET, ANIMAL, "tired"),
            "The animal didn't cross the street because it was too tired.",
            "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.",
        ),
        (
            reason(ANIMAL, "cross", STREET, STREET, "wide"),
            "The animal didn't cross the street because it was too wide.",
            "L'animal n'a pas traversé la rue parce qu'elle était trop large.",
        ),
        (
            reason(COW, "cross", phrase("the bridge"), COW, "lazy"),
            "The cow didn't cross the bridge because it was too lazy.",
            "La vache n'a pas traversé le pont parce qu'elle était trop paresseuse.",
        ),
        (
            reason(COW, "cross", phrase("the bridge"), phrase("the bridge"), "slippery"),
            "The cow didn't cross the bridge because it was too slippery.",
            "La vache n'a pas traversé le pont parce qu'il était trop glissant.",
        ),
        (
            reason(MICE, "cross", BRIDGES, MICE, "nervous"),
            "The mice didn't cross the bridges because they were too nervous.",
            "Les souris n'ont pas traversé les ponts parce qu'elles étaient trop nerveuses.",
        ),
        (
            reason(MICE, "cross", BRIDGES, BRIDGES, "dangerous"),
            "The mice didn't cross the bridges because they were too dangerous.",
            "Les souris n'ont pas traversé les ponts parce qu'ils étaient trop dangereux.",
        ),
        (
            reason(GIRL, "read", LETTERS, GIRL, "busy"),
            "The girl didn't read the letters because she was too busy.",
            "La fille n'a pas lu les lettres parce qu'elle était trop occupée.",
        ),
        (
            reason(MAN, "eat", phrase("the soup"), phrase("the soup"), "hot"),
            "The man didn't eat the soup because it was too hot.",
            "L'homme n'a pas mangé la soupe parce qu'elle était trop chaude.",
        ),
        (
            said(deed(DOG, "drink", phrase("the water"), "past"), BECAUSE, quality(Pronoun(DOG), "thirsty")),
            "The dog drank the water because it was thirsty.",
            "Le chien a bu l'eau parce qu'il avait soif.",
        ),
        (
            said(quality(STREET, "wide", too=True), SO, deed(COW, "cross", Pronoun(STREET), "past", "n't")),
            "The street was too wide, so the cow didn't cross it.",
            "La rue était trop large, alors la vache ne l'a pas traversée.",
        ),
        (
            said(quality(APPLES, "hard", "present"), SO, deed(GOAT, "eat", Pronoun(APPLES), "future", "n't")),
            "The apples are hard, so the goat won't eat them.",
            "Les pommes sont dures, alors la chèvre ne les mangera pas.",
        ),
    ],
    "articles": [
        (
            said(deed(phrase("a hen"), "see", phrase("a animal"), "past")),
            "A hen saw an animal.",
            "Une poule a vu un animal.",
        ),
        (
            said(deed(HEDGEHOG, "leave", phrase("this castle"), "past")),
            "The hedgehog left this castle.",
            "Le hérisson a quitté ce château.",
        ),
        (
            said(deed(phrase("this man"), "drink", phrase("some water"), "progressive")),
            "This man is drinking some water.",
            "Cet homme boit de l'eau.",
        ),
        (
            said(deed(phrase("this bird", plural=True), "eat", phrase("some bread"), "future")),
            "These birds will eat some bread.",
            "Ces oiseaux mangeront du pain.",
        ),
        (
            said(deed(phrase("this horse"), "eat", phrase("some apple", plural=True), "past")),
            "This horse ate some apples.",
            "Ce cheval a mangé des pommes.",
        ),
        (
            said(deed(KING, "buy", phrase("some old book", plural=True), "past")),
            "The king bought some old books.",
            "Le roi a acheté de vieux livres.",
        ),
        (
            said(deed(GIRL, "lose", phrase("her key"), "past")),
            "The girl lost her key.",
            "La fille a perdu sa clé.",
        ),
        (
            said(deed(phrase("the boy", plural=True), "lose", phrase("their hat", plural=True), "past")),
            "The boys lost their hats.",
            "Les garçons ont perdu leurs chapeaux.",
        ),
        (
            said(deed(QUEEN, "like", phrase("this school"), "present")),
            "The queen likes this school.",
            "La reine aime cette école.",
        ),
    ],
    "adjectives": [
        (
            said(deed(phrase("the small black dog"), "follow", phrase("a beautiful white bird"), "past")),
            "The small black dog followed a beautiful white bird.",
            "Le petit chien noir a suivi un bel oiseau blanc.",
        ),
        (
            said(quality(phrase("the old man"), "happy", "present")),
            "The old man is happy.",
            "Le vieil homme est heureux.",
        ),
        (
            said(quality(phrase("this old woman"), "curious")),
            "This old woman was curious.",
            "Cette vieille femme était curieuse.",
        ),
        (
            said(deed(PRINCESS, "buy", phrase("a new coat"), "past")),
            "The princess bought a new coat.",
            "La princesse a acheté un nouveau manteau.",
        ),
        (
            said(quality(phrase("the white dress", plural=True), "expensive", "present", too=True)),
            "The white dresses are too expensive.",
            "Les robes blanches sont trop chères.",
        ),
        (
            said(quality(phrase("the long story"), "interesting")),
            "The long story was interesting.",
            "La longue histoire était intéressante.",
        ),
    ],
    "negation": [
        (
            said(deed(phrase("the cat"), "eat", phrase("a apple"), "past", "not")),
            "The cat did not eat an apple.",
            "Le chat n'a pas mangé de pomme.",
        ),
        (
            said(deed(KING, "drink", phrase("any water"), "past", "n't")),
            "The king didn't drink any water.",
            "Le roi n'a pas bu d'eau.",
        ),
        (
            said(deed(COW, "cross", phrase("the avenue"), "present", "never")),
            "The cow never crosses the avenue.",
            "La vache ne traverse jamais l'avenue.",
        ),
        (
            said(deed(phrase("the king", plural=True), "open", phrase("the door"), "past", "never")),
            "The kings never opened the door.",
            "Les rois n'ont jamais ouvert la porte.",
        ),
        (
            said(deed(phrase("the frog", plural=True), "live", phrase("the field"), "present", "n't")),
            "The frogs don't live in the field.",
            "Les grenouilles n'habitent pas dans le champ.",
        ),
        (
            said(negated("the goose", "hungry", "past", "n't")),
            "The goose wasn't hungry.",
            "L'oie n'avait pas faim.",
        ),
        (
            said(negated("the church", "empty", "present", "not")),
            "The church is not empty.",
            "L'église n'est pas vide.",
        ),
        (
            said(Clause(DOG, Action(VERBS["cross"], STREET, modal=VERBS["can"]), "present", "not")),
            "The dog cannot cross the street.",
            "Le chien ne peut pas traverser la rue.",
        ),
        (
            said(Clause(MICE, Action(VERBS["cross"], STREET, modal=VERBS["want"]), "past", "n't")),
            "The mice didn't want to cross the street.",
            "Les souris ne voulaient pas traverser la rue.",
        ),
    ],
    "tenses": [
        (
            said(deed(phrase("the wolf", plural=True), "climb", phrase("the mountain"), "past_progressive")),
            "The wolves were climbing the mountain.",
            "Les loups gravissaient la montagne.",
        ),
        (
            said(deed(phrase("the horse", plural=True), "come back", phrase("the park"), "future", "n't")),
            "The horses won't come back from the park.",
            "Les chevaux ne reviendront pas du parc.",
        ),
        (
            said(
                Clause(GIRL, Action(VERBS["go"], phrase("the beach")), "future", time=Time("tomorrow", "demain", True))
            ),
            "Tomorrow, the girl will go to the beach.",
            "Demain, la fille ira à la plage.",
        ),
        (
            said(
                Clause(
                    MAN, Action(VERBS["read"], phrase("the book")), "present", time=Time("every day", "tous les jours")
                )
            ),
            "The man reads the book every day.",
            "L'homme lit le livre tous les jours.",
        ),
        (
            said(deed(QUEEN, "like", phrase("the poem"), "past")),
            "The queen liked the poem.",
            "La reine aimait le poème.",
        ),
    ],
    "être": [
        (
            said(deed(Both(KING, QUEEN), "come back", phrase("the market"), "past")),
            "The king and the queen came back from the market.",
            "Le roi et la reine sont revenus du marché.",
        ),
        (
            said(deed(Both(QUEEN, PRINCESS), "enter", phrase("the castle"), "past")),
            "The queen and the princess entered the castle.",
            "La reine et la princesse sont entrées dans le château.",
        ),
        (
            said(deed(GIRL, "go", phrase("the school"), "past", "n't")),
            "The girl didn't go to the school.",
            "La fille n'est pas allée à l'école.",
        ),
        (
            said(deed(MICE, "fall", phrase("the lake"), "past")),
            "The mice fell into the lake.",
            "Les souris sont tombées dans le lac.",
        ),
        (
            said(
                deed(GIRL, "go", phrase("the market"), "past"), AND, deed(Gap(GIRL), "buy", phrase("a apple"), "past")
            ),
            "The girl went to the market and bought an apple.",
            "La fille est allée au marché et a acheté une pomme.",
        ),
    ],
    "contraction": [
        (
            said(
                Clause(
                    KING, Action(VERBS["give"], phrase("a letter"), recipient=phrase("the prince", plural=True)), "past"
                )
            ),
            "The king gave a letter to the princes.",
            "Le roi a donné une lettre aux princes.",
        ),
        (
            said(
                Clause(DOG, Action(VERBS["bark"]), "past", location=Location("near", "près de", phrase("the castle")))
            ),
            "The dog barked near the castle.",
            "Le chien a aboyé près du château.",
        ),
        (
            said(
                Existence(
                    phrase("any bird", plural=True), "past", Location("near", "près de", phrase("the church")), "n't"
                )
            ),
            "There weren't any birds near the church.",
            "Il n'y avait pas d'oiseaux près de l'église.",
        ),
        (
            said(Existence(phrase("a cat"), "present", Location("in", "dans", phrase("the garden")))),
            "There is a cat in the garden.",
            "Il y a un chat dans le jardin.",
        ),
        (
            said(
                deed(MAN, "open", NounPhrase(phrase("the door").noun, whole=phrase("the old castle")), "past"),
            ),
            "The man opened the door of the old castle.",
            "L'homme a ouvert la porte du vieux château.",
        ),
    ],
    "relative clauses": [
        (
            said(quality(modified("the dog", deed(Gap(DOG), "cross", STREET, "past")), "hungry")),
            "The dog that crossed the street was hungry.",
            "Le chien qui a traversé la rue avait faim.",
        ),
        (
            said(quality(modified("the letter", deed(MAN, "write", Gap(LETTERS), "past"), plural=True), "long")),
            "The letters that the man wrote were long.",
            "Les lettres que l'homme a écrites étaient longues.",
        ),
        (
            said(
                deed(
                    DOG,
                    "see",
                    modified("the woman", deed(Gap(phrase("the woman")), "enter", phrase("the house"), "past")),
                    "past",
                )
            ),
            "The dog saw the woman who entered the house.",
            "Le chien a vu la femme qui est entrée dans la maison.",
        ),
        (
            said(
                quality(
                    modified("the book", deed(phrase("a girl"), "find", Gap(phrase("the book")), "past")), "difficult"
                )
            ),
            "The book that a girl found was difficult.",
            "Le livre qu'une fille a trouvé était difficile.",
        ),
    ],
    "if and when": [
        (
            said(deed(DOG, "bark", None, "future"), IF, deed(Pronoun(DOG), "see", phrase("the cat"), "present")),
            "The dog will bark if it sees the cat.",
            "Le chien aboiera s'il voit le chat.",
        ),
        (
            said(IF, quality(MICE, "tired", "present"), COMMA, deed(Pronoun(MICE), "sleep", None, "future")),
            "If the mice are tired, they will sleep.",
            "Si les souris sont fatiguées, elles dormiront.",
        ),
        (
            said(
                deed(DOG, "bark", None, "future"),
                WHEN,
                deed(Pronoun(DOG), "see", phrase("the cat"), "future_after_when"),
            ),
            "The dog will bark when it sees the cat.",
            "Le chien aboiera quand il verra le chat.",
        ),
        (
            said(WHEN, quality(COW, "afraid", "future_after_when"), COMMA, deed(Pronoun(COW), "run", None, "future")),
            "When the cow is afraid, it will run.",
            "Quand la vache aura peur, elle courra.",
        ),
        (
            said(
                deed(GIRL, "sing", None, "past_progressive"),
                WHEN,
                deed(phrase("the horse"), "enter", phrase("the park"), "past"),
            ),
            "The girl was singing when the horse entered the park.",
            "La fille chantait quand le cheval est entré dans le parc.",
        ),
    ],
}


@pytest.mark.parametrize(
    ("sentence", "english", "french"),
    [pytest.param(*case, id=f"{rule}: {case[1]}") for rule, cases in TRANSLATIONS.items() for case in cases],
)
def test_the_grammar_agrees_with_a_translation_by_hand(sentence: Sentence, english: str, french: str) -> None:
    pair = translate(sentence)
    assert pair.source == english
    assert pair.target == french


@pytest.mark.parametrize(
    ("words", "elided"),
    [
        ("le animal", "l' animal"),
        ("la eau", "l' eau"),
        ("le œuf", "l' œuf"),
        ("le homme", "l' homme"),
        ("le hérisson", "le hérisson"),
        ("ne habite pas", "n' habite pas"),
        ("ne est pas", "n' est pas"),
        ("ne la a pas", "ne l' a pas"),
        ("parce que elles", "parce qu' elles"),
        ("que une", "qu' une"),
        ("si il", "s' il"),
        ("si elle", "si elle"),
        ("si ils", "s' ils"),
        ("de oiseaux", "d' oiseaux"),
        ("qui a", "qui a"),
        ("les animaux", "les animaux"),
    ],
)
def test_elision(words: str, elided: str) -> None:
    assert spell(elide(bare(words))) == elided.split()


@pytest.mark.parametrize(
    ("preposition", "words", "together"),
    [
        ("à", "le marché", "au marché"),
        ("à", "la plage", "à la plage"),
        ("à", "les princes", "aux princes"),
        ("à", "le homme", "à le homme"),  # which elision turns into "à l'homme"
        ("de", "le hérisson", "du hérisson"),
        ("de", "les rues", "des rues"),
        ("près de", "le lac", "près du lac"),
        ("dans", "le parc", "dans le parc"),
    ],
)
def test_contraction(preposition: str, words: str, together: str) -> None:
    assert spell(join_preposition(preposition, bare(words))) == together.split()
