"""Corpora: generated, shipped or read from files, with a held-out part and measures that score outputs."""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType

from transformer_core.corpora.corpus import (
    BETWEEN,
    Alignment,
    Corpus,
    Measure,
    Pair,
    Text,
    TextMeasure,
    first_half,
)
from transformer_core.corpora.generated import GeneratedCorpus, provider_of
from transformer_core.corpora.reading import AS_MADE, CorpusReading, read_as
from transformer_core.corpora.shipped.en_fr import en_fr
from transformer_core.corpora.shipped.stories import stories
from transformer_core.corpora.tasks.addition import addition
from transformer_core.corpora.tasks.brackets import brackets
from transformer_core.corpora.tasks.dates import dates
from transformer_core.corpora.tasks.induction import induction
from transformer_core.corpora.tasks.tasks import copy, reverse, sort
from transformer_core.errors import CorpusError, Message

__all__ = [
    "BETWEEN",
    "CORPORA",
    "Alignment",
    "Corpus",
    "CorpusReading",
    "GeneratedCorpus",
    "Measure",
    "Pair",
    "Text",
    "TextMeasure",
    "first_half",
    "load_corpus",
]


CORPORA: Mapping[str, GeneratedCorpus] = MappingProxyType(
    {
        "copy": copy,
        "reverse": reverse,
        "sort": sort,
        "addition": addition,
        "dates": dates,
        "brackets": brackets,
        "en-fr": en_fr,
        "induction": induction,
        "stories": stories,
    }
)


def load_corpus(name: str, *, seed: int = 0, reading: CorpusReading = AS_MADE) -> Corpus:
    """Return the corpus with the given name, or the one in a file or folder.

    A generated corpus is drawn once and kept in the cache folder.

    Args:
        name: one of `CORPORA`; or a corpus of another package, such as "program:reverse" (see `PROVIDERS`); or the
            path of a text file, of a table (JSON, JSON lines, CSV, TSV, Parquet), or of a folder of such files; or the
            paths of several, "train.en|train.fr". For a file that shares its name with a generated corpus,
            write "./copy".
        seed: used to draw a generated corpus; en-fr and stories are shipped as drawn with seed 0.
        reading: what one token is, and, for a file, what one text is.

    Raises:
        CorpusError: there is no corpus or file with that name, or it cannot be read as `reading` asks.
    """
    if name in CORPORA:
        from transformer_core.corpora.storage.kept_items import kept_corpus

        return read_as(kept_corpus(CORPORA[name], seed=seed), reading)
    if provider := provider_of(name):
        if reading != AS_MADE:
            raise CorpusError(
                "{name} is read with the tokens of its program; leave out tokens, vocab_size and division", name=name
            )
        return provider.load(name, seed)
    if name and (os.path.exists(name) or all(map(os.path.exists, name.split(BETWEEN)))):
        from transformer_core.corpora.storage.files import open_corpus

        return open_corpus(name, reading)
    if os.path.dirname(name):
        raise CorpusError(
            "the text {file} no longer exists: there is no file or folder {name}; restore it, or choose another text",
            file=os.path.basename(name.rstrip("/")),
            name=name,
        )
    nearest = get_close_matches(name, CORPORA, n=2, cutoff=0.5)
    known = ", ".join(CORPORA)
    if not nearest:
        raise CorpusError(
            "there is no corpus {name!r}, and no file or folder of that name; available are {known}",
            name=name,
            known=known,
        )
    raise CorpusError(
        "there is no corpus {name!r}, and no file or folder of that name; did you mean {meant}? Available are {known}",
        name=name,
        meant=Message.joined(Message(" or "), map(repr, nearest)),
        known=known,
    )
