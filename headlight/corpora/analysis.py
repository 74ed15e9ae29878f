"""Computing the statistics of a corpus, and with them everything that training needs before its first step."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headlight.corpora.baselines import Targets, baselines
from headlight.corpora.corpus_stats import CorpusStats, Frequency, Lengths, made_from
from transformer_core.config import Architecture
from transformer_core.corpora import load_corpus
from transformer_core.corpora.batching import refuse_misfit
from transformer_core.corpora.corpus import Corpus, Pair, Text
from transformer_core.corpora.corpus_tokenizer import tokenizer_of
from transformer_core.corpora.reading import AS_MADE, CorpusReading
from transformer_core.corpora.storage.kept_arrays import kept_bytes
from transformer_core.corpora.storage.pieces import joined
from transformer_core.corpora.storage.running_text import RunningText
from transformer_core.corpora.storage.token_store import OnProgress, TokenStore, tokenize
from transformer_core.text.tokenizer import Tokenizer

_N_FREQUENT, _N_SAMPLES = 20, 10
_LONGEST_SAMPLE = 300  # characters of a text
_TOGETHER = 2**20  # tokens counted at a time

OnStage = Callable[[str], None]
"""Called when a stage begins, with its name in `analysis_process.STAGES`."""


def stats_of(
    name: str,
    *,
    reading: CorpusReading = AS_MADE,
    architecture: Architecture | None = None,
    on_stage: OnStage = lambda stage: None,
    on_progress: OnProgress | None = None,
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
        unigram_loss=losses.unigram_loss,
        bigram_loss=losses.bigram_loss,
        n_counted=losses.n_counted,
        n_judged=losses.n_judged,
        samples=_samples(corpus.train),
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
    return tuple(tuple(map(_cut, item.texts)) for item in some)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SAMPLE else f"{text[:_LONGEST_SAMPLE]} ..."
