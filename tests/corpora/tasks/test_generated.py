"""Generated corpora: known before anything is drawn, and drawn without the garbage collector."""

import gc
from dataclasses import replace
from typing import Any

import pytest

from transformer_core.corpora import CORPORA, Pair
from transformer_core.errors import CorpusError


@pytest.mark.parametrize("was_enabled", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_the_collector_is_left_as_it_was(was_enabled: bool, fails: bool):
    seen = []

    def draw(seed: int) -> tuple[list[Any], list[Any]]:
        seen.append(gc.isenabled())
        if fails:
            raise CorpusError("nothing to draw")
        return [Pair("a", "b")], [Pair("c", "d")]

    generated = replace(CORPORA["copy"], draw=draw)
    before = gc.isenabled()
    try:
        (gc.enable if was_enabled else gc.disable)()
        if fails:
            with pytest.raises(CorpusError):
                generated()
        else:
            generated()
        assert gc.isenabled() == was_enabled
    finally:
        (gc.enable if before else gc.disable)()
    assert seen == [False]
