"""The site of README and docs: a strict build, as `make check` runs it, names every link that leads nowhere."""

import shutil
from pathlib import Path

import pytest
from properdocs.commands.build import build
from properdocs.config import load_config
from properdocs.exceptions import Abort

from tests.conftest import ROOT
from tests.docs import WRITTEN
from transformer_core.checkpoints.families import FAMILIES
from transformer_core.checkpoints.layouts import LAYOUTS

BROKEN = ["[a](gone.md)", "[a](paper.md#gone)", "[a](#gone)", "[a](../gone.py)", "[a](/paper.md)", "`pages/gone.py`"]
WHOLE = ["[a](paper.md#32-attention)", "[a](../app.py)", "[a](../README.md)", "`pages/frame.py`", "`a](gone.md)`"]


@pytest.mark.parametrize("lines", [WHOLE, BROKEN], ids=["whole", "broken"])
def test_a_strict_build_fails_on_each_broken_link(lines: list[str], tmp_path: Path):
    docs = shutil.copytree(ROOT / "docs", tmp_path / "docs")
    with (docs / "operators.md").open("a", encoding="utf-8") as page:
        page.write("\n\n".join(["", *lines]))
    config = load_config(str(ROOT / "properdocs.yml"), docs_dir=str(docs), site_dir=str(tmp_path / "site"), strict=True)
    if lines is WHOLE:
        build(config)
        assert (tmp_path / "site" / "app.py").read_bytes() == (ROOT / "app.py").read_bytes()
    else:
        with pytest.raises(Abort, match=f"{len(BROKEN)} warnings"):
            build(config)


def test_every_family_is_on_the_page_of_its_format_and_readme_counts_them():
    pages = "".join(text for name, text in WRITTEN.items() if name.startswith("docs/formats/"))
    assert {family for family in FAMILIES if f"`{family}`" not in pages} == set()
    assert f"{len(FAMILIES)} model types" in WRITTEN["README.md"] and f"{len(LAYOUTS)} layouts" in WRITTEN["README.md"]
