"""The input of a training as tensors: the windows of a running text, and one real batch with its padding."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from headlight.language import say
from pages.shared import corpora, prose
from pages.shared.corpora import CorpusChoice
from pages.shared.view.fields import Kept
from pages.train.train import batch_probabilities
from transformer_core.config import Architecture, ModelConfig
from transformer_core.corpora.reading import CorpusReading
from transformer_core.errors import HeadlightError, mark
from transformer_core.training.config import TrainingConfig

if TYPE_CHECKING:
    from headlight.corpora.corpus_stats import CorpusStats
    from transformer_core.corpora.batch_order import Batch, Batches
    from transformer_core.text.interface import Tokenizer

OPEN = "train-batch-open"  # key of the expander
INDEX = Kept("train-batch-index", 0)
_N_WINDOWS, _N_ROWS, _MOST_POSITIONS = 3, 8, 64  # maximum numbers shown; of a batch, rows and positions
_TITLES: Mapping[Architecture, tuple[str, ...]] = {  # of the inputs and the targets
    "encoder_decoder": (mark("source"), mark("decoder input"), mark("target")),
    "decoder_only": (mark("input"), mark("target")),
    "encoder_only": (mark("input"), mark("target")),
}


@dataclass(frozen=True)
class Feed:
    """The batches of a training, shared by all sessions, one at a time."""

    tokenizer: "Tokenizer"
    batches: "Batches"
    lock: Lock

    def batch(self, index: int) -> "Batch":
        """Return a batch of the first epoch, the same that the training sees."""
        from transformer_core.corpora.batch_order import BatchPosition

        with self.lock:
            return next(self.batches.seek(BatchPosition(epoch=0, index=index)))


def show(choice: CorpusChoice, stats: "CorpusStats", model: ModelConfig, training: TrainingConfig) -> None:
    """Draw the input of such a training; nothing is computed before the user requests it."""
    title = say("Windows and batch")
    with st.expander(prose.plain(title), icon=":material/grid_on:", key=OPEN, on_change="rerun") as folded:
        if not folded.open:
            return
        try:
            reading = corpora.reading_here(choice.reading)
            feed = _feed(
                corpora.place_of(choice.corpus),
                tuple(sorted(reading.items())),
                model.architecture,
                (model.max_seq_len, training.batch_size, training.seed, training.stride),
                stats.to_json(),
            )
            if stats.items == "stretches" and model.architecture == "decoder_only":
                _windows(feed, model, training)
            _batch(choice, stats, feed, model, training)
        except HeadlightError as error:
            prose.warning(prose.sentence(error))


@st.cache_resource(max_entries=4, show_spinner=False)
def _feed(
    corpus_name: str,
    reading: tuple[tuple[str, str | int | bool], ...],
    architecture: Architecture,
    sizes: tuple[int, int, int, int | None],
    version: str,
) -> Feed:
    from transformer_core.corpora import load_corpus
    from transformer_core.corpora.batching import batches_for, refuse_stride
    from transformer_core.corpora.corpus_tokenizer import tokenizer_of

    max_seq_len, batch_size, seed, stride = sizes
    corpus = load_corpus(corpus_name, reading=CorpusReading(**dict(reading)))  # type: ignore[arg-type]  # what the widgets offer
    refuse_stride(stride, corpus.train, max_seq_len=max_seq_len)
    tokenizer = tokenizer_of(corpus, architecture)
    batches = batches_for(
        corpus.train,
        tokenizer,
        architecture,
        max_seq_len=max_seq_len,
        batch_size=batch_size,
        seed=seed,
        stride=stride,
    )
    return Feed(tokenizer, batches, Lock())


def _windows(feed: Feed, model: ModelConfig, training: TrainingConfig) -> None:
    """Draw the first windows of the running text, with the targets below the inputs."""
    from transformer_core.corpora.storage.token_store import first_windows
    from transformer_core.corpora.text_batches import TextBatches

    assert isinstance(feed.batches, TextBatches), "a decoder learns from texts"
    usual = model.max_seq_len
    left, right = st.columns(2)
    key = f"{usual}-{training.stride}"
    length = int(left.number_input(say("Window length"), 2, 4096, min(usual, 4096), key=f"train-window-{key}"))
    stride = int(right.number_input(say("Stride"), 1, 4096, training.stride or usual, key=f"train-stride-{key}"))
    tokens = feed.batches.pieces.store.tokens
    bos_id = feed.tokenizer.bos_id or 0
    given, targets = first_windows(tokens, length=length, stride=stride, n=_N_WINDOWS, bos_id=bos_id)
    rows = [row for pair in zip(given.tolist(), targets.tolist(), strict=True) for row in pair]
    names = [
        name for i in range(len(given)) for name in (say("window {i}, input", i=i), say("window {i}, target", i=i))
    ]
    _table(say("The first windows"), (len(given), length), names, rows, np.zeros((len(rows), length), bool), feed)
    words = say(
        "The decoder input is the text shifted right, starting with the BOS token; below each input is the token to "
        "predict. This training uses windows of {length} with a stride of {stride}; both can be changed in its "
        "settings.",
        length=usual,
        stride=training.stride or usual,
    )
    prose.small(words)


def _batch(
    choice: CorpusChoice, stats: "CorpusStats", feed: Feed, model: ModelConfig, training: TrainingConfig
) -> None:
    """Draw one batch and a model's predictions for it."""
    n = feed.batches.batches_per_epoch
    index = INDEX.value % n
    with st.container(horizontal=True, vertical_alignment="center"):
        for name, icon, step in ((say("Previous"), "chevron_left", -1), (say("Next"), "chevron_right", 1)):
            st.button(
                prose.plain(name),
                icon=f":material/{icon}:",
                key=f"train-batch-{icon}",
                on_click=INDEX.set,
                args=((index + step) % n,),
            )
        prose.small(say("Batch {i:,} of {n:,} in the first epoch", i=index + 1, n=n))
    batch = feed.batch(index)
    n_in_all = len(batch.targets)
    # neighbouring rows have similar lengths; rows from the whole batch show its padding
    chosen = [int(row) for row in np.unique(np.linspace(0, n_in_all - 1, _N_ROWS).astype(np.int64))]
    tensors = [tensor.numpy() for tensor in (*batch.inputs, batch.targets)]
    for name, tensor, is_grey in zip(
        _TITLES[model.architecture], tensors, _grey(batch, feed.tokenizer, model.architecture), strict=True
    ):
        names = [say("row {i}", i=i) for i in chosen]
        _table(say(name), tensor.shape, names, tensor[chosen].tolist(), is_grey[chosen], feed)
    words = [say("Gray cells are padding or excluded from the loss.")]
    if len(chosen) < n_in_all:
        words.append(say("Showing {n} of {all:,} rows.", n=len(chosen), all=n_in_all))
    prose.small(" ".join(words))
    batch_probabilities.show(choice, stats, feed.tokenizer, batch, model, training)


def _grey(batch: "Batch", tokenizer: "Tokenizer", architecture: Architecture) -> Iterator[np.ndarray]:
    """Yield a mask [batch, pos] for each tensor of a batch: its padding, or the targets excluded from the loss."""
    from transformer_core.corpora.batch_order import IGNORED

    is_ignored = (batch.targets == IGNORED).numpy()
    for tokens in batch.inputs:
        is_last = tokens is batch.inputs[-1]
        yield is_ignored if is_last and architecture != "encoder_only" else tokens.numpy() == tokenizer.pad_id
    yield is_ignored


def _table(
    title: str,
    shape: Sequence[int],
    names: Sequence[str],
    rows: Sequence[Sequence[int]],
    is_grey: np.ndarray,
    feed: Feed,
) -> None:
    """Draw rows of tokens, each cell with its label above its id."""
    n = min(_MOST_POSITIONS, max(map(len, rows), default=0))
    lines = []
    for name, ids, grey in zip(names, rows, is_grey, strict=True):
        labels = iter(feed.tokenizer.labels([i for i in ids if i >= 0]))  # together: a character may take two tokens
        cells = [
            ("hl-grey" if is_padding else "", next(labels) if i >= 0 else "–", i)
            for i, is_padding in zip(ids[:n], grey[:n], strict=True)
        ]
        lines.append((name, prose.each("<td class='{}'><bdi>{}</bdi><small>{}</small></td>", cells)))
    cut = say(", the first {n} positions", n=n) if rows and len(rows[0]) > n else ""
    prose.html(
        "<div class='hl-label'>{} <code>{}</code>{}</div><div class='hl-batch'>{}</div>",
        *(title, [*shape], cut, prose.table(("", *range(n)), prose.each("<tr><th>{}</th>{}</tr>", lines))),
    )
