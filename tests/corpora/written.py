"""Texts as people have them, made here: a chapter with names, numbers and quotes, and lines in Arabic."""

import random
from collections.abc import Iterator

NAMES = "Anna|Mr. O'Brien|Mrs. Lind|Dr. Weiß|Tom|Ms. Okafor|José|Zoë|Uncle Émile|Captain Hale".split("|")
THINGS = "letter|lamp|boat|garden|map|violin|kettle|ladder|clock|coat|window|suitcase".split("|")
LOOKS = "tall|small|green|heavy|broken|well-known|half-finished|quiet".split("|")
PLACES = "by the river|at No. 12|in the attic|near the café|near St. Mary's|on the 7:45 train".split("|")
VERBS = [("found", "find"), ("sold", "sell"), ("forgot", "forget"), ("painted", "paint"), ("wanted", "want")]
BEINGS = "القطة|الكلب|البنت|الولد|الرجل|الطائر".split("|")
DEEDS = "رأى|سمع|وجد|عرف".split("|")
GOALS = "البيت|النهر|الشارع|الكتاب|الباب|المدينة".split("|")


def chapter(*, seed: int, n_paragraphs: int) -> str:
    """Return a heading and paragraphs with a blank line between, of telling and of dialogue, with typographic quotes.

    Args:
        seed: of the choice.
        n_paragraphs: number of paragraphs.
    """
    return "\n\n".join(["Chapter I", *_paragraphs(random.Random(seed), n_paragraphs)]) + "\n"


def _paragraphs(draw: random.Random, n: int) -> Iterator[str]:
    for i in range(n):
        sentences, name = _sentences(draw), draw.choice(NAMES)
        if i % 3 == 1:
            question = f"Where's the {_thing(draw)}, {name}? It isn't {draw.choice(PLACES)}!"
            yield f"“{question}” said {name} – and then, more softly: “‘{sentences[2]}’ That’s what they told me…”"
        else:
            draw.shuffle(sentences)
            yield " ".join(sentences[: 1 + i % 3]) + (f" * * * {i}" if i % 10 == 9 else "")


def _sentences(draw: random.Random) -> list[str]:
    one, other, third = draw.sample(NAMES, 3)
    (past, _), (_, verb), place = *draw.sample(VERBS, 2), draw.choice(PLACES)
    price = f"{draw.randint(2, 9999):,}.{draw.randint(0, 99):02}"
    return [
        f"{one}, who'd never met {other}, {past} a {_thing(draw)} {place} (really).",
        f"They've paid ${price} for the {_thing(draw)} in {draw.randint(1890, 2024)}.",
        f"{third} didn't {verb} the {_thing(draw)}.",
    ]


def _thing(draw: random.Random) -> str:
    return f"{draw.choice(LOOKS)} {draw.choice(THINGS)}"


def in_arabic(*, seed: int, n: int) -> str:
    """Return simple sentences in a script that runs from right to left, one a line."""
    draw = random.Random(seed)
    return "".join(
        f"{draw.choice(DEEDS)} {draw.choice(BEINGS)} {draw.choice(GOALS)}، {draw.randint(1, 99)}؟\n" for _ in range(n)
    )
