"""Small corpora of ten kinds, healthy ones and faulty ones, as people train on them."""

import datetime
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformer_core.corpora.corpus import Corpus, Pair, Text, TokenizerKind
from transformer_core.corpora.grammars.en_fr import translate
from transformer_core.corpora.grammars.en_fr.sentences import draw_sentence
from transformer_core.corpora.grammars.stories import tell
from transformer_core.corpora.reading import CorpusReading
from transformer_core.corpora.storage.files import open_corpus
from transformer_core.corpora.tasks.addition import add
from transformer_core.corpora.tasks.brackets import CLOSING, close
from transformer_core.corpora.tasks.date_formats import FORMATS, write_date
from transformer_core.corpora.tasks.induction import align_repetition
from transformer_core.corpora.tasks.tasks import pair_of
from transformer_core.errors import Message

LETTERS = "abcdefgh"
DATE_FORMATS = FORMATS[:3]
NAMES = ("anna", "ben", "carla", "dora", "emil", "finn")
VERBS = {"likes": "mag", "sees": "sieht", "calls": "ruft", "hears": "hört", "finds": "findet"}
THINGS = {"the dog": "den hund", "the cat": "die katze", "the horse": "das pferd", "the bird": "den vogel"}
WHEN = {"today": "heute", "often": "oft", "again": "wieder", "now": "jetzt"}


def of(items: Sequence[Any], kind: TokenizerKind = "character", *, n_held_out: int = 64, **changes: Any) -> Corpus:
    """Items, some of which, drawn at random, are held out."""
    items = random.Random(0).sample(items, k=len(items))
    return Corpus(
        name="small",
        title="Small",
        description=Message("For a test."),
        train=tuple(items[n_held_out:]),
        held_out=tuple(items[:n_held_out]),
        examples=(),
        tokenizer_kind=kind,
        vocab_size=400,
        **changes,
    )


def distinct(draw: Callable[[random.Random], Any], n: int) -> list[Any]:
    """Draw different items."""
    rng = random.Random(0)
    items: dict[Any, Any] = {}
    while len(items) < n:
        item = draw(rng)
        items.setdefault(item.source if isinstance(item, Pair) else item.text, item)
    return [*items.values()]


def letters(task: str, n: int = 1500, *, alphabet: str = LETTERS) -> Corpus:
    """Three or four letters, to be copied, reversed or sorted."""
    return of(distinct(lambda rng: pair_of(task, "".join(rng.choices(alphabet, k=rng.randint(3, 4)))), n))


def sums() -> Corpus:
    return of(distinct(lambda rng: add(rng.randrange(100), rng.randrange(100)), 2000))


def dates() -> Corpus:
    def draw(rng: random.Random) -> Pair:
        date = datetime.date.fromordinal(rng.randint(700_000, 740_000))
        return Pair(write_date(rng.choice(DATE_FORMATS), date)[0], date.isoformat())

    return of(distinct(draw, 2000))


def brackets() -> Corpus:
    return of(distinct(lambda rng: close("".join(rng.choices([*CLOSING], k=rng.randint(1, 6)))), 1500))


def english_french() -> Corpus:
    return of(distinct(lambda rng: translate(draw_sentence(rng)), 1500), "word")


def own_pairs(folder: Path, tokens: str, *, change: Callable[[str], str] = str) -> Corpus:
    """Lower-case sentences and their translations, in a .tsv file of one's own."""
    lines = [
        f"{name} {verb} {thing} {when}\t{change(f'{when} {VERBS[verb]} {name} {THINGS[thing]}')}"
        for name in NAMES
        for verb in VERBS
        for thing in THINGS
        for when in WHEN
        for when in [WHEN[when]]
    ]
    return own_file(folder / "pairs.tsv", lines, tokens=tokens)


def own_lines(folder: Path, tokens: str) -> Corpus:
    """Short sentences, one a line, in a text file of one's own."""
    lines = [f"{name} {verb} {thing} {when}." for name in NAMES for verb in VERBS for thing in THINGS for when in WHEN]
    return own_file(folder / "lines.txt", lines, tokens=tokens, division="lines")


def prose(folder: Path, tokens: str, *, n: int = 300) -> Corpus:
    """Tales after each other, as one running text."""
    rng = random.Random(0)
    return own_file(folder / "prose.txt", [tell(rng).text for _ in range(n)], tokens=tokens, division="stream")


def own_file(path: Path, lines: Sequence[str], **reading: Any) -> Corpus:
    """A file of lines, in an order of no meaning."""
    path.write_text("\n".join(random.Random(0).sample(lines, k=len(lines))) + "\n", encoding="utf-8")
    return open_corpus(path, CorpusReading(vocab_size=400, **reading))


def tales() -> Corpus:
    return of(distinct(lambda rng: Text(tell(rng).text.split(".")[0] + "."), 1200), "byte_bpe")


def repeated_words() -> Corpus:
    """Random words, twice."""

    def draw(rng: random.Random) -> Text:
        words = rng.sample(["oak", "elm", "fir", "ash", "yew", "box", "bay", "fig"], k=rng.randint(3, 5))
        return Text(" ".join(words * 2), align_repetition(words * 2))

    return of(distinct(draw, 1500), "word")


def two_back() -> Corpus:
    """Letters each of which is the successor of that two places before; the one before leaves four or so open."""

    def draw(rng: random.Random) -> Text:
        numbers = [first := rng.randrange(12), first + rng.randrange(3)]
        while len(numbers) < rng.randint(8, 18):
            numbers.append(numbers[-2] + 1)
        return Text(" ".join(chr(ord("a") + number % 12) for number in numbers))

    return of(distinct(draw, 250), "word", n_held_out=36)


def random_letters() -> Corpus:
    """Texts of no rule, in which some letters are more frequent."""
    return of(distinct(lambda rng: Text(unruly(rng, rng.randint(4, 18))), 400), "word", n_held_out=50)


def unruly(rng: random.Random, n: int) -> str:
    return " ".join(rng.choices(LETTERS, weights=(8, 4, 2, 1, 1, 1, 1, 1), k=n))


def with_targets(corpus: Corpus, target: Callable[[random.Random, Pair], str], *, held_out: bool = True) -> Corpus:
    """The same sources with other targets, on both sides or in training alone."""
    rng = random.Random(0)

    def changed(items: Sequence[Pair]) -> tuple[Pair, ...]:
        return tuple(Pair(item.source, target(rng, item)) for item in items)

    return replace(
        corpus, train=changed(corpus.train), held_out=changed(corpus.held_out) if held_out else corpus.held_out
    )
