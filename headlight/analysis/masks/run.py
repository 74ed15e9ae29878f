"""Run a model with other masks: their effect on one head and on the output."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.analysis.masks.presets import N_PADDING, PRESETS, padded_sides, presets_of
from headlight.analysis.masks.rules import MaskCell, MaskChoice, MaskRule
from headlight.analysis.masks.text import MaskText
from headlight.analysis.trace.attentions import ATTENTIONS, attentions_of
from headlight.analysis.trace.traced_forward import captured
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.decoding.inputs import final_states, tensor_of
from transformer_core.hooks import active_hooks
from transformer_core.instrument.capture import capture
from transformer_core.instrument.finite import refuse_not_finite
from transformer_core.instrument.intervene import intervene
from transformer_core.model.attention import MultiHeadAttention, PatternInputs, attention_scores
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Tokenizer

ROOM = 8  # tokens that a text may become longer under other masks, before it is cut


@dataclass(frozen=True, kw_only=True)
class MaskedHead:
    """One head's mask, scores and pattern."""

    allowed: Bool[np.ndarray, "query key"]  # True = may attend
    scores: Float[np.ndarray, "query key"]  # before the mask, which puts -inf where it forbids
    pattern: Float[np.ndarray, "query key"]  # each row sums to 1, or is all 0 where nothing may be attended to

    def without(self, turned: Sequence[MaskCell]) -> Bool[np.ndarray, "query key"]:
        """Return the mask with some toggled cells restored."""
        mask = self.allowed.copy()
        for query, key in turned:
            mask[query, key] ^= True
        return mask

    @property
    def empty_rows(self) -> tuple[int, ...]:
        """The queries that may attend to nothing."""
        return tuple(np.flatnonzero(~self.allowed.any(axis=1)).tolist())


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """The predictions of a model at the judged positions."""

    best: tuple[int, ...]  # the most probable token at each position
    labels: tuple[str, ...]  # of these tokens
    probability: Float[np.ndarray, " asked"]  # of the target token, in [0, 1]

    @property
    def mean_probability(self) -> float:
        """The geometric mean over the target tokens, in [0, 1]: e to the mean log-probability, 1 / perplexity."""
        return float(np.exp(np.log(np.maximum(self.probability, 1e-30)).mean()))


@dataclass(frozen=True, kw_only=True)
class MaskOutcome:
    """The model with its own masks, and with other ones. Its outputs are logits; without a last layer final states."""

    head_before: MaskedHead
    head: MaskedHead
    before: Predictions
    now: Predictions
    moved: Float[np.ndarray, " asked"]  # largest change of the outputs at each position
    moved_by_padding: float  # largest effect of padding on real tokens' outputs, own masks

    @property
    def n_changed(self) -> int:
        """The number of positions whose most probable token has changed."""
        return sum(before != now for before, now in zip(self.before.best, self.now.best, strict=True))


@torch.inference_mode()
def run_masked(
    model: Transformer, tokenizer: Tokenizer, text: MaskText, choice: MaskChoice, *, layer: int, head: int
) -> MaskOutcome:
    """Run a model with its own masks and with other ones, and compare.

    Args:
        model: in evaluation mode.
        tokenizer: the model's.
        text: with padding or without, its targets shifted; a choice that unshifts them does so on its own.
        choice: of masks.
        layer: of the selected attention.
        head: of that layer.
    """
    read_text = text if PRESETS[choice.preset].is_shifted else text.without_padding().unshifted()
    head_before, own = _run(model, read_text, {}, choice.attention, layer, head)
    logits_before = own if read_text is text else _run(model, text, {}, choice.attention, layer, head)[1]
    edits = interventions_of(model, read_text, choice)
    head_now, logits = _run(model, read_text, edits, choice.attention, layer, head) if edits else (head_before, own)
    alone = text.without_padding()
    moved_by_padding = 0.0
    if any(text.n_padding.values()):
        moved_by_padding = float((outputs_at(model, alone) - outputs_at(model, text)).abs().max())
    return MaskOutcome(
        head_before=head_before,
        head=head_now,
        before=predictions(model, tokenizer, text, logits_before),
        now=predictions(model, tokenizer, text, logits),
        moved=(logits - logits_before).abs().amax(dim=-1).numpy(),
        moved_by_padding=moved_by_padding,
    )


@torch.inference_mode()
def masks_of(
    model: Transformer, text: MaskText, choice: MaskChoice, *, layer: int = 0
) -> dict[str, Bool[np.ndarray, "query key"]]:
    """Return the mask of each attention of a model, True = may attend, by name.

    Args:
        model: in evaluation mode.
        text: what it reads.
        choice: of masks.
        layer: layer of the selected attention; the others use the first layer.
    """
    sites = {
        name: attention.site(layer if name == choice.attention else 0, "hook_mask")
        for name, attention in attentions_of(model.config).items()
    }
    with intervene(model, interventions_of(model, text, choice)):
        acts = captured(model, text.model_inputs, *sites.values())
    return {name: acts[site][0, 0].cpu().numpy() for name, site in sites.items()}


@torch.inference_mode()
def preset_masks(
    model: Transformer, tokenizer: Tokenizer, text: MaskText, attention: str, *, layer: int = 0
) -> dict[str, Bool[np.ndarray, "query key"]]:
    """Return the mask that each preset gives an attention, with its default size and padding, by preset.

    Args:
        model: in evaluation mode.
        tokenizer: the model's.
        text: without padding.
        attention: its name.
        layer: of the attention.
    """
    config, masks = model.config, {}
    for name, preset in presets_of(config).items():
        sides = padded_sides(preset, attention, config) if preset.needs_padding else ()
        padded = text.padded(tokenizer, config.pad_id, sides, N_PADDING)
        choice = MaskChoice(preset=name, size=preset.size or 1, attention=attention)
        masks[name] = masks_of(model, padded, choice, layer=layer)[attention]
    return masks


@torch.inference_mode()
def write_masked(model: Transformer, tokenizer: Tokenizer, text: MaskText, choice: MaskChoice) -> str:
    """Return the free-running output of a model under other masks; "" if no position is left.

    Each step reads the whole text again, so that the mask acts on all rows, including those that a cache would keep.

    Args:
        model: in evaluation mode, with a decoder.
        tokenizer: the model's.
        text: the source, with its padding, or the prompt, is taken from it.
        choice: the masks; the target has no padding here.
    """
    alone = text.without_padding()
    source = text.inputs.get("source")
    prompt = alone.inputs["target"][: text.n_given] if source is None else source
    n_begun = len(prompt) if source is None else 1
    n_new = len(text.expected) + 1 - n_begun if source is None else len(text.expected) + ROOM
    n_new = min(max(1, n_new), model.config.max_seq_len - n_begun)
    if not n_new:
        return ""
    edits = choice.interventions(model.config, n_source=text.n_real.get("source"), n_target=None)
    with intervene(model, edits):
        decoding = greedy_decode(model, tensor_of(prompt, model), max_new_tokens=n_new, use_cache=False)
    return tokenizer.target.decode(decoding.tokens[0, n_begun:].tolist())


def interventions_of(model: Transformer, text: MaskText, choice: MaskChoice) -> dict[str, MaskRule]:
    """Return the rule of each site for a text."""
    return choice.interventions(model.config, n_source=text.n_real.get("source"), n_target=text.n_real.get("target"))


def _run(
    model: Transformer, text: MaskText, edits: Mapping[str, MaskRule], attention: str, layer: int, head: int
) -> tuple[MaskedHead, Float[Tensor, "asked vocab"]]:
    """Run a model once; return the selected head, and the logits at the judged positions."""
    kind = ATTENTIONS[attention]
    module = cast(MultiHeadAttention, model.get_submodule(kind.module.format(layer=layer)))
    sources: list[PatternInputs] = []

    def keep(source: PatternInputs) -> PatternInputs:
        sources.append(source)
        return source

    mask_site, pattern_site = kind.site(layer, "hook_mask"), kind.site(layer)
    with (
        intervene(model, edits),
        capture(model, mask_site, pattern_site) as acts,
        active_hooks({module.pattern_inputs: keep}),
    ):
        logits = outputs_at(model, text)
    mask = acts[mask_site][0]
    return (
        MaskedHead(
            allowed=mask[head if mask.shape[0] > 1 else 0].cpu().numpy(),
            scores=_scores(sources[0], head).float().cpu().numpy(),
            pattern=acts[pattern_site][0, head].float().cpu().numpy(),
        ),
        logits,
    )


def _scores(source: PatternInputs, head: int) -> Float[Tensor, "query key"]:
    """Return one head's scores before the mask."""
    kv_head = head // (source.q.shape[1] // source.k.shape[1])
    bias = None if source.bias is None else source.bias.write_out()[:, head : head + 1].to(source.q.dtype)
    q, k = source.q[:, head : head + 1], source.k[:, kv_head : kv_head + 1]
    return attention_scores(q, k, bias=bias, scale=source.scale, cap=source.cap)[0, 0]


def outputs_at(model: Transformer, text: MaskText) -> Float[Tensor, "asked vocab"]:
    """Return the outputs at the judged positions, on the CPU.

    Raises:
        NotFiniteError: an output is NaN or infinite.
    """

    def said() -> Tensor:
        final = final_states(model, text.model_inputs)[:, list(text.judged)]
        return model.logits_of(final) if model.config.unembed else final

    outputs = said()[0].float().cpu()
    refuse_not_finite(model, outputs, said)
    return outputs


def predictions(model: Transformer, tokenizer: Tokenizer, text: MaskText, logits: Tensor) -> Predictions:
    """Return the text of the predicted tokens without padding; "" for final states."""
    if not model.config.unembed:
        return Predictions(best=(), labels=(), probability=np.zeros(0, dtype=np.float32))
    likely = logits.clone()
    if model.config.suppressed_token_id is not None:
        likely[:, model.config.suppressed_token_id] = -torch.inf
    best = likely.argmax(dim=-1).tolist()
    of_output = tokenizer if text.architecture == "encoder_only" else tokenizer.target
    labels = [
        expected if token == right_token else of_output.labels([token])[0]
        for token, right_token, expected in zip(best, text.expected, text.expected_labels, strict=True)
    ]
    probability = logits.softmax(dim=-1).gather(-1, torch.tensor(text.expected)[:, None])[:, 0]
    return Predictions(best=tuple(best), labels=tuple(labels), probability=probability.numpy())
