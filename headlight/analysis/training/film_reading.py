"""One text at the snapshots of a training: the same tokens each time, so that patterns can be laid side by side."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from headlight.analysis.trace.traced_forward import FixedText, TracedForward
from headlight.analysis.training.curves import Curve
from transformer_core.checkpoints.checkpoint import CONFIG, TOKENIZER, WEIGHTS, existing, read_json
from transformer_core.checkpoints.tensor_files import TensorFiles
from transformer_core.decoding.inputs import tensor_of
from transformer_core.errors import CheckpointError, Message, RunError
from transformer_core.model.transformer import Transformer
from transformer_core.training.run.film import Film


@dataclass(frozen=True, kw_only=True, eq=False)
class SnapshotReading:
    """The results of running the model of one snapshot on a fixed text."""

    step: int
    log_probs: Float[np.ndarray, " judged"]  # nats, of the expected tokens
    patterns: Mapping[str, Float[np.ndarray, "layer head query key"]]  # by name of attention
    masks: Mapping[str, Bool[np.ndarray, "layer query key"]]  # by name of attention; True = may attend


@dataclass(frozen=True, kw_only=True)
class DamagedSnapshot:
    """A snapshot that cannot be read."""

    step: int
    reason: Message


def read_snapshots(film: Film, steps: Iterable[int], fixed: FixedText) -> Iterator[SnapshotReading | DamagedSnapshot]:
    """Yield a reading of each snapshot on demand: one hooked run of its model over the same tokens.

    All weights are loaded into one model, which takes a tenth of the time of loading a new model for each.

    Args:
        film: of a training.
        steps: of snapshots; one that was thinned out meanwhile is skipped.
        fixed: from `fix_text`, with a model of this film, or of one that this one `reads_like`.
    """
    model = None
    for step in steps:
        try:
            if model is None:
                model, _ = film.load(step)
            else:
                _take_weights(model, film, step)
        except RunError:
            continue
        except CheckpointError as error:
            if _weights(film, step).exists():
                yield DamagedSnapshot(step=step, reason=error.message)
            continue
        with torch.inference_mode():
            traced = TracedForward(model, *(tensor_of(tokens, model) for tokens in fixed.inputs))
        log_probs = traced.log_probs_at(fixed.judged)[range(len(fixed.judged)), [*fixed.expected]].cpu().numpy()
        if not all(np.isfinite(values).all() for values in (log_probs, *traced.patterns.values())):
            yield DamagedSnapshot(
                step=step, reason=Message("its outputs are not finite numbers: the training diverged")
            )
            continue
        yield SnapshotReading(step=step, log_probs=log_probs, patterns=traced.patterns, masks=traced.masks)


@dataclass(frozen=True, kw_only=True, eq=False)
class FilmReading:
    """The results of running the models of several snapshots on a fixed text."""

    fixed: FixedText
    steps: Int[np.ndarray, " snapshot"]  # ascending
    log_probs: Float[np.ndarray, "snapshot judged"]  # nats, of the expected tokens
    patterns: Mapping[str, Float[np.ndarray, "snapshot layer head query key"]]  # by name of attention
    masks: Mapping[str, Bool[np.ndarray, "layer query key"]]  # by name of attention; True = may attend

    @classmethod
    def of(cls, fixed: FixedText, snapshots: Sequence[SnapshotReading]) -> Self:
        """Return snapshots side by side.

        Args:
            fixed: what they read.
            snapshots: one or more, in any order.
        """
        in_order = sorted(snapshots, key=lambda snapshot: snapshot.step)
        first = in_order[0]
        return cls(
            fixed=fixed,
            steps=np.array([snapshot.step for snapshot in in_order], dtype=np.int64),
            log_probs=np.stack([snapshot.log_probs for snapshot in in_order]),
            patterns={name: np.stack([snapshot.patterns[name] for snapshot in in_order]) for name in first.patterns},
            masks=first.masks,
        )

    @property
    def loss(self) -> Float[np.ndarray, " snapshot"]:
        """Nats per expected token, at each snapshot; NaN where nothing is expected: a text without a blank."""
        n_judged = self.log_probs.shape[1]
        return -self.log_probs.sum(axis=1) / (n_judged or np.nan)

    @property
    def mean_probability(self) -> Float[np.ndarray, " snapshot"]:
        """Return the geometric mean of the expected tokens' probabilities per snapshot, in [0, 1]; NaN without any."""
        return np.exp(-self.loss)

    def place(self, step: int) -> int:
        """Return the index of the snapshot nearest to a step; of two equally near, the earlier."""
        steps = self.steps.tolist()
        return min(range(len(steps)), key=lambda place: abs(steps[place] - step))


def values_at(curve: Curve, steps: Int[np.ndarray, " snapshot"]) -> Float[np.ndarray, " snapshot"]:
    """Return the values of a curve at the snapshots of a film, linearly interpolated between points.

    Args:
        curve: at least one point; it is constant before its first and after its last point.
        steps: of the snapshots.
    """
    return np.interp(steps, curve.steps, curve.values)


def reads_like(film: Film, other: Film) -> bool:
    """Return whether the heads of two films can be matched: models of one shape, which read a text as the same tokens.

    Raises:
        CheckpointError: a film that has not begun, or is damaged.
    """
    configs = [read_json(one.folder, CONFIG) for one in (film, other)]
    shapes = [[config.get(name) for name in _SHAPE] for config in configs]
    tokenizers = [existing(one.folder, TOKENIZER).read_bytes() for one in (film, other)]
    return shapes[0] == shapes[1] and tokenizers[0] == tokenizers[1]


_SHAPE = ("architecture", "n_encoder_layers", "n_decoder_layers", "n_heads", "max_seq_len")


def _take_weights(model: Transformer, film: Film, step: int) -> None:
    """Put the weights of a snapshot into a model of the same film.

    Raises:
        RunError: there is no such snapshot.
        CheckpointError: it is damaged.
    """
    path = _weights(film, step)
    if not path.is_file():
        raise RunError("the film has no snapshot at step {step:,}", step=step)
    files = TensorFiles([path])
    parameters = dict(model.named_parameters())
    if {name: files.shape(name) for name in files} != {name: values.shape for name, values in parameters.items()}:
        raise CheckpointError("{path} does not match the config.json in the same folder", path=path)
    with torch.no_grad():
        for name, values in parameters.items():
            values.copy_(files[name])


def _weights(film: Film, step: int) -> Path:
    return film.folder / f"{step:06}" / WEIGHTS
