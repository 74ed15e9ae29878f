"""Similarity of the heads of one model or of two: by where they attend, and by what they write.

Similar heads form groups; between two models, each head is matched with its most similar counterpart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.cluster.hierarchy import fcluster, linkage  # type: ignore[import-untyped]
from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]
from scipy.spatial.distance import squareform  # type: ignore[import-untyped]

from headlight.analysis.flow.divergence import has_choice, js_divergences
from transformer_core.errors import ConfigError, NotFiniteError

Patterns = Float[np.ndarray, "_ _ _ _"]
"""Of one text: [layer, head, query, key]."""

_ROUNDING = 1e-9  # share of the greatest distance; smaller gaps are ignored
_HEADS_AT_A_TIME = 16
_STRIP_CELLS = 2**23  # numbers in the Gram matrices held at a time: 64 MiB


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadMap:
    """Heads as points in a plane whose distances approximate the distances between the heads."""

    points: Float[np.ndarray, "head 2"]  # in the unit of the distances, centred
    kept: float  # squared distances that these two axes keep, as a share, in [0, 1], of what all axes keep


@dataclass(frozen=True, kw_only=True)
class ClusterName:
    """What a group of heads has in common."""

    habit: str | None  # None: none is above the threshold
    mean: float | None  # mean score of the habit over the heads; without a habit, the highest mean; None: unknown
    n_heads: int


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadMatching:
    """The heads of one attention in model A, each matched with a different head of model B."""

    n_layers: int
    n_heads: int  # of a layer
    similarity: Float[np.ndarray, "head_a head_b"]  # in [0, 1]; heads are counted through all layers
    partners: Int[np.ndarray, " head_a"]  # for each head of A, its head of B; all different

    @property
    def matched(self) -> Float[np.ndarray, " head_a"]:
        """The similarity of the two heads of each pair."""
        return self.similarity[np.arange(len(self.partners)), self.partners]

    @property
    def mean_matched(self) -> float:
        """The mean similarity of the pairs."""
        return float(self.matched.mean())

    @property
    def mean_same_number(self) -> float:
        """The mean similarity of heads that have the same layer and number."""
        return float(self.similarity.diagonal().mean())

    def partner(self, layer: int, head: int) -> tuple[int, int]:
        """Return the layer and number of the head of B that a head of A is matched with."""
        partner_layer, in_layer = divmod(int(self.partners[layer * self.n_heads + head]), self.n_heads)
        return partner_layer, in_layer


def pattern_distances(
    heads: Float[np.ndarray, "head_a query key"],
    others: Float[np.ndarray, "head_b query key"] | None = None,
    mask: Bool[np.ndarray, "query key"] | None = None,
) -> Float[np.ndarray, "head_a head_b"]:
    """Return the mean Jensen-Shannon distance between the rows of each two heads, over the queries with a choice.

    Args:
        heads: attention weights.
        others: those of another model's heads on the same text; None: the heads are compared with each other.
        mask: True = may attend; None: everything is allowed. A query has a choice where at least two keys are.

    Returns:
        in [0, 1], to base 2; 0 where no query has a choice. Among themselves: symmetric, 0 on the diagonal, and
        no way round is shorter (a mean of metrics is a metric).

    Source: Endres and Schindelin 2003 for the distance; Clark et al. 2019, sec. 6, compare heads so.
    Differs: they sum divergences over the words of a corpus.
    """
    allowed = np.ones(heads.shape[1:], dtype=bool) if mask is None else mask
    queries = np.flatnonzero(has_choice(allowed))
    total = np.zeros((len(heads), len(heads if others is None else others)))
    for query in queries:
        rows = [side[:, query] for side in (heads, others) if side is not None]
        is_key = rows[0].any(axis=0) | rows[-1].any(axis=0)  # fewer under a causal mask
        total += np.sqrt(js_divergences(*(np.ascontiguousarray(side[:, is_key]) for side in rows)))
    return total / max(len(queries), 1)


def cka_matrix(
    xs: Sequence[Float[np.ndarray, "pos _"]], ys: Sequence[Float[np.ndarray, "pos _"]] | None = None
) -> Float[np.ndarray, "x y"]:
    """Return the linear centred kernel alignment (CKA) of each activation in `xs` with each in `ys`.

    CKA(X, Y) = ||Y^T X||_F^2 / (||X^T X||_F ||Y^T Y||_F), with the columns of X and Y centred.

    Args:
        xs: activations, all at the same positions; their widths may differ.
        ys: others at those positions; None: the same.

    Returns:
        in [0, 1]: 1 where one is the other turned, scaled or shifted; 0 where one is the same at all positions.

    Source: Kornblith et al. 2019, sec. 3.
    """
    a = [_centred(x) for x in xs]
    if ys is None:
        products = _products(a)
        norms_a = norms_b = np.sqrt(products.diagonal())
    else:
        b = [_centred(y) for y in ys]
        products = _products(a, b)
        norms_a, norms_b = (np.sqrt([_products([x])[0, 0] for x in side]) for side in (a, b))
    scale = norms_a[:, None] * norms_b
    _refuse_not_finite(scale)
    return np.divide(products, scale, out=np.zeros_like(products), where=scale > 0).clip(0, 1)


def _refuse_not_finite(values: np.ndarray) -> None:
    if not np.isfinite(values).all():
        raise NotFiniteError("some heads have weights or outputs that are NaN or infinite, so they cannot be compared")


def head_map(distances: Float[np.ndarray, "head head"]) -> HeadMap:
    """Map heads to points in a plane by classical multidimensional scaling.

    The coordinates are the eigenvectors of -1/2 J D^2 J (J centres rows and columns), each times the square root of its
    eigenvalue. Each axis is oriented so that the head farthest from 0 (the first of several) has a positive coordinate.

    Args:
        distances: symmetric, 0 on the diagonal.

    Returns:
        The two axes that keep most of the squared distances, and the share that they keep.

    Source: Torgerson 1952.
    """
    n_heads = len(distances)
    points = np.zeros((n_heads, 2))
    _refuse_not_finite(distances)
    squares = distances.astype(np.float64) ** 2
    squares -= squares.mean(axis=0)
    squares -= squares.mean(axis=1, keepdims=True)
    values, axes = np.linalg.eigh(-squares / 2)
    values, axes = values[::-1].clip(min=0), axes[:, ::-1]  # the largest first; below 0, no plane can show them
    for axis in range(min(2, n_heads)):
        lengths = np.abs(axes[:, axis])
        farthest = int((lengths > (1 - 1e-9) * lengths.max()).argmax())
        points[:, axis] = axes[:, axis] * np.sign(axes[farthest, axis]) * np.sqrt(values[axis])
    return HeadMap(points=points, kept=float(values[:2].sum() / values.sum()) if values.any() else 1.0)


def clusters(distances: Float[np.ndarray, "head head"], *, n_most: int = 8) -> Int[np.ndarray, " head"]:
    """Return which group each head belongs to, groups numbered from 0 in the order of their first heads.

    Heads and groups are merged, the nearest first, by the mean distance between them; the tree is cut where the next
    merge would be farthest from the last, among the cuts that leave 2 to `n_most` groups.

    Args:
        distances: symmetric, 0 on the diagonal.
        n_most: maximum number of groups.

    Returns:
        A single group if no merge is farther than the one before, as with fewer than three heads.

    Source: Sokal and Michener 1958 for the average linkage.
    """
    n_heads = len(distances)
    if n_heads < 3:
        return np.zeros(n_heads, dtype=int)
    _refuse_not_finite(distances)
    tree = linkage(squareform(distances, checks=False), method="average")
    gaps = np.diff(tree[:, 2])[::-1][: n_most - 1]  # [i]: between the merges that leave i + 2 and i + 1 groups
    if not (gaps > _ROUNDING * tree[-1, 2]).any():
        return np.zeros(n_heads, dtype=int)
    labels = fcluster(tree, int(gaps.argmax()) + 2, criterion="maxclust")
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    return first.argsort().argsort()[group]


def name_clusters(
    labels: Int[np.ndarray, " head"], scores: Mapping[str, Float[np.ndarray, " head"]], threshold: float
) -> tuple[ClusterName, ...]:
    """Name each group of heads after the habit with the highest mean score in it.

    Args:
        labels: the group of each head, from `clusters`.
        scores: by habit, the score of each head; NaN: not known.
        threshold: a group whose highest mean is not above it gets no habit.

    Returns:
        A name for each group, in order; among equal means, the first habit wins.
    """
    names = []
    for label in range(int(labels.max(initial=-1)) + 1):
        members = labels == label
        known = {habit: values[members & ~np.isnan(values)] for habit, values in scores.items()}
        means = {habit: float(values.mean()) for habit, values in known.items() if len(values)}
        best = max(means, key=means.__getitem__, default=None)
        mean = None if best is None else means[best]
        habit = best if mean is not None and mean > threshold else None
        names.append(ClusterName(habit=habit, mean=mean, n_heads=int(members.sum())))
    return tuple(names)


def match_heads(
    a: Patterns | Sequence[Patterns],
    b: Patterns | Sequence[Patterns],
    *,
    masks: Bool[np.ndarray, "_ _"] | Sequence[Bool[np.ndarray, "_ _"]] | None = None,
) -> HeadMatching:
    """Match the heads of one attention of two models so that the sum of the pairs' similarities is the highest.

    The similarity of two heads is 1 - JSD, the Jensen-Shannon divergence of their rows over `key` in bits, averaged
    over the queries of all texts that may look at two keys or more: 1 for equal patterns, 0 for patterns that never
    look at the same key.

    Args:
        a: patterns [layer, head, query, key] of model A on one text, or on each of several.
        b: those of model B on the same texts; the number of layers and heads is the same.
        masks: [query, key] of each text, True = may attend; None: everything is allowed.

    Raises:
        ConfigError: the models differ in shape, the texts differ, or no text has a query with a choice.

    Source: Lin 1991 for the divergence; Kuhn 1955 for the assignment.
    """
    texts_a, texts_b = _as_list(a), _as_list(b)
    shapes_a, shapes_b = [text.shape for text in texts_a], [text.shape for text in texts_b]
    if shapes_a != shapes_b or len({shape[:2] for shape in shapes_a}) != 1:
        raise ConfigError(
            "heads can only be matched between models of the same shape on the same texts; got "
            "patterns of shape {a} and {b}: choose two models with the same number of layers and "
            "heads, and run both on the same texts",
            a=shapes_a[:3],
            b=shapes_b[:3],
        )
    allowed = [np.ones(shape[2:], dtype=bool) for shape in shapes_a] if masks is None else _as_list(masks)
    queries = [has_choice(mask) for mask in allowed]
    if not np.any([of_text.any() for of_text in queries]):
        raise ConfigError("no query in these texts has more than one allowed key; use longer texts")
    n_layers, n_heads = shapes_a[0][:2]
    total = np.zeros((n_layers * n_heads, n_layers * n_heads))
    for *pair, of_text in zip(texts_a, texts_b, queries, strict=True):
        one, other = (text[:, :, of_text].reshape(len(total), of_text.sum(), text.shape[3]) for text in pair)
        for first in range(0, len(total), _HEADS_AT_A_TIME):  # the divergences of all rows could be large
            some = slice(first, first + _HEADS_AT_A_TIME)
            total[some] += js_divergences(one[some], other).sum(axis=2)
    similarity = 1 - total / sum(of_text.sum() for of_text in queries)
    _, partners = linear_sum_assignment(similarity, maximize=True)
    return HeadMatching(n_layers=n_layers, n_heads=n_heads, similarity=similarity, partners=partners)


def _as_list(texts: np.ndarray | Sequence[np.ndarray]) -> list[np.ndarray]:
    return [texts] if isinstance(texts, np.ndarray) else list(texts)


def _centred(x: Float[np.ndarray, "pos d"]) -> Float[np.ndarray, "pos d"]:
    """Return the columns with their means subtracted; exactly 0 where all positions are equal."""
    shifted = x - x[:1].astype(np.float64)
    return shifted - shifted.mean(axis=0)


def _products(xs: Sequence[np.ndarray], ys: Sequence[np.ndarray] | None = None) -> Float[np.ndarray, "x y"]:
    """Return ||Y^T X||_F^2 for each pair, computed from features or Gram matrices, whichever is cheaper."""
    is_same, ys = ys is None, xs if ys is None else ys
    n_positions = len(xs[0])
    width_x, width_y = sum(x.shape[1] for x in xs), sum(y.shape[1] for y in ys)
    by_features = width_x * width_y * n_positions
    by_grams = (width_x + width_y + len(xs) * len(ys)) * n_positions**2
    if by_features < by_grams:
        return np.array([[np.square(y.T @ x).sum() for y in ys] for x in xs])
    total = np.zeros((len(xs), len(ys)))
    n_grams = len(xs) if is_same else len(xs) + len(ys)
    step = max(1, _STRIP_CELLS // (n_positions * n_grams))
    for start in range(0, n_positions, step):
        strip = slice(start, start + step)
        grams_x = np.stack([(x[strip] @ x.T).ravel() for x in xs])
        grams_y = grams_x if is_same else np.stack([(y[strip] @ y.T).ravel() for y in ys])
        total += grams_x @ grams_y.T
    return total
