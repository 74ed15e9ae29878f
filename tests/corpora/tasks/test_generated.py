"""Generated corpora: known before anything is drawn, and drawn without the garbage collector."""

import gc
from dataclasses import replace
from typing import Any

import pytest

from transformer_core.corpora import CORPORA
from transformer_core.errors import CorpusError


@pytest.mark.parametrize("was_enabled", [True, False])
def test_the_collector_is_left_as_it_was(was_enabled: bool):
    seen = []

    def draw(seed: int) -> tuple[list[Any], list[Any]]:
        seen.append(gc.isenabled())
        raise CorpusError("nothing to draw")

    before = gc.isenabled()
    try:
        (gc.enable if was_enabled else gc.disable)()
        with pytest.raises(CorpusError):
            replace(CORPORA["copy"], draw=draw)()
        assert gc.isenabled() == was_enabled
    finally:
        (gc.enable if before else gc.disable)()
    assert seen == [False]
