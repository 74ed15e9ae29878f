"""The two languages, and which English words each French word depends on, against what was written by hand."""

import re
from dataclasses import replace

import pytest

import transformer_core as tc
from grammars.en_fr import translate
from grammars.en_fr.examples import deed, phrase, quality, reason
from grammars.en_fr.lexicon import SENSATIONS
from grammars.en_fr.phrases import (
    AND,
    BECAUSE,
    BUT,
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
from grammars.en_fr.verbs import VERBS
from transformer_core.text.tokenizer import Tokenizer


def join(*pieces: Piece) -> Sentence:
    return Sentence("test", pieces)


ANIMAL, STREET, DOG, COW = phrase("the animal"), phrase("the street"), phrase("the dog"), phrase("the cow")
KING, QUEEN, GIRL, MAN = phrase("the king"), phrase("the queen"), phrase("the girl"), phrase("the man")
PRINCESS, HEDGEHOG, APPLES = phrase("the princess"), phrase("the hedgehog"), phrase("the apple", plural=True)
BRIDGES = phrase("the bridge", plural=True)
GOAT, APPLE, BOX, MICE = phrase("the goat"), phrase("the apple"), phrase("the box"), phrase("the mouse", plural=True)
LETTERS, PRINCES = phrase("the letter", plural=True), phrase("the prince", plural=True)
BOTH = Both(KING, QUEEN)
BOOK = phrase("the book")

# A French word, and in parentheses the English words that it depends on; "the2" is the second "the".
BY_HAND = [
    (reason(ANIMAL, "cross", STREET, ANIMAL, "tired"),
     "The animal didn't cross the street because it was too tired.",
     "l'(the animal) animal(animal) n'(didn't) a(animal didn't cross) pas(didn't) traversé(didn't cross) "
     "la(the2 street) rue(street) parce(because) qu'(because) il(it animal) était(it was) trop(too) "
     "fatigué(tired it animal) .(.)"),
    (join(deed(BOTH, "eat", APPLE, "past"), BECAUSE, quality(Pronoun(BOTH), "hungry")),
     "The king and the queen ate the apple because they were hungry.",
     "le(the king) roi(king) et(and) la(the2 queen) reine(queen) ont(king queen ate) mangé(ate) la(the3 apple) "
     "pomme(apple) parce(because) qu'(because) ils(they king queen) avaient(they were hungry) faim(hungry) .(.)"),
    (join(quality(BOX, "heavy", too=True), SO, deed(GIRL, "carry", Pronoun(BOX), "past", "n't")),
     "The box was too heavy, so the girl didn't carry it.",
     "la(the box) boîte(box) était(box was) trop(too) lourde(heavy box) ,(,) alors(so) la(the2 girl) fille(girl) "
     "ne(didn't) l'(it box) a(girl didn't carry) pas(didn't) portée(didn't carry it box) .(.)"),
    (join(deed(GOAT, "find", APPLE, "past"), COMMA, BUT, deed(Pronoun(GOAT), "eat", Pronoun(APPLE), "future", "n't")),
     "The goat found the apple, but it won't eat it.",
     "la(the goat) chèvre(goat) a(goat found) trouvé(found) la(the2 apple) pomme(apple) ,(,) mais(but) elle(it goat) "
     "ne(won't) la(it2 apple) mangera(it won't eat) pas(won't) .(.)"),
    (join(deed(phrase("the small black dog"), "follow", phrase("a beautiful white bird"), "past")),
     "The small black dog followed a beautiful white bird.",
     "le(the dog) petit(small dog) chien(dog) noir(black dog) a(dog followed) suivi(followed) un(a bird) "
     "bel(beautiful bird) oiseau(bird) blanc(white bird) .(.)"),
    (join(deed(phrase("two girl", plural=True), "lose", phrase("their hat", plural=True), "past")),
     "Two girls lost their hats.",
     "deux(two) filles(girls) ont(girls lost) perdu(lost) leurs(their hats) chapeaux(hats) .(.)"),
    (join(deed(phrase("the cat"), "eat", phrase("a apple"), "past", "not")),
     "The cat did not eat an apple.",
     "le(the cat) chat(cat) n'(not) a(cat did eat) pas(not) mangé(did eat) de(an apple not) pomme(apple) .(.)"),
    (join(Clause(DOG, Action(VERBS["cross"], STREET, modal=VERBS["can"]), "present", "not")),
     "The dog cannot cross the street.",
     "le(the dog) chien(dog) ne(cannot) peut(dog cannot) pas(cannot) traverser(cross) la(the2 street) rue(street) "
     ".(.)"),
    (join(Clause(MICE, Action(VERBS["cross"], STREET, modal=VERBS["want"]), "past", "n't")),
     "The mice didn't want to cross the street.",
     "les(the mice) souris(mice) ne(didn't) voulaient(mice didn't want) pas(didn't) traverser(to cross) "
     "la(the2 street) rue(street) .(.)"),
    (join(deed(GIRL, "go", phrase("the market"), "past"), AND, deed(Gap(GIRL), "buy", phrase("a apple"), "past")),
     "The girl went to the market and bought an apple.",
     "la(the girl) fille(girl) est(girl went) allée(went girl) au(to the2 market) marché(market) et(and) "
     "a(girl bought) acheté(bought) une(an apple) pomme(apple) .(.)"),
    (join(Clause(KING, Action(VERBS["give"], phrase("a letter"), recipient=PRINCES), "past")),
     "The king gave a letter to the princes.",
     "le(the king) roi(king) a(king gave) donné(gave) une(a letter) lettre(letter) aux(to the2 princes) "
     "princes(princes) .(.)"),
    (join(Existence(phrase("any bird", plural=True), "past", Location("near", "près de", phrase("the lake")), "n't")),
     "There weren't any birds near the lake.",
     "il(there) n'(weren't) y(there) avait(there weren't) pas(weren't) d'(any birds weren't) oiseaux(birds) "
     "près(near) du(near the lake) lac(lake) .(.)"),
    (join(deed(MAN, "open", NounPhrase(phrase("the door").noun, whole=phrase("the old castle")), "past")),
     "The man opened the door of the old castle.",
     "l'(the man) homme(man) a(man opened) ouvert(opened) la(the2 door) porte(door) du(of the3 castle) "
     "vieux(old castle) château(castle) .(.)"),
    (join(quality(replace(LETTERS, relative=deed(MAN, "write", Gap(LETTERS), "past")), "long")),
     "The letters that the man wrote were long.",
     "les(the letters) lettres(letters) que(that) l'(the2 man) homme(man) a(man wrote) écrites(wrote letters) "
     "étaient(letters were) longues(long letters) .(.)"),
    (join(deed(DOG, "see", replace(GIRL, relative=deed(Gap(GIRL), "enter", phrase("the house"), "past")), "past")),
     "The dog saw the girl who entered the house.",
     "le(the dog) chien(dog) a(dog saw) vu(saw) la(the2 girl) fille(girl) qui(who) est(entered girl) "
     "entrée(entered girl) dans(entered) la(the3 house) maison(house) .(.)"),
    (join(deed(DOG, "bark", None, "future"), WHEN, deed(Pronoun(DOG), "see", phrase("the cat"), "future_after_when")),
     "The dog will bark when it sees the cat.",
     "le(the dog) chien(dog) aboiera(dog will bark) quand(when) il(it dog) verra(it sees when will) le(the2 cat) "
     "chat(cat) .(.)"),
    (join(IF, quality(MICE, "afraid", "present"), COMMA, deed(Pronoun(MICE), "run", None, "future")),
     "If the mice are afraid, they will run.",
     "si(if) les(the mice) souris(mice) ont(mice are afraid) peur(afraid) ,(,) elles(they mice) "
     "courront(they will run) .(.)"),
]  # fmt: skip


FRENCH_PRONOUNS = ("il", "elle", "ils", "elles", "l'", "la", "les")
PRONOUNS = {"it", "it2", "she", "they", "them"}


def cut(tokenizer: Tokenizer, text: str) -> list[str]:
    return [piece.lower() for piece in tokenizer.pieces(text)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return tc.train_tokenizer([text for _, english, _ in BY_HAND for text in english.split()], kind="word")


@pytest.mark.parametrize(("sentence", "source", "expected"), [pytest.param(*case, id=case[1]) for case in BY_HAND])
def test_the_alignment_agrees_with_one_by_hand(
    sentence: Sentence, source: str, expected: str, tokenizer: Tokenizer
) -> None:
    pair = translate(sentence)
    assert pair.source == source
    english = cut(tokenizer, source)
    names = [word + str(n) * (n > 1) for i, word in enumerate(english) for n in [english[: i + 1].count(word)]]
    by_hand = re.findall(r"(\S+?)\((.+?)\)(?: |$)", expected)
    assert [word for word, _ in by_hand] == cut(tokenizer, pair.target)
    aligned = [" ".join(names[i] for i in sources) for sources in pair.alignment or ()]
    assert aligned == [" ".join(sorted(words.split(), key=names.index)) for _, words in by_hand]
    referring = [{*words.split()} for word, words in by_hand if word in FRENCH_PRONOUNS]
    antecedents = {(p, noun) for words in referring for p in words & PRONOUNS for noun in words - PRONOUNS}
    assert {(names[pronoun], names[noun]) for pronoun, noun in pair.antecedents or ()} == antecedents


TRANSLATIONS = [
    (reason(MICE, "cross", BRIDGES, MICE, "nervous"),
     "The mice didn't cross the bridges because they were too nervous.",
     "Les souris n'ont pas traversé les ponts parce qu'elles étaient trop nerveuses."),
    (join(quality(APPLES, "hard", "present"), SO, deed(GOAT, "eat", Pronoun(APPLES), "future", "n't")),
     "The apples are hard, so the goat won't eat them.", "Les pommes sont dures, alors la chèvre ne les mangera pas."),
    (join(deed(HEDGEHOG, "leave", phrase("this castle"), "past")),
     "The hedgehog left this castle.", "Le hérisson a quitté ce château."),
    (join(deed(phrase("this man"), "drink", phrase("some water"), "progressive")),
     "This man is drinking some water.", "Cet homme boit de l'eau."),
    (join(deed(phrase("this bird", plural=True), "eat", phrase("some bread"), "future")),
     "These birds will eat some bread.", "Ces oiseaux mangeront du pain."),
    (join(deed(GIRL, "lose", phrase("her key"), "past")), "The girl lost her key.", "La fille a perdu sa clé."),
    (join(deed(KING, "buy", phrase("some old book", plural=True), "past")),
     "The king bought some old books.", "Le roi a acheté de vieux livres."),
    (join(deed(COW, "cross", phrase("the avenue"), "present", "never")),
     "The cow never crosses the avenue.", "La vache ne traverse jamais l'avenue."),
    (join(deed(GIRL, "go", phrase("the school"), "past", "n't")),
     "The girl didn't go to the school.", "La fille n'est pas allée à l'école."),
    (join(quality(phrase("the old man"), "happy", "present")), "The old man is happy.", "Le vieil homme est heureux."),
    (join(Clause(phrase("the goose"), State(SENSATIONS["hungry"]), "past", "n't")),
     "The goose wasn't hungry.", "L'oie n'avait pas faim."),
    (join(deed(phrase("the wolf", plural=True), "climb", phrase("the mountain"), "past_progressive")),
     "The wolves were climbing the mountain.", "Les loups gravissaient la montagne."),
    (join(Clause(GIRL, Action(VERBS["go"], phrase("the beach")), "future", time=Time("tomorrow", "demain", "comma"))),
     "Tomorrow, the girl will go to the beach.", "Demain, la fille ira à la plage."),
    (join(Clause(MAN, Action(VERBS["read"], phrase("the book")), "present", time=Time("every day", "tous les jours"))),
     "The man reads the book every day.", "L'homme lit le livre tous les jours."),
    (join(Clause(replace(GIRL, relative=deed(KING, "see", Gap(GIRL), "past")), Action(VERBS["go"], phrase("the beach")),
                 "past", time=Time("yesterday", "hier", "plain"))),
     "Yesterday the girl who the king saw went to the beach.", "Hier la fille que le roi a vue est allée à la plage."),
    (join(Clause(DOG, Action(VERBS["sleep"]), "past", "n't", Location("in", "dans", phrase("the garden"), "comma"))),
     "In the garden, the dog didn't sleep.", "Dans le jardin, le chien n'a pas dormi."),
    (join(Existence(phrase("a bird"), "past", Location("near", "près de", phrase("the lake")),
                    time=Time("this morning", "ce matin", "plain"))),
     "This morning there was a bird near the lake.", "Ce matin il y avait un oiseau près du lac."),
    (join(deed(QUEEN, "like", phrase("the poem"), "past")), "The queen liked the poem.", "La reine aimait le poème."),
    (join(deed(Both(QUEEN, PRINCESS), "enter", phrase("the castle"), "past")),
     "The queen and the princess entered the castle.", "La reine et la princesse sont entrées dans le château."),
    (join(quality(replace(BOOK, relative=deed(phrase("a girl"), "find", Gap(BOOK), "past")), "difficult")),
     "The book that a girl found was difficult.", "Le livre qu'une fille a trouvé était difficile."),
    (join(deed(DOG, "bark", None, "future"), IF, deed(Pronoun(DOG), "see", phrase("the cat"), "present")),
     "The dog will bark if it sees the cat.", "Le chien aboiera s'il voit le chat."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("sentence", "english", "french"),
    [pytest.param(*case, id=case[1]) for case in TRANSLATIONS],
)
def test_the_grammar_agrees_with_a_translation_by_hand(sentence: Sentence, english: str, french: str) -> None:
    pair = translate(sentence)
    assert pair.source == english
    assert pair.target == french
