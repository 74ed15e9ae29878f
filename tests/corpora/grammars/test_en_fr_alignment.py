"""Which English words each French word depends on: against alignments made by hand, and by what must hold for all."""

import pickle
import re
from dataclasses import replace

import pytest

import transformer_core as tc
from transformer_core.corpora import Pair
from transformer_core.corpora.grammars.en_fr import translate
from transformer_core.corpora.grammars.en_fr.examples import deed, phrase, quality, reason
from transformer_core.corpora.grammars.en_fr.lexicon import ADJECTIVES
from transformer_core.corpora.grammars.en_fr.phrases import (
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
    Time,
)
from transformer_core.corpora.grammars.en_fr.verbs import VERBS
from transformer_core.text.tokenizer import Tokenizer


def said(*pieces: Piece) -> Sentence:
    return Sentence("test", pieces)


ANIMAL, STREET, DOG, COW = phrase("the animal"), phrase("the street"), phrase("the dog"), phrase("the cow")
KING, QUEEN, GIRL, MAN = phrase("the king"), phrase("the queen"), phrase("the girl"), phrase("the man")
GOAT, APPLE, BOX, MICE = phrase("the goat"), phrase("the apple"), phrase("the box"), phrase("the mouse", plural=True)
LETTERS, PRINCES = phrase("the letter", plural=True), phrase("the prince", plural=True)
BOTH = Both(KING, QUEEN)
RIVER, WOLVES = phrase("this river"), phrase("the wolf", plural=True)

# A French word, and in parentheses the English words that it depends on; "the2" is the second "the".
BY_HAND = [
    (
        reason(ANIMAL, "cross", STREET, ANIMAL, "tired"),
        "The animal didn't cross the street because it was too tired.",
        "l'(the animal) animal(animal) n'(didn't) a(animal didn't cross) pas(didn't) traversé(didn't cross) "
        "la(the2 street) rue(street) parce(because) qu'(because) il(it animal) était(it was) trop(too) "
        "fatigué(tired it animal) .(.)",
    ),
    (
        reason(ANIMAL, "cross", STREET, STREET, "wide"),
        "The animal didn't cross the street because it was too wide.",
        "l'(the animal) animal(animal) n'(didn't) a(animal didn't cross) pas(didn't) traversé(didn't cross) "
        "la(the2 street) rue(street) parce(because) qu'(because) elle(it street) était(it was) trop(too) "
        "large(wide it street) .(.)",
    ),
    (
        said(deed(GIRL, "read", LETTERS, "past", "not"), BECAUSE, quality(Pronoun(GIRL), "busy")),
        "The girl did not read the letters because she was busy.",
        "la(the girl) fille(girl) n'(not) a(girl did read) pas(not) lu(did read) les(the2 letters) lettres(letters) "
        "parce(because) qu'(because) elle(she girl) était(she was) occupée(busy she girl) .(.)",
    ),
    (
        said(deed(BOTH, "eat", APPLE, "past"), BECAUSE, quality(Pronoun(BOTH), "hungry")),
        "The king and the queen ate the apple because they were hungry.",
        "le(the king) roi(king) et(and) la(the2 queen) reine(queen) ont(king queen ate) mangé(ate) la(the3 apple) "
        "pomme(apple) parce(because) qu'(because) ils(they king queen) avaient(they were hungry) faim(hungry) .(.)",
    ),
    (
        said(quality(BOX, "heavy", too=True), SO, deed(GIRL, "carry", Pronoun(BOX), "past", "n't")),
        "The box was too heavy, so the girl didn't carry it.",
        "la(the box) boîte(box) était(box was) trop(too) lourde(heavy box) ,(,) alors(so) la(the2 girl) fille(girl) "
        "ne(didn't) l'(it box) a(girl didn't carry) pas(didn't) portée(didn't carry it box) .(.)",
    ),
    (
        said(
            deed(GOAT, "find", APPLE, "past"), COMMA, BUT, deed(Pronoun(GOAT), "eat", Pronoun(APPLE), "future", "n't")
        ),
        "The goat found the apple, but it won't eat it.",
        "la(the goat) chèvre(goat) a(goat found) trouvé(found) la(the2 apple) pomme(apple) ,(,) mais(but) "
        "elle(it goat) ne(won't) la(it2 apple) mangera(it won't eat) pas(won't) .(.)",
    ),
    (
        said(deed(phrase("the small black dog"), "follow", phrase("a beautiful white bird"), "past")),
        "The small black dog followed a beautiful white bird.",
        "le(the dog) petit(small dog) chien(dog) noir(black dog) a(dog followed) suivi(followed) un(a bird) "
        "bel(beautiful bird) oiseau(bird) blanc(white bird) .(.)",
    ),
    (
        said(deed(phrase("the small animal"), "see", phrase("this old man"), "past")),
        "The small animal saw this old man.",
        "le(the animal small) petit(small animal) animal(animal) a(animal saw) vu(saw) ce(this man old) "
        "vieil(old man) homme(man) .(.)",  # without the adjectives: l'animal, cet homme
    ),
    (
        said(deed(KING, "buy", phrase("some old book", plural=True), "past")),
        "The king bought some old books.",
        "le(the king) roi(king) a(king bought) acheté(bought) de(some books old) vieux(old books) livres(books) .(.)",
    ),
    (
        said(deed(phrase("this man"), "drink", phrase("some cold water"), "progressive")),
        "This man is drinking some cold water.",
        "cet(this man) homme(man) boit(man is drinking) de(some water) l'(some water) eau(water) "
        "froide(cold water) .(.)",
    ),
    (
        said(deed(phrase("two girl", plural=True), "lose", phrase("their hat", plural=True), "past")),
        "Two girls lost their hats.",
        "deux(two) filles(girls) ont(girls lost) perdu(lost) leurs(their hats) chapeaux(hats) .(.)",
    ),
    (
        said(deed(QUEEN, "read", phrase("her long story"), "future")),
        "The queen will read her long story.",
        "la(the queen) reine(queen) lira(queen will read) sa(her story long) longue(long story) histoire(story) .(.)",
    ),
    (
        said(deed(phrase("the cat"), "eat", phrase("a apple"), "past", "not")),
        "The cat did not eat an apple.",
        "le(the cat) chat(cat) n'(not) a(cat did eat) pas(not) mangé(did eat) de(an apple not) pomme(apple) .(.)",
    ),
    (
        said(deed(KING, "drink", phrase("any water"), "past", "n't")),
        "The king didn't drink any water.",
        "le(the king) roi(king) n'(didn't) a(king didn't drink) pas(didn't) bu(didn't drink) d'(any water didn't) "
        "eau(water) .(.)",
    ),
    (
        said(deed(COW, "cross", phrase("the avenue"), "present", "never")),
        "The cow never crosses the avenue.",
        "la(the cow) vache(cow) ne(never) traverse(cow crosses) jamais(never) l'(the2 avenue) avenue(avenue) .(.)",
    ),
    (
        said(Clause(DOG, Action(VERBS["cross"], STREET, modal=VERBS["can"]), "present", "not")),
        "The dog cannot cross the street.",
        "le(the dog) chien(dog) ne(cannot) peut(dog cannot) pas(cannot) traverser(cross) la(the2 street) "
        "rue(street) .(.)",
    ),
    (
        said(Clause(MICE, Action(VERBS["cross"], STREET, modal=VERBS["want"]), "past", "n't")),
        "The mice didn't want to cross the street.",
        "les(the mice) souris(mice) ne(didn't) voulaient(mice didn't want) pas(didn't) traverser(to cross) "
        "la(the2 street) rue(street) .(.)",
    ),
    (
        said(deed(BOTH, "come back", phrase("the market"), "past")),
        "The king and the queen came back from the market.",
        "le(the king) roi(king) et(and) la(the2 queen) reine(queen) sont(king queen came back) "
        "revenus(came back king queen) du(from the3 market) marché(market) .(.)",
    ),
    (
        said(deed(GIRL, "go", phrase("the school"), "past", "n't")),
        "The girl didn't go to the school.",
        "la(the girl) fille(girl) n'(didn't) est(girl didn't go) pas(didn't) allée(didn't go girl) à(to) "
        "l'(the2 school) école(school) .(.)",
    ),
    (
        said(deed(MICE, "enter", phrase("the castle"), "future")),
        "The mice will enter the castle.",
        "les(the mice) souris(mice) entreront(mice will enter) dans(enter) le(the2 castle) château(castle) .(.)",
    ),
    (
        said(deed(GIRL, "go", phrase("the market"), "past"), AND, deed(Gap(GIRL), "buy", phrase("a apple"), "past")),
        "The girl went to the market and bought an apple.",
        "la(the girl) fille(girl) est(girl went) allée(went girl) au(to the2 market) marché(market) et(and) "
        "a(girl bought) acheté(bought) une(an apple) pomme(apple) .(.)",
    ),
    (
        said(Clause(KING, Action(VERBS["give"], phrase("a letter"), recipient=PRINCES), "past")),
        "The king gave a letter to the princes.",
        "le(the king) roi(king) a(king gave) donné(gave) une(a letter) lettre(letter) aux(to the2 princes) "
        "princes(princes) .(.)",
    ),
    (
        said(
            Existence(phrase("any bird", plural=True), "past", Location("near", "près de", phrase("the lake")), "n't")
        ),
        "There weren't any birds near the lake.",
        "il(there) n'(weren't) y(there) avait(there weren't) pas(weren't) d'(any birds weren't) oiseaux(birds) "
        "près(near) du(near the lake) lac(lake) .(.)",
    ),
    (
        said(Existence(phrase("a cat"), "present", Location("in", "dans", phrase("the garden")))),
        "There is a cat in the garden.",
        "il(there) y(there) a(there is) un(a cat) chat(cat) dans(in) le(the garden) jardin(garden) .(.)",
    ),
    (
        said(deed(MAN, "open", NounPhrase(phrase("the door").noun, whole=phrase("the old castle")), "past")),
        "The man opened the door of the old castle.",
        "l'(the man) homme(man) a(man opened) ouvert(opened) la(the2 door) porte(door) du(of the3 castle) "
        "vieux(old castle) château(castle) .(.)",
    ),
    (
        said(quality(replace(LETTERS, relative=deed(MAN, "write", Gap(LETTERS), "past")), "long")),
        "The letters that the man wrote were long.",
        "les(the letters) lettres(letters) que(that) l'(the2 man) homme(man) a(man wrote) écrites(wrote letters) "
        "étaient(letters were) longues(long letters) .(.)",
    ),
    (
        said(deed(DOG, "see", replace(GIRL, relative=deed(Gap(GIRL), "enter", phrase("the house"), "past")), "past")),
        "The dog saw the girl who entered the house.",
        "le(the dog) chien(dog) a(dog saw) vu(saw) la(the2 girl) fille(girl) qui(who) est(entered girl) "
        "entrée(entered girl) dans(entered) la(the3 house) maison(house) .(.)",
    ),
    (
        said(
            deed(DOG, "bark", None, "future"), WHEN, deed(Pronoun(DOG), "see", phrase("the cat"), "future_after_when")
        ),
        "The dog will bark when it sees the cat.",
        "le(the dog) chien(dog) aboiera(dog will bark) quand(when) il(it dog) verra(it sees when will) le(the2 cat) "
        "chat(cat) .(.)",
    ),
    (
        said(IF, quality(MICE, "afraid", "present"), COMMA, deed(Pronoun(MICE), "run", None, "future")),
        "If the mice are afraid, they will run.",
        "si(if) les(the mice) souris(mice) ont(mice are afraid) peur(afraid) ,(,) elles(they mice) "
        "courront(they will run) .(.)",
    ),
    (
        said(Clause(WOLVES, Action(VERBS["cross"], RIVER), "past", time=Time("this morning", "ce matin", True))),
        "This morning, the wolves crossed this river.",
        "ce(this morning) matin(this morning) ,(,) les(the wolves) loups(wolves) ont(wolves crossed) "
        "traversé(crossed) cette(this2 river) rivière(river) .(.)",
    ),
]


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
    found = [" ".join(names[i] for i in sources) for sources in pair.alignment or ()]
    assert found == [" ".join(sorted(words.split(), key=names.index)) for _, words in by_hand]


def test_there_are_many_by_hand() -> None:
    assert len({source + expected for _, source, expected in BY_HAND}) == len(BY_HAND) >= 25


def test_a_translation_is_a_pair_like_any_other() -> None:
    sentence, source, _ = BY_HAND[0]
    pair = translate(sentence)
    assert pair == Pair(source, pair.target) and hash(pair) == hash(Pair(source, pair.target))
    again = pickle.loads(pickle.dumps(pair))
    assert again == pair and again.alignment == pair.alignment
    assert ADJECTIVES["tired"].french("m", False) in pair.target
