"""The page Models as a person uses it, in a real Chromium: a model leaves as a file, comes back, and is deleted."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

import transformer_core as tc
from tests.e2e.browser import Server, serve
from tests.e2e.test_heads import title
from tests.pages.conftest import EXAMPLES, PROMPTS, save_model
from tests.pages.small_gpt2 import save_small_gpt2

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models: "en-fr", and "tales", whose weights alone are 8 MB."""
    place = tmp_path_factory.mktemp("checkpoints")
    save_model(place / "en-fr", n_layers=2, n_heads=4, title="English to French", examples=EXAMPLES)
    save_model(place / "tales", n_layers=1, n_heads=4, title="Tales", examples=PROMPTS, architecture="decoder_only")
    _, tokenizer = tc.load(place / "tales")
    config = tc.ModelConfig(
        vocab_size=tokenizer.vocab_size,
        architecture="decoder_only",
        d_model=128,
        d_ff=7_000,
        n_heads=4,
        n_encoder_layers=0,
        n_decoder_layers=1,
        max_seq_len=32,
        tie_embeddings="target",
    )
    tc.save(place / "tales", tc.build(config), tokenizer, tc.read_card(place / "tales"))
    return place


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Server]:
    """The app over these models."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "HEADLIGHT_CHECKPOINTS", str(place))
        with serve() as server:
            yield server


def open_models(page: Page, address: str = "/models") -> None:
    page.goto(address)
    expect(page.get_by_role("heading", name="Import a model")).to_be_visible()


def test_a_model_leaves_as_a_file_comes_back_and_is_deleted(page: Page, place: Path, tmp_path: Path):
    open_models(page, "/models?model=tales")
    expect(page.get_by_role("heading", name="Tales")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download (.zip)").click()
    assert download.value.suggested_filename == "tales.zip"
    file = tmp_path / "tales.zip"
    download.value.save_as(file)
    assert file.stat().st_size > 6_000_000

    page.get_by_role("tab", name="Upload").click()
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("tales.zip")).to_be_visible()
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("was imported and is now chosen on all pages")).to_be_visible()
    expect(page).to_have_url(re.compile("model=tales-2"))
    weights = [(place / name / "model.safetensors").read_bytes() for name in ("tales", "tales-2")]
    assert weights[0] == weights[1]

    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_text("was deleted")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert sorted(path.name for path in place.glob("[!.]*")) == ["en-fr", "tales"]


def test_the_choice_goes_from_page_to_page(page: Page):
    open_models(page)
    page.get_by_role("button", name="Choose").click()
    expect(page).to_have_url(re.compile("model=tales"))
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Heads").click()
    expect(title(page)).to_have_text(re.compile("decoder self-attention L0"))
    expect(page).to_have_url(re.compile("/heads.*model=tales"))
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Models").click()
    expect(page.get_by_role("heading", name="Tales")).to_be_visible()
    page.get_by_role("link", name="Look at its heads").click()
    expect(title(page)).to_have_text(re.compile("decoder self-attention L0"))


def test_a_folder_is_brought_in(page: Page, place: Path, tmp_path: Path):
    save_small_gpt2(tmp_path / "from-elsewhere")
    open_models(page)
    box = page.get_by_role("textbox", name="Id on the Hugging Face Hub")
    box.click()
    box.fill(str(tmp_path / "nowhere"))
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_test_id("stAlert")).to_contain_text("This model could not be imported: there is no")
    box.fill(str(tmp_path / "from-elsewhere"))
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("“from-elsewhere” was imported")).to_be_visible()
    expect(page).to_have_url(re.compile("model=from-elsewhere"))


def test_foreign_words_stay_text(page: Page):
    words = "[a](https://evil.example) :red[**b**] :smile: www.evil.de me@evil.de $y$ `z` &amp; _c_ :streamlit:"
    page.goto(f"/train?{urlencode({'run': words})}")
    box = page.get_by_test_id("stAlert")
    expect(box).to_be_visible()
    assert f"no training “{words}”" in box.inner_text().replace("\u2060", "")
    expect(box.locator("a, img, b, em, strong, code, .katex, [class*=Color]")).to_have_count(0)
