"""Small models of each architecture, with random weights."""

from collections.abc import Callable

import pytest

import transformer_core as tc
from transformer_core.config import Architecture, TokenizerKind
from transformer_core.text.tokenizer import OwnTokenizer

TEXTS = ("The cat sees the dog.", "The dog doesn't see the cat.", "L'animal voit le chat.")
TEXT_OF: dict[Architecture, str] = {
    "encoder_decoder": "The cat sees the dog.",
    "decoder_only": "The cat sees",
    "encoder_only": "The ____ sees the <mask>.",
}
LAYERS = {"encoder_decoder": (1, 3), "decoder_only": (0, 3), "encoder_only": (2, 0)}

Made = tuple[tc.Transformer, OwnTokenizer]


@pytest.fixture(scope="session")
def make() -> Callable[..., Made]:
    def make_one(
        architecture: Architecture, kind: TokenizerKind = "word", *, seed: int = 1, max_seq_len: int = 20
    ) -> Made:
        tokenizer = tc.train_tokenizer(TEXTS, kind=kind, vocab_size=280, mask=architecture == "encoder_only")
        n_encoder_layers, n_decoder_layers = LAYERS[architecture]
        config = tc.ModelConfig(
            vocab_size=tokenizer.vocab_size,
            architecture=architecture,
            d_model=16,
            d_ff=32,
            n_heads=2,
            n_encoder_layers=n_encoder_layers,
            n_decoder_layers=n_decoder_layers,
            max_seq_len=max_seq_len,
            tie_embeddings="target",
        )
        return tc.build(config, seed=seed).eval(), tokenizer

    return make_one
