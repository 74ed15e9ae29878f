"""Checks of a corpus before training: too little text, too long texts, repetitions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headlight.corpora.corpus_stats import CorpusStats
from transformer_core.corpora.storage.pieces import n_windows
from transformer_core.errors import Message

_FEW_HELD_OUT = 10  # texts or windows; with fewer, measurements are imprecise
_DETERMINED = 0.05  # nats; below, the previous token determines the next one
_MOST_UNKNOWN = 0.1  # share of the held-out tokens
_MANY_COPIES = 0.5  # share of texts, or pairs


@dataclass(frozen=True)
class Finding:
    """Something that one should know before training."""

    sentence: Message  # what, why it matters, and what to do
    is_fatal: bool = False  # training cannot begin


def check(stats: CorpusStats, *, max_seq_len: int, batch_size: int, stride: int | None = None) -> list[Finding]:
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
    return long + [Finding(sentence) for sentence in others]


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


def _too_long(stats: CorpusStats, max_seq_len: int) -> Iterator[Finding]:
    """Yield the texts that are too long for the model: pairs are refused, other texts are split."""
    for side, lengths in stats.lengths.items():
        n_around = 2 if stats.architecture == "encoder_only" else 1  # <bos>, <eos>, or both
        n = lengths.n_above(max_seq_len - n_around)
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
        yield Finding(sentence, is_fatal=stats.items == "pairs")


def _the_same(stats: CorpusStats) -> Iterator[Message]:
    """Yield that there is nothing, or little, to learn."""
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
    """Yield that there is too little for a batch, or for measurements."""
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
