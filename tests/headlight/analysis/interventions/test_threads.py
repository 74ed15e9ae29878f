"""Two people with different stacks on one model at the same time: each gets the bits that it gets alone."""

import threading
from concurrent.futures import ThreadPoolExecutor

import torch

from headlight.analysis.interventions.context import prepare
from headlight.analysis.interventions.records import Ablation, CellEdit, Component, InterventionStack, TokenSwap
from headlight.analysis.interventions.source_runs import SourceRuns
from tests.headlight.analysis.interventions.small_models import base_of, last_attention, model_of, tensors_of, text_of

N_RUNS = 100  # of each of two


def test_two_stacks_on_one_model_in_two_threads():
    variation = "the paper's"
    (model, tokenizer), base = model_of(variation), base_of(variation)
    sources = SourceRuns(tokenizer, max_tokens=16, max_new_tokens=4)
    name = last_attention(model.config)
    head = Component(kind="head", attention=name, layer=1, heads=(1,))
    stacks = (
        InterventionStack(
            entries=(
                Ablation(component=head, texts=(text_of(9, seed=5),)),
                CellEdit(attention="decoder", layer=0, operation="set", number=0.5, cells=((2, 0),), renormalize=True),
            )
        ),
        InterventionStack(
            entries=(
                CellEdit(attention="decoder", layer=0, operation="set", number=0.9, cells=((2, 1), (1, 0))),
                TokenSwap(side="source", positions=(2,), tokens=(30,)),
                Ablation(component=head, texts=(text_of(5, seed=8),)),
            )
        ),
    )
    inputs = tensors_of(base)

    def logits_with(stack: InterventionStack) -> torch.Tensor:
        with torch.inference_mode(), prepare(model, tokenizer, stack, run=base.run, sources=sources).active():
            return model(*inputs)

    alone = [logits_with(stack) for stack in stacks]
    assert not torch.equal(*alone)
    together = threading.Barrier(len(stacks))

    def run(person: int) -> int:
        together.wait(timeout=300)
        return sum(torch.equal(logits_with(stacks[person]), alone[person]) for _ in range(N_RUNS))

    with ThreadPoolExecutor(len(stacks)) as threads:
        assert [*threads.map(run, range(len(stacks)))] == [N_RUNS, N_RUNS]
