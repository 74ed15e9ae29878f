"""The Python of README and docs/ runs, and prints what the block after it shows."""

import re

import pytest

from pages.shared.models import SHIPPED
from tests.conftest import ROOT
from tests.docs import WRITTEN

DOCTESTS, NEW_PAGE = "docs/paper.md", "docs/extending.md"  # run by test_paper.py, and by tests/e2e/test_new_page.py
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
BLOCKS = {name: BLOCK.findall(text) for name, text in WRITTEN.items() if name not in (DOCTESTS, NEW_PAGE)}


@pytest.mark.parametrize("name", [name for name, blocks in BLOCKS.items() if blocks])
def test_python_blocks_print_the_text_after_them(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    for code, printed in BLOCKS[name]:
        exec(code, names)
        assert capsys.readouterr().out == printed, code


def test_the_shipped_models_are_listed():
    assert {*re.findall(r"^\| `([a-z-]+)` \|", WRITTEN["README.md"], re.MULTILINE)} == {*SHIPPED}
