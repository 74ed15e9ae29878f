"""A tree of decoding steps with predictions and attention rows; nothing is computed twice.

Each step is a token that follows its parent. Once read, it keeps its keys and values, so any path of the tree can be
continued: the cache is assembled from the steps of the path, and only new tokens are computed.
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from threading import RLock
from time import perf_counter

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_core.decoding.cache import KeyValueCache
from transformer_core.decoding.decoding_step import DecodingStep, NextTokenPrediction
from transformer_core.decoding.steps import check_writes, refusal_after, room_for, threads_for
from transformer_core.errors import TextError
from transformer_core.hooks import HookPoint, active_hooks, named_hook_points
from transformer_core.model.embeddings import check_ids, check_tokens
from transformer_core.model.transformer import Transformer


class DecodingTree:
    """All continuations of one source or prompt so far; it may be shared between threads.

    Steps are never read again: an intervention must enclose all uses of a tree.

    Attributes:
        model: to generate with.
        start: the last given token: <bos>, or the end of the prompt.
        max_positions: maximum length of a path, given tokens included.
        n_bytes: the memory of the steps, in bytes.
    """

    def __init__(
        self, model: Transformer, tokens: Int[Tensor, "one pos"], *, max_new_tokens: int | None = None
    ) -> None:
        """Read the source or the prompt, and predict the first token.

        Args:
            model: in evaluation mode, with a decoder.
            tokens: one source, ending in <eos>, or one prompt; without padding.
            max_new_tokens: after <bos> or the prompt; None: as many as the model has positions.

        Raises:
            TextError: more than one text, an empty or too long one, or an invalid token.
            ConfigError: no position is left, or fewer than `max_new_tokens`; or the model has no decoder.
        """
        check_writes(model)
        check_tokens(tokens)
        if tokens.shape[0] != 1:
            raise TextError("a tree starts from one text, got {n}; make one tree per text", n=tokens.shape[0])
        if not tokens.shape[1]:
            raise TextError("there are no tokens to continue from; give at least one")
        self.model, self.device, config = model, tokens.device, model.config
        self._lock = RLock()  # held while computing
        self._live: tuple[KeyValueCache, list[DecodingStep]] | None = (
            None  # the last cache, and the last step of each row
        )
        self._cross: tuple[tuple[Tensor, Tensor], ...] = ()  # keys and values of the memory, layer by layer
        self._memory, self._src = None, None
        self._points = _pattern_points(model)
        prompt = tokens[0].tolist()
        check_ids(tokens, config.input_vocab_size)
        if model.encoder is not None:
            with torch.inference_mode():
                self._memory, self._src = model.encode(tokens), tokens
            prompt = [config.bos_id]
        elif config.pad_id in prompt[config.pad_id == config.bos_id :]:
            raise TextError("the prompt contains padding (token {token}); leave it out", token=config.pad_id)
        self.max_positions = len(prompt) + room_for(config, len(prompt), max_new_tokens)
        self.n_bytes = 0
        self.start = _prompt_step(prompt)
        self.read(self.start)

    def read(self, *steps: DecodingStep) -> None:
        """Compute the predictions of these steps, and of all steps on their paths, that have not been read.

        Steps at the same position of which only the last token is unread are read together.
        """
        if all(step.prediction is not None for step in steps):
            return  # without the lock, since predictions never change
        with self._lock:
            lacking = [_unread(step) for step in dict.fromkeys(steps)]
            ends = sorted((chain[0] for chain in lacking if len(chain) == 1), key=attrgetter("position"))
            for _, level in groupby(ends, key=attrgetter("position")):
                self._forward([[step] for step in level])
            for chain in lacking:
                if unread := [step for step in chain if step.prediction is None]:
                    self._forward([unread])

    def child(self, step: DecodingStep, token: int) -> DecodingStep:
        """Return the step of a token after `step`, which is read if necessary.

        Raises:
            TextError: the text has ended, no position is left, or the token cannot be generated.
        """
        self._check_after(step, [token])
        self.read(step)
        return _step_after(step, token)

    def teacher_force(self, step: DecodingStep, tokens: Sequence[int]) -> DecodingStep:
        """Append tokens after `step`, all but the last read in one forward pass, and return the last step.

        Raises:
            TextError: the text ends before them, positions are missing, or a token cannot be generated; nothing is
                changed.
        """
        self._check_after(step, tokens)
        for token in tokens:
            step = _step_after(step, token)
        if tokens and step.parent is not None:
            self.read(step.parent)
        return step

    def follow(self, tokens: Sequence[int]) -> Iterator[DecodingStep]:
        """Iterate over the steps of some tokens after `start`, as far as they have been read."""
        step = self.start
        for token in tokens:
            if token not in step.children or step.prediction is None:
                return
            step = step.children[token]
            yield step

    def has_ended(self, step: DecodingStep) -> bool:
        """Whether the token of a step is an end-of-sequence token."""
        return not step.is_given and step.token in self.model.config.eos_ids

    def has_room(self, step: DecodingStep) -> bool:
        """Whether there is a position after a step."""
        return self.room_after(step) > 0

    def is_over(self, step: DecodingStep) -> bool:
        """Whether nothing can follow a step: its token is an <eos>, or no position is left."""
        return self.has_ended(step) or not self.has_room(step)

    def refuse_not_finite(self, step: DecodingStep) -> None:
        """Check that the next token can be chosen after a step.

        Raises:
            NotFiniteError: the outputs are NaN or infinite there.
        """
        if step.prediction is not None and not step.prediction.is_finite:
            tokens = torch.tensor([[one.token for one in step.path()]], device=self.device)
            raise refusal_after(self.model, self._src, tokens)

    def room_after(self, step: DecodingStep) -> int:
        """Return the number of positions after a step."""
        return self.max_positions - 1 - step.position

    def _check_after(self, step: DecodingStep, tokens: Sequence[int]) -> None:
        """Check that tokens can follow a step."""
        config, has_ended = self.model.config, self.has_ended(step)
        check_ids(torch.tensor([[*tokens]], dtype=torch.int64), config.vocab_size)
        for token in tokens:
            if token == config.suppressed_token_id:
                raise TextError("token {token} is padding and cannot be generated; choose another", token=token)
            if has_ended:
                raise TextError("the text ends here; go back to continue differently")
            has_ended = token in config.eos_ids
        room = self.room_after(step)
        if len(tokens) > room:
            raise TextError(
                "a text has at most {most:,} tokens here, which leaves room for {room:,}, not {n:,}; go back, or "
                "add fewer",
                most=self.max_positions,
                room=room,
                n=len(tokens),
            )

    @torch.inference_mode()
    def _forward(self, rows: list[list[DecodingStep]]) -> None:
        """Run the model on rows of steps, all at the same positions, whose parents have been read."""
        start, n_rows, n_new, n_cached = perf_counter(), len(rows), len(rows[0]), rows[0][0].position
        cache = self._cache_after([row[0].parent for row in rows])
        self._live = None  # an interrupted forward pass leaves the cache incomplete
        tokens = torch.tensor([[step.token for step in row] for row in rows], device=self.device)
        memory = None if self._memory is None else self._memory.expand(n_rows, -1, -1)
        src = None if self._src is None else self._src.expand(n_rows, -1)
        looked: dict[HookPoint, Tensor] = {}
        handlers = {point: partial(_keep, looked, point) for points in self._points for point in points}
        with active_hooks(handlers), threads_for(self.model.config, tokens.numel()):
            logits = self.model.decode(tokens, memory, src, cache)
        logits = logits.float().cpu()  # [row, new, vocab]; this waits for the device
        ms = (perf_counter() - start) * 1e3
        log_sums = logits.logsumexp(dim=-1).tolist()
        if self.model.config.suppressed_token_id is not None:
            logits = logits.index_fill(-1, torch.tensor([self.model.config.suppressed_token_id]), -math.inf)
        if memory is not None and not self._cross:
            self._cross = tuple(k_v for block in cache.blocks if (k_v := block.cross_attn.complete) is not None)
        kept = cache.taken(n_cached)  # [row, new, layer, both_heads, d_head]
        self_rows, cross_rows = (_stacked([looked[point] for point in points]) for points in self._points)
        assert self_rows is not None, "a decoder looks at what it wrote"
        for i, row in enumerate(rows):
            for j, step in enumerate(row):
                step.kept = kept[i, j]
                step.prediction = NextTokenPrediction(
                    logits=logits[i, j],
                    log_sum=log_sums[i][j],
                    self_rows=self_rows[i, :, :, j, : step.position + 1].copy(),
                    cross_rows=None if cross_rows is None else cross_rows[i, :, :, j].copy(),
                    n_cached=n_cached,
                    n_read=n_new,
                    n_rows=n_rows,
                    ms=ms,
                )
                self.n_bytes += step.prediction.n_bytes + step.kept.nbytes
        self._live = cache, [row[-1] for row in rows]

    def _cache_after(self, ends: list[DecodingStep | None]) -> KeyValueCache:
        """Return a cache of the paths to these steps: the last one, or one assembled from the steps."""
        if self._live is not None and self._live[1] == ends:
            return self._live[0]
        paths = [[step.kept for step in end.path() if step.kept is not None] for end in ends if end is not None]
        if not paths:
            return KeyValueCache(self.model.config.n_decoder_layers)
        return KeyValueCache.of(torch.stack([torch.stack(path) for path in paths]), self._cross)


def _prompt_step(tokens: Sequence[int]) -> DecodingStep:
    """Return the last step of a new tree with the given tokens."""
    last = DecodingStep(token=tokens[0], position=0, parent=None, is_given=True)
    for position, token in enumerate(tokens[1:], start=1):
        step = DecodingStep(token=token, position=position, parent=last, is_given=True)
        last.children[token] = step
        last = step
    return last


def _step_after(step: DecodingStep, token: int) -> DecodingStep:
    """Return the child of a step for a token; all threads get the same one."""
    new = DecodingStep(token=token, position=step.position + 1, parent=step, is_given=False)
    return step.children.setdefault(token, new)


def _unread(step: DecodingStep) -> list[DecodingStep]:
    """Return the steps on the path to a step, itself included, that have not been read."""
    backwards: list[DecodingStep] = []
    at: DecodingStep | None = step
    while at is not None and at.prediction is None:
        backwards.append(at)
        at = at.parent
    return backwards[::-1]


def _pattern_points(model: Transformer) -> tuple[list[HookPoint], list[HookPoint]]:
    """Return the hook points of the decoder's patterns by layer, of self-attention and of cross-attention."""
    points = [(name, point) for name, point in named_hook_points(model).items() if name.startswith("decoder.")]
    of_self, of_cross = (
        [point for name, point in points if name.endswith(f".{kind}_attn.hook_pattern")] for kind in ("self", "cross")
    )
    return of_self, of_cross


def _keep(looked: dict[HookPoint, Tensor], point: HookPoint, pattern: Tensor) -> Tensor:
    looked[point] = pattern
    return pattern


def _stacked(patterns: list[Tensor]) -> Float[np.ndarray, "row layer head new key"] | None:
    """Return the patterns of all layers, stacked; None if the model has no such attention."""
    return torch.stack(patterns, dim=1).float().cpu().numpy() if patterns else None
