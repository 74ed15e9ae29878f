"""A text to try masks on: short enough to draw, optionally padded or with unshifted targets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headlight.analysis.texts.fixed_text import fix_text
from headlight.analysis.trace.attentions import ATTENTIONS, sides_of
from transformer_core.config import Architecture
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Given, Tokenizer

MOST_TOKENS = 48  # on each side, padding included


@dataclass(frozen=True, kw_only=True)
class MaskText:
    """The tokens that a model is given, and those that it should predict."""

    architecture: Architecture
    inputs: Mapping[str, tuple[int, ...]]  # by side, "source" and "target": what the model is given, padding after it
    labels: Mapping[str, tuple[str, ...]]  # of these tokens
    segments: tuple[int, ...] = ()  # of each token, where an encoder reads two texts
    border: int | None = None  # in "source", the first token of the second text; None where there is one text
    n_real: Mapping[str, int]  # tokens of each side that are not padding
    judged: tuple[int, ...]  # positions of the output that have a target token
    expected: tuple[int, ...]  # the target token of each of them
    expected_labels: tuple[str, ...]
    n_given: int  # given tokens at the start of the target: <bos>, a prompt
    left_out: range  # positions of the text that were cut off
    is_shifted: bool = True

    @property
    def output_side(self) -> str:
        """The side that output positions belong to: the target, or the only side."""
        return "source" if self.architecture == "encoder_only" else "target"

    @property
    def model_inputs(self) -> tuple[tuple[int, ...], ...]:
        """What the model is given, as `final_states` takes it; padding after two texts is in the first segment."""
        if not self.segments:
            return tuple(self.inputs.values())
        (tokens,) = self.inputs.values()
        return tokens, (*self.segments[: len(tokens)], *[0] * (len(tokens) - len(self.segments)))

    @property
    def n_padding(self) -> Mapping[str, int]:
        """The number of padding tokens after each side."""
        return {side: len(tokens) - self.n_real[side] for side, tokens in self.inputs.items()}

    def sides(self, attention: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the labels of the queries and of the keys of an attention."""
        kind = ATTENTIONS[attention]
        return self.labels[kind.queries_from], self.labels[kind.keys_from]

    def without_padding(self) -> "MaskText":
        """Return the same text without its padding."""
        return replace(
            self,
            inputs={side: tokens[: self.n_real[side]] for side, tokens in self.inputs.items()},
            labels={side: labels[: self.n_real[side]] for side, labels in self.labels.items()},
        )

    def padded(self, tokenizer: Tokenizer, pad_id: int | None, sides: Sequence[str], n_padding: int) -> "MaskText":
        """Return the text with padding after some of its sides; unchanged if the model has no padding token.

        Args:
            tokenizer: the model's.
            pad_id: the token of the padding.
            sides: "source", "target".
            n_padding: tokens after each.
        """
        if pad_id is None or not n_padding:
            return self
        inputs, labels = dict(self.inputs), dict(self.labels)
        for side in sides:
            inputs[side] += (pad_id,) * n_padding
            of_side = tokenizer.target if side == "target" else tokenizer
            labels[side] += (of_side.labels([pad_id])[0],) * n_padding
        return replace(self, inputs=inputs, labels=labels)

    def targeted(self) -> "MaskText":
        """Return the text up to the last position that has a target; the text must have no padding."""
        n = len(self.expected)
        if self.architecture == "encoder_only" or n == len(self.inputs["target"]):
            return self
        return self._with_target(self.inputs["target"][:n], self.labels["target"][:n])

    def unshifted(self) -> "MaskText":
        """Return the text with the targets as the decoder's input; the text must have no padding."""
        return replace(self._with_target(self.expected, self.expected_labels), is_shifted=False)

    def _with_target(self, tokens: tuple[int, ...], labels: tuple[str, ...]) -> "MaskText":
        return replace(
            self,
            inputs={**self.inputs, "target": tokens},
            labels={**self.labels, "target": labels},
            n_real={**self.n_real, "target": len(tokens)},
        )


def mask_text(
    model: Transformer,
    tokenizer: Tokenizer,
    text: Given,
    *,
    target: str | None = None,
    max_tokens: int = MOST_TOKENS,
    max_new_tokens: int = 24,
) -> MaskText:
    """Return a text with its targets, tokenized exactly as `analysis.run_text` does.

    A decoder's target at each position is the next token; the last position has none if the text was cut there. An
    encoder's targets are its blanks, or all tokens if there are no blanks.

    Args:
        model: in evaluation mode.
        tokenizer: the model's.
        text: the source, the prompt, or a text with blanks.
        target: for an encoder-decoder, teacher-forced as the decoder's input; None: the model's own output.
        max_tokens: limit for each side, including what the model wrote.
        max_new_tokens: as for `analysis.run_text`.

    Raises:
        TextError, ConfigError: as `analysis.run_text`.
    """
    fixed = fix_text(model, tokenizer, text, target=target, max_tokens=max_tokens, max_new_tokens=max_new_tokens)
    sides = sides_of(fixed.architecture)
    inputs = dict(zip((*sides, "segments"), fixed.inputs, strict=False))
    segments = inputs.pop("segments", ())
    labels = {side: getattr(fixed, side) for side in sides}
    if fixed.architecture == "encoder_only":
        judged = fixed.judged or tuple(range(len(inputs["source"])))
        expected = fixed.expected or inputs["source"]
        expected_labels = tuple(tokenizer.labels(expected)) if fixed.expected else labels["source"]
    else:
        tokens = inputs["target"]
        is_whole = bool(fixed.judged) and fixed.judged[-1] == len(tokens) - 1
        last = fixed.expected[-1:] if is_whole else ()
        expected = (*tokens[1:], *last)
        judged = tuple(range(len(expected)))
        expected_labels = (*labels["target"][1:], *tokenizer.target.labels(last))
    return MaskText(
        architecture=fixed.architecture,
        inputs=inputs,
        labels=labels,
        segments=segments,
        border=fixed.border,
        n_real={side: len(tokens) for side, tokens in inputs.items()},
        judged=judged,
        expected=expected,
        expected_labels=expected_labels,
        n_given=fixed.n_given,
        left_out=fixed.left_out,
    )
