"""The shipped translation model, and a batch of minimal pairs."""

import pytest

import transformer_core as tc
from headlight.analysis.pronouns.patching import PairBatch, pair_batch
from transformer_core.corpora.shipped.en_fr.minimal_pairs import minimal_pairs

Loaded = tuple[tc.Transformer, tc.Tokenizer]


@pytest.fixture(scope="session")
def en_fr() -> Loaded:
    return tc.load("checkpoints/en-fr")


@pytest.fixture(scope="session")
def batch(en_fr: Loaded) -> PairBatch:
    return pair_batch(*en_fr, minimal_pairs(8))
