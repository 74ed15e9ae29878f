"""Reading shipped items: a JSON object a line, compressed with xz."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from transformer_core.corpora.corpus import Pair, Text
from transformer_core.errors import CorpusError
from transformer_core.reasons import reason

FOLDER = Path(__file__).parent
SEED = 0  # with which the grammars drew the items
Values = Mapping[str, Any]


def shipped(name: str) -> Callable[[int], tuple[Sequence[Any], Sequence[Any]]]:
    """Return a function from a seed to the training and the held-out items, as `GeneratedCorpus` takes it.

    Only seed 0 is shipped. Other seeds need the grammars, which are not installed; runs, cards and the app always use
    seed 0.
    """
    return partial(_parts, name)


def _parts(name: str, seed: int) -> tuple[Sequence[Any], Sequence[Any]]:
    if seed != SEED:
        raise CorpusError(
            "the corpus {name} is only available as drawn with seed {shipped}, not with seed {seed}; leave the seed at "
            "{shipped}",
            name=name,
            shipped=SEED,
            seed=seed,
        )
    train, held_out = ([item_of(values) for values in read_lines(name, part)] for part in ("train", "held_out"))
    return train, held_out


def read_lines(name: str, part: str) -> Iterator[Values]:
    """Yield the values of each line of a shipped file.

    Args:
        name: of the corpus.
        part: the stem of the file: "train", "held_out".

    Raises:
        CorpusError: the file is missing or damaged, or Python lacks lzma.
    """
    path = path_of(name, part)
    try:
        import lzma
    except ImportError as error:
        raise CorpusError(
            "the corpus {name} cannot be read: this Python was built without the module lzma; use another build of "
            "Python",
            name=name,
        ) from error
    try:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise CorpusError(
            "{path} cannot be read ({error}); install Headlight again", path=path, error=reason(error)
        ) from error


def path_of(name: str, part: str) -> Path:
    """Return the shipped file of a part of a corpus; arguments as for `read_lines`."""
    return FOLDER / name.replace("-", "_") / f"{part}.jsonl.xz"


def item_of(values: Values) -> Pair | Text:
    """Return the pair or the text of a line."""
    if "text" in values:
        return Text(values["text"])
    return Pair(
        values["source"],
        values["target"],
        tuple(map(tuple, values["alignment"])),
        tuple(map(tuple, values["antecedents"])),
    )
