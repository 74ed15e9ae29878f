"""Named configurations, without weights."""

from functools import partial

from transformer_core.config import ModelConfig

_decoder = partial(
    ModelConfig,
    architecture="decoder_only",
    n_encoder_layers=0,
    norm_position="pre",
    scale_embeddings=False,
    tie_embeddings="target",
)


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


def gpt2(vocab_size: int = 50257) -> ModelConfig:
    """Return the smallest GPT-2, decoder-only, 124 million parameters.

    Source: Radford et al. 2019, table 2, first row; the released model's configuration.
    """
    return _decoder(
        vocab_size=vocab_size,
        d_model=768,
        d_ff=3072,
        n_heads=12,
        n_decoder_layers=12,
        max_seq_len=1024,
        positions="learned",
        activation="gelu_tanh",
        dropout_pattern=0.1,
        pad_id=None,
        bos_id=vocab_size - 1,
        eos_id=vocab_size - 1,
    )


def bert_base(vocab_size: int = 30522) -> ModelConfig:
    """Return BERT's base model, encoder-only, 110 million parameters, with its masked-token head.

    Source: Devlin et al. 2019, sec. 3; the released uncased model's configuration.
    """
    return ModelConfig(
        vocab_size=vocab_size,
        architecture="encoder_only",
        d_model=768,
        d_ff=3072,
        n_heads=12,
        n_encoder_layers=12,
        n_decoder_layers=0,
        positions="learned",
        layer_norm_eps=1e-12,
        embedding_norm=True,
        activation="gelu",
        scale_embeddings=False,
        n_segments=2,
        tie_embeddings="target",
        unembed_transform=True,
        unembed_bias=True,
        dropout_pattern=0.1,
    )


def t5_small(vocab_size: int = 32128) -> ModelConfig:
    """Return T5's small model, encoder-decoder, 60 million parameters.

    Source: Raffel et al. 2020, sec. 3.7; the released model's configuration.
    """
    return ModelConfig(
        vocab_size=vocab_size,
        positions="relative_buckets",
        norm="rms",
        norm_position="pre",
        layer_norm_eps=1e-6,
        feed_forward_bias=False,
        attention_bias="none",
        scale_scores=False,
        scale_embeddings=False,
        scale_logits=True,
        dropout_pattern=0.1,
        bos_id=0,
        eos_id=1,
    )


def llama_like(vocab_size: int = 49152) -> ModelConfig:
    """Return a small model built like Llama, decoder-only, 135 million parameters: the sizes of SmolLM-135M.

    Source: Touvron et al. 2023, sec. 2.2, for the parts; Allal et al. 2024 for the sizes.
    """
    return _decoder(
        vocab_size=vocab_size,
        d_model=576,
        d_ff=1536,
        n_heads=9,
        n_kv_heads=3,
        n_decoder_layers=30,
        max_seq_len=2048,
        positions="rotary_halves",
        norm="rms",
        activation="silu",
        gated=True,
        feed_forward_bias=False,
        attention_bias="none",
        dropout=0.0,
        pad_id=None,
        bos_id=0,
        eos_id=0,
    )


def tiny(vocab_size: int) -> ModelConfig:
    """Return an encoder-decoder that two CPU cores train in minutes."""
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


def tiny_pre_norm(vocab_size: int) -> ModelConfig:
    """Return an encoder-decoder that trains in half the time of `tiny`, but differs more from the paper.

    Differs: pre-norm (Xiong et al. 2020), three separate embedding matrices.
    """
    return tiny(vocab_size).changed(d_model=96, d_ff=384, norm_position="pre", tie_embeddings="none")


def tiny_one_layer(vocab_size: int) -> ModelConfig:
    """Return the smallest encoder-decoder with all parts: it trains in seconds on two CPU cores."""
    return tiny_pre_norm(vocab_size).changed(d_model=64, d_ff=256, n_encoder_layers=1, n_decoder_layers=1)


def translation(vocab_size: int) -> ModelConfig:
    """Return an encoder-decoder for real translation with little data, such as 29,000 pairs of captions.

    Source: Wu et al. 2021, sec. 4.1, whose "Tiny" has this width and depth. Differs: pre-norm (Xiong et al. 2020),
    which learns faster; one shared embedding matrix; rotary positions (Su et al. 2021) and gated feed-forward networks
    (Shazeer 2020), which gained 3 BLEU over the paper's with a third more weights.
    """
    return ModelConfig(
        vocab_size=vocab_size,
        d_model=128,
        d_ff=344,
        n_heads=4,
        n_encoder_layers=4,
        n_decoder_layers=4,
        max_seq_len=128,
        norm_position="pre",
        positions="rotary_halves",
        activation="silu",
        gated=True,
        dropout=0.25,
    )


def tiny_decoder(vocab_size: int) -> ModelConfig:
    """Return a decoder-only model that two CPU cores train in minutes."""
    return _decoder(
        vocab_size=vocab_size,
        d_model=128,
        d_ff=512,
        n_heads=4,
        n_decoder_layers=4,
        max_seq_len=160,
        positions="learned",
        activation="gelu_tanh",
        dropout=0.0,
    )


def tiny_encoder(vocab_size: int) -> ModelConfig:
    """Return an encoder-only model that two CPU cores train in minutes: `tiny_decoder` as an encoder.

    Its positions are rotary: with learned positions it learns only token frequencies in the first thousand steps.
    """
    return tiny_decoder(vocab_size).changed(
        architecture="encoder_only",
        n_encoder_layers=4,
        n_decoder_layers=0,
        positions="rotary_halves",
        activation="gelu",
    )


def tiny_attention(vocab_size: int) -> ModelConfig:
    """Return a decoder-only model of two attention-only layers.

    Source: Elhage et al. 2021 and Olsson et al. 2022, whose smallest models with induction heads are of this kind.
    """
    return tiny_decoder(vocab_size).changed(
        d_ff=0, n_decoder_layers=2, max_seq_len=64, positions="alibi", activation="relu", tie_embeddings="none"
    )


PRESETS = {
    "tiny": tiny,
    "tiny-pre-norm": tiny_pre_norm,
    "tiny-one-layer": tiny_one_layer,
    "translation": translation,
    "tiny-decoder": tiny_decoder,
    "tiny-encoder": tiny_encoder,
    "tiny-attention": tiny_attention,
    "transformer_base": transformer_base,
    "transformer_big": transformer_big,
    "gpt2": gpt2,
    "bert-base": bert_base,
    "t5-small": t5_small,
    "llama-like": llama_like,
}
