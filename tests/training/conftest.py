"""A corpus and a model so small that a training takes a second."""

from itertools import product
from typing import Any

import pytest

from tests.model.building import odd_config
from transformer_core.corpora.batching import PairBatches
from transformer_core.corpora.corpus import Corpus, Pair
from transformer_core.errors import Message
from transformer_core.model.transformer import Transformer, build
from transformer_core.text.tokenizer import Tokenizer, train_tokenizer
from transformer_core.training.config import TrainingConfig

LAYERS: dict[str, Any] = {"n_encoder_layers": 1, "n_decoder_layers": 1}


@pytest.fixture(scope="session")
def turns() -> Corpus:
    """Two or three letters to turn round."""
    texts = [" ".join(letters) for n in (2, 3) for letters in product("abcd", repeat=n)]
    pairs = tuple(Pair(text, text[::-1].capitalize()) for text in texts)
    return Corpus(
        name="turns",
        title="Turns",
        description=Message("Letters to turn round."),
        train=tuple(pair for i, pair in enumerate(pairs) if i % 8),
        held_out=pairs[::8],
        examples=("a b", "c d a"),
        tokenizer_kind="word",
    )


@pytest.fixture(scope="session")
def tokenizer(turns: Corpus) -> Tokenizer:
    return train_tokenizer([text for pair in turns.train for text in (pair.source, pair.target)], kind="word")


@pytest.fixture
def model(tokenizer: Tokenizer) -> Transformer:
    return build(
        odd_config(
            vocab_size=tokenizer.vocab_size, d_model=16, d_ff=32, n_heads=2, max_seq_len=8, dropout=0.1, **LAYERS
        )
    )


@pytest.fixture
def config() -> TrainingConfig:
    return TrainingConfig(steps=12, batch_size=8, warmup_steps=6, learning_rate_factor=0.5)


@pytest.fixture
def batches(turns: Corpus, tokenizer: Tokenizer) -> PairBatches:
    return PairBatches(turns.train, tokenizer, max_seq_len=8, batch_size=8, seed=0)
