"""What a decoder's mask hides: which outputs move when a token changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int

from headlight.analysis.masks.rules import MaskRule
from headlight.analysis.masks.run import Predictions, outputs_at, predictions
from headlight.analysis.masks.text import MaskText
from transformer_core.decoding.inputs import final_states
from transformer_core.instrument.finite import refuse_not_finite
from transformer_core.instrument.intervene import intervene
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Leak:
    """Effect of changing each token on each output. Outputs are rows and changed tokens columns, as in a mask."""

    moved: Float[np.ndarray, "pos changed"]  # largest change of an output's logits; exactly 0: no effect
    before: Int[np.ndarray, " pos"]  # the most probable token at each output
    after: Int[np.ndarray, "pos changed"]  # the same, after each change

    @property
    def from_later(self) -> Float[np.ndarray, " cell"]:
        """Changes of outputs before the changed token: the cells above the diagonal."""
        return self.moved[np.triu_indices(len(self.before), k=1)]

    @property
    def n_leaks(self) -> int:
        """The number of cells above the diagonal that are not exactly 0."""
        return int(np.count_nonzero(self.from_later))

    @property
    def most_leaked(self) -> float:
        """The largest change of logits above the diagonal."""
        return float(self.from_later.max(initial=0.0))

    def change(self, place: int) -> "Change":
        """Return the effect of changing the token at one position."""
        earlier, later = self.moved[:place, place], self.moved[place:, place]
        after = self.after[:, place]
        turned = np.flatnonzero(after != self.before).tolist()
        return Change(
            most_before=float(earlier.max(initial=0.0)),
            most_from_it=float(later.max(initial=0.0)),
            n_before=int(np.count_nonzero(earlier)),
            n_from_it=int(np.count_nonzero(later)),
            turned=tuple((at, int(self.before[at]), int(after[at])) for at in turned),
        )


@dataclass(frozen=True, kw_only=True)
class Change:
    """The effect of changing one token."""

    most_before: float  # largest change of logits of outputs before it
    most_from_it: float  # largest change of logits of outputs from it on
    n_before: int  # number of outputs before it that change
    n_from_it: int  # number of outputs from it on that change
    turned: tuple[tuple[int, int, int], ...]  # outputs with another token: position, token before, token after


@torch.inference_mode()
def leak(
    model: Transformer,
    inputs: Sequence[Sequence[int]],
    replacements: Sequence[int],
    interventions: Mapping[str, MaskRule] | None = None,
) -> Leak:
    """Change each token in turn, and measure how much each output moves.

    Each text runs on its own, in the same shape as the unchanged one: outputs that do not depend on the changed token
    are bitwise equal, and their change is exactly 0.

    Args:
        model: in evaluation mode.
        inputs: as for `final_states`; the tokens of the last stack are changed.
        replacements: the replacement of each of these tokens.
        interventions: masks by site that replace the model's own.

    Raises:
        NotFiniteError: an output is NaN or infinite.
    """
    place_of_tokens = 0 if model.config.architecture == "encoder_only" else -1
    sides = [list(ids) for ids in inputs]
    tokens = sides[place_of_tokens]

    def logits(ids: Sequence[int]) -> torch.Tensor:
        sides[place_of_tokens] = [*ids]
        outputs = model.logits_of(final_states(model, sides))[0].float().cpu()  # [pos, vocab]
        refuse_not_finite(model, outputs, lambda: model.logits_of(final_states(model, sides)))
        return outputs

    moved = np.zeros((len(tokens), len(tokens)), dtype=np.float32)
    after = np.zeros((len(tokens), len(tokens)), dtype=np.int64)
    with intervene(model, interventions or {}):
        unchanged = logits(tokens)
        for place, replacement in enumerate(replacements):
            changed = logits([*tokens[:place], replacement, *tokens[place + 1 :]])
            moved[:, place] = (changed - unchanged).abs().amax(dim=-1).numpy()
            after[:, place] = changed.argmax(dim=-1).numpy()
    return Leak(moved=moved, before=unchanged.argmax(dim=-1).numpy(), after=after)


@torch.inference_mode()
def changed_token(
    model: Transformer, tokenizer: Tokenizer, text: MaskText, place: int, token: int
) -> tuple[Predictions, Predictions]:
    """Return a model's predictions of a text's target tokens, before and after one input token is changed.

    Args:
        model: in evaluation mode, with its own masks.
        tokenizer: the model's.
        text: without padding.
        place: position of the token, on the side whose outputs are judged.
        token: the new token there.
    """
    side, before = text.output_side, text.inputs[text.output_side]
    after = (*before[:place], token, *before[place + 1 :])
    texts = (text, replace(text, inputs={**text.inputs, side: after}))
    own, changed = (predictions(model, tokenizer, one, outputs_at(model, one)) for one in texts)
    return own, changed


def other_tokens(tokens: Sequence[int]) -> tuple[int, ...]:
    """Return a replacement for each token: the next different token of the text, wrapping around at the end.

    If all tokens are equal, the replacement is a neighbour in the vocabulary.
    """
    n = len(tokens)
    others = []
    for place, token in enumerate(tokens):
        following = (tokens[(place + step) % n] for step in range(1, n))
        others.append(next((other for other in following if other != token), max(token - 1, 0) if token else 1))
    return tuple(others)
