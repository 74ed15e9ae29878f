"""The text on the stage: what was given, what was generated after it, and where each prediction is read.

Nothing here needs torch: the first view of a model is shown before torch is loaded. `generating` makes such texts.
"""

from dataclasses import dataclass

from headlight.analysis.trace.attentions import ATTENTIONS
from transformer_core.config import Architecture

MOST_TOKENS = 32  # of a text that the stage has room for
MOST_WITH_BLANKS = 64  # of one whose blanks are filled: they may stand anywhere
USUAL_TOKENS = 24  # to which a decoder generates
LEAST_NEW_TOKENS = 8  # that a decoder-only model generates after a prompt, however long that is


@dataclass(frozen=True, kw_only=True)
class StageText:
    """A text that is being generated.

    A decoder has read `n_given` tokens and generates after them; step n is the prediction after n generated tokens. An
    encoder fills one blank after the other, and each fill changes all its activations: so it has one step at a time.
    """

    architecture: Architecture
    source: tuple[int, ...] = ()  # token ids that the encoder reads
    target: tuple[int, ...] = ()  # token ids that the decoder reads, generated ones included
    segments: tuple[int, ...] = ()  # of each source token, where an encoder reads two texts
    border: int | None = None  # in the source, the first token of the second text; None where there is one text
    source_labels: tuple[str, ...] = ()
    target_labels: tuple[str, ...] = ()
    n_given: int  # tokens of the last stack that were not generated: <bos>, the prompt, or the text with its blanks
    rows: tuple[int, ...] = ()  # of each step: the position of the last stack whose logits are the prediction
    next_tokens: tuple[int | None, ...] = ()  # of each step: the token that comes next; None: there is no room for it
    next_labels: tuple[str, ...] = ()
    n_filled: int = 0  # blanks that are filled
    has_ended: bool = False  # the last next token ends the text
    unknown: tuple[str, ...] = ()  # words that the model has no token for, each once
    ignores_white_space: bool = False  # the tokens would be the same without some of it
    n_left_out: int = 0  # tokens of the text that were left out, for lack of room

    @property
    def inputs(self) -> tuple[tuple[int, ...], ...]:
        """The token ids of each stack, or of two texts with their segments, as `final_states` takes them."""
        return tuple(side for side in (self.source, self.target, self.segments) if side)

    @property
    def tokens(self) -> dict[str, tuple[int, ...]]:
        """The token ids of each side that there is."""
        return {name: ids for name, ids in (("source", self.source), ("target", self.target)) if ids}

    @property
    def side_labels(self) -> dict[str, tuple[str, ...]]:
        """The labels of the tokens of each side that there is."""
        labels = {"source": self.source_labels, "target": self.target_labels}
        return {name: labels[name] for name in self.tokens}

    def labels(self, attention: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the labels of the queries and the keys of an attention."""
        kind = ATTENTIONS[attention]
        return self.side_labels[kind.queries_from], self.side_labels[kind.keys_from]
