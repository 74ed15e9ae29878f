"""Named trainings: numbers only. Each preset of `transformer_core.model.presets` has one here, under the same name."""

from dataclasses import replace

from transformer_core.training.config import TrainingConfig


def tiny(corpus: str) -> TrainingConfig:
    """Return the training of the tiny encoder-decoder, minutes on two CPU cores; most tasks need fewer steps."""
    if corpus in ("copy", "reverse", "sort", "brackets"):
        return TrainingConfig(
            steps=600,
            batch_size=64,
            warmup_steps=100,
            schedule="cosine",
            learning_rate_factor=0.3,
            label_smoothing=0.0,
            evaluate_every=200,
        )
    if corpus in ("dates", "addition"):
        return TrainingConfig(
            steps=1500,
            batch_size=96,
            warmup_steps=150,
            schedule="cosine",
            learning_rate_factor=0.42,
            label_smoothing=0.0,
            evaluate_every=500,
        )
    return TrainingConfig(
        steps=1800,
        batch_size=96,
        warmup_steps=150,
        schedule="cosine",
        learning_rate_factor=0.42,
        evaluate_every=600,
    )


def tiny_pre_norm(corpus: str) -> TrainingConfig:
    """Return the training of the tiny encoder-decoder with pre-norm: two minutes on two CPU cores."""
    return TrainingConfig(
        steps=1200,
        batch_size=64,
        warmup_steps=60,
        schedule="cosine",
        learning_rate_factor=0.3,
        label_smoothing=0.0,
        evaluate_every=300,
    )


def tiny_one_layer(corpus: str) -> TrainingConfig:
    """Return the training of the smallest encoder-decoder: seconds on two CPU cores."""
    return replace(tiny_pre_norm(corpus), steps=300, warmup_steps=40, evaluate_every=100)


def translation(corpus: str) -> TrainingConfig:
    """Return the training of the encoder-decoder for real translation: 52 minutes on two CPU cores.

    The 29,000 pairs of Multi30k are read about 27 times. With 4,000 byte-level BPE tokens the model has, after 9,000 of
    these steps, 59.2 BLEU from English to French and 38.0 from English to German on test_2016_flickr (sacrebleu, five
    beams; tests/benchmarks).
    """
    return TrainingConfig(
        steps=12_500,
        batch_size=64,
        warmup_steps=1000,
        schedule="cosine",
        learning_rate_factor=1.1,
        evaluate_every=3000,
    )


def tiny_one_stack(corpus: str) -> TrainingConfig:
    """Return the training of the tiny decoder and of the tiny encoder: half an hour on two CPU cores for stories."""
    return TrainingConfig(
        steps=4000,
        batch_size=32,
        warmup_steps=200,
        schedule="cosine",
        learning_rate_factor=0.5,
        label_smoothing=0.0,
        evaluate_every=1000,
    )


def tiny_attention(corpus: str) -> TrainingConfig:
    """Return the training of the two layers of attention: minutes on two CPU cores."""
    return TrainingConfig(
        steps=2000,
        batch_size=64,
        warmup_steps=150,
        schedule="cosine",
        learning_rate_factor=0.5,
        label_smoothing=0.0,
        evaluate_every=500,
    )


def transformer_base(corpus: str) -> TrainingConfig:
    """Return the paper's training of its base model, its batches of about 25,000 tokens a side taken as pairs of 25.

    Source: Vaswani et al. 2017, sec. 5.1-5.4.
    """
    return TrainingConfig(steps=100_000, batch_size=1000, warmup_steps=4000, clip_norm=None)


def transformer_big(corpus: str) -> TrainingConfig:
    """Return the paper's training of its big model: as the base model's, for 300,000 steps.

    Source: Vaswani et al. 2017, sec. 5.2.
    """
    return TrainingConfig(steps=300_000, batch_size=1000, warmup_steps=4000, clip_norm=None)


def gpt2(corpus: str) -> TrainingConfig:
    """Return a training of a GPT-2-sized decoder, for a machine with a GPU; its batches and clipping are nanoGPT's.

    Source: Radford et al. 2019 tell little of theirs; the numbers are those of common reproductions.
    """
    return TrainingConfig(
        steps=100_000, batch_size=480, warmup_steps=2000, schedule="cosine", label_smoothing=0.0, adam_beta2=0.95
    )


def bert_base(corpus: str) -> TrainingConfig:
    """Return a training of a BERT-sized encoder, for a machine with a GPU.

    Source: Devlin et al. 2019, app. A.2: batches of 256, a million steps, warm-up 10,000.
    """
    return TrainingConfig(
        steps=1_000_000, batch_size=256, warmup_steps=10_000, schedule="cosine", label_smoothing=0.0, adam_beta2=0.999
    )


def t5_small(corpus: str) -> TrainingConfig:
    """Return a training of a T5-sized encoder-decoder, for a machine with a GPU.

    Source: Raffel et al. 2020, sec. 3.1.2: batches of 128, 10,000 steps at a constant rate before the root's fall.
    """
    return TrainingConfig(steps=100_000, batch_size=128, warmup_steps=10_000, label_smoothing=0.0)


def llama_like(corpus: str) -> TrainingConfig:
    """Return a training of a small Llama-like decoder, for a machine with a GPU.

    Source: Touvron et al. 2023, sec. 2.3: cosine, beta 0.9 and 0.95, warm-up 2,000, clipping at 1.
    """
    return TrainingConfig(
        steps=100_000, batch_size=256, warmup_steps=2000, schedule="cosine", label_smoothing=0.0, adam_beta2=0.95
    )


TRAININGS = {
    "tiny": tiny,
    "tiny-pre-norm": tiny_pre_norm,
    "tiny-one-layer": tiny_one_layer,
    "translation": translation,
    "tiny-decoder": tiny_one_stack,
    "tiny-encoder": tiny_one_stack,
    "tiny-attention": tiny_attention,
    "transformer_base": transformer_base,
    "transformer_big": transformer_big,
    "gpt2": gpt2,
    "bert-base": bert_base,
    "t5-small": t5_small,
    "llama-like": llama_like,
}
