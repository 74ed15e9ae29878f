"""The stories: what the corpus holds, how it is split, and its English by rules independent of the grammar."""

import random
import re
from collections import Counter
from dataclasses import dataclass

import pytest

from grammars.stories import MAX_WORDS, MIN_WORDS, Story, tell
from grammars.stories.casting import Plan
from grammars.stories.plots import PLOTS
from grammars.stories.split import combinations, is_held_out_combination
from grammars.stories.telling import Teller, variants_of
from transformer_core.corpora import Text
from transformer_core.corpora.shipped.stories import EXAMPLES, coherent, grammatical, opening
from transformer_core.corpora.shipped.stories.reading import faults
from transformer_core.corpora.shipped.stories.wording import Slot, sentences
from transformer_core.corpora.shipped.stories.world import DEEDS, Roles

NAMES = "Anna Clara Ella Grace Ida Lily Mia Nora Rosa Zoe Ben Emil Finn Hugo Jack Leo Max Noah Sam Tom".split()


@dataclass(frozen=True)
class Drawn:
    """Stories of seed 0."""

    stories: list[Story]
    unused: list[str]  # wordings that no story has
    complaints: dict[str, list[str]]  # of the reader about every tenth story, by its text


@pytest.fixture(scope="module", params=[4_000, pytest.param(46_000, marks=pytest.mark.full)])
def drawn(request: pytest.FixtureRequest) -> Drawn:
    """The first stories of the corpus, or as many as it takes to draw all of it."""
    used: set[int] = set()
    fill = Teller.fill

    def fill_and_note(self: Teller, slot: Slot, roles: Roles) -> str:
        used.add(id(slot))
        return fill(self, slot, roles)

    rng = random.Random(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Teller, "fill", fill_and_note)
        stories = [tell(rng) for _ in range(request.param)]
    wordings = [wording for deed in DEEDS.values() for wording in deed.wordings if variants_of(wording)[0][1]]
    unused = [one.text for one in wordings if not any(id(slots[-1]) in used for _, slots in variants_of(one))]
    return Drawn(stories, unused, {story.text: problems for story in stories[::10] if (problems := faults(story.text))})


@pytest.fixture(scope="module")
def stories(drawn: Drawn) -> list[Story]:
    return drawn.stories


@pytest.fixture(scope="module")
def texts(stories: list[Story]) -> list[str]:
    return [story.text for story in stories]


def test_the_seed_alone_decides_and_what_is_held_out_is_never_trained_on(stories: list[Story]) -> None:
    held_out = [story for story in stories if story.is_held_out]
    assert tell(random.Random(1)) != tell(random.Random(2))
    assert 0.03 * len(stories) < len(held_out) < 0.1 * len(stories)
    assert {story.plot for story in stories if story.is_held_out} == {story.plot for story in stories} == set(PLOTS)
    for story in stories:
        is_new = any(map(is_held_out_combination, combinations(story.plot, story.hero, story.thing, story.place)))
        assert is_new == story.is_held_out


@pytest.mark.full
@pytest.mark.parametrize("drawn", [46_000], indirect=True)
def test_every_wording_is_told_and_none_of_hundreds_of_words_is_rare(drawn: Drawn) -> None:
    assert drawn.unused == []
    counts = Counter(word for story in drawn.stories for word in set(re.findall(r"[a-z]+", story.text.lower())))
    assert 500 < len(counts) < 750
    assert {word for word, count in counts.items() if count < 40} == set()


def test_most_wordings_are_told_and_the_reader_has_nothing_against_any_story(drawn: Drawn) -> None:
    assert len(drawn.unused) <= 5
    assert drawn.complaints == {}


def test_what_is_held_out_can_be_read_off_the_text(stories: list[Story]) -> None:
    """Of stories in which a ball, a kite or a hat gets stuck: who it is and what it is, told by the text alone."""
    seen: dict[bool, set[tuple[str, str]]] = {True: set(), False: set()}
    for story in stories:
        if re.search(r"\blanded\b|\bgot (?:stuck|caught) (?:in|on) the (?:top|roof|apple)", story.text):
            name = next(word for word in re.findall(r"\w+", story.text) if word in NAMES)
            thing = re.search(r"\b(ball|kite|hat|cap)\b", story.text)
            assert thing
            seen[story.is_held_out].add((name, thing[1]))
    held_out = {(name, thing) for name, thing in seen[True] if is_held_out_combination(("stuck", name, thing))}
    assert held_out and not held_out & seen[False]
    assert len(seen[False]) > 40


def test_storys_are_short_and_have_many_openings(stories: list[Story]) -> None:
    assert {MIN_WORDS <= len(story.text.split()) <= MAX_WORDS for story in stories} == {True}
    assert {len(sentences(story.text)) for story in stories} <= {3, 4, 5, 6, 7}
    first_words = {" ".join(story.text.replace(story.hero, "X").split()[:3]) for story in stories}
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
    plan = Plan(random.Random(0))
    with pytest.raises(RuntimeError, match=r"bring back cannot happen now: \[\('has', 'Ben', 'ball'\)"):
        plan.do("bring back", A="Mia", B="Ben", x="ball")
    plan.do("take along", A="Mia", x="ball", P="park")
    assert plan.holds("has", "Mia", "ball")
    assert not plan.holds("begin")
    with pytest.raises(RuntimeError, match="happened"):
        plan.do("take along", A="Mia", x="ball", P="park")


def test_the_examples_begin_storys() -> None:
    assert 5 <= len(EXAMPLES) <= 6
    for example in EXAMPLES:
        complaints = faults(example)
        about_sentences = [complaint for complaint in complaints if "is no sentence" in complaint]
        assert len(about_sentences) == (not example.endswith(".")), complaints


def test_the_measures_judge_the_text_after_the_opening(stories: list[Story]) -> None:
    for story in stories[:20]:
        text = Text(story.text)
        rest = story.text.removeprefix(opening(text))
        assert opening(text) + rest == story.text
        assert coherent(text, rest) and grammatical(text, rest)
        assert coherent(text, rest.strip())
        assert not coherent(text, "") and not coherent(text, "The end.") and not grammatical(text, " The end.")
    thief, other = (Text(next(story.text for story in stories if story.plot == plot)) for plot in ("thief", "swap"))
    rest_of_other = other.text.removeprefix(opening(other))
    assert grammatical(thief, rest_of_other)
    assert not coherent(thief, rest_of_other)
