"""Some texts, and for each measure of a head the weights by which it is read off their patterns.

All measures but entropy are sums of a pattern times weights, and the weights depend on the texts alone. So they are
computed once, for the texts and for their tokens in other orders, and measuring is one product.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.analysis.heads.habits import aligned_cells, induction_cells, previous_cells, share_weights
from headlight.analysis.heads.measures import ENTROPIES
from headlight.analysis.heads.text_measures import closeness
from headlight.analysis.trace.attentions import Attention, attentions_of
from headlight.analysis.trace.cases import Case
from transformer_core.config import ModelConfig
from transformer_core.instrument.capture import capture
from transformer_core.model.masks import AttentionMask
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer

Means = Mapping[str, Float[np.ndarray, "layer head order"]]
"""By measure, the mean over texts, for the texts' own order of tokens first; NaN where no text gives one."""


class _Readers(NamedTuple):
    """What reads the measures off the patterns of one layer; the weights of what is padding are 0."""

    measures: tuple[str, ...]  # of SHARES: those that have a meaning here, the same in all layers of an attention
    of_cells: Float[Tensor, "text column cell"]  # a column is an order, of a measure
    of_queries: Float[Tensor, "text query entropy"]
    n_texts: Int[np.ndarray, " measured"]  # of each entropy and column: in how many texts there is one


class MeasuredTexts:
    """A batch of texts, and what is known of them.

    Args:
        config: of the models that are to be measured.
        tokenizer: the models' own.
        cases: the texts; of different lengths where the model knows what is padding.
        n_shuffles: in how many other orders the tokens are put.
    """

    def __init__(self, config: ModelConfig, tokenizer: Tokenizer, cases: Sequence[Case], *, n_shuffles: int) -> None:
        self.config = config
        self.n_orders = 1 + n_shuffles
        self.inputs = [_padded([case.inputs[i] for case in cases], config) for i in range(len(cases[0].inputs))]
        ids = (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.mask_id)
        special = {i for i in ids if i is not None}
        self.readers = {
            name: _by_layer(attention, config, cases, special, n_shuffles)
            for name, attention in attentions_of(config).items()
        }

    def sums(self, model: Transformer) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Run the model and return, by attention, each measure's sum over texts, and how many texts gave one.

        Returns:
            [layer, head, column] and [layer, 1, column]: the two entropies, then each share of the readers in each
            order.
        """
        device = next(model.parameters()).device
        with capture(model, "*.hook_pattern") as acts:
            model.final_states(*(tokens.to(device) for tokens in self.inputs))
        sums = {}
        for name, by_layer in self.readers.items():
            attention = attentions_of(self.config)[name]
            measured = []  # of each layer [head, column]
            for layer, readers in enumerate(by_layer):
                patterns = acts[attention.site(layer)].float().cpu()  # text, head, query, key
                entropies = torch.special.entr(patterns).sum(dim=-1) @ readers.of_queries
                shares = patterns.flatten(start_dim=2) @ readers.of_cells.mT
                measured.append(torch.cat([entropies, shares], dim=-1).sum(dim=0))
            n_texts = np.stack([readers.n_texts for readers in by_layer])
            sums[name] = (torch.stack(measured).numpy(), n_texts[:, None])
        return sums

    def means(self, name: str, sums: np.ndarray, counts: np.ndarray) -> Means:
        """Return the means over texts of one attention, from sums over these texts and perhaps others."""
        with np.errstate(invalid="ignore"):
            means = np.where(counts > 0, sums / counts, np.nan)
        n = len(ENTROPIES)
        by_measure = {measure: means[..., i : i + 1] for i, measure in enumerate(ENTROPIES)}
        for i, measure in enumerate(self.readers[name][0].measures):
            by_measure[measure] = means[..., n + i * self.n_orders : n + (i + 1) * self.n_orders].clip(0, 1)
        return by_measure


def _by_layer(
    attention: Attention, config: ModelConfig, cases: Sequence[Case], special: Collection[int], n_shuffles: int
) -> list[_Readers]:
    """Return the weights of each layer; layers with the same window share them."""
    layers = [config.at_layer(layer) for layer in range(attention.n_layers(config))]
    readers = {layer: _readers(attention, layer, cases, special, n_shuffles) for layer in dict.fromkeys(layers)}
    return [readers[layer] for layer in layers]


def _readers(
    attention: Attention, config: ModelConfig, cases: Sequence[Case], special: Collection[int], n_shuffles: int
) -> _Readers:
    """Work out the weights of all texts, filled up with zeros to one size."""
    by_case = [_weights(attention, config, case, special, n_shuffles) for case in cases]
    measures = tuple(by_case[0][0])
    n_queries = max(len(case.side(attention.queries_from)) for case in cases)
    n_keys = max(len(case.side(attention.keys_from)) for case in cases)
    of_cells = np.zeros((len(cases), len(measures), 1 + n_shuffles, n_queries, n_keys), dtype=np.float32)
    of_queries = np.zeros((len(cases), n_queries, len(ENTROPIES)), dtype=np.float32)
    for row, (shares, entropies) in enumerate(by_case):
        for i, weights in enumerate(shares.values()):
            of_cells[row, i, :, : weights.shape[1], : weights.shape[2]] = weights
        of_queries[row, : len(entropies)] = entropies
    cells = of_cells.reshape(len(cases), -1, n_queries * n_keys)
    n_texts = np.concatenate([of_queries.any(axis=1), cells.any(axis=2)], axis=1).sum(axis=0)
    return _Readers(measures, torch.from_numpy(cells), torch.from_numpy(of_queries), n_texts)


def _weights(
    attention: Attention, config: ModelConfig, case: Case, special: Collection[int], n_shuffles: int
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return, for one text, each share's weights [order, query, key], and those of the entropies [query, entropy]."""
    query_side, key_side = case.side(attention.queries_from), case.side(attention.keys_from)
    is_self = attention.queries_from == attention.keys_from
    queries = orders_of(query_side, special, n_shuffles=n_shuffles)
    keys = queries if is_self else orders_of(key_side, special, n_shuffles=n_shuffles, seed=1)
    allowed = allowed_cells(attention, config, len(query_side), len(key_side))
    cells = {}
    if is_self:
        cells["previous"] = rearranged(previous_cells(len(query_side)), queries, keys)
        cells["induction"] = induction_cells(np.array(query_side)[queries], special)
    if attention.name == case.aligned_attention:
        cells["aligned"] = rearranged(aligned_cells(case, len(query_side), len(key_side)), queries, keys)
    shares = {measure: share_weights(cells & allowed) for measure, cells in cells.items()}
    return {"diagonality": diagonal_weights(queries, keys, allowed)} | shares, entropy_weights(allowed)


def allowed_cells(
    attention: Attention, config: ModelConfig, n_queries: int, n_keys: int
) -> Bool[np.ndarray, "query key"]:
    """Return which keys each query of one text may look at, by the rule of the model.

    Args:
        attention: which one.
        config: as it holds in the layer: `config.at_layer(layer)`.
        n_queries: of the text.
        n_keys: likewise.
    """
    is_self = attention.queries_from == attention.keys_from
    rule = AttentionMask(
        n_queries=n_queries,
        n_keys=n_keys,
        device=torch.device("cpu"),
        is_causal=is_self and attention.queries_from == "target",
        window=config.sliding_window if is_self else None,
    )
    return rule.write_out()[0, 0].numpy()


def diagonal_weights(
    queries: Int[np.ndarray, "order query"],
    keys: Int[np.ndarray, "order key"],
    allowed: Bool[np.ndarray, "query key"],
) -> Float[np.ndarray, "order query key"]:
    """Return the weights of diagonality, (D - U) / (1 - U).

    D = mean over queries of 1 - sum over keys of pattern * distance / farthest, where the distance is that to the key
    on the diagonal, and the farthest is that of the keys that the query may look at. U is the D of attention that is
    evenly spread. Queries without a choice do not count.

    Args:
        queries: places of the tokens that ask, in each order.
        keys: positions of the keys. Of m keys, the one on the diagonal of the i-th of n queries is at
            i (m - 1) / (n - 1), rounded.
        allowed: True = may attend.

    Source: Zhang et al. 2021, "On the usefulness of self-attention for automatic speech recognition with
    Transformers", for D.
    Differs: the farthest key is an allowed one, U is subtracted, and the diagonal is scaled to the keys.
    """
    has_choice = allowed.sum(axis=1) >= 2
    near = closeness(queries, keys, allowed, len(allowed))
    counted = allowed * (has_choice / max(has_choice.sum(), 1))[:, None]
    even = (near * counted / allowed.sum(axis=1, keepdims=True)).sum(axis=(1, 2), keepdims=True)
    return (near - even) / (1 - even) * counted


def entropy_weights(allowed: Bool[np.ndarray, "query key"]) -> Float[np.ndarray, "query entropy"]:
    """Return the weights of each query's entropy in the mean, and in the mean of its share of the highest possible."""
    n_allowed = allowed.sum(axis=1)
    has_choice = n_allowed >= 2
    mean = has_choice / max(has_choice.sum(), 1)
    return np.stack([mean, mean / np.log(np.maximum(n_allowed, 2))], axis=1)


def _padded(texts: Sequence[Sequence[int]], config: ModelConfig) -> Int[Tensor, "text pos"]:
    """Return texts as one matrix, padded on the right."""
    longest, filler = max(map(len, texts)), config.pad_id or 0
    return torch.tensor([[*tokens, *[filler] * (longest - len(tokens))] for tokens in texts])


Orders = Int[np.ndarray, "order pos"]
"""Which token of a text stands at each place; the first order is the text's own."""


def orders_of(tokens: Sequence[int], special: Collection[int], *, n_shuffles: int, seed: int = 0) -> Orders:
    """Return the order in which a text stands, and others, drawn at random: the same ones for the same text and seed.

    Args:
        tokens: of the text.
        special: tokens that keep their positions: attention to them does not count as chance.
        n_shuffles: how many orders to draw.
        seed: for other draws of the same text.
    """
    random = np.random.default_rng((seed, *tokens))
    orders = np.tile(np.arange(len(tokens)), (1 + n_shuffles, 1))
    movable = np.flatnonzero(~np.isin(tokens, list(special)))
    orders[1:, movable] = random.permuted(orders[1:, movable], axis=1)
    return orders


def rearranged(
    cells: Bool[np.ndarray, "query key"], queries: Int[np.ndarray, "order query"], keys: Int[np.ndarray, "order key"]
) -> Bool[np.ndarray, "order query key"]:
    """Return where the tokens that belong together stand in each order.

    Args:
        cells: of the text in its own order: which queries and which keys belong together.
        queries: orders of the queries' text.
        keys: orders of the keys' text; in self-attention the same.
    """
    return cells[queries[:, :, None], keys[:, None, :]]
