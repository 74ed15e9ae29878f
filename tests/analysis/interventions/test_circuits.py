"""T6 and T11: the smallest circuits of compiled models, by exact edge patching.

An edge is counted as in auto-circuit (`graph_utils.py` at 98db58c): from what enters the first block, a head or a
feed-forward network, to queries, keys or values of a head, a feed-forward network or the output; of `reverse` there
are 77, of `xproportion` 23. Token and position embeddings are therefore one sender here, "start".
"""

import itertools
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.programs.compiled_examples import example
from tests.programs.tracr_models import tracr_reverse, tracr_xproportion
from transformer_core.analysis.interventions import Edge, Node, edges, run_with_edges
from transformer_core.programs import compile as compile_program

N_TEXTS = 24


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def name(node: Node) -> str:
    """As auto-circuit calls it: start, A0.0 (V), M0, end."""
    if "embed" in node.site:
        return "start"
    if node.site == "hook_logits":
        return "end"
    layer, stem = node.site.split(".")[2], node.site.rpartition("_")[2]
    return f"M{layer}" if stem == "out" else f"A{layer}.{node.head}" + (f".{stem}" if stem in "qkv" else "")


def by_name(model: tc.Transformer) -> dict[str, set[Edge]]:
    """Edges that are counted as one."""
    named: dict[str, set[Edge]] = {}
    for edge in edges(model.config):
        named.setdefault(f"{name(edge.sender)} -> {name(edge.receiver)}", set()).add(edge)
    return named


def texts(ids: list[int], length: int, bos: int, eos: int | None = None) -> Tensor:
    """Texts of some tokens, drawn at random without repetition."""
    every = torch.tensor([*itertools.product(ids, repeat=length)])
    drawn = every[torch.randperm(len(every), generator=torch.Generator().manual_seed(0))[:N_TEXTS]]
    ends = [] if eos is None else [torch.full_like(drawn[:, :1], eos)]
    return torch.cat([torch.full_like(drawn[:, :1], bos), drawn, *ends], dim=1)


def texts_for(model: tc.Transformer, tokenizer: tc.Tokenizer, vocab: str, length: int, *, has_eos: bool) -> Tensor:
    """Texts of a compiled model."""
    ids = [tokenizer.encode(word)[0] for word in vocab]
    return texts(ids, length, model.config.bos_id, model.config.eos_id if has_eos else None)


def smallest_circuit(model: tc.Transformer, tokens: Tensor, *, resample: bool, length: int) -> set[str]:
    """Ablate edges for good, as long as no output at a token changes; return those that stay.

    The result does not depend on whether the first or the last edges are ablated first, and none of it can be spared.
    """
    named, expected = by_name(model), model(tokens)
    other = [tokens.roll(1, dims=0)] if resample else None

    def is_same(ablated: set[str]) -> bool:
        chosen = set().union(*(named[each] for each in ablated))
        change = run_with_edges(model, [tokens], ablated=chosen, other=other) - expected
        return bool((change[:, 1 : length + 1].abs() < 1e-3).all())

    def spared(names: list[str], ablated: set[str]) -> set[str]:
        """Return what can be ablated, of some edges after others: all of them, or of each half what can."""
        if is_same(ablated | {*names}):
            return ablated | {*names}
        half = len(names) // 2
        return spared(names[half:], spared(names[:half], ablated)) if half else ablated

    ablated, reverse = spared([*named], set()), spared([*reversed(named)], set())
    circuit = set(named) - ablated
    assert ablated == reverse
    assert not any(is_same(ablated | {each}) for each in circuit)
    return circuit


REVERSE = {"start -> A3.0.v", "A3.0 -> end"}
LOOKED_UP = {"start -> A3.0.k", "M2 -> A3.0.q", "M1 -> M2", "M0 -> M1", "start -> M1"}
COUNTED = {"start -> A0.0.v", "A0.0 -> M0"}


# Tracr's own models


def test_tracr_models_compute_their_programs():
    tokens = texts([0, 1, 2], 4, bos=3)
    assert torch.equal(tracr_reverse()(tokens)[:, 1:].argmax(dim=-1), tokens[:, 1:].flip(1))
    tokens = texts([0, 1, 2, 3], 5, bos=4)
    shares = (tokens[:, 1:] == 0).cumsum(dim=1) / torch.arange(1, 6)
    torch.testing.assert_close(tracr_xproportion()(tokens)[:, 1:, 0], shares, rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("length", [4, 5])
def test_tracr_reverse_takes_2_edges_by_resampling(length: int):
    """As in `reverse_official.py`: of equally long texts, only the tokens differ, and they take one path."""
    model, tokens = tracr_reverse(), texts([0, 1, 2], length, bos=3)
    assert len(by_name(model)) == 77
    assert smallest_circuit(model, tokens, resample=True, length=length) == REVERSE


@pytest.mark.slow
@pytest.mark.parametrize("length", [3, 4])
def test_tracr_reverse_takes_10_edges_by_zeros(length: int):
    """The 10 edges of `tracr_reverse_acdc_edges`, one by one: how long the text is has to be computed, too."""
    circuit = smallest_circuit(tracr_reverse(), texts([0, 1, 2], length, bos=3), resample=False, length=length)
    assert circuit == REVERSE | LOOKED_UP | COUNTED | {"start -> M0"}


@pytest.mark.slow
def test_tracr_reverse_takes_8_edges_by_zeros_for_the_longest_texts():
    """Two of the 10 can be spared for texts of 5 tokens, the longest and those of auto-circuit's data set.

    Without the head that counts, M0 reads 0 for 1 / (1 + n), takes it for the smallest of these numbers, and so for
    the largest length: it is right about these texts. (The weights of Tracr itself give these 8, too.)
    """
    circuit = smallest_circuit(tracr_reverse(), texts([0, 1, 2], 5, bos=3), resample=False, length=5)
    assert circuit == REVERSE | LOOKED_UP | {"start -> M0"}


@pytest.mark.parametrize("resample", [True, False])
def test_tracr_xproportion_takes_3_edges_by_resampling_and_5_by_zeros(resample: bool):
    """As in `xproportion_official.py`; the two more are the positions, by which a head finds the earlier tokens."""
    model = tracr_xproportion()
    circuit = smallest_circuit(model, texts([0, 1, 2, 3], 5, bos=4), resample=resample, length=5)
    assert len(by_name(model)) == 23
    assert circuit == {"start -> M0", "M0 -> A1.0.v", "A1.0 -> end"} | (
        set() if resample else {"start -> A1.0.q", "start -> A1.0.k"}
    )


# The same programs, compiled by us

SAME_BLOCKS = """\
length = selector_width(select(tokens, tokens, lambda key, query: True))
difference = map(lambda n, i: n - i, length, indices)
opposite = map(lambda difference: difference - 1, difference)
reversed = aggregate(select(indices, opposite, lambda key, query: key == query), tokens)
"""


@pytest.mark.slow
@pytest.mark.parametrize("resample, has_eos, n_edges", [(True, True, 2), (False, True, 11), (False, False, 9)])
def test_reverse_in_the_same_blocks(resample: bool, has_eos: bool, n_edges: int):
    """Compiled by us into Tracr's blocks A1 M M M A1, by zeros it takes 11 edges where Tracr has 10.

    One less: our feed-forward networks have biases, so that M0 reads no constant 1 from the stream (start -> M0). Two
    more: our encoders read <eos>, which the counting head must tell from the tokens by its queries and keys; without
    <eos> an even pattern counts right, and 9 are left.
    """
    model, tokenizer = compile_program(SAME_BLOCKS, vocab="abc", max_len=5)
    tokens = texts_for(model, tokenizer, "abc", 4, has_eos=has_eos)
    circuit = smallest_circuit(model, tokens, resample=resample, length=4)
    apart_from_eos = {"start -> A0.0.q", "start -> A0.0.k"} if has_eos else set()
    assert circuit == (REVERSE if resample else REVERSE | LOOKED_UP | COUNTED | apart_from_eos)
    assert len(circuit) == n_edges


@pytest.mark.slow
@pytest.mark.parametrize("resample", [True, False])
def test_the_example_reverse(resample: bool):
    """Our example computes n - 1 - i in one step, not in two: blocks A1 M M A1, and one edge less than above."""
    model, tokenizer = example("reverse")
    circuit = smallest_circuit(
        model, texts_for(model, tokenizer, "abcde", 4, has_eos=True), resample=resample, length=4
    )
    assert circuit == {"start -> A2.0.v", "A2.0 -> end"} | (
        set()
        if resample
        else COUNTED
        | {"start -> A0.0.q", "start -> A0.0.k", "M0 -> M1", "start -> M1", "M1 -> A2.0.q", "start -> A2.0.k"}
    )


XPROPORTION = """\
is_x = numerical(map(lambda token: token == "x", tokens))
fraction = aggregate(select(indices, indices, lambda key, query: key <= query), is_x)
"""


@pytest.mark.slow
@pytest.mark.parametrize("resample", [True, False])
def test_xproportion_in_the_same_blocks(resample: bool):
    """Compiled by us into the blocks M A1, it takes Tracr's 3 and 5 edges, the same ones."""
    model, tokenizer = compile_program(XPROPORTION, vocab="wxyz", max_len=5)
    circuit = smallest_circuit(model, texts_for(model, tokenizer, "wxyz", 5, has_eos=True), resample=resample, length=5)
    assert circuit == {"start -> M0", "M0 -> A1.0.v", "A1.0 -> end"} | (
        set() if resample else {"start -> A1.0.q", "start -> A1.0.k"}
    )


@pytest.mark.slow
@pytest.mark.parametrize("resample", [True, False])
def test_the_example_fraction_of_previous(resample: bool):
    """Our example is causal, and its head selects by the tokens instead of the positions: the same 3 and 5 edges."""
    model, tokenizer = example("fraction_previous")
    circuit = smallest_circuit(
        model, texts_for(model, tokenizer, "abcde", 5, has_eos=False), resample=resample, length=5
    )
    assert circuit == {"start -> M0", "M0 -> A1.0.v", "A1.0 -> end"} | (
        set() if resample else {"start -> A1.0.q", "start -> A1.0.k"}
    )
