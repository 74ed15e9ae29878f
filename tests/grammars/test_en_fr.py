"""The English-French corpus as a whole: what is in it, what is held out, and its French by rules of thumb."""

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count

import pytest

import transformer_core as tc
from grammars import en_fr as en_fr_grammar
from grammars.en_fr import MAX_WORDS, MIN_WORDS, N_HELD_OUT, N_TRAIN, translate
from grammars.en_fr.deeds import REASONS
from grammars.en_fr.lexicon import NOUNS
from grammars.en_fr.sentences import draw_sentence
from grammars.en_fr.split import is_held_out_combination
from grammars.en_fr.verbs import VERBS
from transformer_core.corpora import Corpus, Pair
from transformer_core.corpora.shipped.en_fr import pronoun

TIRED = "The animal didn't cross the street because it was too tired."
WIDE = "The animal didn't cross the street because it was too wide."


def words(text: str) -> list[str]:
    return re.findall(r"\w+n't|\w+'(?=\w)|\w+", text.lower())


def pairs(corpus: Corpus) -> tuple[Pair, ...]:
    return (*corpus.train, *corpus.held_out)


def test_nothing_is_said_twice_and_sentences_are_short_and_of_many_words(en_fr: Corpus) -> None:
    assert len({pair.source for pair in pairs(en_fr)}) == len(en_fr.train) + len(en_fr.held_out)
    lengths = {len(pair.source.split()) for pair in pairs(en_fr)}
    assert (min(lengths), max(lengths)) == (MIN_WORDS, MAX_WORDS) == (4, 20)
    assert len({word for pair in en_fr.train for word in words(pair.source)}) > 300
    assert len({word for pair in en_fr.train for word in words(pair.target)}) > 450
    assert en_fr.examples[:2] == (TIRED, WIDE) and 8 <= len(en_fr.examples) <= 10
    assert set(en_fr.examples) <= {pair.source for pair in pairs(en_fr)}


@pytest.mark.full
@pytest.mark.parametrize("en_fr", ["whole"], indirect=True)
def test_it_is_as_large_as_said_and_no_word_is_rare(en_fr: Corpus) -> None:
    assert (len(en_fr.train), len(en_fr.held_out)) == (N_TRAIN, N_HELD_OUT)
    for side in ("source", "target"):
        counts = Counter(word for pair in en_fr.train for word in words(getattr(pair, side)))
        held_out = {word for pair in en_fr.held_out for word in words(getattr(pair, side))}
        assert {word: counts[word] for word in held_out if counts[word] < 10} == {}


def test_a_sentence_with_two_translations_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact match would be no fair measure; so the whole corpus has passed this check whenever it is drawn."""
    numbers = count()
    monkeypatch.setattr(en_fr_grammar, "translate", lambda _: Pair("The cat sleeps here.", f"French {next(numbers)}."))
    with pytest.raises(ValueError, match=r"'The cat sleeps here.' has two translations: 'French 0.' and"):
        en_fr_grammar.draw(0)


def test_the_best_known_sentences_are_held_out_and_their_neighbors_are_not(en_fr: Corpus) -> None:
    held_out = {pair.source: pair.target for pair in en_fr.held_out}
    assert held_out[TIRED] == "L'animal n'a pas traversé la rue parce qu'il était trop fatigué."
    assert held_out[WIDE] == "L'animal n'a pas traversé la rue parce qu'elle était trop large."
    trained = {triple for _, triple in reasons(en_fr.train)}
    assert not {("animal", "street", "tired"), ("animal", "street", "wide")} & trained
    for known in ({"street", "wide"}, {"animal", "tired"}):
        assert any(known <= set(words(pair.source)) for pair in en_fr.train)


SINGULAR = {form: noun.english for noun in NOUNS.values() for form in (noun.english, noun.english_plural)}
BASE = {form: verb.base for verb in VERBS.values() for form in (verb.base, verb.third, verb.past, verb.ing)}


def reasons(part: Sequence[Pair]) -> Iterator[tuple[Pair, tuple[str, str, str]]]:
    """Subject, object and quality, read off the English text of the sentences with "because" and one subject."""
    for pair in part:
        main, because, why = pair.source.lower().rstrip(".").partition(" because ")
        nouns = [SINGULAR[word] for word in main.split() if word in SINGULAR]
        if because and len(nouns) == 2 and not {"that", "who"} & {*main.split()}:
            yield pair, (nouns[0], nouns[1], why.split()[-1])


def deeds(part: Sequence[Pair]) -> Iterator[tuple[str, str, str]]:
    """Subject, verb and object of the same sentences."""
    for pair, (subject, target, _) in reasons(part):
        main = pair.source.lower().split(" because ")[0]
        verbs = [BASE[word] for word in main.split() if word in BASE and BASE[word] not in ("be", "can", "want")]
        yield subject, verbs[0], target


def test_no_held_out_combination_occurs_in_training(en_fr: Corpus) -> None:
    trained = {triple for _, triple in reasons(en_fr.train)} | set(deeds(en_fr.train))
    assert len(trained) > len(en_fr.train) / 8
    assert not [triple for triple in trained if is_held_out_combination(triple)]
    tested = list(zip(reasons(en_fr.held_out), deeds(en_fr.held_out), strict=True))
    assert len(tested) > 0.25 * len(en_fr.held_out)
    assert all(triple not in trained or deed not in trained for (_, triple), deed in tested)


def test_the_pronoun_cannot_be_guessed(en_fr: Corpus) -> None:
    counts = Counter(
        pair.target.split("parce qu'")[1].split()[0] for pair in en_fr.train if pronoun(pair, pair.target) is not None
    )
    assert counts["il"] / (counts["il"] + counts["elle"]) == pytest.approx(0.5, abs=0.05)
    assert counts["ils"] / (counts["ils"] + counts["elles"]) == pytest.approx(0.5, abs=0.08)


VOWEL = "[aàâeéèêiîoôœuy]"
WRONG = {
    "no elision": rf"\b(?:le|la|ne|de|que|je|se) (?:{VOWEL}|homme|histoire|habit)",
    "elision where there is none": rf"\b(?:l|n|d|qu)'(?!{VOWEL}|h(?!érisson))",
    "si before il": r"\bsi ils?\b|s'elle",
    "no contraction": r"\b(?:à|de) les?\b",
    "a masculine form before a vowel": rf"\b(?:un|ce|le|son|leur|du|au) (?:beau|nouveau|vieux) (?:{VOWEL}|homme)",
    "ce before a vowel": rf"\bce (?:{VOWEL}|homme)",
    "sa before a vowel": rf"\bsa (?:{VOWEL}|histoire)",
    "des before an adjective": r"(?<!près )\bdes (?:petit|grand|jeune|joli|bon|long|vieux|vieille|nouve|beaux|belles)",
    "an English word": r"\b(?:the|because|it|was|is)\b",
    "two spaces, or a space before a mark": r"  | [.,]|' ",
    "no capital or no full stop": r"^[^A-ZÉŒ]|[^.]$|\..",
}


@pytest.mark.parametrize("mistake", WRONG)
def test_the_french_has_no(mistake: str, en_fr: Corpus) -> None:
    wrong = re.compile(WRONG[mistake])
    mistakes = [pair.target for pair in pairs(en_fr) if wrong.search(pair.target)]
    if mistake != "no capital or no full stop":
        mistakes += [pair.target for pair in pairs(en_fr) if wrong.search(pair.target.lower())]
    assert mistakes == []


def test_the_tokenizer_gives_every_text_back_and_knows_every_word(en_fr: Corpus) -> None:
    tokenizer = tc.train_tokenizer(en_fr.training_texts(), kind="word")
    texts = [text for pair in en_fr.held_out for text in pair.texts]
    known = [text for text in texts if not tokenizer.unknown_words(text)]
    assert len(known) > 0.98 * len(texts)  # of a sample; of the whole corpus all
    assert [text for text in known if tokenizer.decode(tokenizer.encode(text)) != text] == []


def test_a_quality_is_never_a_reason_of_both_so_that_it_can_be_told_who_is_meant() -> None:
    sides = [(reason.subject_qualities, reason.object_qualities) for reason in REASONS]
    assert all(not {name.removeprefix("not_") for name in subject} & {*target} for subject, target in sides)
    assert {"old", "young", "small"} <= {name for subject, _ in sides for name in subject}


FRONTED = {"Yesterday", "This", "Tomorrow", "Tonight", "Now", "In"}


def test_every_kind_of_sentence_is_also_said_with_an_adverb_in_front_and_with_a_relative_clause() -> None:
    rng = random.Random(3)
    fronted, described = Counter[str](), Counter[str]()
    for sentence in (draw_sentence(rng) for _ in range(4000)):
        words_said = translate(sentence).source.split()
        fronted[sentence.kind] += words_said[0].rstrip(",") in FRONTED
        described[sentence.kind] += bool({"that", "who"} & {*words_said})
    assert {kind for kind, n in fronted.items() if not n} == set()
    assert {kind for kind, n in described.items() if not n} == {"existence", "state"}
