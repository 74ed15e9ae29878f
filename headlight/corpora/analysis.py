"""Compute the statistics of a corpus, and cache everything that training needs before its first step."""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headlight.corpora.corpus_stats import CorpusStats, Frequency, Lengths, made_from
from transformer_core.config import Architecture
from transformer_core.corpora import load_corpus
from transformer_core.corpora.batching import refuse_misfit
from transformer_core.corpora.corpus import Corpus, Pair, Text
from transformer_core.corpora.corpus_tokenizer import tokenizer_of
from transformer_core.corpora.reading import AS_MADE, CorpusReading
from transformer_core.corpora.storage.file_items import RunningText
from transformer_core.corpora.storage.kept_arrays import kept_bytes
from transformer_core.corpora.storage.token_store import OnItems, TokenStore, joined, tokenize
from transformer_core.errors import CorpusError
from transformer_core.text.tokenizer import Tokenizer

_N_FREQUENT, _N_SAMPLES = 20, 10
_LONGEST_SAMPLE = 300  # characters of a text
_TOGETHER = 2**20  # tokens counted at a time
_MOST_COUNTED, _MOST_JUDGED = 2**24, 2**22  # targets; of more, evenly spaced blocks

OnStage = Callable[[str], None]
"""Called when a stage begins, with its name in `analysis_process.STAGES`."""


class Baselines(NamedTuple):
    """The two losses, and the numbers of targets that they are computed from."""

    unigram_loss: float  # nats a target
    bigram_loss: float  # nats a target
    n_counted: int  # training targets that the probabilities are estimated from
    n_judged: int  # held-out targets that the losses are means of


@dataclass(frozen=True, eq=False)
class Targets:
    """The targets of a model, each with the token before it."""

    store: TokenStore  # the texts
    is_target: NDArray[np.bool_]  # [text], True for texts that a model has to predict; of pairs, the targets
    n_given: int  # tokens at the end of each text that are not predicted: 1 where <eos> is given, else 0

    def blocks(self, *, at_most: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the previous tokens and the targets, about a million at a time; of very many, only some blocks."""
        n_tokens, starts = len(self.store.tokens), self.store.starts
        every = max(1, -(-n_tokens // at_most))
        for first in range(0, n_tokens, every * _TOGETHER):
            places = np.arange(first, min(first + _TOGETHER, n_tokens))
            texts = np.searchsorted(starts, places, side="right") - 1
            is_target = (places > starts[texts]) & (starts[texts + 1] - places > self.n_given) & self.is_target[texts]
            targets = places[is_target]
            yield self.store.tokens[targets - 1].astype(np.int64), self.store.tokens[targets].astype(np.int64)


class _Counts:
    """The counts of tokens and of pairs of tokens."""

    def __init__(self, vocab_size: int) -> None:
        self.vocab_size = vocab_size
        self.pairs = np.empty(0, np.int64)  # before * vocab_size + target, ascending
        self.counts = np.empty(0, np.int32)  # of those
        self.n_of = np.zeros(vocab_size, np.int64)  # of each token as a target
        self.n_before = np.zeros(vocab_size, np.int64)  # of each token before a target

    def add(self, before: NDArray[np.int64], targets: NDArray[np.int64]) -> None:
        self.n_of += np.bincount(targets, minlength=self.vocab_size)
        self.n_before += np.bincount(before, minlength=self.vocab_size)
        pairs, counts = np.unique(before * self.vocab_size + targets, return_counts=True)
        places, is_known = self._find(pairs)
        self.counts[places[is_known]] += counts[is_known].astype(np.int32)
        new = ~is_known
        self.pairs = np.insert(self.pairs, places[new], pairs[new])
        self.counts = np.insert(self.counts, places[new], counts[new])

    def of(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the count of each pair, 0 for unseen ones."""
        places, is_known = self._find(pairs)
        counts = np.zeros(len(pairs), np.int64)
        counts[is_known] = self.counts[places[is_known]]
        return counts

    def n_followers(self) -> NDArray[np.int64]:
        """Return the number of different tokens that follow each token."""
        return np.diff(np.searchsorted(self.pairs, np.arange(self.vocab_size + 1) * self.vocab_size))

    def _find(self, pairs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the index of each pair in the sorted pairs, or its insertion point, and whether it was seen."""
        places = np.searchsorted(self.pairs, pairs)
        is_known = places < len(self.pairs)
        is_known[is_known] = self.pairs[places[is_known]] == pairs[is_known]
        return places, is_known


def baselines(train: Targets, held_out: Targets, *, vocab_size: int) -> Baselines:
    """Return the losses of the unigram and of the bigram model: means of -log p(target), in nats per held-out target.

    Both predict each target that a model is measured on (teacher forcing, <eos> included where a model predicts it)
    from counts in the training part, as the `loss` of training/evaluate.py. An encoder predicts masked tokens, drawn
    evenly from all of a text; for it, both are means over all these tokens.

        unigram:  p(y)     = (c(y) + 1) / (n + vocab_size)                 add-one smoothing (Laplace)
        bigram:   p(y | x) = (c(x, y) + t(x) p(y)) / (c(x) + t(x))         t(x): how many different tokens follow x

    Source: Witten and Bell 1991, "The zero-frequency problem", method C, as an interpolation with the unigram.

    Args:
        train: to estimate the probabilities from.
        held_out: to compute the losses on.
        vocab_size: of the tokenizer.

    Raises:
        CorpusError: one of the two has no target.
    """
    counts = _Counts(vocab_size)
    for before, targets in train.blocks(at_most=_MOST_COUNTED):
        counts.add(before, targets)
    n_counted = int(counts.n_of.sum())
    if not n_counted:
        raise CorpusError("this corpus has no tokens to predict; add more text")
    unigram = (counts.n_of + 1) / (n_counted + vocab_size)
    n_followers = counts.n_followers()
    sums, n_judged = np.zeros(2), 0
    for before, targets in held_out.blocks(at_most=_MOST_JUDGED):
        known = counts.n_before[before] + n_followers[before]
        seen = counts.of(before * vocab_size + targets) + n_followers[before] * unigram[targets]
        bigram = np.where(known > 0, seen / np.maximum(known, 1), unigram[targets])
        sums += -np.log(unigram[targets]).sum(), -np.log(bigram).sum()
        n_judged += len(targets)
    if not n_judged:
        raise CorpusError("the held-out part of this corpus has no tokens to predict; add more text")
    unigram_loss, bigram_loss = sums / n_judged
    return Baselines(float(unigram_loss), float(bigram_loss), n_counted, n_judged)


def stats_of(
    name: str,
    *,
    reading: CorpusReading = AS_MADE,
    architecture: Architecture | None = None,
    on_stage: OnStage = lambda stage: None,
    on_progress: OnItems | None = None,
) -> CorpusStats:
    """Return the statistics of a corpus, computed or cached; corpus, tokenizer and tokens are cached, too.

    Args:
        name: as `load_corpus` takes it.
        reading: how the corpus is read.
        architecture: of the model; None: an encoder-decoder for pairs, a decoder for texts.
        on_stage: called at the beginning of each stage.
        on_progress: called with the numbers of encoded items and of all items.

    Raises:
        CorpusError: there is no such corpus, or such a model cannot learn from it.
    """
    on_stage("reads")
    corpus = load_corpus(name, reading=reading)
    chosen: Architecture = architecture or ("encoder_decoder" if corpus.is_pairs else "decoder_only")
    refuse_misfit(corpus.train, chosen)
    depends_on = made_from(name, reading, chosen)
    on_stage("vocabulary")
    tokenizer = tokenizer_of(corpus, chosen)
    on_stage("encodes")
    for part in (corpus.train, corpus.held_out):
        tokenize(part, tokenizer, on_progress=on_progress)

    on_stage("counts")

    def make() -> bytes:
        return compute_stats(corpus, tokenizer, chosen).to_json().encode()

    return CorpusStats.from_json(kept_bytes("statistics", depends_on, make).decode())


def compute_stats(corpus: Corpus, tokenizer: Tokenizer, architecture: Architecture) -> CorpusStats:
    """Return the statistics of a corpus, in little memory however large it is.

    Args:
        corpus: to analyze.
        tokenizer: its own, from `tokenizer_of`.
        architecture: of the model.

    Raises:
        CorpusError: such a model cannot learn from it, or there is no token to predict.
    """
    refuse_misfit(corpus.train, architecture)
    train, held_out = tokenize(corpus.train, tokenizer), tokenize(corpus.held_out, tokenizer)
    is_running = isinstance(corpus.train, RunningText)
    counts, held_out_counts = (_counts(store, tokenizer) for store in (train, held_out))
    hashes = _hashes(train)
    targets = hashes[1::2] if corpus.is_pairs else hashes
    losses = baselines(
        targets_of(corpus.train, train, architecture),
        targets_of(corpus.held_out, held_out, architecture),
        vocab_size=tokenizer.vocab_size,
    )
    return CorpusStats(
        name=corpus.name,
        title=corpus.title,
        description=corpus.description,
        fingerprint=corpus.fingerprint,
        architecture=architecture,
        items="stretches" if is_running else "pairs" if corpus.is_pairs else "texts",
        n_train=len(corpus.train),
        n_held_out=len(corpus.held_out),
        n_train_tokens=int(counts.sum()),
        n_held_out_tokens=int(held_out_counts.sum()),
        n_used_tokens=int(np.count_nonzero(counts)),
        n_different=len(np.unique(targets)),
        n_copied=int((hashes[::2] == targets).sum()) if corpus.is_pairs else 0,
        tokenizer_kind="foreign" if corpus.tokenizer_source else corpus.tokenizer_kind,
        vocab_size=tokenizer.vocab_size,
        lengths={} if is_running else _lengths(corpus, train, held_out),
        frequent=tuple(
            Frequency(token=tokenizer.labels([i])[0], count=int(counts[i]))
            for i in np.argsort(-counts, kind="stable")[:_N_FREQUENT].tolist()
            if counts[i]
        ),
        unknown_share=0.0
        if tokenizer.unk_id is None
        else float(held_out_counts[tokenizer.unk_id] / max(1, held_out_counts.sum())),
        samples=_samples(corpus.train),
        **losses._asdict(),
    )


def _counts(store: TokenStore, tokenizer: Tokenizer) -> NDArray[np.int64]:
    """Return how often each token occurs in the texts, without <bos> and <eos> around them."""
    counts = np.zeros(tokenizer.vocab_size, np.int64)
    for first in range(0, len(store.tokens), _TOGETHER):
        counts += np.bincount(store.tokens[first : first + _TOGETHER], minlength=len(counts))
    counts[[i for i in (tokenizer.bos_id, tokenizer.eos_id) if i is not None]] = 0
    return counts


def _hashes(store: TokenStore) -> NDArray[np.int64]:
    """Return a hash of each text; two texts of one length collide once in four billion times."""
    tokens = store.tokens.data
    return np.fromiter(
        (zlib.crc32(tokens[start:end]) | end - start << 32 for start, end in pairwise(store.starts.data)),
        np.int64,
        len(store),
    )


def targets_of(items: Sequence[Any], store: TokenStore, architecture: Architecture) -> Targets:
    """Return the targets of a part of a corpus; an encoder, whose tokens are masked, is given <eos>."""
    texts = joined(items, store)
    is_target = np.ones(len(texts), np.bool_)
    if architecture == "encoder_decoder":
        is_target[::2] = False
    is_given = architecture == "encoder_only" and not isinstance(items, RunningText)
    return Targets(texts, is_target, n_given=1 if is_given else 0)


def _lengths(corpus: Corpus, *stores: TokenStore) -> Mapping[str, Lengths]:
    """Return the lengths of the texts of both parts, separately for each side."""
    around = 2  # <bos> and <eos>
    if not corpus.is_pairs:
        return {"text": _length(np.concatenate([store.lengths() - around for store in stores]))}
    return {
        side: _length(np.concatenate([store.lengths()[i::2] - around for store in stores]))
        for i, side in enumerate(("source", "target"))
    }


def _length(lengths: NDArray[np.int64]) -> Lengths:
    median, percentile_95 = np.percentile(lengths, [50, 95], method="inverted_cdf").tolist()
    return Lengths(
        median=int(median),
        percentile_95=int(percentile_95),
        longest=int(lengths.max()),
        counts=tuple(zip(*(numbers.tolist() for numbers in np.unique(lengths, return_counts=True)), strict=True)),
    )


def _samples(items: Sequence[Pair] | Sequence[Text]) -> tuple[tuple[str, ...], ...]:
    """Return evenly spaced items, each text cut to a readable length."""
    some = items[:: max(1, len(items) // _N_SAMPLES)][:_N_SAMPLES]
    most = _LONGEST_SAMPLE
    return tuple(tuple(text if len(text) <= most else f"{text[:most]} ..." for text in item.texts) for item in some)
