"""The stream that queries and keys are read from, split into what each source has written into it."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float

from headlight.analysis.flow.stream_steps import BIAS, Normed, Projected, SourceName, Step, Written, out_norm
from headlight.analysis.walkthrough.filling import Weights
from headlight.analysis.walkthrough.outline import Outline
from transformer_core.config import ModelConfig
from transformer_core.model.rotary import RotaryPositions

Captured = Mapping[str, Float[np.ndarray, "..."]]
Sides = dict[str, tuple[tuple[SourceName, ...], Float[np.ndarray, "source pos d_head"]]]


class StreamSplit:
    """The stream that queries or keys are read from, split into the vectors written into it."""

    def __init__(self, outline: Outline, weights: Weights, captured: Captured, steps: tuple[Step, ...]) -> None:
        """Store the steps, and compute the divisor of each normalization."""
        self._outline, self._config = outline, outline.config
        self._weights, self._captured, self._steps = weights, captured, steps
        self._deviations = {
            step.module: _deviation(np.sum([captured[site] for site in step.sites], axis=0), self._config)
            for step in steps
            if isinstance(step, Normed)
        }
        heads = [step for step in steps if isinstance(step, Written) and step.source.head == 0]
        if self._config.output_norm:
            self._deviations |= {out_norm(step): self._deviation_of_output(step) for step in heads}

    def _deviation_of_output(self, step: Written) -> Float[np.ndarray, "pos 1"]:
        """Return the divisor of an attention's output, given the step of one of its heads."""
        z, bias = self._captured[step.site or ""], self._weights.bias(step.module or "")
        concat = z.transpose(1, 0, 2).reshape(z.shape[1], -1)  # [pos, head d_head]
        output = concat @ self._weights[f"{step.module}.weight"].T + (0 if bias is None else bias)
        return _deviation(output, self._config)

    def read_by(self, heads: Mapping[str, int]) -> Sides:
        """Return the sources, and the contribution of each to a head's queries ("q") or keys ("k").

        Args:
            heads: by "q" and "k", the head whose queries or keys are read.
        """
        d_head, module = self._config.d_head, self._outline.module
        rows = {name: slice(head * d_head, (head + 1) * d_head) for name, head in heads.items()}
        read = np.concatenate([self._weights[f"{module}.{name}.weight"][rows[name]] for name in heads]).T
        written = [(i, step) for i, step in enumerate(self._steps) if isinstance(step, Written) and step.source != BIAS]
        n_positions = len(self._captured[written[0][1].site or ""])
        total = biases = self._passed_on(
            np.zeros((n_positions, self._config.embedding_width)), self._steps, with_biases=True
        )
        parts = []
        for i, step in written:
            part = self._passed_on(self._written(step), self._steps[i + 1 :])
            total = total + part
            parts.append(part @ read)
        split = np.stack([*parts, biases @ read])  # [source, pos, d_head of each]
        sources = tuple(step.source for _, step in written)
        sides = zip(heads, np.split(split, len(heads), axis=-1), strict=True)
        return {name: self._finished(name, heads[name], sources, side, total) for name, side in sides}

    def _finished(
        self,
        name: str,
        head: int,
        sources: tuple[SourceName, ...],
        split: Float[np.ndarray, "source pos d_head"],
        total: Float[np.ndarray, "pos d_model"],
    ) -> tuple[tuple[SourceName, ...], Float[np.ndarray, "_ pos d_head"]]:
        """Return queries or keys by source, after bias, normalization and rotation."""
        module, d_head = f"{self._outline.module}.{name}", self._config.d_head
        bias = self._weights.bias(module)
        if bias is not None:
            split[-1] += bias[head * d_head : (head + 1) * d_head]
        if self._config.qk_norm:
            split = self._head_normalized(split, module, head, total)
        if self._outline.is_rotated:
            rotation = RotaryPositions(self._config)(0, split.shape[1], torch.device("cpu"))
            split = rotation.rotate(torch.from_numpy(split)[None])[0].numpy()
        return ((*sources, BIAS), split) if split[-1].any() else (sources, split[:-1])

    def _head_normalized(
        self,
        split: Float[np.ndarray, "source pos d_head"],
        module: str,
        head: int,
        total: Float[np.ndarray, "pos d_model"],
    ) -> Float[np.ndarray, "source pos d_head"]:
        """Return queries or keys by source, after the normalization of one head, or of all heads together."""
        scope, d_head = self._config.qk_norm_scope, self._config.d_head
        normalized = split.sum(axis=0)
        if scope == "joint":
            weight = self._weights[f"{module}.weight"]
            normalized = total @ weight.T + self._bias(module, len(weight))
        own = slice(None) if scope == "shared" else slice(head * d_head, (head + 1) * d_head)
        bias = self._weights.bias(f"{module}_norm")
        gain = self._weights[f"{module}_norm.weight"][own]
        split = _centred(split, self._config.norm) / _deviation(normalized, self._config) * gain
        split[-1] += 0 if bias is None else bias[own]
        return split

    def _written(self, step: Written) -> Float[np.ndarray, "pos d_model"]:
        assert step.site is not None, "a bias is not captured"
        value = self._captured[step.site]
        if step.module is None:
            return value
        assert step.source.head is not None, "what is written by a projection is a head's"
        d_head, head = self._config.d_head, step.source.head
        result = value[head] @ self._weights.columns(f"{step.module}.weight", head * d_head, d_head).T
        norm = out_norm(step)
        return self._through(result, norm, self._deviations[norm]) if self._config.output_norm else result

    def _passed_on(
        self, part: Float[np.ndarray, "pos width"], steps: Sequence[Step], *, with_biases: bool = False
    ) -> Float[np.ndarray, "pos d_model"]:
        """Return a part of the stream after the normalizations in `steps`; `with_biases`: add the steps' biases too."""
        for step in steps:
            if isinstance(step, Normed):
                part = self._through(part, step.module, self._deviations[step.module])
            elif isinstance(step, Projected):
                part = part @ self._weights[f"{step.module}.weight"].T
            if with_biases and not isinstance(step, Written):
                part = part + self._bias(step.module, len(part.T))
            elif with_biases and isinstance(step, Written) and step.source == BIAS and step.module is not None:
                width = self._config.d_model
                bias, norm = self._bias(step.module, width), out_norm(step)
                if self._config.output_norm:
                    bias = self._through(bias + np.zeros_like(part), norm, self._deviations[norm])
                    bias = bias + self._bias(norm, width)
                part = part + bias
        return part

    def _bias(self, module: str, width: int) -> Float[np.ndarray, " width"]:
        bias = self._weights.bias(module)
        return np.zeros(width) if bias is None else bias

    def _through(
        self, part: Float[np.ndarray, "*source pos width"], module: str, deviation: Float[np.ndarray, "pos 1"]
    ) -> Float[np.ndarray, "*source pos width"]:
        """Return a part of the input of a normalization, normalized but without the bias."""
        return _centred(part, self._config.norm) / deviation * self._weights[f"{module}.weight"]


def _deviation(x: Float[np.ndarray, "*axes width"], config: ModelConfig) -> Float[np.ndarray, "*axes 1"]:
    return np.sqrt((_centred(x, config.norm) ** 2).mean(axis=-1, keepdims=True) + config.layer_norm_eps)


def _centred(x: Float[np.ndarray, "*axes width"], norm: str) -> Float[np.ndarray, "*axes width"]:
    """Return vectors minus their mean, if the normalization subtracts it; this is linear, so it keeps sums."""
    return x if norm == "rms" else x - x.mean(axis=-1, keepdims=True)
