"""The tales: what the corpus holds, how it is split, and its English by rules that know nothing of how it is made."""

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from transformer_core.corpora import GeneratedCorpus, Text
from transformer_core.corpora.grammars.stories import (
    EXAMPLES,
    MAX_WORDS,
    MIN_WORDS,
    Tale,
    coherent,
    faults,
    grammatical,
    opening,
    tell,
)
from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.plots import DEEDS, PLOTS
from transformer_core.corpora.grammars.stories.split import combinations, is_held_out_combination
from transformer_core.corpora.grammars.stories.wording import sentences

NAMES = "Anna Clara Ella Grace Ida Lily Mia Nora Rosa Zoe Ben Emil Finn Hugo Jack Leo Max Noah Sam Tom".split()

# In a process of its own: there the run-time checks of the tests do not slow it down.
PRINT_TALES = """
import dataclasses, json, random, sys
from transformer_core.corpora.grammars.stories import Teller, faults, tell
from transformer_core.corpora.grammars.stories.plots import DEEDS
told = set()
fill = Teller.fill
def fill_and_note(self, slot, roles):
    told.add(id(slot))
    return fill(self, slot, roles)
Teller.fill = fill_and_note
rng = random.Random(0)
tales = [tell(rng) for _ in range(int(sys.argv[1]))]
used = lambda wording: any(id(slot) in told for _, slots in wording.variants for slot in slots[-1:])
wordings = [wording for deed in DEEDS.values() for wording in deed.says]
untold = [wording.text for wording in wordings if wording.variants[0][1] and not used(wording)]
complaints = {tale.text: found for tale in tales[::10] if (found := faults(tale.text))}
json.dump([[dataclasses.astuple(tale) for tale in tales], untold, complaints], sys.stdout)
"""


@dataclass(frozen=True)
class Told:
    """What the program prints."""

    tales: list[Tale]
    untold: list[str]  # wordings that no tale has
    complaints: dict[str, list[str]]  # of the reader about every tenth tale, by its text


@pytest.fixture(scope="module", params=["4000", pytest.param("46000", marks=pytest.mark.full)])
def told(request: pytest.FixtureRequest, answer: Callable[..., bytes]) -> Told:
    """The first tales of the corpus, or as many as it takes to draw all of it."""
    tales, untold, complaints = json.loads(answer(PRINT_TALES, request.param))
    return Told([Tale(*fields) for fields in tales], untold, complaints)


@pytest.fixture(scope="module")
def tales(told: Told) -> list[Tale]:
    return told.tales


@pytest.fixture(scope="module")
def texts(told: Told) -> list[str]:
    return [tale.text for tale in told.tales]


def test_the_seed_alone_decides_and_what_is_held_out_is_never_trained_on(
    tales: list[Tale], few: Callable[[str], GeneratedCorpus]
) -> None:
    corpus = few("stories")(seed=0)  # the tales are of the same seed, in a process whose hashes differ
    train, held_out = ([tale.text for tale in tales if tale.is_held_out is part] for part in (False, True))
    assert [text.text for text in corpus.train] == train[:60]
    assert [text.text for text in corpus.held_out] == held_out[:20]
    assert tell(random.Random(1)) != tell(random.Random(2))
    assert 0.03 * len(tales) < len(held_out) < 0.1 * len(tales)
    assert {tale.plot for tale in tales if tale.is_held_out} == {tale.plot for tale in tales} == set(PLOTS)
    for tale in tales:
        is_new = any(map(is_held_out_combination, combinations(tale.plot, tale.hero, tale.thing, tale.place)))
        assert is_new == tale.is_held_out


@pytest.mark.full
@pytest.mark.parametrize("told", ["46000"], indirect=True)
def test_every_wording_is_told_and_none_of_hundreds_of_words_is_rare(told: Told) -> None:
    assert told.untold == []
    counts = Counter(word for tale in told.tales for word in set(re.findall(r"[a-z]+", tale.text.lower())))
    assert 500 < len(counts) < 750
    assert {word for word, count in counts.items() if count < 40} == set()


def test_most_wordings_are_told_and_the_reader_has_nothing_against_any_tale(told: Told) -> None:
    assert len(told.untold) <= 5
    assert told.complaints == {}


def test_what_is_held_out_can_be_read_off_the_text(tales: list[Tale]) -> None:
    """Of tales in which a ball, a kite or a hat gets stuck: who it is and what it is, told by the text alone."""
    found: dict[bool, set[tuple[str, str]]] = {True: set(), False: set()}
    for tale in tales:
        if re.search(r"\blanded\b|\bgot (?:stuck|caught) (?:in|on) the (?:top|roof|apple)", tale.text):
            name = next(word for word in re.findall(r"\w+", tale.text) if word in NAMES)
            thing = re.search(r"\b(ball|kite|hat|cap)\b", tale.text)
            assert thing
            found[tale.is_held_out].add((name, thing[1]))
    held_out = {(name, thing) for name, thing in found[True] if is_held_out_combination(("stuck", name, thing))}
    assert held_out and not held_out & found[False]
    assert len(found[False]) > 40


def test_tales_are_short_and_have_many_openings(tales: list[Tale]) -> None:
    assert {MIN_WORDS <= len(tale.text.split()) <= MAX_WORDS for tale in tales} == {True}
    assert {len(sentences(tale.text)) for tale in tales} <= {3, 4, 5, 6, 7}
    first_words = {" ".join(tale.text.replace(tale.hero, "X").split()[:3]) for tale in tales}
    assert len(first_words) > 60


WRONG = {
    "a before a vowel": r"\b[Aa] [aeiou]",
    "an before a consonant": r"\b[Aa]n [^aeiou]",
    "a space or a mark out of place": r"  | [.,!?]|[.,!?]{2}|[.,!?]\w|^\s|\s$",
    "no capital at the beginning": r'^"?[^A-Z"]|[.!?] [a-z]|\w, "[A-Z]\w+ (?:he|she)\b',
    "no end": r'[^.!?"]$|[^.!?]"$',
    "a word twice": r"\b(?!had)(\w+) \1\b",
    "a plural thing that was": r"\b(?:mittens|cookies|pears|nuts|eggs|beans|tomatoes|cabbages) (?:was|is)\b",
    "a single thing that were": r"(?<!and the )\b(?:ball|kite|doll|boat|drum|flute|book|hat|scarf|goat) (?:were|are)\b",
    "two owners in a row": r"'s \w+'s \w+'s",
}


@pytest.mark.parametrize("mistake", WRONG)
def test_the_english_has_no(mistake: str, texts: list[str]) -> None:
    wrong = re.compile(WRONG[mistake])
    assert [text for text in texts if wrong.search(text)] == []


def test_a_plot_cannot_do_what_is_not_possible() -> None:
    plan = Plan(random.Random(0), DEEDS)
    with pytest.raises(RuntimeError, match=r"bring back cannot happen now: \[\('has', 'Ben', 'ball'\)"):
        plan.do("bring back", A="Mia", B="Ben", x="ball")
    plan.do("take along", A="Mia", x="ball", P="park")
    assert plan.holds("has", "Mia", "ball")
    assert not plan.holds("begin")
    with pytest.raises(RuntimeError, match="happened"):
        plan.do("take along", A="Mia", x="ball", P="park")


def test_the_examples_begin_tales() -> None:
    assert 5 <= len(EXAMPLES) <= 6
    for example in EXAMPLES:
        complaints = faults(example)
        about_sentences = [complaint for complaint in complaints if "is no sentence" in complaint]
        assert len(about_sentences) == (not example.endswith(".")), complaints


def test_the_measures_judge_what_is_written_behind_the_opening(tales: list[Tale]) -> None:
    for tale in tales[:20]:
        text = Text(tale.text)
        rest = tale.text.removeprefix(opening(text))
        assert opening(text) + rest == tale.text
        assert coherent(text, rest) and grammatical(text, rest)
        assert coherent(text, rest.strip())
        assert not coherent(text, "") and not coherent(text, "The end.") and not grammatical(text, " The end.")
    told, other = (Text(next(tale.text for tale in tales if tale.plot == plot)) for plot in ("thief", "swap"))
    rest_of_other = other.text.removeprefix(opening(other))
    assert grammatical(told, rest_of_other)
    assert not coherent(told, rest_of_other)
