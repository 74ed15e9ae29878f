"""Filling in: a masked language model fills the blanks of a text one at a time, the most certain first.

Each blank is predicted given those filled before it. A prediction depends on the tokens in the blanks, not on the
order in which they were filled, so each such state is read only once.

>>> tree = FillingTree(model, tokens, mask_id=tokenizer.mask_id)
>>> tree.read().blanks[7].candidates(5)            # for position 7; also .entropy, and .rows of attention
>>> filling = tree.fill()                          # the most certain blank, with its best token
>>> filling = tree.fill(filling, 7, other_token)   # a chosen token
>>> end = tree.fill_all(filling)
>>> end.total_log_prob, tree.at_once()             # nats; and all blanks predicted independently

Source: Ghazvininejad et al. 2019, "Mask-Predict", sec. 3, which also keeps the most certain tokens.
Differs: they fill all masks at once, and repeatedly mask the least certain ones again; here one mask is filled at a
time, and only the blanks of the text are masked.
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
from transformer_core.decoding.decoding_step import Aim, Candidate
from transformer_core.errors import ConfigError, Message, TextError
from transformer_core.instrument.capture import LazyActivations, capture
from transformer_core.instrument.finite import refusal
from transformer_core.model.transformer import NO_PREDICTIONS, Transformer

Key = tuple[tuple[int, int], ...]
"""The filled blanks: (position, token) each, from left to right."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BlankPrediction:
    """The model's prediction for one mask, with the attention rows of that position."""

    position: int  # among the tokens of the text, from 0
    log_probs: Float[np.ndarray, " vocab"]  # nats; -inf for mask and padding tokens
    rows: Float[np.ndarray, "layer head key"]  # attention weights; each row sums to 1

    @property
    def is_finite(self) -> bool:
        """Whether no log-probability is NaN."""
        return not np.isnan(self.log_probs).any()

    @cached_property
    def best(self) -> Candidate:
        """The most probable token; of ties the first of the vocabulary."""
        return self.candidate(int(self.log_probs.argmax()))

    @cached_property
    def entropy(self) -> float:
        """The entropy, in nats."""
        known = self.log_probs[self.log_probs > -np.inf].astype(np.float64) if self.is_finite else np.array(np.nan)
        return float(-(np.exp(known) * known).sum())

    def candidates(self, n: int) -> tuple[Candidate, ...]:
        """Return the `n` most probable tokens, the best first; at most the whole vocabulary."""
        ordered = np.argsort(-self.log_probs, kind="stable")[:n].tolist()
        return tuple(self.candidate(token) for token in ordered if self.log_probs[token] > -math.inf)

    def candidate(self, token: int) -> Candidate:
        """Return one token as a candidate; ties share a rank."""
        log_prob = self.log_probs[token]
        return Candidate(token=token, log_prob=float(log_prob), rank=int((self.log_probs > log_prob).sum()))

    def most_attended(self, aim: Aim) -> tuple[int, float]:
        """Return the position with the largest attention weight, and the weight; the leftmost of ties."""
        row = aim.of(self.rows)
        return int(row.argmax()), float(row.max())


@dataclass(frozen=True, kw_only=True, eq=False)
class FillingState:
    """A text with some blanks filled, and the predictions for the others."""

    tokens: tuple[int, ...]
    blanks: Mapping[int, BlankPrediction]  # the open blanks by position, from left to right
    ms: float  # time of the forward pass; 0 without open blanks

    @property
    def certain_first(self) -> list[BlankPrediction]:
        """The open blanks by the probability of their best tokens, the most probable first; of ties the leftmost."""
        return sorted(self.blanks.values(), key=lambda blank: -blank.best.log_prob)

    @property
    def n_bytes(self) -> int:
        """The memory that this state holds, in bytes."""
        return sum(blank.log_probs.nbytes + blank.rows.nbytes for blank in self.blanks.values())


@dataclass(frozen=True, kw_only=True)
class FillingStep:
    """A filled blank: the token, and its probability just before it was filled in."""

    position: int
    chosen: Candidate
    is_models_own: bool  # the most certain blank with its best token, which the model would have chosen itself


@dataclass(frozen=True)
class Filling:
    """Filled blanks, in order."""

    steps: tuple[FillingStep, ...] = ()

    @property
    def key(self) -> Key:
        """The filled blanks regardless of their order."""
        return tuple(sorted((step.position, step.chosen.token) for step in self.steps))

    @property
    def total_log_prob(self) -> float:
        """The log-probability of all filled tokens, each given those filled before it, in nats."""
        return math.fsum(step.chosen.log_prob for step in self.steps)

    def first(self, n: int) -> "Filling":
        """Return the first `n` steps."""
        return Filling(self.steps[:n])

    def before(self, position: int) -> "Filling":
        """Return the steps before a blank was filled; all steps if it is open."""
        positions = [step.position for step in self.steps]
        return self.first(positions.index(position)) if position in positions else self


NOTHING = Filling()


class FillingTree:
    """All states read so far while filling one text; it may be shared between threads.

    Attributes:
        tokens: the text, with its masks.
        masks: their positions, from left to right.
        n_bytes: the memory that it holds, in bytes.
    """

    def __init__(
        self,
        model: Transformer,
        tokens: Int[Tensor, "one pos"],
        segments: Int[Tensor, "one pos"] | None = None,
        *,
        mask_id: int | None,
    ) -> None:
        """Keep the text, which is read on demand.

        Args:
            model: encoder-only, in evaluation mode.
            tokens: one text, special tokens included, without padding.
            segments: the segment of each token, for a pair of texts; ignored by models without segments.
            mask_id: the mask token; None: the model has none.

        Raises:
            ConfigError: a model that cannot fill in masks.
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
        """Return the predictions for all open blanks; the model runs once per state."""
        key = filling.key
        with self._lock:
            if key not in self._states:
                self._states[key] = self._forward(key)
                self.n_bytes += self._states[key].n_bytes
            return self._states[key]

    def fill(self, filling: Filling = NOTHING, position: int | None = None, token: int | None = None) -> Filling:
        """Return a new filling with one more blank filled.

        Args:
            filling: so far.
            position: of the blank; None: the most certain one.
            token: to fill it with; None: its best token.

        Raises:
            TextError: there is no open blank at the position, or the token is unknown or cannot fill a blank.
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
        """Check that tokens can be chosen for the open blanks.

        Raises:
            NotFiniteError: the outputs for one of them are NaN or infinite.
        """
        if not all(blank.is_finite for blank in state.blanks.values()):
            inputs = {"tokens": torch.tensor([state.tokens], device=self.device), "segments": self._segments}
            raise refusal(self.model, lambda: self.model(**inputs), n_scores=len(state.tokens) ** 2)

    def fill_all(self, filling: Filling = NOTHING) -> Filling:
        """Fill all open blanks, the most certain first."""
        while len(filling.steps) < len(self.masks):
            filling = self.fill(filling)
        return filling

    def follow(self, choices: Iterable[tuple[int, int]], filling: Filling = NOTHING) -> Filling:
        """Fill blanks with the given (position, token) pairs, in this order; errors as for `fill`."""
        for position, token in choices:
            filling = self.fill(filling, position, token)
        return filling

    def at_once(self, filling: Filling = NOTHING) -> dict[int, Candidate]:
        """Return the best token for each open blank, by position, all predicted from the same state."""
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
    """Return the rows of the attention patterns at some positions, for all layers."""
    patterns = list(acts.patterns.values())
    n_heads, n_keys = patterns[0].shape[1], patterns[0].shape[3]
    rows = np.zeros((len(places), len(patterns), n_heads, n_keys), dtype=np.float32)
    for layer, pattern in enumerate(patterns):
        for i, place in enumerate(places):
            for _, keys, part in pattern.chunks(queries=slice(place, place + 1)):
                rows[i, layer, :, keys] = part[:, 0].float().cpu().numpy()
    return rows
