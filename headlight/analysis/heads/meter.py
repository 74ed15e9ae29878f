"""Measure heads cheaply enough to do so at every snapshot of a training.

All measures but entropy are sums of a pattern times weights, and the weights depend on the texts alone. So they are
computed once, for the texts and for their tokens in other orders, and measuring is one product.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.analysis.flow.divergence import has_choice
from headlight.analysis.heads.habits import (
    aligned_cells,
    closeness,
    induction_cells,
    previous_cells,
    share_weights,
)
from headlight.analysis.heads.measures import ENTROPIES, SHARES, HeadMeasures, HeadName, Share
from headlight.analysis.trace.attentions import Attention, attentions_of
from headlight.analysis.trace.cases import KnownText, case_of
from transformer_core.config import ModelConfig
from transformer_core.corpora.corpus import Pair, Text
from transformer_core.errors import CorpusError
from transformer_core.instrument.capture import capture
from transformer_core.model.masks import AttentionMask
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer

N_SHUFFLES = 16  # shuffled orders of the tokens that give the chance level
MAX_TOKENS = 64  # of each side; of longer texts, the beginning is measured

Orders = Int[np.ndarray, "order pos"]
"""For each order, the index of the token at each position; the first order is the text's own."""


class _Readers(NamedTuple):
    """The weights that turn the patterns of one layer into measures; 0 at padding."""

    measures: tuple[str, ...]  # of SHARES: those that apply here, the same in all layers of an attention
    of_cells: Float[Tensor, "text column cell"]  # a column: one order of one measure
    of_queries: Float[Tensor, "text query entropy"]
    n_texts: Int[np.ndarray, " measured"]  # for each entropy and column, the number of texts that have it


class _Batch(NamedTuple):
    """Texts that are read together."""

    inputs: Sequence[Int[Tensor, "text pos"]]
    readers: Mapping[str, Sequence[_Readers]]  # of each layer, by name of attention


class HeadMeter:
    """Measures heads repeatedly on the same texts, whose weights are computed once.

    Args:
        config: of the models that are to be measured.
        tokenizer: the models' own.
        items: held-out pairs or texts; about ten give a good picture.
        max_tokens: of each side; of longer texts, the beginning is measured.
        n_shuffles: number of shuffled orders that the chance level is computed from.

    Raises:
        CorpusError: there are no items.
    """

    def __init__(
        self,
        config: ModelConfig,
        tokenizer: Tokenizer,
        items: Sequence[Pair] | Sequence[Text],
        *,
        max_tokens: int = MAX_TOKENS,
        n_shuffles: int = N_SHUFFLES,
    ) -> None:
        if not len(items):
            raise CorpusError("there is nothing to measure heads on; give at least one held-out pair or text")
        cases = [case_of(config, tokenizer, item, max_tokens=max_tokens) for item in items]
        can_pad = config.pad_id is not None or not config.has_encoder  # else each text is read alone
        ids = (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.mask_id)
        special = {i for i in ids if i is not None}
        self._batches = [_batch(config, batch, special, n_shuffles) for batch in ([cases] if can_pad else zip(cases))]

    @torch.inference_mode()
    def measure(self, model: Transformer) -> list[HeadMeasures]:
        """Measure every head, with one forward of all texts together.

        Args:
            model: left as it was, in training or in evaluation.

        Returns:
            The heads in the order of the forward pass.
        """
        was_training = model.training
        model.eval()
        try:
            batches = [_sums(model, batch) for batch in self._batches]
        finally:
            model.train(was_training)
        measured = []
        for name in attentions_of(model.config):
            sums, counts = (np.sum(part, axis=0) for part in zip(*(batch[name] for batch in batches), strict=True))
            with np.errstate(invalid="ignore"):
                means = np.where(counts > 0, sums / counts, np.nan)
            measures = self._batches[0].readers[name][0].measures
            measured += [
                _head_measures(HeadName(name, *place), measures, means[place]) for place in np.ndindex(means.shape[:2])
            ]
        return measured


def measure_heads(
    model: Transformer,
    tokenizer: Tokenizer,
    items: Sequence[Pair] | Sequence[Text],
    *,
    max_tokens: int = MAX_TOKENS,
    n_shuffles: int = N_SHUFFLES,
) -> list[HeadMeasures]:
    """Measure every head once; to measure on the same texts again, keep a `HeadMeter`.

    Raises:
        CorpusError: there are no items.
    """
    meter = HeadMeter(model.config, tokenizer, items, max_tokens=max_tokens, n_shuffles=n_shuffles)
    return meter.measure(model)


def _batch(config: ModelConfig, cases: Sequence[KnownText], special: Collection[int], n_shuffles: int) -> _Batch:
    """Return texts with the readers of each layer; layers with the same window share them."""
    longest = [max(map(len, side)) for side in zip(*(case.inputs for case in cases), strict=True)]
    inputs = [
        torch.tensor([[*case.inputs[i], *[config.pad_id or 0] * (n - len(case.inputs[i]))] for case in cases])
        for i, n in enumerate(longest)
    ]
    readers = {}
    for name, attention in attentions_of(config).items():
        layers = [config.at_layer(layer) for layer in range(attention.n_layers(config))]
        of_layers = {layer: _readers(attention, layer, cases, special, n_shuffles) for layer in dict.fromkeys(layers)}
        readers[name] = [of_layers[layer] for layer in layers]
    return _Batch(inputs, readers)


def _sums(model: Transformer, batch: _Batch) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Run the model and return, by attention, each measure's sum over texts, and how many texts gave one.

    Returns:
        [layer, head, column] and [layer, 1, column]: the two entropies, then each share of the readers in each order.
    """
    device = next(model.parameters()).device
    with capture(model, "*.hook_pattern") as acts:
        model.final_states(*(tokens.to(device) for tokens in batch.inputs))
    sums = {}
    for name, attention in attentions_of(model.config).items():
        measured = []  # of each layer [head, column]
        for layer, readers in enumerate(batch.readers[name]):
            patterns = acts[attention.site(layer)].float().cpu()  # text, head, query, key
            entropies = torch.special.entr(patterns).sum(dim=-1) @ readers.of_queries
            shares = patterns.flatten(start_dim=2) @ readers.of_cells.mT
            measured.append(torch.cat([entropies, shares], dim=-1).sum(dim=0))
        n_texts = np.stack([readers.n_texts for readers in batch.readers[name]])
        sums[name] = (torch.stack(measured).numpy(), n_texts[:, None])
    return sums


def _head_measures(name: HeadName, shares: Sequence[str], means: Float[np.ndarray, " column"]) -> HeadMeasures:
    """Return one head's measures, given its means: the entropies, then each share in each order of the tokens."""
    n = len(ENTROPIES)
    measures: dict[str, Any] = {m: None if np.isnan(x) else float(x) for m, x in zip(ENTROPIES, means[:n], strict=True)}
    by_order = means[n:].reshape(len(shares), -1).clip(0, 1)
    measures |= dict.fromkeys(SHARES) | {m: _share(scores) for m, scores in zip(shares, by_order, strict=True)}
    return HeadMeasures(**name._asdict(), **measures)


def _share(scores: Float[np.ndarray, " order"]) -> Share | None:
    """Return a score with its chance level from shuffled tokens; None where the texts give nothing to measure."""
    by_chance = scores[1:][~np.isnan(scores[1:])]
    if np.isnan(scores[0]) or not len(by_chance):
        return None
    return Share(score=float(scores[0]), chance=float(by_chance.mean()), spread=float(by_chance.std()))


def _readers(
    attention: Attention, config: ModelConfig, cases: Sequence[KnownText], special: Collection[int], n_shuffles: int
) -> _Readers:
    """Compute the weights of all texts, zero-padded to the same size."""
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
    attention: Attention, config: ModelConfig, case: KnownText, special: Collection[int], n_shuffles: int
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the weights of one text: [order, query, key] for each share, and [query, entropy] for the entropies."""
    query_side, key_side = case.side(attention.queries_from), case.side(attention.keys_from)
    is_self = attention.is_self
    queries = orders_of(query_side, special, n_shuffles=n_shuffles)
    keys = queries if is_self else orders_of(key_side, special, n_shuffles=n_shuffles, seed=1)
    allowed = allowed_cells(attention, config, len(query_side), len(key_side))
    cells = {}
    if is_self:
        tokens = np.array(query_side)[queries]
        cells["previous"] = rearranged(previous_cells(len(query_side)), queries, keys)
        cells["induction"] = induction_cells(tokens, np.isin(tokens, [*special]))
    if attention.name == case.aligned_attention:
        cells["aligned"] = rearranged(aligned_cells(case, len(query_side), len(key_side)), queries, keys)
    shares = {measure: share_weights(cells & allowed) for measure, cells in cells.items()}
    return {"diagonality": diagonal_weights(queries, keys, allowed)} | shares, entropy_weights(allowed)


def allowed_cells(
    attention: Attention, config: ModelConfig, n_queries: int, n_keys: int
) -> Bool[np.ndarray, "query key"]:
    """Return which keys each query of one text may attend to in a layer of this configuration.

    Args:
        attention: which one.
        config: of the layer: `config.at_layer(layer)`.
        n_queries: of the text.
        n_keys: likewise.
    """
    is_self = attention.is_self
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
    """Return the weights of diagonality, (D - U) / (1 - U), as defined in `closeness`; arguments as there."""
    chosen = has_choice(allowed)
    near = closeness(queries, keys, allowed, len(allowed))
    counted = allowed * (chosen / max(chosen.sum(), 1))[:, None]
    even = (near * counted / allowed.sum(axis=1, keepdims=True)).sum(axis=(1, 2), keepdims=True)
    return (near - even) / (1 - even) * counted


def entropy_weights(allowed: Bool[np.ndarray, "query key"]) -> Float[np.ndarray, "query entropy"]:
    """Return each query's weights in the mean entropy, and in the mean of entropies divided by their maximum."""
    n_allowed = allowed.sum(axis=1)
    mean = (n_allowed >= 2) / max((n_allowed >= 2).sum(), 1)
    return np.stack([mean, mean / np.log(np.maximum(n_allowed, 2))], axis=1)


def orders_of(tokens: Sequence[int], special: Collection[int], *, n_shuffles: int, seed: int = 0) -> Orders:
    """Return the original order of a text, then random permutations of it, determined by the text and the seed.

    Args:
        tokens: of the text.
        special: tokens that keep their positions: attention to them does not count as chance.
        n_shuffles: how many orders to draw.
        seed: a different seed gives different permutations of the same text.
    """
    random = np.random.default_rng((seed, *tokens))
    orders = np.tile(np.arange(len(tokens)), (1 + n_shuffles, 1))
    movable = np.flatnonzero(~np.isin(tokens, list(special)))
    orders[1:, movable] = random.permuted(orders[1:, movable], axis=1)
    return orders


def rearranged(
    cells: Bool[np.ndarray, "query key"], queries: Int[np.ndarray, "order query"], keys: Int[np.ndarray, "order key"]
) -> Bool[np.ndarray, "order query key"]:
    """Return the cells of related tokens after each reordering.

    Args:
        cells: in the text's own order, True where a query and a key are related.
        queries: orders of the queries' text.
        keys: orders of the keys' text; in self-attention the same.
    """
    return cells[queries[:, :, None], keys[:, None, :]]
