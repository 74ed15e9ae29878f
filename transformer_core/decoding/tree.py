"""A tree of steps: what a model reads and writes, token by token, with what it looked at; nothing is computed twice.

Each step is a token behind another one. When a step is read, its keys and values stay with it, so that any path of the
tree can be gone on with: a cache is put together from the steps on the way, and only what is new is computed.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from threading import RLock
from time import perf_counter

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_core.decoding.cache import KeyValueCache
from transformer_core.decoding.steps import check_writes, room_for
from transformer_core.errors import TextError
from transformer_core.instrument.capture import Activations, capture
from transformer_core.model.transformer import Transformer


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A token that may come next."""

    token: int
    log_prob: float  # nats
    rank: int  # 0: the most probable

    @property
    def probability(self) -> float:
        """In [0, 1]."""
        return math.exp(self.log_prob)


@dataclass(frozen=True, kw_only=True, eq=False)
class Outlook:
    """What the model says behind a token, and where it looked to say it."""

    logits: Float[Tensor, " vocab"]  # single precision, on the CPU; -inf for what is never written
    log_sum: float  # log of the sum of all their exponentials, of what is never written too
    self_rows: Float[np.ndarray, "layer head key"]  # weights over the tokens so far; each row sums to 1
    cross_rows: Float[np.ndarray, "layer head src"] | None  # weights over the source; None without an encoder
    n_cached: int  # positions whose keys and values were there already
    n_read: int  # tokens that this forward read: 1, or as many as a prompt or a text of one's own has
    n_rows: int  # texts that it went on with at once: 1, or the beams of a search
    ms: float  # what this forward took

    @property
    def log_probs(self) -> Float[Tensor, " vocab"]:
        """Of the token that comes next, in nats."""
        return self.logits - self.log_sum

    @cached_property
    def entropy(self) -> float:
        """Of the token that comes next, in nats."""
        probs = self.log_probs.exp()
        return float(-(probs * self.log_probs.masked_fill(probs == 0, 0.0)).sum())

    def candidates(self, n: int) -> tuple[Candidate, ...]:
        """Return the `n` most probable tokens, the best first; fewer where the vocabulary has no more."""
        log_probs, tokens = self.log_probs.topk(min(n, len(self.log_probs)))
        ranked = enumerate(zip(log_probs.tolist(), tokens.tolist(), strict=True))
        return tuple(Candidate(token=token, log_prob=p, rank=rank) for rank, (p, token) in ranked if p > -math.inf)

    def candidate(self, token: int) -> Candidate:
        """Return one token as a candidate."""
        log_prob = self.log_probs[token]
        return Candidate(token=token, log_prob=float(log_prob), rank=int((self.log_probs > log_prob).sum()))

    @property
    def n_bytes(self) -> int:
        """Memory that is kept, in bytes."""
        rows = self.self_rows.nbytes + (0 if self.cross_rows is None else self.cross_rows.nbytes)
        return rows + self.logits.nbytes


@dataclass(kw_only=True, eq=False)
class DecodingStep:
    """A token behind another one: who wrote it, how probable it was, and what the model looked at before it."""

    token: int
    position: int  # among the decoder's tokens, from 0
    parent: "DecodingStep | None"
    is_given: bool  # <bos>, or a token of the prompt
    children: "dict[int, DecodingStep]" = field(default_factory=dict)  # by token
    outlook: Outlook | None = None  # of what comes behind it; None until it is read
    kept: Float[Tensor, "layer both_heads d_head"] | None = None  # keys and, behind them, values
    _chosen: Candidate | None = None

    @property
    def decision(self) -> Outlook | None:
        """What the model said before this token, and looked at; None for the first one, or before it was read."""
        return None if self.parent is None else self.parent.outlook

    @property
    def chosen(self) -> Candidate | None:
        """This token as a candidate of that decision."""
        if self._chosen is None and self.decision is not None:
            self._chosen = self.decision.candidate(self.token)
        return self._chosen

    @property
    def log_prob(self) -> float:
        """In nats, behind the tokens before it; 0 where it was not for the model to say."""
        return 0.0 if self.chosen is None else self.chosen.log_prob

    def path(self) -> "list[DecodingStep]":
        """Return all steps from the first token to this one."""
        backwards: list[DecodingStep] = []
        step: DecodingStep | None = self
        while step is not None:
            backwards.append(step)
            step = step.parent
        return backwards[::-1]

    def written(self) -> "list[DecodingStep]":
        """Return the steps of the path that were not given."""
        return [step for step in self.path() if not step.is_given]

    @property
    def total_log_prob(self) -> float:
        """Of all that was written up to here, in nats."""
        return math.fsum(step.log_prob for step in self.written())


class DecodingTree:
    """All that was written so far behind one source or one prompt, by whomever; it may be shared between threads.

    Attributes:
        start: the last token that was given: <bos>, or the end of the prompt.
        max_positions: tokens that a path may have at most, given ones included.
    """

    def __init__(
        self, model: Transformer, tokens: Int[Tensor, "one pos"], *, max_new_tokens: int | None = None
    ) -> None:
        """Read the source, or take in the prompt; the first outlook is there when this returns.

        Args:
            model: in evaluation mode, with a decoder.
            tokens: one source, ending in <eos>, or one prompt; without padding.
            max_new_tokens: at most so many behind <bos> or the prompt; None: as many as the model's positions allow.

        Raises:
            TextError: a source or a prompt that is empty or too long, or more than one.
            ConfigError: more tokens asked for than the model has positions, or a model that does not write.
        """
        check_writes(model)
        if tokens.shape[0] != 1:
            raise TextError(f"a tree begins with one text, got {tokens.shape[0]}; make a tree for each")
        if not tokens.shape[1]:
            raise TextError("there is no token to go on from; give at least one")
        self.model, self.device = model, tokens.device
        self._lock = RLock()
        self._live: tuple[KeyValueCache, list[DecodingStep]] | None = None  # the last cache, and where its rows end
        self._cross: tuple[tuple[Tensor, Tensor], ...] = ()  # keys and values of the memory, layer by layer
        self._memory, self._src = None, None
        given = tokens[0].tolist()
        if model.encoder is not None:
            with torch.inference_mode():
                self._memory, self._src = model.encode(tokens), tokens
            given = [model.config.bos_id]
        n_new = room_for(model.config, len(given), max_new_tokens)
        self.max_positions = len(given) + n_new
        self.n_bytes = 0
        self.start = self._given(given)
        self.read(self.start)

    def read(self, *steps: DecodingStep) -> None:
        """See to it that the outlook of each of these steps, and of all on the way there, is known.

        Several ends of equally long paths that only lack their last token are read together.
        """
        with self._lock:
            lacking = [_unread(step) for step in dict.fromkeys(steps)]
            single = [chain[0] for chain in lacking if len(chain) == 1]
            for _, ends in groupby(sorted(single, key=lambda step: step.position), key=lambda step: step.position):
                self._read_ends(list(ends))
            for chain in lacking:
                if unread := [step for step in chain if step.outlook is None]:
                    self._read_chain(unread)

    def go_on(self, step: DecodingStep, token: int) -> DecodingStep:
        """Return the step of a token behind another one; the tree has each once.

        Raises:
            TextError: the text has ended, or its room has; or a token that is not in the vocabulary.
        """
        with self._lock:
            self.read(step)
            return self._behind(step, token)

    def lead(self, step: DecodingStep, tokens: Sequence[int]) -> DecodingStep:
        """Return the last step of some tokens behind another one, all read in one forward (teacher forcing).

        Raises:
            TextError: the text ends before them, or there is no room; or a token that is not in the vocabulary.
        """
        with self._lock:
            last = step
            for token in tokens:
                last = self._behind(last, token)
            if last is not step and last.parent is not None:
                self.read(last.parent)
        return last

    def follow(self, tokens: Sequence[int]) -> Iterator[DecodingStep]:
        """Iterate over the steps of some tokens behind the given ones, as far as the tree has them."""
        step = self.start
        for token in tokens:
            if token not in step.children:
                return
            step = step.children[token]
            yield step

    def has_ended(self, step: DecodingStep) -> bool:
        """Whether nothing comes behind a step, as its token ends texts."""
        return not step.is_given and step.token == self.model.config.eos_id

    def has_room(self, step: DecodingStep) -> bool:
        """Whether another token has a position behind a step."""
        return step.position + 1 < self.max_positions

    def _behind(self, step: DecodingStep, token: int) -> DecodingStep:
        vocab_size = self.model.config.vocab_size
        if not 0 <= token < vocab_size:
            raise TextError(f"token {token} is not in the vocabulary; there are 0 to {vocab_size - 1}")
        if self.has_ended(step):
            raise TextError("the text has ended here; go back to go on in another way")
        if not self.has_room(step):
            raise TextError(f"a text has at most {self.max_positions} tokens here, and all are written")
        if token not in step.children:
            step.children[token] = DecodingStep(token=token, position=step.position + 1, parent=step, is_given=False)
        return step.children[token]

    def _given(self, tokens: Sequence[int]) -> DecodingStep:
        """Return the last one of the steps that the tree begins with."""
        last: DecodingStep | None = None
        for position, token in enumerate(tokens):
            step = DecodingStep(token=token, position=position, parent=last, is_given=True)
            if last is not None:
                last.children[token] = step
            last = step
        assert last is not None, "there is at least one"
        return last

    def _read_chain(self, steps: list[DecodingStep]) -> None:
        """Read steps one behind the other, of which none was read, in one forward."""
        before = [] if steps[0].parent is None else [steps[0].parent]
        self._forward(before, [[step.token for step in steps]], [steps])

    def _read_ends(self, steps: list[DecodingStep]) -> None:
        """Read steps at the same position, of which only the last token was not read, side by side."""
        before = [step.parent for step in steps if step.parent is not None]
        self._forward(before, [[step.token] for step in steps], [[step] for step in steps])

    @torch.inference_mode()
    def _forward(self, before: list[DecodingStep], tokens: list[list[int]], rows: list[list[DecodingStep]]) -> None:
        """Read new tokens behind steps that were read, row by row, and keep what was seen."""
        n_rows, n_new, n_cached = len(rows), len(rows[0]), rows[0][0].position
        start = perf_counter()
        cache = self._cache_behind(before)
        memory = None if self._memory is None else self._memory.expand(n_rows, -1, -1)
        src = None if self._src is None else self._src.expand(n_rows, -1)
        with capture(self.model, "decoder.*.hook_pattern") as acts:
            logits = self.model.decode(torch.tensor(tokens, device=self.device), memory, src, cache)
        logits = logits.float().cpu()  # [row, new, vocab]; this waits for the device
        ms = (perf_counter() - start) * 1e3
        log_sums = logits.logsumexp(dim=-1).tolist()
        if self.model.config.never_written is not None:
            logits[..., self.model.config.never_written] = -math.inf
        self._live = cache, [row[-1] for row in rows]
        if not self._cross and memory is not None:
            self._cross = tuple(block.cross_attn.kept() for block in cache.blocks)
        kept = cache.taken(n_cached)  # [row, new, layer, both_heads, d_head]
        looked = _stacked(acts, "self_attn"), (None if memory is None else _stacked(acts, "cross_attn"))
        for i, row in enumerate(rows):
            for j, step in enumerate(row):
                self_rows, cross_rows = (None if x is None else x[i, :, :, j].copy() for x in looked)
                assert self_rows is not None, "a decoder looks at itself"
                step.kept = kept[i, j]
                step.outlook = Outlook(
                    logits=logits[i, j],
                    log_sum=log_sums[i][j],
                    self_rows=self_rows[..., : step.position + 1],
                    cross_rows=cross_rows,
                    n_cached=n_cached,
                    n_read=n_new,
                    n_rows=n_rows,
                    ms=ms,
                )
                self.n_bytes += step.outlook.n_bytes + step.kept.nbytes

    def _cache_behind(self, before: list[DecodingStep]) -> KeyValueCache:
        """Return a cache that goes on behind these steps: the last one, or one put together from what steps keep."""
        if not before:
            return KeyValueCache(self.model.config.n_decoder_layers, self.max_positions)
        if self._live is not None and self._live[1] == before:
            return self._live[0]
        paths = [torch.stack([step.kept for step in end.path() if step.kept is not None]) for end in before]
        return KeyValueCache.of(torch.stack(paths), self._cross, self.max_positions)


def _unread(step: DecodingStep) -> list[DecodingStep]:
    """Return the steps on the way to one, and itself, that were not read."""
    backwards: list[DecodingStep] = []
    at: DecodingStep | None = step
    while at is not None and at.outlook is None:
        backwards.append(at)
        at = at.parent
    return backwards[::-1]


def _stacked(acts: Activations, kind: str) -> Float[np.ndarray, "row layer head new key"]:
    """Return the patterns of all layers of one attention."""
    layers = [value for name, value in acts.items() if f".{kind}." in name]
    return torch.stack(layers, dim=1).float().cpu().numpy()
