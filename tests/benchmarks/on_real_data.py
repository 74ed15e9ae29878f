"""Models that are trained as a person trains one, by the command, on data that are not in this repository.

    HEADLIGHT_DATA=../shared/data python -m tests.benchmarks shakespeare real_translation

Shakespeare by characters is nanoGPT's small setting: 4 layers, 4 heads, d_model 128, 64 characters of context, 12
windows per step, no dropout and no biases, AdamW, a rate of 0.001 that falls along a cosine to a tenth. Its README
gives a loss of 1.88 after 2,000 steps on a CPU, over 240 windows of the last tenth; ours is over all of it.

Real translation is Multi30k from English to French and German with the preset `translation`: the 29,000 captions of the
training set and the 1,000 of `test_2016_flickr` (Elliott et al. 2016), under `corpora/multi30k` of the data's folder.
The test captions are translated with five beams and scored with sacrebleu. It takes about an hour per language.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import torch

import transformer_core as tc
from tests.benchmarks.interleaved import Row
from tests.conftest import ROOT
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer

STEPS, WARMUP_STEPS, RATE, D_MODEL = 2000, 100, 1e-3, 128
SHAKESPEARE = {
    "division": "stream",
    "tokens": "character",
    "max_seq_len": 64,
    "batch_size": 12,
    "warmup_steps": WARMUP_STEPS,
    "learning_rate_factor": RATE * (D_MODEL * WARMUP_STEPS) ** 0.5,
    "learning_rate_floor": 0.1,
    "optimizer": "adamw",
    "weight_decay": 0.1,
    "adam_beta2": 0.99,
    "adam_eps": 1e-8,
    "norm": "layer_without_bias",
    "feed_forward_bias": "false",
    "attention_bias": "none",
    "activation": "gelu",
    "film_megabytes": 0,
}
LANGUAGES = {"fr": "French", "de": "German"}
TRANSLATION = {"tokens": "byte_bpe", "vocab_size": 4000}
N_BEAMS, MOST_TOKENS, BATCH_SIZE = 5, 80, 50


def corpora() -> Path:
    """Return where the data are."""
    return Path(os.environ.get("HEADLIGHT_DATA", ROOT.parent / "shared" / "data")) / "corpora"


def train(corpus: Path, run: Path, preset: str, settings: dict[str, object], *more: str) -> float:
    """Train by the command; return the seconds that it took."""
    command = [sys.executable, "-m", "transformer_core", "train", "--corpus", str(corpus), "--run", str(run)]
    command += ["--preset", preset, *(f"--set={name}={value}" for name, value in settings.items()), *more]
    start = perf_counter()
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return perf_counter() - start


def row(name: str, seconds: float, note: str) -> Row:
    return Row(name=name, median_ms=seconds * 1e3, slowest_ms=seconds * 1e3, note=note)


def shakespeare() -> list[Row]:
    """Train on characters, and read what the run measured at its end."""
    with tempfile.TemporaryDirectory(prefix="headlight-bench-") as folder:
        run = Path(folder) / "run"
        seconds = train(corpora() / "tinyshakespeare.txt", run, "tiny-decoder", {**SHAKESPEARE}, "--steps", str(STEPS))
        lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    losses = [line["held_out_loss"] for line in map(json.loads, lines) if "held_out_loss" in line]
    note = f"validation loss {losses[-1]:.3f} nats per character; nanoGPT's README: 1.88"
    return [row(f"Shakespeare by characters, {STEPS:,} steps", seconds, note)]


def real_translation() -> list[Row]:
    """Train a model per language, and score its translations with BLEU."""
    data, rows = corpora() / "multi30k", []
    with tempfile.TemporaryDirectory(prefix="headlight-bench-") as folder:
        for language, name in LANGUAGES.items():
            pairs, kept = Path(folder, f"train.en-{language}.tsv"), Path(folder, f"en-{language}")
            lines = zip(captions(data, "train", "en"), captions(data, "train", language), strict=True)
            pairs.write_text("".join(f"{source}\t{target}\n" for source, target in lines), encoding="utf-8")
            run = Path(folder, f"run-{language}")
            seconds = train(pairs, run, "translation", {**TRANSLATION}, "--keep", str(kept))
            bleu, n_parameters = score(kept, data, language)
            note = f"BLEU {bleu:.1f}, {n_parameters:,} parameters, {seconds / 60:.0f} minutes of training"
            rows.append(row(f"Multi30k, English to {name}", seconds, note))
    return rows


def score(checkpoint: Path, data: Path, language: str) -> tuple[float, int]:
    """Return the BLEU of a model on the test set, 13a tokens and case as written, and how many parameters it has."""
    import sacrebleu

    model, tokenizer = tc.load(checkpoint)
    outputs = translations(model, tokenizer, captions(data, "test_2016_flickr", "en"))
    bleu = sacrebleu.corpus_bleu(outputs, [captions(data, "test_2016_flickr", language)])
    return bleu.score, sum(parameter.numel() for parameter in model.parameters())


def captions(data: Path, split: str, language: str) -> list[str]:
    """Return the captions of one language, one per line."""
    with gzip.open(data / f"{split}.{language}.gz", "rt", encoding="utf-8") as lines:
        return [" ".join(line.split()) for line in lines]


@torch.inference_mode()
def translations(model: Transformer, tokenizer: Tokenizer, texts: list[str]) -> list[str]:
    """Return the translation of each text by beam search; texts of similar length are searched together."""
    sources = [tokenizer.encode_for(text, "encoder_decoder") for text in texts]
    outputs = [""] * len(texts)
    rows = sorted(range(len(texts)), key=lambda row: len(sources[row]))
    for first in range(0, len(rows), BATCH_SIZE):
        batch = rows[first : first + BATCH_SIZE]
        longest = max(len(sources[row]) for row in batch)
        src = torch.full((len(batch), longest), model.config.pad_id or 0)
        for place, row in enumerate(batch):
            src[place, : len(sources[row])] = torch.tensor(sources[row])
        written = tc.beam_search(model, src, n_beams=N_BEAMS, max_new_tokens=MOST_TOKENS).tokens
        for row, tokens in zip(batch, written.tolist(), strict=True):
            outputs[row] = tokenizer.target.decode(tokens)
    return outputs
