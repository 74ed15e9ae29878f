"""The stack on models whose heads are known: it gives what the instrument's own interventions give (tests/programs)."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.programs.texts import loss, repeated_texts
from transformer_core.analysis.interventions.context import applied
from transformer_core.analysis.interventions.records import Ablation, Component, Entry, Stack
from transformer_core.analysis.interventions.source_runs import SourceRuns
from transformer_core.analysis.trace.model_run import run_text
from transformer_core.programs.hand_wired import induction_model
from transformer_core.text.ids import IdTokenizer

N_TEXTS = 12


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def written(tokens: Tensor) -> str:
    return " ".join(map(str, tokens.tolist()))


def head(layer: int, index: int) -> Component:
    return Component(kind="head", attention="decoder", layer=layer, heads=(index,))


def sources_of(model: tc.Transformer) -> SourceRuns:
    return SourceRuns(model, IdTokenizer.of(model.config), max_tokens=model.config.max_seq_len, max_new_tokens=0)


def logits_with(model: tc.Transformer, text: Tensor, *entries: Entry, sources: SourceRuns | None = None) -> Tensor:
    tokenizer, sources = IdTokenizer.of(model.config), sources or sources_of(model)
    run = run_text(model, tokenizer, written(text), max_tokens=sources.max_tokens, max_new_tokens=0)
    with applied(model, tokenizer, Stack(entries=entries), run=run, sources=sources):
        return model(text[None])


@pytest.mark.parametrize("layer, index", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("method", ["zero", "resample", "mean"])
def test_what_a_head_of_the_induction_circuit_costs(layer: int, index: int, method: str):
    model, texts = induction_model().model, repeated_texts()[: N_TEXTS + 1]
    others = [written(each) for each in texts]
    site = tc.site("z", layer=layer, attention="decoder")
    with tc.capture(model, site) as acts:
        model(texts)
    z = acts[site]
    edits = {
        "zero": tc.zero(heads=[index]),
        "mean": tc.average({site: z[:N_TEXTS]}, heads=[index]),
        "resample": tc.patch({site: z[1:]}, heads=[index]),  # each text gets what the next one had
    }
    with tc.intervene(model, {site: edits[method]}):
        expected = loss(model(texts[:N_TEXTS]), texts[:N_TEXTS])
    logits, sources = [], sources_of(model)
    for i in range(N_TEXTS):
        of_method = {
            "zero": Ablation(component=head(layer, index), method="zero"),
            "mean": Ablation(component=head(layer, index), method="mean", texts=tuple(others[:N_TEXTS])),
            "resample": Ablation(component=head(layer, index), texts=(others[i + 1],)),
        }
        logits.append(logits_with(model, texts[i], of_method[method], sources=sources))
    cost = loss(torch.cat(logits), texts[:N_TEXTS])
    assert cost == pytest.approx(expected, abs=1e-4)
    known = {(0, 0): (2.771, 8.378), (1, 0): (2.504, 9.058)}.get((layer, index), (0.0, 0.0))
    if method != "mean":  # of 200 texts; these are 12 of them
        assert cost - loss(model(texts), texts) == pytest.approx(
            known[method == "resample"], abs=0.4 * any(known) + 1e-3
        )


# T7: attention repairs itself

# T8: an OR of two heads
