"""What the page Film shows of a snapshot and a head: the mask of the head's own layer."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from pages.shared.view.run_state import RunView
from pages.train.film import data as film_data
from pages.train.film.data import SnapshotData


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_a_head_has_the_mask_of_its_layer(layer: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(film_data, "theme", lambda: None)
    masks = np.stack([np.ones((4, 4)), np.eye(4), np.tri(4)]).astype(bool)
    patterns = np.random.default_rng(0).random((2, 3, 2, 4, 4))
    labels = tuple("abcd"), tuple("abcd")
    fixed = SimpleNamespace(architecture="encoder_only", labels=lambda _: labels)
    reading = SimpleNamespace(masks={"encoder": masks}, patterns={"encoder": patterns}, fixed=fixed)
    view = SimpleNamespace(attention="encoder", layer=layer, head=1)
    run: Any = SimpleNamespace(name="run")
    read: Any = SimpleNamespace(reading=reading)
    data = SnapshotData(run=run, read=read, place=1, view=cast(RunView, view))
    np.testing.assert_array_equal(data.axes["mask"], masks[layer])
    np.testing.assert_array_equal(data.pattern(1), patterns[1, layer, 1])
