"""Trains the six-word model of "The Illustrated Transformer": six words, two sentences, a few seconds.

"je suis étudiant" is to become "i am a student <eos>", and "merci" "thanks <eos>". The model is a
small but ordinary encoder-decoder; <eos> is also the start token of the decoder.

Source: Alammar 2018, "The Illustrated Transformer", "Recap of Training" and "The Loss Function".
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer_core.config import ModelConfig
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.model.transformer import Transformer, build
from transformer_core.training.config import TrainingConfig
from transformer_core.training.objective import label_smoothed_cross_entropy
from transformer_core.training.optimizer import Adam, warmup_learning_rate

WORDS = ("a", "am", "i", "thanks", "student", "<eos>")
SOURCE_WORDS = ("je", "suis", "étudiant", "merci", "", "<eos>")  # padded to the same size, since both share vocab_size
END = WORDS.index("<eos>")
SENTENCES = (("je suis étudiant", "i am a student"), ("merci", "thanks"))
STEPS, WARMUP_STEPS, FACTOR = 80, 25, 0.4


@dataclass(frozen=True, kw_only=True, eq=False)
class SixWords:
    """The results of a training: the losses, and the first sentence's predictions before and after."""

    smoothing: float  # of the labels
    is_shifted: bool  # whether the decoder reads the words before each target, not the target itself
    reads: tuple[str, ...]  # the decoder's input at each position
    to_say: tuple[str, ...]  # the target at each position
    losses: Float[np.ndarray, " step"]  # nats a word
    target: Float[np.ndarray, "pos vocab"]  # the target distribution: one-hot, or smoothed
    untrained: Float[np.ndarray, "pos vocab"]  # the predictions before the first step
    trained: Float[np.ndarray, "pos vocab"]  # the predictions after the last step
    written: tuple[str, ...]  # the translation that it writes on its own, <eos> included


def config_of_six_words() -> ModelConfig:
    """Return a configuration of the paper's architecture with d_model = 16."""
    return ModelConfig(
        vocab_size=len(WORDS),
        d_model=16,
        d_ff=32,
        n_heads=2,
        n_encoder_layers=1,
        n_decoder_layers=1,
        max_seq_len=8,
        tie_embeddings="target",  # the source has its own words
        dropout=0.0,
        pad_id=None,
        bos_id=END,
        eos_id=END,
    )


def smoothed_target(right: int, n_words: int = len(WORDS), *, smoothing: float = 0.0) -> Float[np.ndarray, " vocab"]:
    """Return the target distribution: 1 - smoothing for the correct word, and smoothing spread over all words.

    Args:
        right: the correct word.
        n_words: of the vocabulary.
        smoothing: in [0, 1); 0: one-hot.

    Returns:
        probabilities that sum to 1; the correct one is 1 - smoothing + smoothing / n_words.

    Source: Szegedy et al. 2016, sec. 7; Vaswani et al. 2017, sec. 5.4, with 0.1.
    """
    target = np.full(n_words, smoothing / n_words)
    target[right] += 1 - smoothing
    return target


def train_six_words(
    *,
    smoothing: float = 0.0,
    is_shifted: bool = True,
    steps: int = STEPS,
    seed: int = 0,
    on_step: Callable[[int, float], None] | None = None,
) -> SixWords:
    """Train the six-word model from random initialization.

    Args:
        smoothing: of the labels, in [0, 1); the paper's is 0.1.
        is_shifted: False: the well-known mistake where the decoder reads the very word that it must predict.
        steps: number of steps, each on both sentences; 0: only predict with the untrained model.
        seed: of the first weights.
        on_step: called with each step, from 1 on, and its loss in nats per word.
    """
    model = build(config_of_six_words(), seed=seed).train()
    pairs = [(_ids(source, SOURCE_WORDS), _ids(target, WORDS)) for source, target in SENTENCES]
    optimizer = Adam(model, TrainingConfig(steps=max(steps, 1), batch_size=len(pairs), warmup_steps=WARMUP_STEPS))
    text = _said(model, *pairs[0], is_shifted=is_shifted)
    losses = []
    for step in range(1, steps + 1):
        of_sentences = [
            label_smoothed_cross_entropy(model(src, _read(tgt, is_shifted=is_shifted)), tgt, smoothing=smoothing)
            * tgt.numel()
            for src, tgt in pairs
        ]
        loss = torch.stack(of_sentences).sum() / sum(tgt.numel() for _, tgt in pairs)
        model.zero_grad()
        loss.backward()
        rate = warmup_learning_rate(step, d_model=model.config.d_model, warmup_steps=WARMUP_STEPS, factor=FACTOR)
        optimizer.step(rate)
        losses.append(loss.item())
        if on_step is not None:
            on_step(step, losses[-1])
    src, tgt = pairs[0]
    model.eval()
    return SixWords(
        smoothing=smoothing,
        is_shifted=is_shifted,
        reads=_words(_read(tgt, is_shifted=is_shifted)[0]),
        to_say=_words(tgt[0]),
        losses=np.array(losses),
        target=np.stack([smoothed_target(right, smoothing=smoothing) for right in tgt[0].tolist()]),
        untrained=text,
        trained=_said(model, src, tgt, is_shifted=is_shifted),
        written=_words(greedy_decode(model, src, max_new_tokens=7).tokens[0, 1:]),
    )


def _ids(sentence: str, words: tuple[str, ...]) -> Tensor:
    """Return a sentence and its <eos> as tokens [1, pos]."""
    return torch.tensor([[*map(words.index, sentence.split()), END]])


def _words(ids: Tensor) -> tuple[str, ...]:
    return tuple(WORDS[i] for i in ids.tolist())


def _read(target: Tensor, *, is_shifted: bool) -> Tensor:
    """Return the decoder's input for `target`: shifted right, from the start token on."""
    if not is_shifted:
        return target
    return torch.cat([torch.full_like(target[:, :1], END), target[:, :-1]], dim=1)


@torch.no_grad()
def _said(model: Transformer, src: Tensor, tgt: Tensor, *, is_shifted: bool) -> Float[np.ndarray, "pos vocab"]:
    logits = model(src, _read(tgt, is_shifted=is_shifted))[0]
    return logits.softmax(dim=-1).double().numpy()
