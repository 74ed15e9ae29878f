"""Exact path patching over edges: a receiver reads the residual stream with one sender's term replaced.

In pre-norm, and without normalization, the residual stream is a sum of what senders wrote: the embeddings, z W_O of
each head, the output of each feed-forward network. (The biases of W_O belong to no sender and always stay.) Receivers
read it: the queries, keys and values of each head, each feed-forward network, and the logits. To ablate an edge, the
sender's term is replaced in what this receiver reads, before its normalization; all other receivers read the stream
unchanged. Everything after that is recomputed, and nothing is linearised. With `output_norm`, heads write into the sum
that is normalized before it is added, so terms are replaced there, and the normalization is recomputed.

>>> changes = path_patching(model, tokenizer, text, other_text, receivers=["decoder.blocks.1.self_attn.hook_k"])
>>> max(changes, key=lambda sender: abs(changes[sender]))

>>> circuit = {edge for edge in edges(model.config) if is_part(edge)}
>>> logits = run_with_edges(model, [tokens], ablated=set(edges(model.config)) - circuit, other=[other_tokens])

Source: Elhage et al. 2021, for the sum; Wang et al. 2022, "Interpretability in the Wild", app. B, and Goldowsky-Dill et
al. 2023, "Localizing model behavior with path patching", for the method; Conmy et al. 2023 for circuits as sets of
edges.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.analysis.interventions.base import read_base
from headlight.analysis.interventions.effect import Metric
from headlight.analysis.interventions.source_runs import SourceRuns
from headlight.analysis.trace.residual_stream import embedding_sites, sublayers
from transformer_core.config import ModelConfig
from transformer_core.errors import ConfigError
from transformer_core.instrument.capture import capture
from transformer_core.instrument.intervene import intervene
from transformer_core.instrument.sites import Site
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Given, Tokenizer

Inputs = Sequence[Int[Tensor, "_ _"]]
"""What a model reads, [batch, pos]: one text, or source and target."""


class Node(NamedTuple):
    """A sender or a receiver, by the site where its value passes.

    Senders: an embedding (`hook_embed`, `hook_pos_embed`, ...; with `embedding_norm` what enters the first block), a
    head (`hook_result`), a feed-forward network (`hook_mlp_out`). Receivers: a head's queries, keys or values
    (`hook_q`, `hook_k`, `hook_v`), a feed-forward network (`hook_mlp_out`), or the logits (`hook_logits`).
    """

    site: str
    head: int | None = None  # head of an attention; a key or value head may serve several heads

    def __str__(self) -> str:
        """Return the site, with the head in brackets."""
        return self.site if self.head is None else f"{self.site}[{self.head}]"

    def of(self, value: Tensor) -> Tensor:
        """Return this node's part of the value at its site, a view [batch, ...]."""
        return value if self.head is None else value[:, self.head]


LOGITS = Node("hook_logits")


class Edge(NamedTuple):
    """An edge from a sender to a receiver that reads its output."""

    sender: Node
    receiver: Node


def edges(config: ModelConfig) -> tuple[Edge, ...]:
    """Return all edges of a model, in the order of the forward pass: one from each sender to each later receiver.

    Raises:
        ConfigError: the model is post-norm.
    """
    return tuple(
        Edge(sender, receiver)
        for reading in _readings(config)
        for receiver in reading.receivers
        for sender in reading.senders
    )


def path_patching(
    model: Transformer,
    tokenizer: Tokenizer,
    text: Given | Sequence[Sequence[int]],
    other: Given | Sequence[Sequence[int]],
    *,
    senders: Iterable[Node | str] | None = None,
    receivers: Iterable[Node | str] = (LOGITS,),
    metric: Metric | None = None,
) -> dict[Node, float]:
    """Return how much each sender changes a metric through its edges to some receivers alone.

    The output of each text's run is that of `text` (teacher-forced). Cost: two to four forward passes per sender.

    Args:
        model: in evaluation mode, pre-norm or without normalization.
        tokenizer: the model's own.
        text: whose run is changed; or its token ids, as `ModelRun.inputs` has them.
        other: from which the edges take their senders' terms, in the same form and with as many tokens.
        senders: nodes, or sites for all nodes there; None: all that these receivers read.
        receivers: nodes, or sites for all nodes there.
        metric: what is measured; None: `read_base(model, tokenizer, text).metric()`, which token ids do not have.

    Returns:
        by sender, in the order of the forward pass: the metric with its edges patched, minus without, in nats.

    Raises:
        ConfigError: the model is post-norm, or has no such sender or receiver; texts of different lengths; or token ids
            without a metric.
        TextError: a text that the model cannot read.
    """
    everything = edges(model.config)
    to = _chosen(receivers, {edge.receiver for edge in everything})
    read = [edge for edge in everything if edge.receiver in to]
    if senders is not None:
        of = _chosen(senders, {edge.sender for edge in read})
        read = [edge for edge in read if edge.sender in of]
    if isinstance(text, str) or isinstance(text[0], str):
        base = read_base(model, tokenizer, text)  # type: ignore[arg-type]
        metric = metric or base.metric()
        text, other = base.run.inputs, SourceRuns(tokenizer).run(model, other, "same", here=base.run).inputs  # type: ignore[arg-type]
    if metric is None:
        raise ConfigError("token ids alone have no default metric; give the metric to measure")
    device = next(model.parameters()).device
    here, there = ([torch.tensor([ids], device=device) for ids in run] for run in (text, other))

    def measured(ablated: Collection[Edge]) -> float:
        return metric.of(run_with_edges(model, here, ablated=ablated, other=there)[0, metric.position].float())

    with torch.no_grad():
        unchanged = measured(())
        return {
            sender: measured([edge for edge in read if edge.sender == sender]) - unchanged
            for sender in dict.fromkeys(edge.sender for edge in everything if edge in read)
        }


def _chosen(named: Iterable[Node | str], there: Collection[Node]) -> set[Node]:
    """Return the nodes that are named individually or by site."""
    chosen = set[Node]()
    for one in named:
        nodes = {node for node in there if one in (node, node.site)}
        if not nodes:
            raise ConfigError("there is no edge from or to {node} here; see edges(config)", node=str(one))
        chosen |= nodes
    return chosen


def run_with_edges(
    model: Transformer, inputs: Inputs, *, ablated: Collection[Edge], other: Inputs | None = None
) -> Float[Tensor, "batch out vocab"]:
    """Return the logits with some edges ablated.

    Cost: one forward pass over n copies of the batch, and one of the other run; n is 1 plus the largest number of
    distinct non-empty sets of ablated senders among receivers that read the residual stream at the same place.

    Args:
        model: in evaluation mode.
        inputs: tokens, one batch of texts, or of sources and of targets.
        ablated: edges of `edges(model.config)`.
        other: another run, from which an ablated edge takes its sender's term; None: the term is 0.

    Returns:
        the logits of `model(*inputs)` if nothing is ablated; those of `model(*other)` if all edges are ablated and the
        same positions are padding.

    Raises:
        ConfigError: the model is post-norm; no such edge; or the other run has another shape.
        TextError: what the model cannot read.
    """
    readings = _readings(model.config)
    _check(ablated, readings, inputs, other)
    ablated = set(ablated)
    groups: dict[str, dict[tuple[Node, ...], int]] = {}  # by place: senders that are replaced together
    group_of: dict[Node, int] = {}
    for reading in readings:
        of_senders = groups[reading.site] = {(): 0}
        for receiver in reading.receivers:
            replaced = tuple(sender for sender in reading.senders if Edge(sender, receiver) in ablated)
            group_of[receiver] = of_senders.setdefault(replaced, len(of_senders))
    n_groups = max(map(len, groups.values()))
    senders = {edge.sender for edge in ablated}
    replacements = _terms(model, senders, other)
    terms: dict[Node, Tensor] = {}
    sums: dict[str, Tensor] = {}  # by site of heads, over all heads

    def act(value: Tensor, site: Site) -> Tensor:
        """Give receivers the values of their group, record what senders write, and edit what groups read.

        Group 0 is the run itself; the others only carry what single receivers read instead.
        """
        by_group = value.unflatten(0, (n_groups, -1))
        for receiver, group in group_of.items():
            if receiver.site == site.name and group:
                receiver.of(by_group[0]).copy_(receiver.of(by_group[group]))
        terms.update({sender: sender.of(by_group[0]) for sender in senders if sender.site == site.name})
        if site.name.endswith(".hook_result"):
            sums[site.name] = by_group[0].sum(dim=1)
        for replaced, group in groups.get(site.name, {}).items():
            changes = dict[str, Tensor]()
            for sender in replaced:
                change = replacements.get(sender, 0) - terms[sender]
                changes[sender.site] = changes.get(sender.site, 0) + change
            passed_on = [_normalized(model, place, change, sums.get(place)) for place, change in changes.items()]
            by_group[group] = sum(passed_on, start=by_group[0].clone())
        return value

    changed = {reading.site for reading in readings if len(groups[reading.site]) > 1}
    taking = {receiver.site for receiver, group in group_of.items() if group and receiver != LOGITS}
    sites = dict.fromkeys([*changed, *taking, *(sender.site for sender in senders)], act)
    with intervene(model, sites):
        states = model.final_states(*(tokens.repeat(n_groups, 1) for tokens in inputs))
    return model.logits_of(states.unflatten(0, (n_groups, -1))[group_of[LOGITS]])


@dataclass(frozen=True, kw_only=True, eq=False)
class _Reading:
    """A place where the residual stream is read."""

    site: str
    senders: tuple[Node, ...]  # whose terms are in the sum
    receivers: list[Node]


def _readings(config: ModelConfig) -> list[_Reading]:
    """Return where the residual streams are read, in the order of the forward pass.

    Raises:
        ConfigError: the model is post-norm.
    """
    if config.norm_position == "post":
        raise ConfigError(
            "in post-norm, every sub-layer normalizes the residual stream, so it is not the sum of what heads wrote; "
            "edges need a pre-norm model or one without normalization"
        )
    readings: dict[str, _Reading] = {}
    for stack, n_layers in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
        if not n_layers:
            continue
        senders = [Node(site) for site in embedding_sites(config, stack).values()]
        if config.embedding_norm:
            senders = [Node(f"{stack}.blocks.0.hook_resid_pre")]

        def read(site: str, receivers: Collection[Node], senders: list[Node] = senders) -> None:
            reading = readings.setdefault(site, _Reading(site=site, senders=tuple(senders), receivers=[]))
            reading.receivers.extend(receivers)

        for layer in range(n_layers):
            block = f"{stack}.blocks.{layer}"
            site = before = f"{block}.hook_resid_pre"
            for part in sublayers(config, stack):
                if part.name == "mlp":
                    read(before if config.parallel_residual else site, [Node(f"{block}.hook_mlp_out")])
                    senders.append(Node(f"{block}.hook_mlp_out"))
                else:
                    attention = f"{block}.{part.name}"
                    read(site, _heads(config, attention, "qkv" if part.name == "self_attn" else "q"))
                    senders += [Node(f"{attention}.hook_result", head) for head in range(config.n_heads)]
                site = f"{block}.{part.sum}"
        memory = [
            node
            for layer in range(config.n_decoder_layers)
            for node in _heads(config, f"decoder.blocks.{layer}.cross_attn", "kv")
        ]
        read(site, memory if stack == "encoder" and config.has_decoder else [LOGITS])
    return [*readings.values()]


def _heads(config: ModelConfig, attention: str, stems: str) -> list[Node]:
    return [
        Node(f"{attention}.hook_{stem}", head)
        for stem in stems
        for head in range(config.n_heads if stem == "q" else config.n_kv_heads)
    ]


def _terms(model: Transformer, senders: Collection[Node], other: Inputs | None) -> dict[Node, Tensor]:
    """Return the terms of some senders in another run [batch, pos, d_model]; empty without another run."""
    if other is None or not senders:
        return {}
    with capture(model, *{sender.site for sender in senders}) as acts:
        model.final_states(*other)
    return {sender: sender.of(acts[sender.site]) for sender in senders}


def _normalized(model: Transformer, site: str, change: Tensor, heads: Tensor | None) -> Tensor:
    """Return how the residual stream changes with the terms at a site, given the sum of the heads there, if any."""
    if heads is None or not model.config.output_norm:
        return change
    attention: Any = model.get_submodule(site.removesuffix(".hook_result"))
    output = heads if attention.out.bias is None else heads + attention.out.bias
    return attention.out_norm(output + change) - attention.out_norm(output)


def _check(ablated: Collection[Edge], readings: Sequence[_Reading], inputs: Inputs, other: Inputs | None) -> None:
    read_by = {receiver: reading.senders for reading in readings for receiver in reading.receivers}
    for edge in ablated:
        if edge.sender not in read_by.get(edge.receiver, ()):
            raise ConfigError("this model has no edge from {sender} to {receiver}; see edges(config)", **edge._asdict())
    shapes, there = ([tuple(tokens.shape) for tokens in run] for run in (inputs, other or inputs))
    if shapes != there:
        raise ConfigError(
            "the other run has the shape {there} and this one {here}; ablated edges need texts of the same lengths",
            there=there,
            here=shapes,
        )
