"""T6 and T11: the smallest circuits of compiled models, by exact edge patching.

An edge is counted as in auto-circuit (`graph_utils.py` at 98db58c): from what enters the first block, a head or a
feed-forward network, to queries, keys or values of a head, a feed-forward network or the output; of `reverse` there
are 77, of `xproportion` 23. Token and position embeddings are therefore one sender here, "start".
"""

import itertools

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from headlight.analysis.interventions.path_patching import Edge, Node, edges, run_with_edges
from tests.headlight.programs.tracr_models import tracr_reverse, tracr_xproportion

pytestmark = pytest.mark.usefixtures("without_gradients")
N_TEXTS = 24


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
        """Return the edges that can be ablated after others: all of them, or those of each half."""
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


@pytest.mark.parametrize("length", [4, 5])
def test_tracr_reverse_takes_2_edges_by_resampling(length: int):
    """As in `reverse_official.py`: of equally long texts, only the tokens differ, and they take one path."""
    model, tokens = tracr_reverse(), texts([0, 1, 2], length, bos=3)
    assert len(by_name(model)) == 77
    assert smallest_circuit(model, tokens, resample=True, length=length) == REVERSE


@pytest.mark.parametrize("length", [3, 4])
def test_tracr_reverse_takes_10_edges_by_zeros(length: int):
    """The 10 edges of `tracr_reverse_acdc_edges`, one by one: how long the text is has to be computed, too."""
    circuit = smallest_circuit(tracr_reverse(), texts([0, 1, 2], length, bos=3), resample=False, length=length)
    assert circuit == REVERSE | LOOKED_UP | COUNTED | {"start -> M0"}


@pytest.mark.parametrize("resample", [True, False])
def test_tracr_xproportion_takes_3_edges_by_resampling_and_5_by_zeros(resample: bool):
    """As in `xproportion_official.py`; the two more are the positions, by which a head finds the earlier tokens."""
    model = tracr_xproportion()
    circuit = smallest_circuit(model, texts([0, 1, 2, 3], 5, bos=4), resample=resample, length=5)
    assert len(by_name(model)) == 23
    assert circuit == {"start -> M0", "M0 -> A1.0.v", "A1.0 -> end"} | (
        set() if resample else {"start -> A1.0.q", "start -> A1.0.k"}
    )
