"""Texts on disk as tokens, and batches of them, against the library `datasets`, with the same tokenizer.

`datasets` keeps one row per token of a running text, so that a window may begin anywhere.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from tests.benchmarks.interleaved import Row, interleaved, rows
from tests.corpora import written
from transformer_core.corpora.reading import CorpusReading
from transformer_core.corpora.storage.files import open_corpus
from transformer_core.corpora.storage.token_store import TokenStore, tokenize
from transformer_core.text.tokenizer import OwnTokenizer, train_tokenizer

TITLE = "10 MB of text on disk as tokens, against datasets: encoded and kept, then a batch"
N_BYTES, N_ROWS, N_POS = 10 * 2**20, 32, 257


def run() -> list[Row]:
    """Encode and keep lines and a running text both ways, each time again; then draw batches of what was kept."""
    import datasets

    datasets.disable_progress_bars()
    chapter = written.chapter(seed=1, n_paragraphs=400)
    tokenizer = train_tokenizer([chapter], kind="byte_bpe", vocab_size=2000)
    results = []
    with TemporaryDirectory() as place:
        path, numbers = Path(place, "text.txt"), count()
        path.write_text(chapter * (N_BYTES // len(chapter.encode())), encoding="utf-8")
        for kind, is_running in (("lines", False), ("running text", True)):
            kept: dict[str, Any] = {}

            def ours(is_running: bool = is_running, kept: dict[str, Any] = kept) -> None:
                kept["ours"] = _ours(path, Path(place, str(next(numbers))), tokenizer, is_running=is_running)

            def theirs(is_running: bool = is_running, kept: dict[str, Any] = kept) -> None:
                kept["datasets"] = _theirs(path, Path(place, str(next(numbers))), tokenizer, is_running=is_running)

            times = interleaved({"ours": ours, "datasets": theirs}, rounds=3, warm_up=1)
            batches: dict[str, Callable[[], object]] = {
                "ours": partial(_our_batch, kept["ours"], np.random.default_rng(0), is_running=is_running),
                "datasets": partial(_their_batch, kept["datasets"], np.random.default_rng(0), is_running=is_running),
            }
            of_batches = interleaved(batches, rounds=200)
            for what, timed in (("encoded and kept", times), ("a batch", of_batches)):
                results += [replace(row, name=f"{kind}, {what}: {row.name}") for row in rows(timed, "ours")]
    return results


def _ours(path: Path, cache: Path, tokenizer: OwnTokenizer, *, is_running: bool) -> TokenStore:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_CACHE", str(cache))
        reading = CorpusReading(tokens="byte_bpe", division="stream" if is_running else "lines")
        return tokenize(open_corpus(path, reading).train, tokenizer)


def _theirs(path: Path, cache: Path, tokenizer: OwnTokenizer, *, is_running: bool) -> Any:
    import datasets

    def encode(rows: Any) -> dict[str, Any]:
        encoded = tokenizer.encode_batch(rows["text"])
        return {"ids": [token for row in encoded for token in row] if is_running else encoded}

    texts = datasets.load_dataset("text", data_files=str(path), split="train", cache_dir=str(cache))
    one = datasets.Value("uint16")
    features = datasets.Features({"ids": one if is_running else datasets.List(one)})
    return texts.map(encode, batched=True, remove_columns=["text"], features=features).with_format("numpy")


def _our_batch(store: TokenStore, random: np.random.Generator, *, is_running: bool) -> object:
    if is_running:
        starts = random.integers(0, len(store.tokens) - N_POS, N_ROWS)
        return store.padded(starts, np.full(N_ROWS, N_POS), 0)
    chosen = random.integers(0, len(store), N_ROWS)
    return store.padded(store.starts[:-1][chosen], store.lengths(chosen), 0)


def _their_batch(kept: Any, random: np.random.Generator, *, is_running: bool) -> object:
    if is_running:
        return [kept[start : start + N_POS]["ids"] for start in random.integers(0, len(kept) - N_POS, N_ROWS).tolist()]
    return kept[random.integers(0, len(kept), N_ROWS)]["ids"]
