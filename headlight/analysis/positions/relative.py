"""Relative positions: ALiBi's linear biases, T5's buckets of distances, and rotary positions as a dial per pair."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from jaxtyping import Float, Int

from headlight.analysis.positions.tables import StackName, rotary_config
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.analysis.trace.traced_forward import captured
from transformer_core.config import ModelConfig, Positions
from transformer_core.errors import ConfigError
from transformer_core.model.distance_bias import AlibiBias, PositionBias, RelativeBuckets, relative_bucket
from transformer_core.model.rotary import RotaryPositions, Rotation
from transformer_core.model.transformer import Transformer


def slopes(n_heads: int, scale: float = 1.0) -> Float[np.ndarray, " head"]:
    """Return how fast each head's bias falls with the distance, in score per position.

    Source: Press et al. 2022, sec. 3; `scale`: `ModelConfig.alibi_scale`.
    """
    return _alibi(n_heads, scale).slopes.numpy()


def alibi_by_distance(n_heads: int, n_positions: int, scale: float = 1.0) -> Float[np.ndarray, "head distance"]:
    """Return the bias of a score by the key's distance, from 0 on."""
    return _alibi(n_heads, scale)(-torch.arange(n_positions)[None])[:, 0].numpy()


def _alibi(n_heads: int, scale: float) -> AlibiBias:
    width = 2 * n_heads
    return AlibiBias(ModelConfig(vocab_size=4, d_model=width, n_heads=n_heads, positions="alibi", alibi_scale=scale))


def alibi_matrix(n_heads: int, head: int, n_positions: int, scale: float = 1.0) -> Float[np.ndarray, "query key"]:
    """Return the bias that one head adds to every score."""
    rule, cpu = _alibi(n_heads, scale), torch.device("cpu")
    bias = PositionBias(of_distance=rule, n_queries=n_positions, n_keys=n_positions, n_past=0, device=cpu)
    return bias.write_out()[0, head].numpy()


@dataclass(frozen=True, kw_only=True, eq=False)
class Buckets:
    """The bucket of each distance."""

    distance: Int[np.ndarray, " distance"]  # key minus query, from the farthest back to the farthest ahead
    bucket: Int[np.ndarray, " distance"]
    matrix: Int[np.ndarray, "query key"]  # the bucket of each cell


def buckets(n_positions: int, *, is_causal: bool, like: ModelConfig | None = None) -> Buckets:
    """Return the buckets of all distances in a text.

    Args:
        n_positions: of queries and of keys.
        is_causal: all buckets serve the keys up to the query; else half of them do.
        like: a model to take the number of buckets and the farthest distance from, if it has any; None: T5's 32, 128.

    Source: Raffel et al. 2020, sec. 2.1.
    """
    shape = like if like is not None and like.has_relative_buckets else _T5
    distance = torch.arange(1 - n_positions, 1 if is_causal else n_positions)
    grid = torch.arange(n_positions)[None] - torch.arange(n_positions)[:, None]
    buckets_of = partial(
        relative_bucket,
        n_buckets=shape.n_relative_buckets,
        max_distance=shape.relative_max_distance,
        is_causal=is_causal,
    )
    bucket = buckets_of(distance[None])[0].numpy()
    return Buckets(distance=distance.numpy(), bucket=bucket, matrix=buckets_of(grid).numpy())


_T5 = ModelConfig(vocab_size=4, positions="relative_buckets")


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedBias:
    """The biases that a model learned to add to its scores."""

    is_causal: bool
    distance: Int[np.ndarray, " distance"]  # key minus query
    by_distance: Float[np.ndarray, "head distance"]
    matrix: Float[np.ndarray, "head query key"]


@torch.inference_mode()
def learned_bias(model: Transformer, stack: StackName, n_positions: int) -> LearnedBias:
    """Return the biases of a model's buckets, by distance and for every cell.

    Args:
        model: with buckets of distances.
        stack: whose; an encoder-decoder has its own biases in each.
        n_positions: of queries and of keys.

    Raises:
        ConfigError: the model has none there.
    """
    part = model.encoder if stack == "encoder" else model.decoder
    rule, device = None if part is None else part.position_bias, next(model.parameters()).device
    bias = None if part is None else part.bias_at(0, n_positions, device)
    if not isinstance(rule, RelativeBuckets) or bias is None:
        raise ConfigError(
            "this model has no learned position bias in its {stack}; choose a model with relative position buckets",
            stack=stack,
        )
    distance = torch.arange(1 - n_positions, 1 if rule.is_causal else n_positions)
    return LearnedBias(
        is_causal=rule.is_causal,
        distance=distance.numpy(),
        by_distance=rule(distance[None].to(device))[:, 0].float().cpu().numpy(),
        matrix=bias.write_out()[0].float().cpu().numpy(),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Dials:
    """A query and a key before rotation, and how fast each pair of their numbers rotates."""

    config: ModelConfig  # with rotary positions
    query: Float[np.ndarray, " d_head"]
    key: Float[np.ndarray, " d_head"]
    scale: float  # of their product, in the score

    @property
    def speeds(self) -> Float[np.ndarray, " pair"]:
        """Return the angle of each pair, in radians per position, the fastest first."""
        return RotaryPositions(self.config).frequencies.numpy()

    @property
    def hands(self) -> tuple[Float[np.ndarray, "pair 2"], Float[np.ndarray, "pair 2"]]:
        """Return the two numbers of each pair, for the query and the key, before rotation."""
        n = len(self.speeds)
        is_halves = self.config.positions == "rotary_halves"

        def paired(vector: Float[np.ndarray, " d_head"]) -> Float[np.ndarray, "pair 2"]:
            turning = vector[: 2 * n]
            return turning.reshape(2, n).T if is_halves else turning.reshape(n, 2)

        return paired(self.query), paired(self.key)

    @property
    def rest(self) -> float:
        """Return the scaled product of the numbers that are not rotated; 0 if all are rotated."""
        n_rotated = 2 * len(self.speeds)
        return self.scale * float(self.query[n_rotated:].astype(np.float64) @ self.key[n_rotated:])

    def products(self, distances: Int[np.ndarray, " distance"]) -> Float[np.ndarray, " distance"]:
        """Return the scaled product of query and key at each distance, the query's position minus the key's."""
        n = int(np.abs(distances).max(initial=0)) + 1
        rotation = RotaryPositions(self.config)(0, n, torch.device("cpu"))
        query, key = (
            rotation.rotate(torch.tensor(vector, dtype=torch.float32).expand(1, 1, n, -1))[0, 0].double().numpy()
            for vector in (self.query, self.key)
        )
        ahead, back = np.maximum(distances, 0), np.maximum(-distances, 0)
        return self.scale * (query[ahead] * key[back]).sum(axis=-1)


def same_vector(encoding: Positions, width: int, like: ModelConfig | None = None) -> Dials:
    """Return dials with one vector as query and key: of length 1, the same in each pair, all hands to the right.

    Their product is the mean, over pairs, of the cosine of the angle between the two hands.

    Args:
        encoding: "rotary_halves" or "rotary_interleaved".
        width: of the head; even.
        like: a model whose base and scaling are taken, where it is rotary.

    Raises:
        ConfigError: another encoding, or an odd width.
    """
    config = rotary_config(encoding, width, like)
    vector = np.zeros(width)
    if encoding == "rotary_halves":
        vector[: width // 2] = 1
    else:
        vector[0::2] = 1
    vector *= (width // 2) ** -0.5
    return Dials(config=config, query=vector, key=vector, scale=1.0)


@torch.inference_mode()
def head_vectors(
    model: Transformer,
    inputs: Sequence[Sequence[int]],
    *,
    attention: str,
    layer: int,
    head: int,
    query: int,
    key: int,
) -> Dials:
    """Return the query of one token and the key of another in a head, before rotation.

    Args:
        model: with rotary positions, in evaluation mode.
        inputs: the tokens of the text, as `ModelRun.inputs` has them.
        attention: "encoder" or "decoder"; in cross-attention nothing is turned.
        layer: of the head.
        head: its number.
        query: the place of the token whose query it is.
        key: that of the key.

    Raises:
        ConfigError: the model has no rotary positions there.
    """
    stack = {"encoder": model.encoder, "decoder": model.decoder}.get(attention)
    rotary = None if stack is None else stack.rotary_in(layer)
    if rotary is None:
        raise ConfigError("this attention does not use RoPE; choose a model with rotary positions")
    kind = ATTENTIONS[attention]
    sites = [kind.site(layer, stem) for stem in ("hook_q", "hook_k")]
    activations = captured(model, inputs, *sites)
    group = model.config.n_heads // model.config.n_kv_heads
    vectors = []
    for site, number, place in zip(sites, (head, head // group), (query, key), strict=True):
        turned = activations[site].float().cpu()
        back = backwards(rotary(0, turned.shape[2], torch.device("cpu")))
        vectors.append(back.rotate(turned)[0, number, place].numpy())
    scale = model.config.d_head**-0.5 if model.config.scale_scores else 1.0
    return Dials(config=model.config.at_layer(layer), query=vectors[0], key=vectors[1], scale=scale)


def backwards(rotation: Rotation) -> Rotation:
    """Return the inverse rotations."""
    return replace(rotation, sin=-rotation.sin)
