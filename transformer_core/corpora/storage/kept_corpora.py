"""Generated corpora in the cache folder: drawn once, and the next time read in a hundredth of a second."""

import platform
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np

from transformer_core.corpora.corpus import Corpus
from transformer_core.corpora.generated import GeneratedCorpus
from transformer_core.corpora.source_code import CODE_OF_CORPORA
from transformer_core.corpora.storage.kept_arrays import Sink, kept_arrays
from transformer_core.corpora.storage.kept_items import DTYPES, KeptItems, write_items

_DTYPES = {**DTYPES, "fingerprint": np.dtype(np.uint8), "n_train": np.dtype(np.int64)}


def kept_corpus(generated: GeneratedCorpus, *, seed: int) -> Corpus:
    """Return a generated corpus from the cache folder; it is drawn where it is not there, or was damaged.

    It is kept under the source code of all corpora, so that after a change of that code nothing older is found.

    Args:
        generated: which one.
        seed: what it is drawn from.

    Returns:
        The same corpus as `generated(seed=seed)`, but that its items are made when they are asked for.
    """
    draw = cache(lambda: generated(seed=seed))  # should the disk turn out to be full, it is asked twice

    def fill(sinks: Mapping[str, Sink]) -> None:
        corpus = draw()
        write_items([*corpus.train, *corpus.held_out], sinks)
        sinks["n_train"].append(np.array([len(corpus.train)]))
        sinks["fingerprint"].append(np.frombuffer(corpus.fingerprint.encode(), np.uint8))

    made_from = [CODE_OF_CORPORA, platform.python_version(), generated.about.name, str(seed)]
    arrays = kept_arrays("corpus", made_from, _DTYPES, fill)
    fingerprint, n_train = arrays["fingerprint"].tobytes().decode(), int(arrays["n_train"][0])
    items = KeptItems(arrays)
    return replace(
        generated.about,
        train=KeptItems(arrays, items.rows[:n_train], fingerprint=f"{fingerprint} train"),
        held_out=KeptItems(arrays, items.rows[n_train:], fingerprint=f"{fingerprint} held out"),
        known_fingerprint=fingerprint,
    )
