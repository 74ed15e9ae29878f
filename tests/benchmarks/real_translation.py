"""Real translation with the preset `translation`: Multi30k from English to French and German, scored with sacrebleu.

    HEADLIGHT_DATA=../shared/data python -m tests.benchmarks real_translation

The data are the 29,000 captions of the training set and the 1,000 of `test_2016_flickr` (Elliott et al. 2016), under
`corpora/multi30k` of the data's folder. A model is trained as a person trains one, by the command; its test captions
are translated with five beams. It takes about an hour a language.
"""

import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import sacrebleu
import torch

import transformer_core as tc
from tests.benchmarks.interleaved import Row
from tests.conftest import ROOT
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer

TITLE = "Multi30k, test_2016_flickr: BLEU of the preset translation"
LANGUAGES = {"fr": "French", "de": "German"}
VOCAB_SIZE = 4000
N_BEAMS, MOST_TOKENS, BATCH_SIZE = 5, 80, 50


def run() -> list[Row]:
    """Train and score a model a language."""
    data = Path(os.environ.get("HEADLIGHT_DATA", ROOT.parent / "shared" / "data")) / "corpora" / "multi30k"
    with tempfile.TemporaryDirectory(prefix="headlight-bench-") as folder:
        return [_row(data, language, Path(folder)) for language in LANGUAGES]


def _row(data: Path, language: str, folder: Path) -> Row:
    pairs = folder / f"train.en-{language}.tsv"
    lines = zip(captions(data, "train", "en"), captions(data, "train", language), strict=True)
    pairs.write_text("".join(f"{source}\t{target}\n" for source, target in lines), encoding="utf-8")
    kept = folder / f"en-{language}"
    reading = ["--set=tokens=byte_bpe", f"--set=vocab_size={VOCAB_SIZE}"]
    command = [sys.executable, "-m", "transformer_core", "train", "--preset", "translation", *reading]
    start = perf_counter()
    subprocess.run(
        [*command, "--corpus", str(pairs), "--run", str(folder / f"run-{language}"), "--keep", str(kept)],
        check=True,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
    )
    seconds = perf_counter() - start
    bleu, n_parameters = score(kept, data, language)
    note = f"BLEU {bleu:.1f}, {n_parameters:,} parameters, {seconds / 60:.0f} minutes of training"
    return Row(name=f"English to {LANGUAGES[language]}", median_ms=seconds * 1e3, slowest_ms=seconds * 1e3, note=note)


def score(checkpoint: Path, data: Path, language: str) -> tuple[float, int]:
    """Return the BLEU of a model on the test set, 13a tokens and case as written, and how many parameters it has."""
    model, tokenizer = tc.load(checkpoint)
    outputs = translations(model, tokenizer, captions(data, "test_2016_flickr", "en"))
    bleu = sacrebleu.corpus_bleu(outputs, [captions(data, "test_2016_flickr", language)])
    return bleu.score, sum(parameter.numel() for parameter in model.parameters())


def captions(data: Path, split: str, language: str) -> list[str]:
    """Return the captions of one language, a line each."""
    with gzip.open(data / f"{split}.{language}.gz", "rt", encoding="utf-8") as lines:
        return [" ".join(line.split()) for line in lines]


@torch.inference_mode()
def translations(model: Transformer, tokenizer: Tokenizer, texts: list[str]) -> list[str]:
    """Return what a search with beams makes of each text; those of like length are searched together."""
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
