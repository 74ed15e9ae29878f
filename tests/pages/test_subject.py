"""What every figure says of itself in a page that is saved: the model or the training, and the text that it is of."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import EXAMPLES
from tests.pages.train.small_films import save_run

OpenApp = Callable[..., AppTest]
SUBJECT = f"English to French: {EXAMPLES[0]}"


@pytest.mark.parametrize(
    ("page", "parameters", "about"),
    [
        ("heads", {}, SUBJECT),
        ("compare", {"btext": "The dog."}, f"A: {SUBJECT}\nB: English to French: The dog."),
        ("film", {"run": "pairs"}, f"pairs: {EXAMPLES[0]}"),
    ],
)
def test_a_figure_is_of_the_model_or_the_training_and_of_the_text(
    open_app: OpenApp,
    three_kinds_here: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    page: str,
    parameters: dict[str, str],
    about: str,
):
    save_run(tmp_path / "pairs")
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path))
    app = open_app(page, text=EXAMPLES[0], **parameters)
    assert not app.exception
    sent = [c.proto.json for c in app.get("bidi_component") if c.proto.component_name.endswith("figure")]
    assert {json.loads(data)["about"] for data in sent} == {about}
