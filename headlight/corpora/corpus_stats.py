"""Statistics of a corpus, cached: what one wants to know before training."""

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from transformer_core.config import Architecture
from transformer_core.corpora import CORPORA
from transformer_core.corpora.providers import provider_of
from transformer_core.corpora.reading import CorpusReading
from transformer_core.corpora.source_code import CODE_OF_CORPORA, CODE_OF_TEXT
from transformer_core.corpora.storage.kept_arrays import found_bytes
from transformer_core.corpora.storage.text_files import places_of, shown
from transformer_core.errors import CorpusError, Message
from transformer_core.reasons import reason


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """Lengths of texts, in tokens without <bos> and <eos>."""

    median: int
    percentile_95: int  # 95 of 100 texts are at most this long
    longest: int
    counts: tuple[tuple[int, int], ...] = ()  # each length, ascending, and the number of texts that have it

    def n_above(self, length: int) -> int:
        """Return the number of longer texts."""
        return sum(count for of, count in self.counts if of > length)


@dataclass(frozen=True, kw_only=True)
class Frequency:
    """A token and the number of its occurrences."""

    token: str  # as in labels
    count: int


@dataclass(frozen=True, kw_only=True)
class CorpusStats:
    """A corpus as one kind of model reads it; baselines.py defines the two losses.

    A model whose held-out loss is not below `unigram_loss` has only learnt token frequencies; one that is not below
    `bigram_loss`, only what usually follows the previous token.
    """

    name: str
    title: str
    description: Message
    fingerprint: str  # of the corpus
    architecture: Architecture  # of the model that reads it
    items: Literal["pairs", "texts", "stretches"]  # a stretch is about 1,000 bytes of a running text
    n_train: int  # items
    n_held_out: int  # items
    n_train_tokens: int  # without <bos> and <eos>; of pairs, of both sides
    n_held_out_tokens: int  # the same
    n_used_tokens: int  # tokens of the vocabulary that occur in the training part
    n_different: int  # distinct training texts; of pairs, targets; of a running text, stretches
    n_copied: int  # training pairs whose target equals the source
    tokenizer_kind: Literal["word", "character", "byte_bpe", "foreign"]
    vocab_size: int
    lengths: Mapping[str, Lengths]  # of "source" and "target", or of "text"; empty for a running text
    frequent: tuple[Frequency, ...]  # the most frequent training tokens, in descending order
    unknown_share: float  # of <unk> among the held-out tokens, in [0, 1]
    unigram_loss: float  # nats per held-out target, of the unigram baseline
    bigram_loss: float  # nats per held-out target, of the bigram baseline
    n_counted: int  # training targets that both are estimated from
    n_judged: int  # held-out targets that both are means of
    samples: tuple[tuple[str, ...], ...]  # evenly spaced training items: source and target, or a text

    def to_json(self) -> str:
        """Return the statistics as JSON, which `from_json` reads."""
        return json.dumps(asdict(self) | {"description": self.description.as_json()}, ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> "CorpusStats":
        """Return the statistics that `to_json` wrote."""
        values: dict[str, Any] = json.loads(text)
        return cls(
            **values
            | {
                "description": Message.from_json(values["description"]),
                "lengths": {side: _lengths(lengths) for side, lengths in values["lengths"].items()},
                "frequent": tuple(Frequency(**frequency) for frequency in values["frequent"]),
                "samples": tuple(map(tuple, values["samples"])),
            }
        )


def _lengths(values: Mapping[str, Any]) -> Lengths:
    return Lengths(**{**values, "counts": tuple(map(tuple, values["counts"]))})


def kept_stats(name: str, reading: CorpusReading, architecture: Architecture) -> CorpusStats | None:
    """Return the cached statistics of a corpus, or None if there are none or the corpus has changed.

    A generated corpus is identified by its name, files by their paths, sizes and times; they are not read.

    Args:
        name: as `load_corpus` takes it.
        reading: how the corpus is read.
        architecture: of the model.

    Raises:
        CorpusError: there is no such corpus, or its files may not be read.
    """
    raw = found_bytes("statistics", made_from(name, reading, architecture))
    return None if raw is None else CorpusStats.from_json(raw.decode())


def made_from(name: str, reading: CorpusReading, architecture: Architecture) -> list[str]:
    """Return everything that the statistics depend on.

    Raises:
        CorpusError: there is no such corpus, or its files may not be read.
    """
    choices = [json.dumps(asdict(reading), sort_keys=True), architecture]
    if reading.tokenizer_source:
        from transformer_core.corpora.corpus_tokenizer import fingerprint_of_source  # it is slow to load

        choices.append(fingerprint_of_source(reading.tokenizer_source))
    versions = [CODE_OF_CORPORA, CODE_OF_TEXT, version("tokenizers"), version("numpy"), platform.python_version()]
    if name in CORPORA:
        return [*versions, *choices, name]
    if provider := provider_of(name):
        return [*versions, *choices, *provider.made_from(name)]
    path = Path(name)
    try:
        _, files = places_of(name)
        known = [[str(file.absolute()), file.stat().st_size, file.stat().st_mtime_ns] for file in files]
    except CorpusError:
        raise
    except (OSError, ValueError) as error:  # of characters that no path has, a ValueError
        raise CorpusError("{path} cannot be read ({error})", path=shown(path), error=reason(error)) from error
    return [*versions, *choices, json.dumps(known)]
