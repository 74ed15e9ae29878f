"""Our components: text stays text, whatever is typed."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "pages" / "shared" / "components"
WRITES_MARKUP = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.js")), ids=lambda path: path.name)
def test_no_component_writes_markup(path: Path):
    assert not WRITES_MARKUP.search(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.css")), ids=lambda path: path.name)
def test_no_color_is_written_into_a_style(path: Path):
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b", path.read_text(encoding="utf-8"))  # colors come from the theme
