"""A model that transformers computes, and not the core: imported, on Heads and Compare, and refused elsewhere."""

import re
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headlight as hl
from headlight.viewing.media import EXAMPLES
from pages.models import model_store
from pages.shared import models
from tests.headlight.viewing.test_folder import MOE, saved
from tests.headlight.viewing.test_media import MODELS, image
from tests.headlight.viewing.test_reading import TEXT
from tests.pages.conftest import (
    OpenApp,
    figure_of,
    figures_of,
    overview_of,
    save_model,
    shown_code,
    values_of,
    words_of,
)

IDS = "5 9 7 30 5 9 21"
MEDIA = {"eyes": "ViT", "ears": "samples", "whisper": "Whisper"}  # a model of images, and two of sounds


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A folder with one of our models and one of transformers, imported from a zip file; and that model itself."""
    folder, theirs = tmp_path_factory.mktemp("checkpoints"), tmp_path_factory.mktemp("theirs") / "experts"
    save_model(folder / "ours", n_layers=3, n_heads=4, title="Ours", examples=("The dog",), architecture="decoder_only")
    model = saved(theirs, "Qwen3Moe", "ForCausalLM", TEXT, **MOE)
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in theirs.iterdir():
            archive.write(path, f"experts/{path.name}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_CHECKPOINTS", str(folder))
        assert model_store.unpack({"experts.zip": packed}, "experts") == "experts"
        assert model_store.bring_in(str(theirs), on_progress=lambda *_: None) == "experts-2"
        model_store.delete("experts-2")
        card = models.available()["experts"]
        for name, of in MEDIA.items():
            build, processor, *_ = MODELS[of]
            build().save_pretrained(theirs.parent / name)
            processor().save_pretrained(theirs.parent / name)
            assert model_store.bring_in(str(theirs.parent / name), on_progress=lambda *_: None) == name
    assert card.is_viewed and card.reads_ids and card.label == "experts (viewing only)"
    return folder, model


@pytest.fixture(autouse=True)
def here(imported: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(imported[0]))


def test_heads_shows_the_patterns_of_transformers_and_says_so(open_app: OpenApp, imported: tuple[Path, Any]) -> None:
    app = open_app("heads", model="experts", text=IDS, layer="2", head="1", show="values", measure="induction")
    assert not app.exception
    assert "Computed by the transformers library" in words_of(app)
    header, _ = overview_of(app)
    assert [(group["attention"], group["layers"], group["heads"]) for group in header["groups"]] == [("decoder", 3, 3)]
    ids = torch.tensor([[int(i) for i in IDS.split()]])
    model = imported[1]
    model.set_attn_implementation("eager")
    with torch.no_grad():
        pattern = model(ids, output_attentions=True).attentions[2][0, 1].numpy()
    (trace,) = (t for t in figure_of(app)["data"] if t["type"] == "heatmap" and t["name"] != "masked")
    allowed = np.tril(np.ones_like(pattern, dtype=bool))
    np.testing.assert_allclose(np.nan_to_num(values_of(trace))[allowed], pattern[allowed], atol=1e-6)
    code = shown_code(app)
    assert re.search(r"hl\.load_for_viewing\(|load_for_viewing\(", code)


@pytest.mark.parametrize("view", ["one", "changed", "map"])
def test_compare_shows_what_patterns_suffice_for(open_app: OpenApp, view: str) -> None:
    app = open_app("compare", model="experts", text=IDS, view=view, by="writing", **{"with": "experts"})
    assert not app.exception
    assert {"One head", "Changed heads", "Head map"} == {*app.button_group(key="compare-view-segments").options}


def test_decoding_shows_the_attention_at_each_step(open_app: OpenApp, imported: tuple[Path, Any]) -> None:
    app = open_app("decoding", model="experts", text=IDS, step="3", layer="1", mean="layer")
    assert not app.exception
    ids = torch.tensor([[int(i) for i in IDS.split()]])
    model = imported[1]
    with torch.no_grad():
        written = model.generate(ids, max_new_tokens=24, do_sample=False)
        rows = model(written, output_attentions=True).attentions[1][0, :, ids.shape[1] + 2].numpy()
    assert f"<mark>{int(written[0, ids.shape[1] + 3])}</mark>" in words_of(app)
    cells = np.nan_to_num(values_of(figure_of(app)["data"][0]))
    np.testing.assert_allclose(cells[: len(rows), : ids.shape[1] + 3], rows[:, : ids.shape[1] + 3], atol=1e-6)
    assert "run_text" in shown_code(app)


@pytest.mark.parametrize("page", ["steps", "interventions"])
def test_other_pages_say_that_they_need_the_core(open_app: OpenApp, page: str) -> None:
    app = open_app(page, model="experts", text=IDS)
    assert not app.exception
    assert "needs Headlight’s core" in words_of(app)


def test_the_model_page_has_its_tokens_and_its_card(open_app: OpenApp) -> None:
    app = open_app("models", model="experts", text=IDS)
    assert not app.exception
    assert [tab.label for tab in app.tabs][-2:] == ["Tokenizer", "Card"]


@pytest.mark.parametrize(("name", "label"), [("eyes", "1, 2"), ("ears", "0.04 s"), ("whisper", "0.04 s")])
def test_heads_shows_an_example_at_once_and_the_weights_on_it(open_app: OpenApp, name: str, label: str) -> None:
    app = open_app("heads", model=name, attention="encoder", layer="1", head="2", query="1")
    assert not app.exception
    assert app.selectbox(key="text-box").value in ("shapes", "sweep")
    medium = models.available()[name].medium
    (drawn,) = (of for file, of in figures_of(app).items() if medium and file.endswith(f"query1-{medium}"))
    (cells,) = (trace for trace in drawn["data"] if trace["type"] == "heatmap")
    model, processor = models.load(models.available()[name].path, models.available()[name].version)
    assert medium is not None
    run = hl.run_media(model, processor, hl.example_media(EXAMPLES[medium][0]))  # type: ignore[arg-type]
    n_before = 1 if name == "eyes" else 0
    row = run.attention_maps["encoder"].row(1)[1, 2, n_before:]
    np.testing.assert_allclose(values_of(cells).ravel(), row, atol=1e-6)
    assert bool(drawn["layout"].get("images")) == (name == "eyes")
    assert any(label in text for row in cells["customdata"] for text in row)
    assert "run_media" in shown_code(app) and "example_media" in shown_code(app)


def test_a_file_of_ones_own_is_read_and_stays_when_models_change(open_app: OpenApp) -> None:
    app = open_app("heads", model="eyes")
    for content, key in ((b"no image", "shapes"), (image(), "my_cat.png#")):
        uploader: Any = next(of for of in app.get("file_uploader") if str(of.key).startswith("media-upload"))
        uploader.set_value(("my,cat.png", content, "image/png")).run()
        assert not app.exception
        assert str(app.selectbox(key="text-box").value).startswith(key)
    assert "no PNG, JPEG or WebP" not in words_of(app)
    for name, expected in (("ours", "The dog"), ("ears", "sweep"), ("eyes", "my_cat.png#")):
        app.selectbox(key="model-box").set_value(name).run()
        assert not app.exception
        box = app.text_input(key="text-line") if name == "ours" else app.selectbox(key="text-box")
        assert str(box.value).startswith(expected)
    elsewhere = open_app("heads", model="eyes", text=app.query_params["text"][0])
    assert "an example is shown" in words_of(elsewhere) and elsewhere.selectbox(key="text-box").value == "shapes"


def test_compare_reads_two_images_and_models_of_different_inputs(open_app: OpenApp) -> None:
    app = open_app("compare", model="eyes", btext="stripes")
    assert not app.exception
    assert app.selectbox(key="compare-btext-media").value == "stripes"
    for b in ("ears", "ours"):
        app = open_app("compare", model="eyes", **{"with": b})
        assert not app.exception
    assert not open_app("compare", model="eyes", btext="gone.png#0123456789abcdef").exception


def test_decoding_shows_what_a_speech_model_writes_and_models_have_no_tokens(open_app: OpenApp) -> None:
    app = open_app("decoding", model="whisper", step="2")
    assert not app.exception
    assert len(app.get("slider")) and "<mark>" in words_of(app)
    app = open_app("decoding", model="eyes")
    assert not app.exception and "generates no text" in words_of(app)
    app = open_app("models", model="eyes")
    assert not app.exception and app.tabs[-1].label == "Card"
    assert "Tokenizer" not in [tab.label for tab in app.tabs]
