"""Constants that replace a component: its mean over a corpus, or the constant of least loss, fitted on some texts.

>>> texts = [pair.source for pair in load_corpus("en-fr").held_out[:40]]
>>> stack = Stack(entries=(corpus_mean(model, tokenizer, component, texts, corpus="en-fr"),))

>>> fit = fit_constant(model, tokenizer, Component(kind="head", attention="cross", layer=1, heads=(2,)), texts)
>>> stack = Stack(entries=(fit.ablation,))
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from headlight.analysis.interventions.base import Base, read_base
from headlight.analysis.interventions.context import constant_value
from headlight.analysis.interventions.record import MAX_NAME_CHARS, MAX_TEXTS
from headlight.analysis.interventions.records import Ablation, Component
from headlight.analysis.interventions.source_runs import site_of, stepwise_attention
from headlight.analysis.interventions.stacks import check_component, head_count
from headlight.analysis.trace.model_run import run_text
from headlight.analysis.trace.traced_forward import captured
from transformer_core.decoding.inputs import final_states
from transformer_core.errors import ConfigError
from transformer_core.instrument.intervene import intervene
from transformer_core.instrument.interventions import replace
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Given, Tokenizer


@dataclass(frozen=True, kw_only=True)
class FittedConstant:
    """A constant that replaces a component, and how much it costs."""

    ablation: Ablation  # by the method "constant"
    losses: tuple[float, ...]  # nats per output token: the mean ablation first, then after each step of Adam
    loss: float  # loss of the constant: the lowest of `losses`


def fit_constant(
    model: Transformer,
    tokenizer: Tokenizer,
    component: Component,
    texts: Sequence[Given],
    *,
    n_steps: int = 60,
    learning_rate: float = 0.05,
    max_tokens: int = 64,
    max_new_tokens: int = 24,
) -> FittedConstant:
    """Fit the constant that changes the output least, by Adam, starting from the mean over the texts.

    The loss is KL(unchanged || ablated) in nats, averaged over the output tokens of all texts. Adam's learning rate is
    `learning_rate` times the standard deviation of the component's activation. The constant with the lowest loss is
    kept, so it is never worse than the mean.

    Args:
        model: in evaluation mode, with a last layer.
        tokenizer: the model's own.
        component: replaced at all its positions by one vector for each head, or by one for a whole sub-layer.
        texts: at least one; the constant is fitted on them.
        n_steps: of Adam, each over all texts.
        learning_rate: of Adam.
        max_tokens: as in `run_text`.
        max_new_tokens: as in `run_text`.

    Raises:
        ConfigError: no text or too many, a component that the model does not have, or a pattern.
        TextError: a text that the model cannot read.

    Source: Li and Janson 2024, "Optimal ablation for interpretability", sec. 2, eq. (3).
    Differs: over a few named texts and not over the training distribution.
    """
    _check(model, component)
    if not 1 <= len(texts) <= MAX_TEXTS:
        raise ConfigError("give 1 to {most} texts to fit a constant on; got {n}", most=MAX_TEXTS, n=len(texts))
    if not 0 <= n_steps <= 2000 or not learning_rate > 0:
        raise ConfigError(
            "n_steps must be from 0 to 2000 and learning_rate above 0; got {n_steps} and {learning_rate}",
            n_steps=n_steps,
            learning_rate=learning_rate,
        )
    bases = [read_base(model, tokenizer, text, max_tokens=max_tokens, max_new_tokens=max_new_tokens) for text in texts]
    name = site_of(component)
    rows = _rows(model, component, [captured(model, base.run.inputs, name)[name] for base in bases])
    scale = rows.std(dim=-2, correction=0).mean().clamp_min(1e-6)
    with torch.inference_mode(False), torch.enable_grad():
        constant = rows.mean(dim=-2).flatten().clone().requires_grad_()
        optimizer = torch.optim.Adam([constant], lr=float(learning_rate * scale))
        best, losses = constant.detach().clone(), list[float]()
        for step in range(n_steps + 1):
            loss = _loss(model, component, name, bases, constant)
            losses.append(float(loss.detach()))
            if losses[-1] == min(losses):
                best = constant.detach().clone()
            if step < n_steps:
                (constant.grad,) = torch.autograd.grad(loss, [constant])
                optimizer.step()
    return FittedConstant(
        ablation=Ablation(component=component, method="constant", constant=tuple(best.tolist())),
        losses=tuple(losses),
        loss=min(losses),
    )


def corpus_mean(
    model: Transformer,
    tokenizer: Tokenizer,
    component: Component,
    texts: Sequence[Given],
    *,
    corpus: str,
    max_tokens: int = 64,
) -> Ablation:
    """Return mean ablation over the texts of a corpus: one vector for each head, the mean over all their positions.

    An encoder-decoder writes its own output for each text; a decoder-only model reads the texts and writes nothing.

    Args:
        model: in evaluation mode.
        tokenizer: the model's own.
        component: replaced at all its positions by one vector for each head, or by one for a whole sub-layer.
        texts: texts of the corpus, at least one; all positions have equal weight.
        corpus: its name; the record truncates a long one.
        max_tokens: of each text, as in `run_text`.

    Raises:
        ConfigError: no text, a component that the model does not have, or a pattern.
        TextError: a text that the model cannot read.

    Source: Wang et al. 2023, "Interpretability in the wild", sec. 2, knock-outs by the mean over a distribution.
    Differs: one mean for all positions, since the texts of a corpus have different lengths.
    """
    _check(model, component)
    if not texts:
        raise ConfigError("the corpus {corpus} has no text to average over", corpus=corpus)
    name = site_of(component)
    n_written = max_tokens if model.config.architecture == "encoder_decoder" else 0
    total, n = torch.zeros(()), 0
    for text in texts:
        run = run_text(model, tokenizer, text, max_tokens=max_tokens, max_new_tokens=n_written)
        rows = _rows(model, component, [captured(model, run.inputs, name)[name]]).double().cpu()
        total, n = total + rows.sum(dim=-2), n + rows.shape[-2]
    constant = tuple((total / n).flatten().tolist())
    return Ablation(component=component, method="mean", constant=constant, corpus=corpus[:MAX_NAME_CHARS])


def _check(model: Transformer, component: Component) -> None:
    check_component(model.config, component)
    if component.kind == "pattern":
        raise ConfigError("the rows of a pattern depend on their keys, so no constant can replace it; ablate the head")


def _loss(model: Transformer, component: Component, name: str, bases: Sequence[Base], constant: Tensor) -> Tensor:
    """Return the mean KL of all output tokens with the component replaced by a constant."""
    edit = replace(constant_value(model, component, constant), heads=component.heads, positions=component.positions)
    total, n = constant.new_zeros(()), 0
    for base in bases:
        with stepwise_attention(model), intervene(model, {name: edit}):
            states = final_states(model, base.run.inputs)
        after = model.logits_of(states[:, list(base.outputs.positions)])[0].float().log_softmax(dim=-1)
        before = base.forced.log_probs.clone()
        total = total + torch.nn.functional.kl_div(after, before, reduction="sum", log_target=True)
        n += len(before)
    return total / max(1, n)


def _rows(model: Transformer, component: Component, acts: Sequence[Tensor]) -> Tensor:
    """Return the activations over all texts: [head, row, d_head] for the component's heads, or [row, d_model]."""
    rows = torch.cat([each[0] for each in acts], dim=-2).float().clone()
    if rows.ndim == 2:
        return rows
    return rows[[*(component.heads or range(head_count(model.config, component)))]]
