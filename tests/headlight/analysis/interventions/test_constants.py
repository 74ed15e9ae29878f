"""Constants: the mean over a corpus is torch's own, and optimal ones are never worse than the mean."""

import numpy as np
import pytest
import torch

from headlight.analysis.interventions.base import read_base
from headlight.analysis.interventions.comparison import consequences
from headlight.analysis.interventions.constants import corpus_mean, fit_constant
from headlight.analysis.interventions.records import Ablation, Component, InterventionStack
from headlight.analysis.interventions.stacks import from_json, to_json
from headlight.analysis.trace.model_run import run_text
from tests.headlight.analysis.interventions.small_models import model_of, text_of
from transformer_core.errors import ConfigError

TEXTS = [text_of(7), text_of(6, seed=3)]


@pytest.mark.parametrize(
    "variation, component",
    [
        ("decoder, rotary", Component(kind="head", attention="decoder", layer=0, heads=(1,))),
        ("the paper's", Component(kind="attention", attention="cross", layer=1)),
        ("buckets", Component(kind="value", attention="encoder", layer=0, heads=(2, 0))),
    ],
)
def test_it_costs_no_more_than_the_mean_and_what_it_says(variation: str, component: Component):
    model, tokenizer = model_of(variation)
    room = {"max_tokens": 16, "max_new_tokens": 4}
    fit = fit_constant(model, tokenizer, component, TEXTS, n_steps=12, **room)
    mean = Ablation(component=component, method="mean", texts=tuple(TEXTS))
    for ablation, loss in ((fit.ablation, fit.loss), (mean, fit.losses[0])):
        kl = []
        for text in TEXTS:
            base = read_base(model, tokenizer, text, **room)  # type: ignore[arg-type]
            stack = InterventionStack(entries=(ablation,))
            kl += [*consequences(model, tokenizer, base, stack).effect.kl]
        assert np.mean(kl) == pytest.approx(loss, abs=1e-4)
    assert fit.loss < fit.losses[0] and len(fit.losses) == 13
    assert from_json(to_json(InterventionStack(entries=(fit.ablation,)))).entries == (fit.ablation,)
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize(
    "variation, component, module",
    [
        ("decoder, rotary", Component(kind="resid_post", attention="decoder", layer=0), "decoder.blocks.0"),
        ("the paper's", Component(kind="attention", attention="cross", layer=1), "decoder.blocks.1.cross_attn"),
    ],
)
def test_the_mean_over_a_corpus_is_that_of_torch_s_own_hooks(variation: str, component: Component, module: str):
    model, tokenizer = model_of(variation)
    rows: list[torch.Tensor] = []
    texts = [text_of(7), text_of(5, seed=3), text_of(6, seed=4)]
    n_written = 16 if component.attention == "cross" else 0  # by an encoder-decoder alone
    runs = [run_text(model, tokenizer, text, max_tokens=16, max_new_tokens=n_written) for text in texts]
    handle = model.get_submodule(module).register_forward_hook(lambda _, __, output: rows.append(output[0]))
    with torch.no_grad():
        for run in runs:
            model(*(torch.tensor([ids]) for ids in run.inputs))
    handle.remove()
    mean = corpus_mean(model, tokenizer, component, texts, corpus="some " * 40, max_tokens=16)
    np.testing.assert_allclose(mean.constant, torch.cat(rows).mean(dim=0).numpy(), atol=1e-6)
    assert (mean.method, mean.corpus, mean.texts) == ("mean", "some " * 16, ())
    assert from_json(to_json(InterventionStack(entries=(mean,)))).entries == (mean,)


@pytest.mark.parametrize(
    "changes, complaint",
    [
        ({"texts": []}, "give 1 to 16 texts to fit a constant on; got 0"),
        ({"n_steps": -1}, "n_steps must be from 0 to 2000"),
        ({"learning_rate": 0.0}, "learning_rate above 0"),
        ({"component": Component(kind="pattern", attention="decoder", layer=0)}, "no constant can replace it"),
        ({"component": Component(kind="head", attention="decoder", layer=7)}, "there is no layer 7"),
    ],
)
def test_what_cannot_be_fitted_is_refused(changes: dict[str, object], complaint: str):
    model, tokenizer = model_of("decoder")
    head = Component(kind="head", attention="decoder", layer=0)
    arguments = {"component": head, "texts": TEXTS} | changes
    with pytest.raises(ConfigError, match=complaint):
        fit_constant(model, tokenizer, **arguments)  # type: ignore[arg-type]
