"""Where keys and values lie while a text is written in several ways at once, and which of them each beam sees."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from transformer_core.decoding.cache import GrowingStore
from transformer_core.model.rotary import Rotation

Array = NDArray[Any]

_ROOM = 16  # more keys a beam, before those that no beam sees any more are dropped


def array(tensor: Tensor) -> Array:
    """Return the same numbers in the same memory."""
    return tensor.detach().numpy()


class Moment:
    """Where the writing stands: what all layers of one step share.

    The beams of a search keep their keys in one row, side by side, and each sees its own: what several beams begin with
    is there once, and a beam that goes on from another one takes over what that one sees.
    """

    def __init__(self, n_searches: int, n_beams: int, group: int, n_read: int, dtype: np.dtype[Any]) -> None:
        """Stand behind the first `n_read` positions, which all beams of a search share.

        Args:
            n_searches: texts that are gone on with, each in `n_beams` ways.
            n_beams: rows of a search.
            group: heads of queries that one head of keys serves.
            n_read: positions read so far.
            dtype: of the scores.
        """
        self.n_searches, self.n_beams, self.group = n_searches, n_beams, group
        self.place = n_read  # position of the new token
        self.rotation: Rotation | None = None
        self.added: Array | None = None  # to the scores: [search or 1, kv_head or 1, beam * group, key]
        self.keys = slice(0, n_read)  # the columns of the stores that are looked at
        self.new = slice(n_read, n_read + n_beams)  # and those that the new tokens' keys are put into
        n_columns = n_read + _ROOM * n_beams
        self.unseen = np.full((n_searches, n_beams, group, n_columns), -np.inf, dtype)  # 0 where the beam sees the key
        self.unseen[..., :n_read] = 0.0
        self.own = np.where(np.eye(n_beams, dtype=bool), 0.0, -np.inf).astype(dtype)[:, None]  # [beam, 1, beam]
        self.positions = np.zeros((n_searches, n_columns), np.int64)  # of each key
        self.positions[:, :n_read] = np.arange(n_read)

    def go_on(self, place: int, window: int | None, bias: Array | None) -> None:
        """Make room for one more key a beam, and say what each beam sees of the keys.

        Args:
            place: position of the new tokens.
            window: positions that a query sees, itself included; None: all before it.
            bias: [head, place + 1], of the positions, by the key's position.
        """
        self.place = place
        if self.n_beams == 1:  # keys stand at their positions
            first = 0 if window is None else max(0, place - window + 1)
            self.new, self.keys = slice(place, place + 1), slice(first, place + 1)
            self.added = None if bias is None else bias[:, first:].reshape(1, -1, self.group, place + 1 - first)
            return
        n_keys = self.keys.stop + self.n_beams
        self.new, self.keys = slice(self.keys.stop, n_keys), slice(0, n_keys)
        self.unseen[..., self.new] = self.own
        self.positions[:, self.new] = place
        added = self.unseen[:, None, :, :, :n_keys]  # [search, kv_head or 1, beam, group, key]
        positions = self.positions[:, :n_keys]
        if window is not None:
            added = np.where(positions[:, None, None, None] > place - window, added, -np.inf).astype(added.dtype)
        if bias is not None:
            added = added + bias[:, positions].swapaxes(0, 1).reshape(self.n_searches, -1, 1, self.group, n_keys)
        self.added = added.reshape(self.n_searches, -1, self.n_beams * self.group, n_keys)

    def reorder(self, rows: list[int]) -> None:
        """Let each beam see what another one of its search sees."""
        self.unseen = self.unseen.reshape(len(rows), -1)[rows].reshape(self.unseen.shape)

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another key a beam."""
        return self.n_beams > 1 and self.keys.stop + self.n_beams > self.unseen.shape[-1]

    def drop_unseen(self) -> list[Array]:
        """Forget keys that no beam sees; return which columns stay, and in which order, for each search alike many."""
        is_seen = (self.unseen[:, :, 0, self.keys] == 0.0).any(axis=1)
        n_keys = int(is_seen.sum(axis=1).max())
        order = [np.flatnonzero(row)[:n_keys] if row.sum() == n_keys else np.argsort(~row)[:n_keys] for row in is_seen]
        unseen, positions, n_columns = self.unseen, self.positions, n_keys + _ROOM * self.n_beams
        self.unseen = np.full((*unseen.shape[:3], n_columns), -np.inf, unseen.dtype)
        self.positions = np.zeros((self.n_searches, n_columns), np.int64)
        for search, columns in enumerate(order):
            self.unseen[search, ..., :n_keys] = unseen[search][..., columns]
            self.positions[search, :n_keys] = positions[search, columns]
        self.keys = slice(0, n_keys)
        return order

    def columns(self, search: int, beam: int) -> Array:
        """Return the columns that a beam sees, in the order of their positions."""
        seen = np.flatnonzero(self.unseen[search, beam, 0, self.keys] == 0.0)
        return seen[np.argsort(self.positions[search, seen])]


class BeamStore:
    """Keys and values of one layer's self-attention, the beams of a search in one row."""

    def __init__(self, store: GrowingStore, moment: Moment) -> None:
        """Take over what was read; without beams the memory stays the store's own."""
        assert store.k_v is not None, "the model has not read anything yet"
        self.store, self.moment = store, moment
        self.k_v = array(store.k_v)  # [search, head of keys, then head of values, key, d_head]
        if moment.n_beams > 1:
            self._take_over([row[:, : moment.keys.stop] for row in self.k_v[:: moment.n_beams]])

    def _take_over(self, k_v: list[Array]) -> None:
        n_heads, n_keys, d_head = k_v[0].shape
        self.k_v = np.empty((len(k_v), n_heads, self.moment.unseen.shape[-1], d_head), k_v[0].dtype)
        for row, found in zip(self.k_v, k_v, strict=True):
            row[:, :n_keys] = found

    def keep(self, order: list[Array]) -> None:
        """Keep these columns of each search only."""
        self._take_over([row[:, columns] for row, columns in zip(self.k_v, order, strict=True)])

    def give_back(self) -> None:
        """Let the store have what its rows' beams see."""
        assert self.store.k_v is not None, "it was taken over from there"
        n_beams, rows = self.moment.n_beams, array(self.store.k_v)
        for row in range(len(rows) if n_beams > 1 else 0):
            search, beam = divmod(row, n_beams)
            rows[row, :, : self.store.n_positions] = self.k_v[search][:, self.moment.columns(search, beam)]
