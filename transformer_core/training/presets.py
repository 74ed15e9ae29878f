"""Named trainings: numbers only. Each preset of `transformer_core.model.presets` has one here, under the same name."""

from transformer_core.training.config import TrainingConfig


def tiny(corpus: str) -> TrainingConfig:
    """Return the training of the tiny model, minutes on two CPU cores; the sequence tasks need fewer steps."""
    if corpus in ("copy", "reverse"):
        return TrainingConfig(
            steps=600,
            batch_size=64,
            warmup_steps=100,
            schedule="cosine",
            learning_rate_factor=0.3,
            label_smoothing=0.0,
            evaluate_every=200,
        )
    return TrainingConfig(
        steps=1800,
        batch_size=96,
        warmup_steps=150,
        schedule="cosine",
        learning_rate_factor=0.42,
        evaluate_every=600,
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


TRAININGS = {"tiny": tiny, "transformer_base": transformer_base, "transformer_big": transformer_big}
