"""The stack on models with known heads gives what the instrument's own interventions give."""

import math

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from headlight.analysis.interventions.context import prepare
from headlight.analysis.interventions.records import Ablation, CellEdit, Component, InterventionStack, Patch, StackEntry
from headlight.analysis.interventions.source_runs import SourceRuns
from headlight.analysis.trace.model_run import run_text
from headlight.programs.hand_wired import copying_pair, induction_model, or_model
from tests.headlight.programs.texts import loss, repeated_texts
from transformer_core.text.ids import IdTokenizer

pytestmark = pytest.mark.usefixtures("without_gradients")
N_TEXTS = 12


def written(tokens: Tensor) -> str:
    return " ".join(map(str, tokens.tolist()))


def head(layer: int, index: int) -> Component:
    return Component(kind="head", attention="decoder", layer=layer, heads=(index,))


def sources_of(model: tc.Transformer) -> SourceRuns:
    """Source runs of texts alone, as long as the model allows."""
    return SourceRuns(IdTokenizer.of(model.config), max_tokens=model.config.max_seq_len, max_new_tokens=0)


def logits_with(model: tc.Transformer, text: Tensor, *entries: StackEntry, sources: SourceRuns | None = None) -> Tensor:
    """The logits [1, pos, vocab] of one text."""
    tokenizer, sources = IdTokenizer.of(model.config), sources or sources_of(model)
    run = run_text(model, tokenizer, written(text), max_tokens=sources.max_tokens, max_new_tokens=0)
    with prepare(model, tokenizer, InterventionStack(entries=entries), run=run, sources=sources).active():
        return model(text[None])


# T4: the effect of each head of the induction circuit, by method


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


def test_ablation_by_resampling_and_a_patch_from_the_same_text_are_the_same():
    model, texts = induction_model().model, repeated_texts()
    by_ablation = logits_with(model, texts[0], Ablation(component=head(1, 0), texts=(written(texts[1]),)))
    patch = Patch(component=head(1, 0), text=written(texts[1]), direction="noising")
    assert torch.equal(by_ablation, logits_with(model, texts[0], patch))


# T7: attention repairs itself

TWICE = torch.tensor([0, 5, 5, 3, 7, 2, 2, 1])
QUERY = 5


@pytest.mark.parametrize(
    "knocked_out, before, after",
    [((), 1.0, 1.0), ((1,), 1.0, 0.5), ((2,), 1.0, 0.5), ((1, 2), 0.0, 0.0)],
)
def test_one_of_two_equal_keys(knocked_out: tuple[int, ...], before: float, after: float):
    """Knocked out before the softmax the other key takes its share; after it, half of what is copied is lost."""
    model, tokenizer = copying_pair().model, IdTokenizer.of(copying_pair().model.config)
    result = tc.site("result", layer=0, attention="decoder")
    cells = tuple((QUERY, key) for key in knocked_out) or ((QUERY, QUERY + 1),)  # forbidden anyway
    edits = {
        "knocked out": CellEdit(attention="decoder", layer=0, operation="knock_out", heads=(0,), cells=cells),
        "renormalized": CellEdit(
            attention="decoder", layer=0, operation="set", number=0, heads=(0,), cells=cells, renormalize=True
        ),
        "cut": CellEdit(attention="decoder", layer=0, operation="set", number=0, heads=(0,), cells=cells),
    }
    for name, edit in edits.items():
        with prepare(model, tokenizer, InterventionStack(entries=(edit,))).active(), tc.capture(model, result) as acts:
            model(TWICE[None])
        copied = model.unembed(acts[result][0, 0, QUERY])
        assert float(copied[5]) == pytest.approx(4 * (after if name == "cut" else before), abs=1e-5)


# T8: an OR of two heads


def test_an_or_of_two_heads_hides_each_of_them():
    model = or_model().model
    costs = []
    for heads in ((), (0,), (1,), (0, 1)):
        entries = tuple(Ablation(component=head(0, index), method="zero") for index in heads)
        log_probs = logits_with(model, TWICE, *entries).double().log_softmax(dim=-1)
        costs.append(-float(log_probs[0, 2:, 5].mean()))
    one_off = math.log(math.exp(4) + 11) - 4
    assert costs == pytest.approx([math.log(math.exp(8) + 11) - 8, one_off, one_off, math.log(12)], abs=1e-6)
