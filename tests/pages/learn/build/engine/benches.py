"""Every attention of every shipped model on its first example, each walked through once."""

from functools import cache

import pytest

import transformer_core as tc
from headlight.analysis.trace.model_run import ModelRun, run_text
from headlight.analysis.walkthrough.walkthrough import Walkthrough, attention_inputs, walk
from pages.learn.build.engine.workbench import Workbench
from pages.shared import models

MODELS = ("en-fr", "dates", "stories", "induction", "fill-in")


@cache
def model_of(name: str) -> tuple[tc.Transformer, ModelRun]:
    """A shipped model, and its run on its first example."""
    model, tokenizer = tc.load(f"checkpoints/{name}")
    example = tc.read_card(f"checkpoints/{name}")["examples"][0]
    return model, run_text(model, tokenizer, example, max_tokens=64, max_new_tokens=4)


@cache
def walked(name: str, attention: str, layer: int, head: int) -> tuple[Workbench, Walkthrough]:
    """The workbench of a head, and the walk that it was made of."""
    model, model_run = model_of(name)
    actual = walk(model, model_run.inputs, attention=attention, layer=layer, head=head)
    return Workbench.of(attention_inputs(actual), actual), actual


def bench_of(name: str, attention: str, layer: int = 0, head: int = 1) -> Workbench:
    """The workbench of a head."""
    return walked(name, attention, layer, head)[0]


LAST = {  # every attention of every shipped model, and its last layer
    (name, attention): card.n_layers(attention) - 1
    for name, card in models.available().items()
    if name in MODELS
    for attention in card.attentions
}
each_attention = pytest.mark.parametrize(("name", "attention", "layer"), [(*of, layer) for of, layer in LAST.items()])
each_kind = pytest.mark.parametrize(("name", "attention"), LAST)
