"""A step of our training of a small decoder beside the usual loop in plain PyTorch.

The model is that of nanoGPT's example for a CPU: four layers, four heads, d_model 128, 64 characters of context, 12
windows a step, no dropout, no biases. A step is all of it: data, forward, loss, backward, clipping, optimizer, record.
Ours comes twice: plain, and through torch.compile, whose first step takes long; the note says when that has paid.
"""

import string
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shutil import which
from statistics import median
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray

import transformer_core as tc
from tests.benchmarks.interleaved import Row, interleaved, rows, speed_up
from tests.benchmarks.plain_gpt import PlainGPT, PlainTraining
from transformer_core.corpora import CorpusReading, load_corpus
from transformer_core.corpora.batch_order import Batches
from transformer_core.corpora.batching import batches_for
from transformer_core.text.tokenizer import OwnTokenizer, train_tokenizer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.loop import train

TITLE = "Training step of a small decoder, 12 windows of 64 characters, 4 layers, d_model 128"
BATCH_SIZE, POS, N_LAYERS, N_HEADS, D_MODEL = 12, 64, 4, 4, 128
CHARACTERS = string.ascii_letters + " \n!$&',-.3:;?"  # the 65 of Shakespeare's plays
N_CHARACTERS = 1_000_000
ROUNDS = 60
TRAINING = TrainingConfig(
    steps=10**9,
    batch_size=BATCH_SIZE,
    warmup_steps=100,
    schedule="constant",
    learning_rate_factor=0.1,
    label_smoothing=0.0,
    optimizer="adamw",
    weight_decay=0.1,
    adam_beta2=0.99,
    adam_eps=1e-8,
)


def run() -> list[Row]:
    """Time the steps in turn."""
    torch.manual_seed(0)
    torch.set_flush_denormal(True)
    with running_text() as (text, tokenizer, batches):

        def plain_training(*, fused: bool) -> PlainTraining:
            model = PlainGPT(
                vocab_size=tokenizer.vocab_size, n_positions=POS, n_layers=N_LAYERS, n_heads=N_HEADS, d_model=D_MODEL
            )
            return PlainTraining(model, text, batch_size=BATCH_SIZE, pos=POS, fused=fused)

        contestants: dict[str, Callable[[], object]] = {"ours": our_training(tokenizer, batches())}
        seconds_to_compile = 0.0
        if which("g++") or which("c++") or which("clang++"):
            contestants["ours, compiled"] = our_training(tokenizer, batches(), compile=True)
            start = perf_counter()
            contestants["ours, compiled"]()
            seconds_to_compile = perf_counter() - start
        contestants["plain PyTorch"] = plain_training(fused=False)
        contestants["the same, with fused AdamW"] = plain_training(fused=True)
        times = interleaved(contestants, rounds=ROUNDS, warm_up=10)
    return [with_note(row, times, seconds_to_compile) for row in rows(times, "ours")]


def with_note(row: Row, times: dict[str, list[float]], seconds_to_compile: float) -> Row:
    """Add the tokens that a step learns from in a second; of the compiled one, what it gains, and when it has paid."""
    note = f"{BATCH_SIZE * POS / row.median_ms * 1e3:,.0f} tokens/s"
    if row.name == "ours, compiled":
        note += f"; {speed_up(times['plain PyTorch'], times[row.name]):.2f} times as fast as plain PyTorch"
        gain_ms = median(times["ours"]) - row.median_ms
        after = f"{seconds_to_compile * 1e3 / gain_ms:,.0f} steps" if gain_ms > 0 else "no number of steps"
        note += f"; the first step takes {seconds_to_compile:.0f} s, which pays after {after}"
    elif row.note:
        note += f"; {row.note}"
    return replace(row, note=note)


@contextmanager
def running_text() -> Iterator[tuple[NDArray[np.uint16], OwnTokenizer, Callable[[], Batches]]]:
    """Write a text of random characters, and read it as a person's own: as numbers for the peer, as batches for us."""
    drawn = np.random.default_rng(0).integers(len(CHARACTERS), size=N_CHARACTERS)
    with tempfile.TemporaryDirectory(prefix="headlight-bench-") as folder:
        path = Path(folder) / "text.txt"
        path.write_text("".join(np.array([*CHARACTERS])[drawn]), encoding="utf-8")
        corpus = load_corpus(str(path), reading=CorpusReading(tokens="character", division="stream"))
        tokenizer = train_tokenizer(corpus.training_texts(), kind="character", vocab_size=corpus.vocab_size)

        def batches() -> Batches:
            return batches_for(corpus.train, tokenizer, "decoder_only", max_seq_len=POS, batch_size=BATCH_SIZE, seed=0)

        yield drawn.astype(np.uint16), tokenizer, batches


def our_training(tokenizer: OwnTokenizer, batches: Batches, *, compile: bool = False) -> Callable[[], object]:
    """Return our loop, a step a call."""
    config = tc.ModelConfig(
        vocab_size=tokenizer.vocab_size,
        architecture="decoder_only",
        d_model=D_MODEL,
        d_ff=4 * D_MODEL,
        n_heads=N_HEADS,
        n_encoder_layers=0,
        n_decoder_layers=N_LAYERS,
        max_seq_len=POS,
        positions="learned",
        norm="layer_without_bias",
        norm_position="pre",
        activation="gelu",
        feed_forward_bias=False,
        attention_bias="none",
        scale_embeddings=False,
        tie_embeddings="target",
        dropout=0.0,
        pad_id=tokenizer.pad_id,
        bos_id=tokenizer.bos_id,
        eos_id=tokenizer.eos_id,
    )
    steps = train(tc.build(config), batches, replace(TRAINING, compile=compile))
    return lambda: next(steps)
