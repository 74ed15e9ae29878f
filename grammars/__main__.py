"""Drawing the shipped corpora: `python -m grammars` writes their files, `--check` compares them without writing."""

import argparse
import json
import lzma
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from grammars import en_fr, stories
from grammars.en_fr.minimal_pairs import draw_minimal_pairs
from transformer_core.corpora.corpus import Pair, Text
from transformer_core.corpora.shipped.en_fr.minimal_pairs import MinimalPairSentence
from transformer_core.corpora.shipped.items import SEED, Values, path_of

PAIRS_SEED = 1  # of the minimal pairs


def values_of(item: Pair | Text) -> Values:
    """Return the values in the line of an item; `item_of` in the library reads them."""
    if isinstance(item, Text):
        return {"text": item.text}
    return {
        "source": item.source,
        "target": item.target,
        "alignment": item.alignment,
        "antecedents": item.antecedents,
    }


def lines(values: Iterable[Mapping[str, Any]]) -> bytes:
    """Return JSON objects as lines, in UTF-8."""
    return "".join(f"{json.dumps(each, ensure_ascii=False, separators=(',', ':'))}\n" for each in values).encode()


def contents() -> Iterator[tuple[Path, bytes]]:
    """Draw all corpora; yield each shipped file and its content before compression."""
    drawn: Mapping[str, tuple[Sequence[Any], Sequence[Any]]] = {
        "en-fr": en_fr.draw(SEED),
        "stories": stories.draw(SEED),
    }
    for name, parts in drawn.items():
        for part, items in zip(("train", "held_out"), parts, strict=True):
            yield path_of(name, part), lines(map(values_of, items))
    yield path_of("en-fr", "minimal_pairs"), lines(minimal_pair_values())


def minimal_pair_values(n: int | None = None) -> Iterator[Mapping[str, Any]]:
    """Yield the values of the lines of minimal pairs: the first n singular and n plural ones, or all."""
    for plural in (False, True):
        for pair in islice(draw_minimal_pairs(seed=PAIRS_SEED, plural=plural), n):
            yield {"plural": plural, "masculine": _side(pair.masculine), "feminine": _side(pair.feminine)}


def _side(side: MinimalPairSentence) -> Mapping[str, Any]:
    return {**values_of(side.pair), "forced": side.forced, "means_subject": side.means_subject}


def main(arguments: list[str] | None = None) -> int:
    """Write the files that differ from what is drawn, or with `--check` only name them; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m grammars", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file differs")
    check_only = parser.parse_args(arguments).check
    differ = False
    for path, content in contents():
        if path.exists() and lzma.decompress(path.read_bytes()) == content:
            print(f"{path} is as drawn")
            continue
        differ = True
        if not check_only:
            path.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
        print(f"{path} {'differs' if check_only else 'is written'}")
    return int(check_only and differ)


if __name__ == "__main__":
    sys.exit(main())
