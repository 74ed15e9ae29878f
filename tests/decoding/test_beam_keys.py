"""Keys of many beams side by side: each beam sees those of its own text, in order, whatever is dropped on the way."""

import numpy as np
import pytest
import torch

from transformer_core.decoding.beam_keys import BeamStore, Moment
from transformer_core.decoding.cache import GrowingStore

N_SEARCHES, N_BEAMS, N_READ, N_STEPS = 2, 3, 4, 60


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_each_beam_sees_its_own_text(seed: int, group: int):
    """Against texts that are copied as lists; a key is the number of the step and the row that it was written in."""
    random = np.random.default_rng(seed)
    cache = GrowingStore(N_READ + N_STEPS)
    begun = torch.arange(N_READ, dtype=torch.float32).expand(N_SEARCHES * N_BEAMS, 2, N_READ)[..., None]
    cache.add(begun + 100 * (torch.arange(N_SEARCHES * N_BEAMS) // N_BEAMS)[:, None, None, None])
    moment = Moment(N_SEARCHES, N_BEAMS, group, N_READ, np.dtype(np.float32))
    store = BeamStore(cache, moment)
    texts = [[i + 100.0 * (row // N_BEAMS) for i in range(N_READ)] for row in range(N_SEARCHES * N_BEAMS)]
    n_dropped = 0
    for step in range(N_STEPS):
        first = N_BEAMS * np.arange(N_SEARCHES)[:, None]  # row of each search
        rows = (first + random.integers(N_BEAMS, size=(N_SEARCHES, N_BEAMS))).ravel().tolist()
        moment.reorder(rows)
        texts = [texts[row].copy() for row in rows]
        if moment.is_full:
            store.keep(moment.drop_unseen())
            n_dropped += 1
        moment.go_on(N_READ + step, None, None)
        new = np.array([1000.0 * (step + 1) + row for row in range(len(texts))])
        store.k_v[:, :, moment.new] = new.reshape(N_SEARCHES, 1, N_BEAMS, 1)
        cache.n_positions = N_READ + step + 1
        for text, key in zip(texts, new.tolist(), strict=True):
            text.append(key)
        assert moment.added is not None and moment.added.shape[1:3] == (1, N_BEAMS * group)
        for row, text in enumerate(texts):
            search, beam = divmod(row, N_BEAMS)
            seen = moment.added[search, 0, beam * group] == 0.0
            keys = store.k_v[search, 0, moment.keys, 0][seen]
            assert sorted(keys.tolist()) == sorted(text)
    assert n_dropped >= 2 and store.k_v.shape[2] < N_READ + N_BEAMS * N_STEPS
    store.give_back()
    assert cache.k_v is not None and cache.k_v[:, 1, :, 0].tolist() == texts
