"""The second text on the pages: read as transformers reads the pair, in the address, and by the code that is shown."""

import contextlib
import io
import json
from pathlib import Path

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.shared import models
from tests.pages.conftest import OpenApp, figure_of, shown_code, url_of, values_of, words_of
from tests.pages.explore.decoding.decoding_parts import files_of
from tests.small_bert import save_small_bert
from transformer_core.checkpoints.bring_in import bring_in

FIRST, SECOND = "the cat sat", "it is ____ mat ."
PAIR = {"model": "bert", "text": FIRST, "second-text": SECOND}


def test_two_texts_are_read_as_a_pair_on_every_page(open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    theirs, tokenizer = save_small_bert(tmp_path / "bert")
    bring_in(str(tmp_path / "bert"), tmp_path / "here" / "bert")
    tc.save(tmp_path / "here" / "new", *tc.load(tmp_path / "bert"), {"title": "New", "examples": [FIRST]})
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path / "here"))
    with torch.inference_mode():
        encoded = tokenizer(FIRST, SECOND.replace("____", "[MASK]"), return_tensors="pt")
        pattern = theirs(**encoded, output_attentions=True).attentions[1][0, 1].numpy()
    app = open_app("heads", **PAIR, layer="1", head="1")
    assert not [*app.exception, *app.error, *app.warning]
    assert "‖" in words_of(app)
    np.testing.assert_allclose(values_of(figure_of(app)["data"][0]), pattern, atol=1e-5)
    monkeypatch.chdir(models.ROOT)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(shown_code(app), "the code of the page", "exec"), {"__name__": "__main__"})
    first = [float(number) for number in printed.getvalue().partition("[")[2].strip("[").split()[:3]]
    np.testing.assert_allclose(first, pattern[0, :3], atol=1e-5)
    (field,) = (one for one in app.text_input if one.label == "Second text")
    assert field.value == SECOND
    assert url_of(app)["second-text"] == SECOND
    alone = field.set_value("").run()
    assert "second-text" not in url_of(alone)
    assert values_of(figure_of(alone)["data"][0]).shape == (5, 5)
    for page in ("start", "steps", "masks", "decoding", "interventions", "architecture", "positions", "compare"):
        app = open_app(page, **PAIR)
        assert not [*app.exception, *app.error, *app.warning], page
    app = open_app("interventions", **PAIR, add="patch")
    other, second = (app.text_input(key=f"interventions-other{part}-line") for part in ("", "-second"))
    assert second.value == SECOND
    other.set_value("a dog")
    second.set_value("the mat ____").run()
    app.button(key="interventions-add-it").click().run()
    assert not [*app.exception, *app.error, *app.warning]
    assert '"text":["a dog","the mat ____"]' in url_of(app)["stack"]
    text = json.loads(files_of(app, "interventions-tokens")["json"])
    ids = {"text": encoded["input_ids"], "segments": encoded["token_type_ids"]}
    assert {side: text["ids"][side] for side in ids} == {side: of[0].tolist() for side, of in ids.items()}
    assert text["view"]["second-text"] == SECOND and text["stack"][0]["text"] == ["a dog", "the mat ____"]
    app = open_app(
        "compare", **PAIR, view="texts", texts="list", list="the cat ‖ a dog\nthe mat", btext="dog", bsecond="mat"
    )
    assert not [*app.exception, *app.error, *app.warning]
    assert "('the cat', 'a dog'), 'the mat'" in shown_code(app).replace('"', "'")
    next(one for one in app.button if one.label == "the cat ‖ a dog").click().run()
    assert (url_of(app)["text"], url_of(app)["second-text"]) == ("the cat", "a dog")
