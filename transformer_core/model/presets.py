"""Named configurations: numbers only."""

from transformer_core.config import ModelConfig


def transformer_base(vocab_size: int = 37000) -> ModelConfig:
    """Return the paper's base model, 65 million parameters with its vocabulary of about 37,000.

    Source: Vaswani et al. 2017, table 3 and sec. 5.1.
    """
    return ModelConfig(vocab_size=vocab_size)


def transformer_big(vocab_size: int = 37000) -> ModelConfig:
    """Return the paper's big model, 213 million parameters with its vocabulary of about 37,000.

    Source: Vaswani et al. 2017, table 3 and sec. 5.1.
    """
    return ModelConfig(vocab_size=vocab_size, d_model=1024, d_ff=4096, n_heads=16, dropout=0.3)


def tiny(vocab_size: int) -> ModelConfig:
    """Return a model that two CPU cores train in minutes."""
    return ModelConfig(
        vocab_size=vocab_size,
        d_model=128,
        d_ff=256,
        n_heads=4,
        n_encoder_layers=2,
        n_decoder_layers=2,
        max_seq_len=64,
        dropout=0.0,
    )


PRESETS = {"tiny": tiny, "transformer_base": transformer_base, "transformer_big": transformer_big}
