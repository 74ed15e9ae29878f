"""One run of a model on a text, with all its activations; of the correct model, or of one with a mistake."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from headlight.analysis.trace.attentions import attentions_of
from headlight.analysis.trace.model_run import ModelRun, run_text
from pages.learn.tour.lesson_engine.mistakes import MISTAKES
from pages.learn.tour.lesson_engine.value import WRITING, Axis
from transformer_core.decoding.inputs import tensor_of
from transformer_core.errors import ConfigError
from transformer_core.instrument.capture import capture
from transformer_core.instrument.intervene import intervene
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Tokenizer

MOST_TOKENS = 64  # on each side of a lesson's text
MOST_NEW_TOKENS = 24  # limit on what a decoder generates


@dataclass(frozen=True, kw_only=True, eq=False)
class LessonRun:
    """The activations at every site of a model in one run."""

    model: Transformer  # the one that was run
    tokenizer: Tokenizer
    model_run: ModelRun  # of the correct model: tokens, generated text and patterns
    sites: Mapping[str, np.ndarray]  # by site name, without the batch axis
    logits: Float[np.ndarray, "pos vocab"]
    sides: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # by attention: the texts of queries and keys
    card: Mapping[str, Any] = field(default_factory=dict)  # what was measured of the model when it was made
    computed: dict[Hashable, Any] = field(default_factory=dict)  # results cached by `once`
    source: "LessonRun | None" = None  # on the lesson's other text, for a patch

    @property
    def n_bytes(self) -> int:
        """The memory use in bytes."""
        return self.logits.nbytes + sum(array.nbytes for array in self.sites.values()) + self.model_run.n_bytes

    def once(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Return a result that depends on this run, computed once per key."""
        if key not in self.computed:
            self.computed[key] = compute()
        return self.computed[key]

    def axis(self, name: str, side: str) -> Axis:
        """Return an axis of tokens.

        Args:
            name: "query", "key" or "pos".
            side: "source" or "target".
        """
        labels = getattr(self.model_run, side)
        names = {}
        if side == "target" and name != "key":
            names[WRITING] = self.model_run.following
        return Axis(name=name, size=len(labels), labels=labels, names=names)


@torch.inference_mode()
def run(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    *,
    target: str | None = None,
    padding: int = 0,
    mistake: str = "",
    card: Mapping[str, Any] | None = None,
) -> LessonRun:
    """Generate a model's output for a text, then run the model once over both and capture all sites.

    Args:
        model: in evaluation mode, on the CPU and in single precision: lessons quote exact numbers.
        tokenizer: the model's.
        text: the source, the prompt, or a text with blanks.
        target: for an encoder-decoder, what to make it write; None: what it writes on its own.
        padding: tokens that follow the source, as in a batch with a longer one.
        mistake: one of `MISTAKES`, made in the captured run; the correct model generates the output.
        card: of the model, for facts that lessons quote.

    Raises:
        TextError: a text without a token.
        ConfigError: a mistake, or padding, that this model or text cannot have.
    """
    model_run = run_text(model, tokenizer, text, target=target, max_tokens=MOST_TOKENS, max_new_tokens=MOST_NEW_TOKENS)
    if padding:
        model_run = _padded(model_run, model, tokenizer, padding)
    inputs = [tensor_of(ids, model) for ids in model_run.inputs]
    wrong = MISTAKES[mistake] if mistake else None
    runs = wrong.copied(model) if wrong else model
    with intervene(runs, wrong.edits(runs) if wrong else {}), capture(runs, "*") as acts:
        logits = runs(*inputs)
    sites = {name: (of.float() if of.is_floating_point() else of)[0].numpy() for name, of in acts.items()}
    sides = {name: (kind.queries_from, kind.keys_from) for name, kind in attentions_of(model.config).items()}
    if wrong and wrong.has_roles_swapped:
        sides["cross"] = ("source", "target")
    if wrong and wrong.has_axes_swapped:
        sites = {name: _swapped(name, value) for name, value in sites.items()}
    return LessonRun(
        model=runs,
        tokenizer=tokenizer,
        model_run=model_run,
        sites=sites,
        logits=logits[0].float().numpy(),
        sides=sides,
        card=card or {},
    )


def _padded(model_run: ModelRun, model: Transformer, tokenizer: Tokenizer, n: int) -> ModelRun:
    """Return the run with padding after its source; the generated output stays that without padding.

    Raises:
        ConfigError: the model has no source, or no padding token.
    """
    pad_id = model.config.pad_id
    if model.encoder is None or pad_id is None:
        raise ConfigError("this model has no source that could be padded; leave out padding: …")
    source, *rest = model_run.inputs
    labels = (*model_run.source, *tokenizer.labels([pad_id] * n))
    return replace(model_run, source=labels, inputs=((*source, *[pad_id] * n), *rest))


def _swapped(name: str, value: np.ndarray) -> np.ndarray:
    """Return a square pattern with its axes swapped, as a wrong drawing would show it; everything else unchanged."""
    is_square = value.ndim == 3 and value.shape[-1] == value.shape[-2]
    return value.swapaxes(-1, -2) if name.endswith("hook_pattern") and is_square else value
