"""Named trainings: numbers only. Each preset of `transformer_core.model.presets` has one here, under the same name."""

from dataclasses import replace
from functools import partial

from transformer_core.training.config import TrainingConfig

_cosine = partial(TrainingConfig, schedule="cosine")
_unsmoothed = partial(_cosine, label_smoothing=0.0)
_tiny = partial(_unsmoothed, batch_size=64, warmup_steps=60, learning_rate_factor=0.3)

# Half an hour on two CPU cores for stories.
_ONE_STACK = _unsmoothed(steps=4000, batch_size=32, warmup_steps=200, learning_rate_factor=0.5, evaluate_every=1000)
# The paper's; its batches of about 25,000 tokens a side become 1,000 pairs of 25 (Vaswani et al. 2017, sec. 5.1-5.4).
_BASE = TrainingConfig(steps=100_000, batch_size=1000, warmup_steps=4000, clip_norm=None)

TRAININGS = {
    # Minutes on two CPU cores; most tasks need fewer steps, see _TINY_TASKS.
    "tiny": _cosine(steps=1800, batch_size=96, warmup_steps=150, learning_rate_factor=0.42, evaluate_every=600),
    # Two minutes on two CPU cores; seconds with one layer.
    "tiny-pre-norm": _tiny(steps=1200, evaluate_every=300),
    "tiny-one-layer": _tiny(steps=300, warmup_steps=40, evaluate_every=100),
    # 52 minutes on two CPU cores: the 29,000 pairs of Multi30k are read about 27 times. With 4,000 byte-level BPE
    # tokens the model reaches, after 9,000 steps, 59.2 BLEU from English to French and 38.0 from English to German
    # on test_2016_flickr (sacrebleu, five beams; tests/benchmarks).
    "translation": _cosine(
        steps=12_500, batch_size=64, warmup_steps=1000, learning_rate_factor=1.1, evaluate_every=3000
    ),
    "tiny-decoder": _ONE_STACK,
    "tiny-encoder": _ONE_STACK,
    # Minutes on two CPU cores.
    "tiny-attention": _unsmoothed(
        steps=2000, batch_size=64, warmup_steps=150, learning_rate_factor=0.5, evaluate_every=500
    ),
    "transformer_base": _BASE,
    "transformer_big": replace(_BASE, steps=300_000),  # Vaswani et al. 2017, sec. 5.2
    # For a machine with a GPU, like all below. Radford et al. 2019 give few details: the numbers are those of common
    # reproductions; batch size and clipping are nanoGPT's.
    "gpt2": _unsmoothed(steps=100_000, batch_size=480, warmup_steps=2000, adam_beta2=0.95),
    # Devlin et al. 2019, app. A.2: batches of 256, a million steps, warm-up 10,000.
    "bert-base": _unsmoothed(steps=1_000_000, batch_size=256, warmup_steps=10_000, adam_beta2=0.999),
    # Raffel et al. 2020, sec. 3.1.2: batches of 128, 10,000 steps at a constant rate, then inverse square root decay.
    "t5-small": TrainingConfig(steps=100_000, batch_size=128, warmup_steps=10_000, label_smoothing=0.0),
    # Touvron et al. 2023, sec. 2.3: cosine, beta 0.9 and 0.95, warm-up 2,000, clipping at 1.
    "llama-like": _unsmoothed(steps=100_000, batch_size=256, warmup_steps=2000, adam_beta2=0.95),
}
_OF_LETTERS = _tiny(steps=600, warmup_steps=100, evaluate_every=200)
_OF_DIGITS = replace(TRAININGS["tiny"], steps=1500, evaluate_every=500, label_smoothing=0.0)
_TINY_TASKS = dict.fromkeys(("copy", "reverse", "sort", "brackets"), _OF_LETTERS)
_TINY_TASKS |= dict.fromkeys(("dates", "addition"), _OF_DIGITS)


def preset_training(preset: str, corpus: str) -> TrainingConfig:
    """Return the training of a preset on a corpus; "tiny" has shorter trainings for tasks.

    Args:
        preset: a name of `TRAININGS`.
        corpus: a name for `load_corpus`.
    """
    return _TINY_TASKS.get(corpus, TRAININGS[preset]) if preset == "tiny" else TRAININGS[preset]
