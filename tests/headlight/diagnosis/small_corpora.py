"""Small corpora, healthy ones and faulty ones, as people train on them."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grammars.stories import tell
from transformer_core.config import TokenizerKind
from transformer_core.corpora.corpus import Corpus, Pair, Text
from transformer_core.corpora.reading import CorpusReading
from transformer_core.corpora.storage.files import open_corpus
from transformer_core.corpora.tasks.tasks import pair_of
from transformer_core.errors import Message

LETTERS = "abcdefgh"


def of(items: Sequence[Any], kind: TokenizerKind = "character", *, n_held_out: int = 64) -> Corpus:
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
    )


def distinct(draw: Callable[[random.Random], Any], n: int) -> list[Any]:
    """Draw different items."""
    rng = random.Random(0)
    items: dict[Any, Any] = {}
    while len(items) < n:
        item = draw(rng)
        items.setdefault(item.source if isinstance(item, Pair) else item.text, item)
    return [*items.values()]


def letters(task: str, n: int = 1500) -> Corpus:
    """Three or four letters, to be copied, reversed or sorted."""
    return of(distinct(lambda rng: pair_of(task, "".join(rng.choices(LETTERS, k=rng.randint(3, 4)))), n))


def own_lines(folder: Path) -> Corpus:
    """Short sentences, one per line, in a text file."""
    lines = [
        f"{name} {verb} the {thing} {when}."
        for name in ("anna", "ben", "carla", "dora", "emil", "finn")
        for verb in ("likes", "sees", "calls", "hears", "finds")
        for thing in ("dog", "cat", "horse", "bird")
        for when in ("today", "often", "again", "now")
    ]
    return own_file(folder / "lines.txt", lines, tokens="word", division="lines")


def prose(folder: Path, tokens: str) -> Corpus:
    """Tales after each other, as one continuous text."""
    rng = random.Random(0)
    return own_file(folder / "prose.txt", [tell(rng).text for _ in range(300)], tokens=tokens, division="stream")


def own_file(path: Path, lines: Sequence[str], **reading: Any) -> Corpus:
    """A file of lines in random order."""
    path.write_text("\n".join(random.Random(0).sample(lines, k=len(lines))) + "\n", encoding="utf-8")
    return open_corpus(path, CorpusReading(vocab_size=400, **reading))


def two_back() -> Corpus:
    """Letters each of which follows that two places before; the one before leaves about four open."""

    def draw(rng: random.Random) -> Text:
        numbers = [first := rng.randrange(12), first + rng.randrange(3)]
        while len(numbers) < rng.randint(8, 18):
            numbers.append(numbers[-2] + 1)
        return Text(" ".join(chr(ord("a") + number % 12) for number in numbers))

    return of(distinct(draw, 250), "word", n_held_out=36)


def random_letters() -> Corpus:
    """Texts without a rule, in which some letters are more frequent."""
    return of(distinct(lambda rng: Text(unruly(rng, rng.randint(4, 18))), 400), "word", n_held_out=50)


def unruly(rng: random.Random, n: int) -> str:
    return " ".join(rng.choices(LETTERS, weights=(8, 4, 2, 1, 1, 1, 1, 1), k=n))


def with_targets(corpus: Corpus, target: str) -> Corpus:
    """The same sources with other targets."""
    train, held_out = (tuple(Pair(pair.source, target) for pair in part) for part in (corpus.train, corpus.held_out))
    return replace(corpus, train=train, held_out=held_out)


def cut_in_training(corpus: Corpus) -> Corpus:
    """Of nine in ten training texts only the first three words."""
    texts = (" ".join(item.text.split()[: 3 if i % 10 else None]) for i, item in enumerate(corpus.train))
    return replace(corpus, train=tuple(map(Text, texts)), held_out=tuple(corpus.held_out[:]), known_fingerprint="")
