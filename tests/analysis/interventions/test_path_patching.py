"""Path patching over edges: against patches of whole sites, and against a forward pass written out in plain loops."""

import itertools
import math
from collections.abc import Collection, Iterable, Iterator
from functools import cache

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.model.building import VARIATIONS, odd_config, random_inputs, random_tokens, varied_model
from transformer_core.analysis.interventions import Edge, Node, edges, run_with_edges
from transformer_core.errors import ConfigError

SUMS = [name for name in VARIATIONS if odd_config(**VARIATIONS[name]).norm_position == "pre"]
each_sum = pytest.mark.parametrize("variation", SUMS)
LOGITS = Node("hook_logits")

Inputs = tuple[Tensor, ...]


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


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


# Identities


@each_sum
def test_with_no_edge_ablated_no_bit_changes(variation: str):
    model, inputs, other = run_of(variation)
    assert torch.equal(run_with_edges(model, inputs, ablated=[], other=other), model(*inputs))


@each_sum
def test_edges_that_take_their_terms_from_the_same_run_change_nothing(variation: str):
    model, inputs, _ = run_of(variation)
    assert close(run_with_edges(model, inputs, ablated=edges(model.config)[::2], other=inputs), model(*inputs))


@each_sum
def test_with_all_edges_ablated_it_is_the_other_run(variation: str):
    model, inputs, other = run_of(variation)
    logits = run_with_edges(model, inputs, ablated=edges(model.config), other=other)
    assert close(logits, model(*other))
    assert not close(logits, model(*inputs))


@pytest.mark.slow
@each_sum
@pytest.mark.parametrize("is_zero", [True, False])
def test_all_edges_of_a_sender_together_are_a_patch_of_its_site(variation: str, is_zero: bool):
    model, inputs, other = run_of(variation)
    with tc.capture(model, "*") as acts:
        model(*other)
    for sender in one_per_site(edge.sender for edge in edges(model.config)):
        heads = None if sender.head is None else [sender.head]
        with tc.intervene(model, {sender.site: tc.zero(heads=heads) if is_zero else tc.patch(acts, heads=heads)}):
            expected = model(*inputs)
        ablated = [edge for edge in edges(model.config) if edge.sender == sender]
        assert close(run_with_edges(model, inputs, ablated=ablated, other=None if is_zero else other), expected), sender
        assert not is_zero or not close(expected, model(*inputs)), sender


@pytest.mark.slow
@each_sum
def test_all_edges_into_a_receiver_together_are_a_patch_of_its_site(variation: str):
    model, inputs, other = run_of(variation)
    with tc.capture(model, "*") as acts:
        model(*other)
    for receiver in one_per_site(edge.receiver for edge in edges(model.config)):
        heads = None if receiver.head is None else [receiver.head]
        with tc.intervene(model, {receiver.site: tc.patch(acts, heads=heads)}):
            expected = model(*inputs)
        ablated = [edge for edge in edges(model.config) if edge.receiver == receiver]
        assert close(run_with_edges(model, inputs, ablated=ablated, other=other), expected), receiver


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


# Which edges there are


def test_gpt2_has_as_many_edges_as_others_count():
    """32,491 edges, with both embeddings as one sender: the graph of edge attribution patching (Syed et al. 2023)."""
    config = tc.presets.gpt2()
    of_positions = [edge for edge in edges(config) if edge.sender.site == "decoder.hook_pos_embed"]
    assert len(edges(config)) - len(of_positions) == 32_491


def test_edges_are_different_and_go_forward():
    for variation in SUMS:
        all_edges = edges(odd_config(**VARIATIONS[variation]))
        assert len(set(all_edges)) == len(all_edges)
        done = {edge.receiver for edge in all_edges}
        assert all(edge.sender != edge.receiver for edge in all_edges)
        assert LOGITS in done


# T2: completeness


@each_sum
def test_what_senders_write_sums_to_the_stream_and_with_a_frozen_norm_to_the_logits(variation: str):
    model, inputs, _ = run_of(variation)
    config = model.config
    stack = "decoder" if config.has_decoder else "encoder"
    senders = [edge.sender for edge in edges(config) if edge.receiver == LOGITS]
    last = f"{stack}.blocks.{(config.n_decoder_layers or config.n_encoder_layers) - 1}.hook_resid_post"
    with tc.capture(model, *{sender.site for sender in senders}, last) as acts:
        logits = model(*inputs)
    terms = [sender.of(acts[sender.site]) for sender in senders]
    parameters = dict(model.named_parameters())
    terms += [
        value.expand_as(terms[0])
        for name, value in parameters.items()
        if name.startswith(stack) and name.endswith("attn.out.bias")
    ]
    stream = acts[last]
    assert close(sum(terms, start=torch.zeros_like(stream)), stream)
    final = model.get_submodule(f"{stack}.ln_final")
    gain, shift = getattr(final, "weight", 1.0), getattr(final, "bias", None)
    has_mean = config.norm.startswith("layer")
    centred = stream - stream.mean(dim=-1, keepdim=True) if has_mean else stream
    scale = (centred.square().mean(dim=-1, keepdim=True) + config.layer_norm_eps).sqrt()
    scale = torch.ones_like(scale) if config.norm == "none" else scale

    def frozen(term: Tensor) -> Tensor:
        term = term - term.mean(dim=-1, keepdim=True) if has_mean else term
        return term / scale * gain @ model.unembed.weight.T

    constant = (0 if shift is None else shift @ model.unembed.weight.T) + (
        0 if model.unembed.bias is None else model.unembed.bias
    )
    contributions = sum(map(frozen, terms)) * (config.d_model**-0.5 if config.scale_logits else 1) + constant
    torch.testing.assert_close(contributions, logits, rtol=0, atol=1e-4)


@each_sum
def test_the_lens_at_the_last_layer_gives_the_logits(variation: str):
    model, inputs, _ = run_of(variation)
    stack = model.decoder or model.encoder
    assert stack is not None and stack.ln_final is not None
    last = f"{'decoder' if model.decoder else 'encoder'}.blocks.{len(stack.blocks) - 1}.hook_resid_post"
    with tc.capture(model, last) as acts:
        logits = model(*inputs)
    assert torch.equal(model.logits_of(stack.ln_final(acts[last])), logits)


# Refusals


def test_a_post_norm_model_is_refused_in_one_sentence():
    config = odd_config(**VARIATIONS["the paper's"])
    with pytest.raises(
        ConfigError, match=r"^in post-norm, .* edges need a pre-norm model or one without normalization$"
    ):
        edges(config)
    model = varied_model("the paper's")
    with pytest.raises(ConfigError, match="in post-norm"):
        run_with_edges(model, random_inputs(model), ablated=[])


def test_an_edge_that_the_model_lacks_is_refused():
    model, inputs, _ = run_of("decoder")
    late, early = Node("decoder.blocks.1.hook_mlp_out"), Node("decoder.blocks.0.self_attn.hook_q", 2)
    with pytest.raises(ConfigError, match=r"no edge from decoder.blocks.1.hook_mlp_out to .*self_attn.hook_q\[2\]"):
        run_with_edges(model, inputs, ablated=[Edge(late, early)])


def test_another_run_of_another_length_is_refused():
    model, inputs, _ = run_of("decoder")
    with pytest.raises(ConfigError, match=r"has the shape \[\(1, 3\)\] and this one \[\(2, 7\)\]"):
        run_with_edges(model, inputs, ablated=[], other=[torch.ones(1, 3, dtype=torch.int64)])
