"""A model of GPT-2 small's size with random weights that reads 4,096 tokens.

Its vocabulary is small: what is measured with it is what its 144 heads cost, not the last matrix.
"""

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import torch

import transformer_core as tc
from pages.shared.readings import MAX_NEW_TOKENS
from transformer_core.text.tokenizer import OwnTokenizer

NAME, TITLE = "wide", "As large as GPT-2"
MAX_SEQ_LEN = 4096
VOCAB_SIZE = 1500
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


@contextmanager
def wide_model() -> Iterator[tuple[Path, OwnTokenizer]]:
    """Save the model into a separate folder, for as long as the block lasts; give folder and tokenizer.

    The folder is one for HEADLIGHT_CHECKPOINTS, with this model alone. Its first example is short.
    """
    tokenizer = tc.train_tokenizer([" ".join(islice(words(0), 50_000))], kind="byte_bpe", vocab_size=VOCAB_SIZE)
    config = replace(
        tc.presets.gpt2(tokenizer.vocab_size),
        max_seq_len=MAX_SEQ_LEN,
        pad_id=tokenizer.pad_id,
        bos_id=tokenizer.bos_id,
        eos_id=tokenizer.eos_id,
    )
    model = tc.build(config, seed=0)
    with torch.no_grad():
        model.unembed.weight[config.eos_id] = -10 * model.unembed.weight.mean(dim=0)  # so it writes to the last
    card = {
        "title": TITLE,
        "examples": [text_of(tokenizer, 40)],
        "parameters": sum(weight.numel() for weight in model.parameters()),
    }
    with tempfile.TemporaryDirectory(prefix="headlight-bench-") as folder:
        tc.save(Path(folder, NAME), model, tokenizer, card)
        yield Path(folder), tokenizer


def text_of(tokenizer: OwnTokenizer, n_tokens: int, *, seed: int = 1) -> str:
    """Return a text of which the page shows this many tokens: <bos>, the text, and what the model writes after it."""
    wanted = n_tokens - MAX_NEW_TOKENS - 1
    return tokenizer.decode(tokenizer.encode(" ".join(islice(words(seed), n_tokens)))[:wanted])


def words(seed: int) -> Iterator[str]:
    """Yield made-up words for ever, some far more often than others, as in a language."""
    drawn = random.Random(seed)
    vocabulary = random.Random(0)
    lexicon = ["".join(vocabulary.choices(SYLLABLES, k=vocabulary.choice((1, 2, 2, 3)))) for _ in range(1000)]
    weights = [1 / (rank + 3) for rank in range(len(lexicon))]  # Zipf's law
    while True:
        yield from drawn.choices(lexicon, weights, k=1000)


@contextmanager
def checkpoints(folder: Path) -> Iterator[None]:
    """Make the app look for models in a folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_CHECKPOINTS", str(folder))
        yield
