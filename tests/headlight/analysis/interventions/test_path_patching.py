"""Path patching over edges: against patches of whole sites, and against a forward pass written out in plain loops."""

import itertools
import math
from collections.abc import Collection, Iterable
from functools import cache

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from headlight.analysis.interventions.effect import Metric
from headlight.analysis.interventions.path_patching import Edge, Node, edges, path_patching, run_with_edges
from tests.model.building import (
    DECODER,
    VARIATIONS,
    odd_config,
    random_inputs,
    random_tokens,
    shaken_model,
    small_config,
    varied_model,
)
from transformer_core.errors import ConfigError
from transformer_core.text.ids import IdTokenizer

pytestmark = pytest.mark.usefixtures("without_gradients")
CONFIGS = {name: odd_config(**VARIATIONS[name]) for name in VARIATIONS}
SUMS = [name for name, config in CONFIGS.items() if config.norm_position == "pre"]
each_sum = pytest.mark.parametrize("variation", SUMS)
LOGITS = Node("hook_logits")

Inputs = tuple[Tensor, ...]


@cache
def run_of(variation: str) -> tuple[tc.Transformer, Inputs, Inputs]:
    """A model in float64, a text and another one of the same length, two rows each."""
    model = varied_model(variation).double()
    inputs = random_inputs(model, (7, 4), (5, 9))
    other = tuple(
        torch.where(row == 0, row, random_tokens([9] * 2, vocab_size=37, seed=9)[:, : row.shape[1]]) for row in inputs
    )
    return model, inputs, other


def close(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, rtol=0, atol=1e-9)


def one_per_site(nodes: Iterable[Node]) -> list[Node]:
    """The nodes of different sites; of heads the last."""
    return [*{node.site: node for node in nodes}.values()]


@each_sum
def test_edges_ablated_together(variation: str):
    """None, all, and all of one sender or into one receiver: the run itself, the other run, a patch of the site."""
    model, inputs, other = run_of(variation)
    everything = edges(model.config)
    assert len(set(everything)) == len(everything)
    assert torch.equal(run_with_edges(model, inputs, ablated=[], other=other), model(*inputs))
    assert close(run_with_edges(model, inputs, ablated=everything[::2], other=inputs), model(*inputs))
    assert close(run_with_edges(model, inputs, ablated=everything, other=other), model(*other))
    with tc.capture(model, "*") as acts:
        model(*other)
    for end in ("sender", "receiver"):
        nodes = one_per_site(getattr(edge, end) for edge in everything)
        for i, node in enumerate(nodes):
            is_zero, heads = end == "sender" and i % 2 == 0, None if node.head is None else [node.head]
            with tc.intervene(model, {node.site: tc.zero(heads=heads) if is_zero else tc.patch(acts, heads=heads)}):
                expected = model(*inputs)
            ablated = [edge for edge in everything if getattr(edge, end) == node]
            actual = run_with_edges(model, inputs, ablated=ablated, other=None if is_zero else other)
            assert close(actual, expected) and not (is_zero and close(expected, model(*inputs))), node


def test_the_direct_effect_of_a_head_is_its_changed_output_on_the_unembedding():
    """Without normalization, the logits are linear in what each head writes."""
    model = shaken_model(small_config(**DECODER, n_decoder_layers=2, norm="none", norm_position="pre"))
    tokenizer = IdTokenizer.of(model.config)
    ids, others = ([5, 9, 7, 3], [5, 4, 8, 3])
    metric = Metric(position=3, token=6, other=2)
    changes = path_patching(model, tokenizer, [ids], [others], metric=metric)
    for layer in range(2):
        site = tc.site("result", layer=layer, attention="decoder")
        written = []
        for tokens in (ids, others):
            with tc.capture(model, site) as acts:
                model(torch.tensor([tokens]))
            written.append(acts[site][0, :, 3])  # [head, d_model]
        unembed = model.get_parameter("unembed.weight")
        expected = (written[1] - written[0]) @ (unembed[6] - unembed[2])
        assert [changes[Node(site, head)] for head in range(2)] == pytest.approx(expected.tolist(), abs=1e-5)
    by_text = path_patching(model, tokenizer, "5 9 7 3", "5 4 8 3", senders=[site])
    assert [*by_text] == [Node(site, 0), Node(site, 1)] and all(by_text.values())
    keys = "decoder.blocks.1.self_attn.hook_k"
    (node, change), *more = path_patching(
        model, tokenizer, [ids], [others], senders=[Node(site.replace("1", "0"), 1)], receivers=[keys], metric=metric
    ).items()
    patched = [Edge(node, Node(keys, head)) for head in range(2)]
    here, there = (torch.tensor([tokens]) for tokens in (ids, others))
    logits = run_with_edges(model, [here], ablated=patched, other=[there])[0, 3] - model(here)[0, 3]
    assert not more and change == pytest.approx(float(logits[6] - logits[2]), abs=1e-5) and change
    for options in ({"senders": ["decoder.hook_none"]}, {"receivers": [Node(keys, 7)]}, {"metric": None}):
        with pytest.raises(ConfigError, match=r"no edge from or to|give the metric"):
            path_patching(model, tokenizer, [ids], [others], **({"metric": metric} | options))


# Edges one by one


def written_out(
    model: tc.Transformer, tokens: Tensor, ablated: Collection[Edge], there: dict[Node, Tensor] | None
) -> tuple[Tensor, dict[Node, Tensor]]:
    """Logits [pos, vocab] of the decoder of `VARIATIONS`, and every sender's term: a sum for each receiver."""
    p, config = dict(model.named_parameters()), model.config
    n, d_head = len(tokens), config.d_head
    terms = {
        Node("decoder.hook_embed"): p["decoder.embed.weight"][tokens] * config.d_model**0.5,
        Node("decoder.hook_pos_embed"): p["decoder.pos_embed.table"][:n],
    }
    biases: list[Tensor] = []

    def read(receiver: Node, norm: str, senders: list[Node]) -> Tensor:
        x = torch.zeros(n, config.d_model, dtype=torch.float64)
        for sender in senders:
            if Edge(sender, receiver) not in ablated:
                x = x + terms[sender]
            elif there is not None:
                x = x + there[sender]
        x = x + sum(biases)
        x = x - x.mean(dim=-1, keepdim=True)
        scale = (x.square().mean(dim=-1, keepdim=True) + config.layer_norm_eps).sqrt()
        return x / scale * p[f"{norm}.weight"] + p[f"{norm}.bias"]

    for layer in range(config.n_decoder_layers):
        block = f"decoder.blocks.{layer}"
        before = [*terms]
        for head in range(config.n_heads):
            rows = slice(head * d_head, (head + 1) * d_head)
            q, k, v = (
                read(Node(f"{block}.self_attn.hook_{stem}", head), f"{block}.ln1", before)
                @ p[f"{block}.self_attn.{stem}.weight"][rows].T
                + p[f"{block}.self_attn.{stem}.bias"][rows]
                for stem in "qkv"
            )
            z = torch.zeros(n, d_head, dtype=torch.float64)
            for i in range(n):
                z[i] = ((q[i] @ k[: i + 1].T) / math.sqrt(d_head)).softmax(dim=0) @ v[: i + 1]
            terms[Node(f"{block}.self_attn.hook_result", head)] = z @ p[f"{block}.self_attn.out.weight"][:, rows].T
        biases.append(p[f"{block}.self_attn.out.bias"])
        feed_forward = Node(f"{block}.hook_mlp_out")
        x = read(feed_forward, f"{block}.ln2", [*terms]) @ p[f"{block}.mlp.up.weight"].T + p[f"{block}.mlp.up.bias"]
        x = 0.5 * x * (1 + (math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)).tanh())
        terms[feed_forward] = x @ p[f"{block}.mlp.down.weight"].T + p[f"{block}.mlp.down.bias"]
    return read(LOGITS, "decoder.ln_final", [*terms]) @ p["decoder.embed.weight"].T, terms


@pytest.mark.parametrize("is_zero", [True, False])
def test_single_edges_and_random_sets_of_them_against_plain_loops(is_zero: bool):
    model, ((tokens, *_),), ((other, *_),) = run_of("decoder")
    all_edges = edges(model.config)
    generator = torch.Generator().manual_seed(0)
    chosen = [{edge} for edge in all_edges[::5]]
    for share in (0.1, 0.5, 0.9):
        drawn = torch.rand(len(all_edges), generator=generator) < share
        chosen.append(set(itertools.compress(all_edges, drawn)))
    plain, _ = written_out(model, tokens, (), None)
    assert close(plain, model(tokens[None])[0])
    there = None if is_zero else written_out(model, other, (), None)[1]
    for ablated in chosen:
        expected, _ = written_out(model, tokens, ablated, there)
        logits = run_with_edges(model, [tokens[None]], ablated=ablated, other=None if is_zero else [other[None]])
        assert close(logits[0], expected)
        assert len(ablated) == 1 or not close(expected, plain)


def test_gpt2_has_as_many_edges_as_others_count():
    """32,491 edges, with both embeddings as one sender: the graph of edge attribution patching (Syed et al. 2023)."""
    config = tc.presets.gpt2()
    of_positions = [edge for edge in edges(config) if edge.sender.site == "decoder.hook_pos_embed"]
    assert len(edges(config)) - len(of_positions) == 32_491


def test_what_cannot_be_ablated_is_refused():
    post_norm = varied_model("the paper's")
    with pytest.raises(ConfigError, match="edges need a pre-norm model or one without normalization"):
        run_with_edges(post_norm, random_inputs(post_norm), ablated=[])
    model, inputs, _ = run_of("decoder")
    late, early = Node("decoder.blocks.1.hook_mlp_out"), Node("decoder.blocks.0.self_attn.hook_q", 2)
    with pytest.raises(ConfigError, match=r"no edge from decoder.blocks.1.hook_mlp_out to .*self_attn.hook_q\[2\]"):
        run_with_edges(model, inputs, ablated=[Edge(late, early)])
    with pytest.raises(ConfigError, match=r"has the shape \[\(1, 3\)\] and this one \[\(2, 7\)\]"):
        run_with_edges(model, inputs, ablated=[], other=[torch.ones(1, 3, dtype=torch.int64)])
