"""Texts as people have them, made here: sentences with names, numbers and quotes, a chapter, lines, Arabic."""

import random
from collections.abc import Callable, Iterator

NAMES = "Anna|Mr. O'Brien|Mrs. Lind|Dr. Weiß|Tom|Ms. Okafor|José|Zoë|Uncle Émile|Captain Hale".split("|")
THINGS = "letter|lamp|boat|garden|map|violin|kettle|ladder|clock|coat|window|suitcase".split("|")
LOOKS = "tall|small|green|heavy|broken|well-known|half-finished|quiet".split("|")
PLACES = "by the river|at No. 12|in the attic|near the café|behind St. Mary's|on the 7:45 train".split("|")
VERBS = [("found", "find"), ("sold", "sell"), ("forgot", "forget"), ("painted", "paint"), ("wanted", "want")]
BEINGS = "القطة|الكلب|البنت|الولد|الرجل|الطائر".split("|")
DEEDS = "رأى|سمع|وجد|عرف".split("|")
GOALS = "البيت|النهر|الشارع|الكتاب|الباب|المدينة".split("|")


def pairs(*, seed: int, n: int) -> list[tuple[str, str]]:
    """Return sentences as one says them, each with the same as one writes it to a stranger.

    Args:
        seed: of the choice.
        n: how many.
    """
    draw = random.Random(seed)
    kinds: list[Callable[[random.Random], tuple[str, str]]] = [_denial, _question, _price, _aside]
    return [draw.choice(kinds)(draw) for _ in range(n)]


def as_tsv(found: list[tuple[str, str]]) -> str:
    """Return pairs as lines, with a tab between."""
    return "".join(f"{source}\t{target}\n" for source, target in found)


def _denial(draw: random.Random) -> tuple[str, str]:
    name, (_, verb), thing = draw.choice(NAMES), draw.choice(VERBS), _thing(draw)
    return f"{name} didn't {verb} the {thing}.", f"{name} did not {verb} the {thing}."


def _question(draw: random.Random) -> tuple[str, str]:
    name, thing, place = draw.choice(NAMES), _thing(draw), draw.choice(PLACES)
    return f"Where's the {thing}, {name}? It isn't {place}!", f"Where is the {thing}, {name}? It is not {place}."


def _price(draw: random.Random) -> tuple[str, str]:
    thing, number, year = _thing(draw), draw.randint(2, 9999), draw.randint(1890, 2024)
    price = f"{number:,}.{draw.randint(0, 99):02}"
    return f"They've paid ${price} for the {thing} in {year}.", f"They have paid {price} dollars for it in {year}."


def _aside(draw: random.Random) -> tuple[str, str]:
    one, other = draw.sample(NAMES, 2)
    (past, _), thing, place = draw.choice(VERBS), _thing(draw), draw.choice(PLACES)
    did = f"never met {other}, {past} a {thing} {place}"
    return f"{one}, who'd {did} (really).", f"{one}, who had {did}, in truth."


def _thing(draw: random.Random) -> str:
    return f"{draw.choice(LOOKS)} {draw.choice(THINGS)}"


def chapter(*, seed: int, n_paragraphs: int) -> str:
    """Return a heading and paragraphs with a blank line between, of telling and of dialogue, with typographic quotes.

    Args:
        seed: of the choice.
        n_paragraphs: so many.
    """
    return "\n\n".join(["Chapter I", *_paragraphs(random.Random(seed), n_paragraphs)]) + "\n"


def _paragraphs(draw: random.Random, n: int) -> Iterator[str]:
    for i in range(n):
        told = [source for source, _ in (_aside(draw), _price(draw), _denial(draw))]
        name, (asked, _) = draw.choice(NAMES), _question(draw)
        if i % 3 == 1:
            yield f"“{asked}” said {name} – and then, more softly: “‘{told[2]}’ That’s what they told me…”"
        else:
            draw.shuffle(told)
            yield " ".join(told[: 1 + i % 3]) + (f" * * * {i}" if i % 10 == 9 else "")


def lines(*, seed: int, n: int) -> str:
    """Return short texts, one a line, no two alike: what somebody has on a list."""
    draw = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < n:
        found[f"{draw.choice(NAMES)}'s {_thing(draw)}, {draw.choice(PLACES)}"] = None
    return "\n".join(found) + "\n"


def in_arabic(*, seed: int, n: int) -> str:
    """Return simple sentences in a script that runs from right to left, one a line."""
    draw = random.Random(seed)
    return "".join(
        f"{draw.choice(DEEDS)} {draw.choice(BEINGS)} {draw.choice(GOALS)}، {draw.randint(1, 99)}؟\n" for _ in range(n)
    )
