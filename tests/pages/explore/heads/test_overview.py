"""All heads as a figure to save: the numbers are those of a forward, and the saved lines give them again."""

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.explore.heads import overview
from tests.pages.explore.decoding.decoding_parts import arrays_of, files_of, sent
from tests.pages.explore.heads.heads_parts import weights

pytestmark = pytest.mark.usefixtures("checkpoints")
TEXT = "The cat didn't see the dog."


def test_of_a_long_text_the_largest_of_each_block_is_saved(
    open_app: Callable[..., AppTest], checkpoints: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
):
    monkeypatch.setattr(overview, "fit_side", lambda n_heads: 3)
    pages = list[str]()
    monkeypatch.setattr(overview.st, "download_button", lambda _, data, **more: pages.append(data()))
    expected = weights(checkpoints, text=TEXT)
    app = open_app("heads", text=TEXT, attention="encoder", only="one")
    app.session_state["heads-overview-still"] = True
    files, n = files_of(app, "heads-all"), expected.shape[-1]
    assert "max-pooled" in json.loads(sent(app, "heads-all")["figure"])["layout"]["title"]["text"]
    arrays, edges = arrays_of(files), [cell * n // 3 for cell in range(4)]
    for row, column in np.ndindex(3, 3):
        block = expected[:, :, edges[row] : edges[row + 1], edges[column] : edges[column + 1]]
        np.testing.assert_allclose(arrays["encoder"][:, :, row, column], block.max(axis=(2, 3)), atol=1e-6)
    (header,) = re.findall(r'data-kind="json">(.*?)</script>', pages[-1])
    assert json.loads(header)["start"]["chosen"]["attention"] == "encoder"
    assert [group["attention"] for group in json.loads(header)["groups"]] == ["encoder", "decoder", "cross"]
    assert json.loads(header)["title"].endswith(f": {TEXT}") and len(json.loads(header)["title"]) > len(TEXT) + 2
    monkeypatch.chdir(tmp_path)
    exec(compile(files["py"], "redraw.py", "exec"), again := dict[str, Any]())
    assert again["of_all"].patterns.shape == (2, 4, 3, 3)
