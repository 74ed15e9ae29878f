"""Cached statistics of a corpus that help to judge it before training, and the problems that they reveal."""

import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from transformer_core.config import Architecture
from transformer_core.corpora import CORPORA
from transformer_core.corpora.generated import provider_of
from transformer_core.corpora.reading import CorpusReading
from transformer_core.corpora.source_code import CODE_OF_CORPORA, CODE_OF_TEXT
from transformer_core.corpora.storage.kept_arrays import found_bytes
from transformer_core.corpora.storage.text_files import places_of, shown
from transformer_core.corpora.storage.token_store import n_windows
from transformer_core.errors import CorpusError, Message
from transformer_core.reasons import reason

_FEW_HELD_OUT = 10  # texts or windows; with fewer, measurements are imprecise
_DETERMINED = 0.05  # nats; below, the previous token determines the next one
_MOST_UNKNOWN = 0.1  # share of the held-out tokens
_MANY_COPIES = 0.5  # share of texts, or pairs


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """Lengths of texts, in tokens without <bos> and <eos>."""

    median: int
    percentile_95: int  # 95 of 100 texts are at most this long
    longest: int
    counts: tuple[tuple[int, int], ...] = ()  # each length, ascending, and the number of texts that have it


@dataclass(frozen=True, kw_only=True)
class Frequency:
    """A token and the number of its occurrences."""

    token: str  # as in labels
    count: int


@dataclass(frozen=True, kw_only=True)
class CorpusStats:
    """A corpus as one kind of model reads it; `analysis.baselines` defines the two losses.

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
        lengths = {
            side: Lengths(**of_side | {"counts": tuple(map(tuple, of_side["counts"]))})
            for side, of_side in values["lengths"].items()
        }
        return cls(
            **values
            | {
                "description": Message.from_json(values["description"]),
                "lengths": lengths,
                "frequent": tuple(Frequency(**frequency) for frequency in values["frequent"]),
                "samples": tuple(map(tuple, values["samples"])),
            }
        )


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
    except (OSError, ValueError) as error:  # ValueError: the name has characters that no path can have
        raise CorpusError("{path} cannot be read ({error})", path=shown(path), error=reason(error)) from error
    return [*versions, *choices, json.dumps(known)]


@dataclass(frozen=True)
class CorpusProblem:
    """A problem of a corpus that the user should know before training."""

    sentence: Message  # what, why it matters, and what to do
    is_fatal: bool = False  # training cannot begin


def check(stats: CorpusStats, *, max_seq_len: int, batch_size: int, stride: int | None = None) -> list[CorpusProblem]:
    """Return the problems of a corpus for a training, the worst first.

    Args:
        stats: of the corpus.
        max_seq_len: tokens that the model takes.
        batch_size: pairs, or windows of texts, per step.
        stride: tokens from one window of a running text to the next; None: the length of a window.
    """
    long = [*_too_long(stats, max_seq_len)]
    others = (
        *_the_same(stats),
        *_too_little(stats, n_rows(stats, max_seq_len, stride), max_seq_len, batch_size),
        *_unknown(stats),
    )
    return long + [CorpusProblem(sentence) for sentence in others]


def n_rows(stats: CorpusStats, max_seq_len: int, stride: int | None = None) -> int:
    """Return the number of pairs or windows per epoch; for texts, which may be split, the least number.

    Args:
        stats: of the corpus.
        max_seq_len: tokens that the model takes.
        stride: as for `check`.
    """
    if stats.items == "pairs":
        return stats.n_train
    if stats.items == "texts":
        return max(stats.n_train, stats.n_train_tokens // max_seq_len)
    n_given, n_around = (2, 2) if stats.architecture == "encoder_only" else (0, 1)  # <bos> and <eos>, or the next token
    return n_windows(stats.n_train_tokens, n_brought=max_seq_len - n_given, n_around=n_around, stride=stride)


def _too_long(stats: CorpusStats, max_seq_len: int) -> Iterator[CorpusProblem]:
    """Yield the texts that are too long for the model: pairs are refused, other texts are split."""
    for side, lengths in stats.lengths.items():
        n_around = 2 if stats.architecture == "encoder_only" else 1  # <bos>, <eos>, or both
        n = sum(count for length, count in lengths.counts if length > max_seq_len - n_around)
        values: dict[str, Any] = {"n": n, "most": max_seq_len, "longest": lengths.longest + 1}
        if not n:
            continue
        if side == "source":
            sentence = Message(
                "{n:,} source is too long for the model: {longest:,} tokens, including <eos>; the "
                "maximum is {most:,}. Raise max_seq_len to {longest:,}, or shorten it.",
                plural="{n:,} sources are too long for the model: up to {longest:,} tokens, including <eos>; "
                "the maximum is {most:,}. Raise max_seq_len to {longest:,}, or shorten them.",
                **values,
            )
        elif side == "target":
            sentence = Message(
                "{n:,} target is too long for the model: {longest:,} tokens, including <eos>; the "
                "maximum is {most:,}. Raise max_seq_len to {longest:,}, or shorten it.",
                plural="{n:,} targets are too long for the model: up to {longest:,} tokens, including <eos>; "
                "the maximum is {most:,}. Raise max_seq_len to {longest:,}, or shorten them.",
                **values,
            )
        else:
            sentence = Message(
                "{n:,} text is longer than {most:,} tokens and is split into chunks that cannot attend "
                "to each other. Raise max_seq_len to keep it whole.",
                plural="{n:,} texts are longer than {most:,} tokens and are split into chunks that cannot "
                "attend to each other. Raise max_seq_len to keep them whole.",
                **values,
            )
        yield CorpusProblem(sentence, is_fatal=stats.items == "pairs")


def _the_same(stats: CorpusStats) -> Iterator[Message]:
    if stats.n_used_tokens == 1:
        token = stats.frequent[0].token
        yield Message(
            "The whole text is a single repeated token, {token}, so there is nothing to learn. Use another text.",
            token=token,
        )
    elif stats.bigram_loss < _DETERMINED:
        yield Message(
            "The text is repetitive: each token almost follows from the previous one (bigram "
            "baseline {loss:.2f} nats), so there is little for a Transformer to learn. Use a more "
            "varied text.",
            loss=stats.bigram_loss,
        )
    if stats.items == "pairs":
        if stats.n_different == 1:
            yield Message(
                "All targets are identical, so the model does not need the source. Check that the second column is "
                "the correct one."
            )
        elif stats.n_copied > _MANY_COPIES * stats.n_train:
            yield Message(
                "{n:,} of {all:,} targets are identical to their source, so the model will learn to "
                "copy. Check that this is intended.",
                n=stats.n_copied,
                all=stats.n_train,
            )
        if lengths := stats.lengths.get("target"):
            empty = dict(lengths.counts).get(0, 0)
            if empty:
                yield Message(
                    "{n:,} targets are empty; the model will learn to predict <eos> immediately for them.", n=empty
                )
    elif stats.items == "texts" and stats.n_different <= _MANY_COPIES * stats.n_train:
        yield Message(
            "Only {n:,} of {all:,} texts are distinct; the model will memorize the duplicates. Remove them.",
            n=stats.n_different,
            all=stats.n_train,
        )


def _too_little(stats: CorpusStats, rows: int, max_seq_len: int, batch_size: int) -> Iterator[Message]:
    if rows < batch_size:
        yield Message(
            "The training set ({n:,} pairs or windows) is smaller than one batch ({batch_size:,}), "
            "so each step sees all of it and the model will memorize it. Add more text, or lower the "
            "batch size.",
            n=rows,
            batch_size=batch_size,
        )
    held_out = stats.n_held_out
    if stats.items == "stretches":
        held_out = max(1, stats.n_held_out_tokens // max_seq_len)
    if held_out < _FEW_HELD_OUT:
        yield Message(
            "The held-out set is very small ({n:,}), so held-out loss and accuracy are imprecise. "
            "Add more text to improve them.",
            n=held_out,
        )


def _unknown(stats: CorpusStats) -> Iterator[Message]:
    if stats.unknown_share > _MOST_UNKNOWN:
        yield Message(
            "{share:.0%} of the held-out tokens are unknown: they do not occur in the training set. "
            "Choose subwords or characters as tokens, or add more text.",
            share=stats.unknown_share,
        )
