"""Filling in: a masked model puts tokens into the blanks of a text, one at a time, the most certain first.

What is filled in is read with the text from then on, so that each blank knows of those before it. What the model says
depends on which blanks hold which tokens, and not on the order in which they came there: each such state is read once.

>>> tree = FillingTree(model, tokens, mask_id=tokenizer.mask_id)
>>> tree.read().blanks[7].candidates(5)            # what may stand at place 7; .entropy, .rows: where it looked
>>> filling = tree.fill()                          # the most certain blank, with its best token
>>> filling = tree.fill(filling, 7, other_token)   # a person's choice
>>> end = tree.fill_all(filling)
>>> end.total_log_prob, tree.at_once()             # nats; and what all blanks would hold if none knew of another

Source: Ghazvininejad et al. 2019, "Mask-Predict", sec. 3: what the model is surest of stays.
Differs: they fill all masks at once, mask the least certain ones again, and repeat that a fixed number of times; here
one mask is filled at a time and never masked again, and the blanks are those of the text alone.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import RLock
from time import perf_counter

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_core.cached_property import cached_property
from transformer_core.decoding.looking import Aim
from transformer_core.decoding.prediction import Candidate
from transformer_core.errors import ConfigError, Message, TextError
from transformer_core.instrument.capture import LazyActivations, capture
from transformer_core.instrument.finite import refusal
from transformer_core.model.transformer import NO_PREDICTIONS, Transformer

Key = tuple[tuple[int, int], ...]
"""Which blanks are filled, with what: (place, token) each, from left to right."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BlankPrediction:
    """The model's prediction for one mask, with the attention rows of that position."""

    position: int  # among the tokens of the text, from 0
    log_probs: Float[np.ndarray, " vocab"]  # nats; -inf for mask and padding, which are never predicted
    rows: Float[np.ndarray, "layer head key"]  # weights over the tokens of the text; each row sums to 1

    @property
    def is_finite(self) -> bool:
        """Whether the log-probabilities are numbers, and not NaN."""
        return not np.isnan(self.log_probs).any()

    @cached_property
    def best(self) -> Candidate:
        """The most probable token; of equal ones the first of the vocabulary."""
        return self.candidate(int(self.log_probs.argmax()))

    @cached_property
    def entropy(self) -> float:
        """In nats."""
        known = self.log_probs[self.log_probs > -np.inf].astype(np.float64) if self.is_finite else np.array(np.nan)
        return float(-(np.exp(known) * known).sum())

    def candidates(self, n: int) -> tuple[Candidate, ...]:
        """Return the `n` most probable tokens, the best first; fewer where the vocabulary has no more."""
        ordered = np.argsort(-self.log_probs, kind="stable")[:n].tolist()
        return tuple(self.candidate(token) for token in ordered if self.log_probs[token] > -math.inf)

    def candidate(self, token: int) -> Candidate:
        """Return one token as a candidate; equal ones share their rank."""
        log_prob = self.log_probs[token]
        return Candidate(token=token, log_prob=float(log_prob), rank=int((self.log_probs > log_prob).sum()))

    def looks_most_at(self, aim: Aim) -> tuple[int, float]:
        """Return the place that a head, or a mean, looks at most, and the weight of it; the leftmost of equal ones."""
        row = aim.of(self.rows)
        return int(row.argmax()), float(row.max())


@dataclass(frozen=True, kw_only=True, eq=False)
class FillingState:
    """A text with some of its blanks filled, as the model reads it."""

    tokens: tuple[int, ...]
    blanks: Mapping[int, BlankPrediction]  # those that are open, by their places, from left to right
    ms: float  # what reading it took; 0 where there was nothing left to say

    @property
    def certain_first(self) -> list[BlankPrediction]:
        """The open blanks, the one with the most probable best token first; of equal ones the leftmost."""
        return sorted(self.blanks.values(), key=lambda blank: -blank.best.log_prob)

    @property
    def n_bytes(self) -> int:
        """Memory that is kept, in bytes."""
        return sum(blank.log_probs.nbytes + blank.rows.nbytes for blank in self.blanks.values())


@dataclass(frozen=True, kw_only=True)
class FillingStep:
    """A blank that was filled: with what, and how probable that was just before."""

    position: int
    chosen: Candidate
    is_models_own: bool  # the most certain blank, with its best token: what the model by itself would have done


@dataclass(frozen=True)
class Filling:
    """Blanks that were filled one after the other."""

    steps: tuple[FillingStep, ...] = ()

    @property
    def key(self) -> Key:
        """Which blanks are filled, with what, whatever their order was."""
        return tuple(sorted((step.position, step.chosen.token) for step in self.steps))

    @property
    def total_log_prob(self) -> float:
        """Of all that was filled in, each after those before it, in nats."""
        return math.fsum(step.chosen.log_prob for step in self.steps)

    def first(self, n: int) -> "Filling":
        """Return what there was after the first `n` steps."""
        return Filling(self.steps[:n])

    def before(self, position: int) -> "Filling":
        """Return what was filled before one blank was; all of it where that one is open."""
        positions = [step.position for step in self.steps]
        return self.first(positions.index(position)) if position in positions else self


NOTHING = Filling()


class FillingTree:
    """All ways in which the blanks of one text were filled so far; it may be shared between threads.

    Attributes:
        tokens: the text, with its masks.
        masks: their places, from left to right.
        n_bytes: memory that is kept, in bytes.
    """

    def __init__(
        self,
        model: Transformer,
        tokens: Int[Tensor, "one pos"],
        segments: Int[Tensor, "one pos"] | None = None,
        *,
        mask_id: int | None,
    ) -> None:
        """Take in the text; it is read on demand.

        Args:
            model: encoder-only, in evaluation mode.
            tokens: one text, special tokens included, without padding.
            segments: of two texts the segment of each token; a model without segments ignores it.
            mask_id: the mask token; None: the model has none.

        Raises:
            ConfigError: a model that does not fill in masks, or makes no predictions.
            TextError: a text without a mask, or more than one text.
        """
        config = model.config
        if config.architecture != "encoder_only":
            kind = config.architecture.replace("_", "-")
            raise ConfigError(
                "this model is {kind} and does not fill in blanks; choose an encoder-only model",
                kind=Message(kind),
            )
        if not config.unembed:
            raise ConfigError(NO_PREDICTIONS)
        if mask_id is None:
            raise ConfigError("this model has no mask token, so it cannot fill in blanks; choose another")
        if tokens.shape[0] != 1:
            raise TextError("a tree starts from one text, got {n}; make one tree per text", n=tokens.shape[0])
        self.model, self.device, self.mask_id = model, tokens.device, mask_id
        self._segments = segments if config.n_segments else None
        self.tokens: tuple[int, ...] = tuple(tokens[0].tolist())
        self.masks = tuple(place for place, token in enumerate(self.tokens) if token == mask_id)
        if not self.masks:
            raise TextError("there is no blank in this text; type ____ where the model should predict a word")
        self.n_bytes = 0
        self._nothing_to_fill = sorted(
            {mask_id} if config.suppressed_token_id is None else {mask_id, config.suppressed_token_id}
        )
        self._states: dict[Key, FillingState] = {}
        self._lock = RLock()

    def read(self, filling: Filling = NOTHING) -> FillingState:
        """Return what the model says at each blank that is open; the model runs once for each state."""
        key = filling.key
        with self._lock:
            if key not in self._states:
                self._states[key] = self._forward(key)
                self.n_bytes += self._states[key].n_bytes
            return self._states[key]

    def fill(self, filling: Filling = NOTHING, position: int | None = None, token: int | None = None) -> Filling:
        """Fill one more blank.

        Args:
            filling: what was filled so far.
            position: which blank; None: the most certain one, whose best token is the most probable of all blanks'.
            token: with what; None: its best token.

        Returns:
            What was filled so far and this; `filling` itself stays as it is.

        Raises:
            TextError: a place without an open blank, or a token that is not in the vocabulary or fills nothing.
            NotFiniteError: no token is given, and the outputs are NaN or infinite.
        """
        state = self.read(filling)
        if not state.blanks:
            raise TextError("every blank is filled; go back to fill one differently")
        surest = state.certain_first[0]
        blank = surest if position is None else self._open(state, position)
        if token is None:
            self.refuse_not_finite(state)
        chosen = blank.best if token is None else blank.candidate(self._fitting(token))
        is_models_own = blank is surest and chosen.token == surest.best.token
        step = FillingStep(position=blank.position, chosen=chosen, is_models_own=is_models_own)
        return Filling((*filling.steps, step))

    def refuse_not_finite(self, state: FillingState) -> None:
        """Check that tokens can be chosen for the blanks that are open.

        Raises:
            NotFiniteError: the outputs of one are NaN or infinite.
        """
        if not all(blank.is_finite for blank in state.blanks.values()):
            inputs = {"tokens": torch.tensor([state.tokens], device=self.device), "segments": self._segments}
            raise refusal(self.model, lambda: self.model(**inputs), n_scores=len(state.tokens) ** 2)

    def fill_all(self, filling: Filling = NOTHING) -> Filling:
        """Fill all blanks that are open, one after the other, the most certain first."""
        while len(filling.steps) < len(self.masks):
            filling = self.fill(filling)
        return filling

    def follow(self, choices: Iterable[tuple[int, int]], filling: Filling = NOTHING) -> Filling:
        """Fill blanks with these tokens, in this order: (place, token) each.

        Raises:
            TextError: a place without an open blank, or a token that is not in the vocabulary or fills nothing.
        """
        for position, token in choices:
            filling = self.fill(filling, position, token)
        return filling

    def at_once(self, filling: Filling = NOTHING) -> dict[int, Candidate]:
        """Return the best token of each open blank, by place, as though no other were filled after this."""
        return {position: blank.best for position, blank in self.read(filling).blanks.items()}

    def _open(self, state: FillingState, position: int) -> BlankPrediction:
        if position not in self.masks:
            places = ", ".join(map(str, self.masks[:12])) + (" ..." if len(self.masks) > 12 else "")
            raise TextError(
                "there is no blank at position {position}; choose one of {places}", position=position, places=places
            )
        if position not in state.blanks:
            raise TextError(
                "the blank at position {position} is already filled; go back to fill it differently", position=position
            )
        return state.blanks[position]

    def _fitting(self, token: int) -> int:
        vocab_size = self.model.config.vocab_size
        if not 0 <= token < vocab_size:
            raise TextError(
                "token id {token} is not in the vocabulary; ids go from 0 to {last}", token=token, last=vocab_size - 1
            )
        if token in self._nothing_to_fill:
            raise TextError(
                "token {token} is a mask or padding token, which cannot fill a blank; choose another", token=token
            )
        return token

    @torch.inference_mode()
    def _forward(self, key: Key) -> FillingState:
        """Run the model on the text with some of its blanks filled."""
        filled = dict(key)
        tokens = tuple(filled.get(place, token) for place, token in enumerate(self.tokens))
        places = [place for place in self.masks if place not in filled]
        if not places:
            return FillingState(tokens=tokens, blanks={}, ms=0.0)
        start = perf_counter()
        with capture(self.model, "encoder.*.hook_pattern", lazy=True) as acts:
            final = self.model.final_states(torch.tensor([tokens], device=self.device), segments=self._segments)
        logits = self.model.logits_of(final[:, places])[0].float()
        log_probs = logits.log_softmax(dim=-1)
        log_probs[:, self._nothing_to_fill] = -math.inf
        at_blanks = log_probs.cpu().numpy()  # [blank, vocab]; this waits for the device
        looked = _rows(acts, places)
        blanks = {
            place: BlankPrediction(position=place, log_probs=at_blanks[i], rows=looked[i])
            for i, place in enumerate(places)
        }
        return FillingState(tokens=tokens, blanks=blanks, ms=(perf_counter() - start) * 1e3)


def _rows(acts: LazyActivations, places: list[int]) -> Float[np.ndarray, "blank layer head key"]:
    """Return the pattern's rows of some places in all layers."""
    patterns = list(acts.patterns.values())
    n_heads, n_keys = patterns[0].shape[1], patterns[0].shape[3]
    rows = np.zeros((len(places), len(patterns), n_heads, n_keys), dtype=np.float32)
    for layer, pattern in enumerate(patterns):
        for i, place in enumerate(places):
            for _, keys, part in pattern.chunks(queries=slice(place, place + 1)):
                rows[i, layer, :, keys] = part[:, 0].float().cpu().numpy()
    return rows
