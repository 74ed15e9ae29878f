"""What pages say of a guided head: which one, how it came to look there, and nothing where there is none."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import models
from tests.pages.conftest import words_of

SENTENCE = "Encoder self-attention L1.H0 was guided"


@pytest.mark.parametrize(
    ("told", "known"),
    [
        *(("encoder.0.3", (0, 3)), ("cross.1.0", None), (["encoder"], None)),
        *(("encoder.2.0", None), ("encoder.0.4", None)),  # which are not there
    ],
)
def test_the_card_says_which_head(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: object, known: tuple[int, int] | None
):
    shutil.copytree(models.ROOT / "checkpoints" / "en-fr", tmp_path / "mine")
    card = json.loads((tmp_path / "mine" / "card.json").read_text())
    card["trained"]["guided_head"] = told
    (tmp_path / "mine" / "card.json").write_text(json.dumps(card))
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    assert models.available()["mine"].guided_head == known


def test_heads_and_models_say_how_it_was_trained(open_app: Callable[..., AppTest]):
    assert SENTENCE in words_of(open_app("heads", attention="encoder", layer="1", head="0"))
    assert SENTENCE not in words_of(open_app("heads", attention="cross", layer="1", head="0"))
    app = open_app("models")
    assert SENTENCE in words_of(app)
    app.button(key="choose-dates").click().run()
    assert "was guided" not in words_of(app)
