"""Every page of a model with one NaN or infinite weight: the first such site is named, and nothing is made up."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from tests.pages.conftest import figure_of, words_of
from tests.pages.test_foreign_models import VIEWS

FAULTS = {"en-fr": math.nan, "tales": math.nan, "gaps": math.inf}  # in the queries of the first layer
PAGES = ("start", "steps", "masks", "heads", "decoding", "compare", "interventions")
SEEN = [
    *(view for view in VIEWS if view[0] in PAGES),
    ("decoding", {"part": "beams"}),
    ("compare", {"layer": "2", "head": "1"}),
    ("compare", {"view": "texts"}),
]


@pytest.fixture(scope="module")
def broken(three_kinds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("broken")
    for name, number in FAULTS.items():
        model, tokenizer = tc.load(three_kinds / name)
        stack = "decoder" if name == "tales" else "encoder"
        model.get_parameter(f"{stack}.blocks.0.self_attn.q.weight").data[0, 0] = number
        tc.save(place / name, model, tokenizer, json.loads((three_kinds / name / "card.json").read_text()))
    return place


@pytest.mark.parametrize("number", range(len(SEEN)), ids=lambda n: "-".join((SEEN[n][0], *SEEN[n][1].values())))
def test_it_is_shown_as_such(
    open_app: Callable[..., AppTest], broken: Path, monkeypatch: pytest.MonkeyPatch, number: int
):
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(broken))
    (page, parameters), name = SEEN[number], [*FAULTS][number % 3]
    app = open_app(page, model=name, **parameters)
    assert not [*app.exception, *app.error]
    words = words_of(app)
    assert "self_attn.q.weight (1)" in words and (page == "start" or "self_attn.hook_q" in words)
    assert not re.search(r"\bnan\b", words)
    assert "sums to zero" not in words or "layer" not in parameters
    assert not re.search(r"⟨NaN⟩</|<b dir='auto'>(not finite|“⟨)", words)
    if page != "start":  # the remark stands first and fits two lines of its place
        remark = next(note for note in re.findall(r"<p class='hl-note[^>]*>(.*?)</p>", words) if "(1)" in note)
        assert remark.index("q.weight") < 80 and len(remark) < 150
    if page == "heads":
        assert "magenta" in words.lower()
        names = [trace.get("name", "") for trace in figure_of(app)["data"]]
        assert any("not finite" in name for name in names) and ("masked" in names) == (name == "tales")
