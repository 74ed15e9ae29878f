"""The style sheets, joined: those of all pages first, every one of them once."""

import re
from pathlib import Path

from pages.shared import style
from pages.shared.page import pages

FOLDER = Path(style.__file__).with_name("styles")
SECTIONS = FOLDER.parents[1]


def test_each_sheet_is_there_once_and_the_shared_ones_come_first():
    joined = style.sheet()
    shared = [FOLDER / name for name in style.SHARED_SHEETS]
    of_pages = [sheet for page in pages().values() for sheet in sorted(page.folder.glob("*.css"))]
    assert {*shared} == {*FOLDER.glob("*.css")}
    others = (SECTIONS / "components", FOLDER.parent)
    assert {*of_pages} == {sheet for sheet in SECTIONS.glob("*/*/*.css") if sheet.parents[1] not in others}
    assert joined.endswith("".join(sheet.read_text(encoding="utf-8") for sheet in (*shared, *of_pages)))


def test_no_rule_asks_every_element_what_it_has():
    """With one that does, each label that plotly measures takes ten times as long: the whole page is checked again."""
    for sheet in FOLDER.parent.rglob("*.css"):
        assert not re.findall(r"(?:^|[\s,>+~(]):has\(", sheet.read_text(encoding="utf-8")), sheet
