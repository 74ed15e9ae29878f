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


def abouts(app: AppTest) -> set[str]:
    """What the figures of the page are of."""
    assert not app.exception
    sent = [c.proto.json for c in app.get("bidi_component") if c.proto.component_name.endswith("figure")]
    assert sent
    return {json.loads(data)["about"] for data in sent}


@pytest.mark.parametrize(
    ("page", "parameters", "about"),
    [
        ("heads", {}, SUBJECT),
        ("decoding", {"part": "cache"}, SUBJECT),
        ("compare", {"btext": "The dog."}, f"A: {SUBJECT}\nB: English to French: The dog."),
        ("positions", {}, SUBJECT),
        ("architecture", {"part": "cost"}, SUBJECT),
    ],
)
def test_a_figure_is_of_the_model_and_the_text(
    open_app: OpenApp, three_kinds_here: Path, page: str, parameters: dict[str, str], about: str
):
    app = open_app(page, model="en-fr", text=EXAMPLES[0], **parameters)
    assert abouts(app) == {about}


def test_a_figure_of_a_training_is_of_it(
    open_app: OpenApp, three_kinds_here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    save_run(tmp_path / "runs" / "pairs")
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path / "runs"))
    app = open_app("film", run="pairs", text="the cat")
    assert abouts(app) == {"pairs: the cat"}
