"""The stack on a model whose heads are known gives what the instrument's own interventions give."""

import pytest
import torch

import transformer_core as tc
from tests.programs.texts import loss, repeated_texts
from transformer_core.analysis.interventions.context import applied
from transformer_core.analysis.interventions.records import Ablation, Component, Stack
from transformer_core.analysis.interventions.source_runs import SourceRuns
from transformer_core.analysis.trace.model_run import run_text
from transformer_core.programs.hand_wired import induction_model
from transformer_core.text.ids import IdTokenizer

N_TEXTS = 12


@torch.no_grad()
@pytest.mark.parametrize("layer, index", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("method", ["zero", "resample", "mean"])
def test_what_a_head_of_the_induction_circuit_costs(layer: int, index: int, method: str):
    model, texts = induction_model().model, repeated_texts()[: N_TEXTS + 1]
    written = [" ".join(map(str, text.tolist())) for text in texts]
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
    tokenizer, room = IdTokenizer.of(model.config), {"max_tokens": model.config.max_seq_len, "max_new_tokens": 0}
    head = Component(kind="head", attention="decoder", layer=layer, heads=(index,))
    logits, sources = [], SourceRuns(model, tokenizer, **room)
    for i in range(N_TEXTS):
        of_method = {
            "zero": Ablation(component=head, method="zero"),
            "mean": Ablation(component=head, method="mean", texts=tuple(written[:N_TEXTS])),
            "resample": Ablation(component=head, texts=(written[i + 1],)),
        }
        run, stack = run_text(model, tokenizer, written[i], **room), Stack(entries=(of_method[method],))
        with applied(model, tokenizer, stack, run=run, sources=sources):
            logits.append(model(texts[i][None]))
    assert loss(torch.cat(logits), texts[:N_TEXTS]) == pytest.approx(expected, abs=1e-4)
