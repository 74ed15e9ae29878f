"""A corpus as batches for a model of some architecture."""

from collections.abc import Sequence
from typing import cast

from transformer_core.config import Architecture
from transformer_core.corpora.batch_order import IGNORED, Batch, Batches, BatchPosition
from transformer_core.corpora.corpus import Labelled, Pair, Text
from transformer_core.corpora.labelled_batches import LabelledBatches
from transformer_core.corpora.pair_batches import EncodedPairs, PairBatches
from transformer_core.corpora.storage.running_text import RunningText
from transformer_core.corpora.storage.token_store import OnProgress
from transformer_core.corpora.text_batches import MaskedBatches, NextTokenBatches
from transformer_core.errors import CorpusError
from transformer_core.text.tokenizer import Tokenizer

__all__ = [
    "IGNORED",
    "Batch",
    "BatchPosition",
    "Batches",
    "EncodedPairs",
    "LabelledBatches",
    "MaskedBatches",
    "NextTokenBatches",
    "PairBatches",
    "batches_for",
    "refuse_misfit",
    "refuse_stride",
]


def batches_for(
    items: Sequence[Pair] | Sequence[Text],
    tokenizer: Tokenizer,
    architecture: Architecture,
    *,
    max_seq_len: int,
    batch_size: int,
    seed: int,
    stride: int | None = None,
    with_antecedents: bool = False,
    on_progress: OnProgress | None = None,
) -> Batches:
    """Return the batches for training a model of some architecture.

    An encoder-decoder learns to predict the target of a pair, a decoder each next token of a text, an encoder the
    masked tokens of a text; of a text with labels, both learn the label of each token.

    Args:
        items: a part of a corpus, in memory or in files.
        tokenizer: the model's own.
        architecture: of the model.
        max_seq_len: tokens that the model takes; longer texts are cut into pieces, longer pairs refused.
        batch_size: pairs, or pieces of texts, per batch.
        seed: determines, with the epoch, the order and the masks.
        stride: tokens between the beginnings of two training windows of a running text; None: no overlap.
        with_antecedents: batches of pairs contain the antecedents of the pronouns in the sources.
        on_progress: called with the numbers of encoded items and of all items.

    Raises:
        CorpusError: the corpus is empty, the architecture needs the other kind of corpus, a pair is too
            long, or the tokenizer lacks a token that is needed.
    """
    refuse_misfit(items, architecture)
    if architecture == "encoder_decoder":
        pairs = EncodedPairs(
            cast(Sequence[Pair], items),
            tokenizer,
            max_seq_len=max_seq_len,
            with_antecedents=with_antecedents,
            on_progress=on_progress,
        )
        return PairBatches(pairs, batch_size=batch_size, seed=seed)
    if isinstance(items[0], Labelled):
        return LabelledBatches(
            cast(Sequence[Labelled], items),
            tokenizer,
            architecture,
            max_seq_len=max_seq_len,
            batch_size=batch_size,
            seed=seed,
        )
    make = NextTokenBatches if architecture == "decoder_only" else MaskedBatches
    return make(
        cast(Sequence[Text], items),
        tokenizer,
        max_seq_len=max_seq_len,
        batch_size=batch_size,
        seed=seed,
        stride=stride,
        on_progress=on_progress,
    )


def refuse_misfit(items: Sequence[Pair] | Sequence[Text], architecture: Architecture) -> None:
    """Check that a model of some architecture can learn from a part of a corpus, without tokenizing it.

    Raises:
        CorpusError: it is empty, or of the other kind: pairs instead of texts, or texts instead of pairs.
    """
    if not len(items):
        raise CorpusError("the corpus is empty; it must contain at least one pair or text")
    is_pairs, needs_pairs = isinstance(items[0], Pair), architecture == "encoder_decoder"
    if is_pairs and not needs_pairs:
        raise CorpusError(
            "this corpus consists of pairs, but a decoder or an encoder alone needs texts; choose an encoder-decoder, "
            "or a corpus of texts (a text file or a folder of text files)"
        )
    if needs_pairs and not is_pairs:
        raise CorpusError(
            "this corpus consists of texts, but an encoder-decoder needs pairs; choose a decoder or "
            "an encoder, or a corpus of pairs (a .tsv file with a source, a tab and a target on each "
            "line)"
        )


def refuse_stride(stride: int | None, items: Sequence[Pair] | Sequence[Text], *, max_seq_len: int) -> None:
    """Check that a stride applies, and that it skips no token between two windows of a running text.

    Raises:
        CorpusError: it does not apply, or is too large.
    """
    if stride is None:
        return
    if not isinstance(items, RunningText):
        raise CorpusError(
            "stride only applies to windows of a continuous text; set division=stream, or leave out stride"
        )
    if stride > max_seq_len:
        raise CorpusError(
            "stride ({stride}) must be at most max_seq_len ({most}); otherwise tokens between windows would be skipped",
            stride=stride,
            most=max_seq_len,
        )
