"""The Models page in a real Chromium: a model leaves as a file, comes back, is deleted; others are brought in."""

import re
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from tests.e2e.test_heads import title
from tests.pages.conftest import PROMPTS, save_model
from tests.pages.small_gpt2 import save_small_gpt2


def test_a_model_leaves_as_a_file_comes_back_and_is_deleted(page: Page, place: Path, tmp_path: Path):
    models = place / "checkpoints"
    save_model(models / "tales", n_layers=40, n_heads=4, title="Tales", examples=PROMPTS, architecture="decoder_only")
    page.goto("/models?model=tales")
    expect(page.get_by_role("heading", name="Tales")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download (.zip)").click()
    assert download.value.suggested_filename == "tales.zip"
    download.value.save_as(tmp_path / "tales.zip")
    page.get_by_role("tab", name="Files").click()
    page.locator("input[type=file]").set_input_files(tmp_path / "tales.zip")
    expect(page.get_by_text("tales.zip")).to_be_visible()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("was imported and is now chosen on all pages")).to_be_visible()
    expect(page).to_have_url(re.compile("model=tales-2"))
    weights = [(models / name / "model.safetensors").read_bytes() for name in ("tales", "tales-2")]
    assert weights[0] == weights[1]
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_text("was deleted")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert (models / "tales").exists() and not (models / "tales-2").exists()


def test_a_folder_is_brought_in_and_its_choice_goes_from_page_to_page(page: Page, place: Path, tmp_path: Path):
    save_small_gpt2(tmp_path / "from-elsewhere")
    page.goto("/models")
    box = page.get_by_role("textbox", name="Id on the Hugging Face Hub")
    box.click()
    box.fill(str(tmp_path / "nowhere"))
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_test_id("stAlert")).to_contain_text("This model could not be imported: there is no")
    box.fill(str(tmp_path / "from-elsewhere"))
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("“from-elsewhere” was imported")).to_be_visible()
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Heads").click()
    expect(title(page)).to_have_text(re.compile("decoder self-attention L0"))
    expect(page).to_have_url(re.compile("/heads.*model=from-elsewhere"))


def test_foreign_words_stay_text(page: Page):
    words = "[a](https://evil.example) :red[**b**] :smile: www.evil.de me@evil.de $y$ `z` &amp; _c_ :streamlit:"
    page.goto(f"/train?{urlencode({'run': words})}")
    box = page.get_by_test_id("stAlert")
    expect(box).to_be_visible()
    assert f"no training “{words}”" in box.inner_text().replace("\u2060", "")
    expect(box.locator("a, img, b, em, strong, code, .katex, [class*=Color]")).to_have_count(0)
