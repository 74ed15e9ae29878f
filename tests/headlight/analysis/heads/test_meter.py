"""Measures of heads, taken from one batch, against loops over the single cells of texts that were read one by one."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.heads.measures import HeadName
from headlight.analysis.heads.meter import HeadMeter, allowed_cells, measure_heads, orders_of
from headlight.analysis.trace.attentions import attentions_of
from headlight.analysis.trace.cases import KnownText, case_of
from tests.model.building import DECODER, ENCODER, odd_config, random_inputs, shaken_model, varied_model
from transformer_core.corpora.corpus import Pair, Text
from transformer_core.errors import CorpusError

N_SHUFFLES = 3
PAIRS = [
    Pair("a b c d", "d c b a", ((3,), (2,), (1,), (0,))),
    Pair("a b a b a c", "c c a b a", ((5,), (5,), (0, 2), (), (4,))),
    Pair("d", "a", ((0,),)),
]
TEXTS = [
    Text("a b c d a b c d", ((), (), (), (), (), (1,), (2,), (3,))),
    Text("b a b c c b"),
    Text("d c", ((), ())),
    Text("a a a b"),
]
WINDOWS = ENCODER | {"n_encoder_layers": 4, "layers_without_window": (0, 2)}
KINDS: dict[str, tuple[dict[str, Any], Sequence[Any]]] = {
    "pairs": ({}, PAIRS),
    "decoder, window": (DECODER | {"positions": "alibi", "sliding_window": 3}, TEXTS),
    "decoder, no padding": (DECODER | {"pad_id": None}, TEXTS),
    "encoder, windows and none": (WINDOWS | {"sliding_window": 3}, TEXTS),
    "encoder, windows of one and none": (WINDOWS | {"sliding_window": 1}, TEXTS),
    "encoder, no padding": (ENCODER | {"pad_id": None}, TEXTS),
}


@pytest.fixture(scope="module")
def tokenizer() -> tc.Tokenizer:
    return tc.train_tokenizer(["a b c d"], kind="word", mask=True)


def a_model(tokenizer: tc.Tokenizer, **changes: Any) -> tc.Transformer:
    model = shaken_model(odd_config(vocab_size=tokenizer.vocab_size, **changes))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".q." in name or ".k." in name:
                parameter.mul_(2)  # patterns far from even
    return model


def watched(model: tc.Transformer, case: KnownText) -> dict[str, torch.Tensor]:
    with torch.no_grad(), tc.capture(model, "*.hook_pattern", "*.hook_mask") as acts:
        model(*case.tensors(torch.device("cpu")))
    return dict(acts)


def shares_by_loops(
    pattern: Any, mask: Any, case: KnownText, name: str, orders: tuple[Any, Any], special: set[int]
) -> dict[str, float | None]:
    """Each share of one head on one text whose tokens stand in an order: `pattern` and `mask` as lists of rows."""
    is_self = name != "cross"
    asking = case.side("source" if name == "encoder" else "target")
    request = case.side("target" if name == "decoder" else "source")
    on_query, on_key = orders
    results: dict[str, list[float]] = {"previous": [], "induction": [], "aligned": []}
    distances, evens = [], []
    standing = [asking[i] for i in on_query]
    for query in range(len(asking)):
        allowed = [key for key in range(len(request)) if mask[query][key]]
        truth: dict[str, list[int]] = {"previous": [], "induction": [], "aligned": []}
        repeated = is_self and standing[query] not in special
        sources: Sequence[int] = ()
        if name == case.aligned_attention and case.sources and on_query[query] in case.determined:
            sources = case.sources[case.determined.index(on_query[query])]
        for key in allowed:
            if is_self and on_query[query] >= 2 and on_key[key] == on_query[query] - 1:
                truth["previous"].append(key)
            if repeated and 1 <= key <= query and standing[key - 1] == standing[query]:
                truth["induction"].append(key)
            if on_key[key] in sources:
                truth["aligned"].append(key)
        for measure, keys in truth.items():
            if keys:
                results[measure].append(sum(pattern[query][key] for key in keys))
        if len(allowed) >= 2:
            diagonal = round(on_query[query] * (len(request) - 1) / max(len(asking) - 1, 1))
            far = max(abs(on_key[key] - diagonal) for key in allowed)
            distances.append(1 - sum(pattern[query][key] * abs(on_key[key] - diagonal) / far for key in allowed))
            evens.append(1 - sum(abs(on_key[key] - diagonal) / far for key in allowed) / len(allowed))
    shares = {measure: sum(v) / len(v) if v else None for measure, v in results.items()}
    if distances:
        even = sum(evens) / len(evens)
        shares["diagonality"] = (sum(distances) / len(distances) - even) / (1 - even)
    else:
        shares["diagonality"] = None
    return shares


def entropies_by_loops(pattern: Any, mask: Any) -> tuple[float, float] | None:
    nats, relative = [], []
    for row, allowed in zip(pattern, mask, strict=True):
        if sum(allowed) >= 2:
            nats.append(-sum(p * math.log(p) for p in row if p > 0))
            relative.append(nats[-1] / math.log(sum(allowed)))
    return (sum(nats) / len(nats), sum(relative) / len(relative)) if nats else None


def mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


@pytest.mark.parametrize("kind", KINDS)
def test_one_batch_gives_what_loops_over_single_texts_give(tokenizer: tc.Tokenizer, kind: str):
    changes, items = KINDS[kind]
    model = a_model(tokenizer, **changes)
    special = {i for i in (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.mask_id) if i is not None}
    measured = measure_heads(model, tokenizer, items, n_shuffles=N_SHUFFLES)
    cases = [case_of(model.config, tokenizer, item) for item in items]
    acts = [watched(model, case) for case in cases]
    names = [
        HeadName(name, layer, head)
        for name, attention in attentions_of(model.config).items()
        for layer in range(attention.n_layers(model.config))
        for head in range(3)
    ]
    assert [one.name for one in measured] == names
    for one in measured:
        attention = attentions_of(model.config)[one.attention]
        in_orders: list[list[dict[str, float | None]]] = [[] for _ in range(1 + N_SHUFFLES)]
        entropies = []
        for case, act in zip(cases, acts, strict=True):
            pattern = act[attention.site(one.layer)][0, one.head].tolist()
            mask = act[attention.site(one.layer, "hook_mask")][0, 0].tolist()
            asking = orders_of(case.side(attention.queries_from), special, n_shuffles=N_SHUFFLES)
            request = asking
            if one.attention == "cross":
                request = orders_of(case.side("source"), special, n_shuffles=N_SHUFFLES, seed=1)
            for i, in_order in enumerate(in_orders):
                orders = (asking[i].tolist(), request[i].tolist())
                in_order.append(shares_by_loops(pattern, mask, case, one.attention, orders, special))
            entropies.append(entropies_by_loops(pattern, mask))
        assert one.entropy == pytest.approx(mean([e and e[0] for e in entropies]), abs=1e-5)
        assert one.relative_entropy == pytest.approx(mean([e and e[1] for e in entropies]), abs=1e-5)
        for measure in ("diagonality", "previous", "induction", "aligned"):
            values = [mean([actual[measure] for actual in in_order]) for in_order in in_orders]
            share = getattr(one, measure)
            by_chance = [min(1, max(0, value)) for value in values[1:] if value is not None]
            if values[0] is None or not by_chance:
                assert share is None
                continue
            assert share.score == pytest.approx(min(1, max(0, values[0])), abs=1e-5)
            assert share.chance == pytest.approx(np.mean(by_chance), abs=1e-5)
            assert share.spread == pytest.approx(np.std(by_chance), abs=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_left_as_it_was_and_measured_without_dropout(tokenizer: tc.Tokenizer, training: bool):
    model = a_model(tokenizer, dropout=0.5)
    expected = measure_heads(model.eval(), tokenizer, PAIRS)
    model.train(training)
    state = torch.get_rng_state()
    assert measure_heads(model, tokenizer, PAIRS) == expected
    assert model.training == training
    assert torch.equal(torch.get_rng_state(), state)


def test_a_meter_measures_again_and_again(tokenizer: tc.Tokenizer):
    one, other = (a_model(tokenizer, norm_position=position) for position in ("pre", "post"))
    meter = HeadMeter(one.config, tokenizer, PAIRS)
    first = meter.measure(one)
    assert meter.measure(other) == measure_heads(other, tokenizer, PAIRS) != first
    assert meter.measure(one) == first


def test_without_items_there_is_nothing_to_measure(tokenizer: tc.Tokenizer):
    with pytest.raises(CorpusError, match="at least one held-out pair or text"):
        measure_heads(a_model(tokenizer), tokenizer, [])


@torch.no_grad()
@pytest.mark.parametrize(
    "variation", ["the paper's", "window", "decoder", "decoder, alibi, window", "encoder", "encoder, windows and none"]
)
def test_the_rule_of_the_model_is_the_mask_that_is_seen(variation: str):
    model = varied_model(variation)
    with tc.capture(model, "*.hook_mask") as acts:
        model(*random_inputs(model, (7,), (5,)))
    for attention in attentions_of(model.config).values():
        for layer in range(attention.n_layers(model.config)):
            mask = acts[attention.site(layer, "hook_mask")][0, 0].numpy()
            np.testing.assert_array_equal(allowed_cells(attention, model.config.at_layer(layer), *mask.shape), mask)


def test_each_order_is_the_same_tokens_the_first_is_the_texts_own_and_special_tokens_stay():
    tokens, special = (1, 7, 8, 9, 7, 10, 11, 2), {1, 2}
    orders = orders_of(tokens, special, n_shuffles=6)
    assert orders.shape == (7, 8)
    np.testing.assert_array_equal(orders[0], range(8))
    assert (np.sort(orders, axis=1) == np.arange(8)).all()
    assert len({tuple(order) for order in orders.tolist()}) == 7
    orders = orders_of(tokens, special, n_shuffles=20)
    assert (orders[:, 0] == 0).all() and (orders[:, -1] == 7).all()
    assert (orders[1:, 1:-1] != np.arange(1, 7)).any(axis=0).all()  # every other place sees others
