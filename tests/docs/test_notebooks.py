"""The notebooks run, show a view or a figure that needs no network, and are kept without outputs."""

import ast
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

NOTEBOOKS = {path.stem: path for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}


def run(code: str, names: dict[str, Any]) -> Any:
    """Run a cell, and return the value of its last line, as a notebook does."""
    *lines, last = ast.parse(code).body
    if not isinstance(last, ast.Expr):
        lines.append(last)
    exec(compile(ast.Module(lines, []), "<cell>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names) if isinstance(last, ast.Expr) else None


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_and_shows_something(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = json.loads(NOTEBOOKS[name].read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code), "clear the outputs before you commit"
    names: dict[str, Any] = {"__name__": "__main__"}
    shown, started = [], time.monotonic()
    for cell in code:
        value = run("".join(cell["source"]), names)
        if value is not None:
            shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else str(value))
    assert shown and all(len(html) > 1000 for html in shown)
    assert time.monotonic() - started < 60
