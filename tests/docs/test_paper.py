"""`docs/paper.md` quotes the current code, and its examples run."""

import doctest
import os
import subprocess
import sys

from tests.conftest import ROOT
from tests.docs.paper import PAPER, with_code

SECTIONS = ["3", "3.1", "3.2", "3.2.1", "3.2.2", "3.2.3", "3.3", "3.4", "3.5"]


def test_the_code_is_that_of_the_modules():
    text = PAPER.read_text(encoding="utf-8")
    assert text == with_code(text), "run `python -m tests.docs.paper`"
    assert text.count("```python\nclass MultiHeadAttention(nn.Module):") == 1


def test_it_has_the_sections_of_the_paper_in_their_order():
    titles = [line.lstrip("#").split()[0] for line in PAPER.read_text(encoding="utf-8").splitlines() if line[:1] == "#"]
    assert [title for title in titles if title[0].isdigit()] == SECTIONS


def test_its_lines_run():
    """In another process: the type checks of tests would refuse arguments that the page passes untyped."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-m", "doctest", str(PAPER)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert len(doctest.DocTestParser().get_examples(PAPER.read_text(encoding="utf-8"))) > 40
