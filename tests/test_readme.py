"""What README tells a newcomer is so."""

import re
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_its_python_lines_run_as_they_stand(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    *lines, last = code.strip().splitlines()
    names: dict[str, object] = {}
    exec("\n".join(lines), names)
    assert capsys.readouterr().out == "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.\n"
    pattern = eval(last, names)  # [batch, head, query, key]
    assert torch.allclose(pattern.sum(dim=-1), torch.ones(pattern.shape[:3]))


def test_what_it_names_is_there():
    rooms = re.findall(r"^\| `([^`]+)`", README, re.MULTILINE)
    assert len(rooms) > 12
    for room in rooms:
        assert (ROOT / room.replace("<section>", "explore")).exists(), room
    for link in re.findall(r"\]\((?!http)([^)]+)\)", README):
        assert (ROOT / link).is_file(), link
