"""What README tells a newcomer is so."""

import re
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_its_python_lines_run_as_they_stand(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(ROOT)
    use, _ = README.split("## Add a page")  # its lines are a page, which tests/e2e/test_new_page.py makes
    first, second, third, fourth, fifth, sixth = re.findall(r"```python\n(.*?)```", use, re.DOTALL)
    *lines, last = first.strip().splitlines()
    names: dict[str, object] = {}
    exec("\n".join(lines), names)
    translation = "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.\n"
    assert capsys.readouterr().out == translation
    pattern = eval(last, names)  # [layer, batch, head, query, key]
    assert torch.allclose(pattern.sum(dim=-1), torch.ones(pattern.shape[:-1]))
    exec(second, names)
    assert capsys.readouterr().out == "L'animal n'a pas traversé la rue parce qu'il était trop large.\n"
    exec(third, names)
    candidates, forked = capsys.readouterr().out.splitlines()
    assert candidates == "['il', 'elle']"
    exec(fourth, names)
    assert capsys.readouterr().out == f"{translation.strip()}\n{forked}\n"
    exec(fifth, names)
    outputs, roles = capsys.readouterr().out.splitlines()
    assert outputs == "['?', '?', '?', 'b']"
    assert roles == "{(0, 0): 'offset', (1, 0): 'induction'}"
    exec(sixth, names)
    assert capsys.readouterr().out == "['b', 'c']\n"
    assert forked == "L'animal n'a pas traversé la rue parce qu'elle était trop fatiguée."


def test_what_it_names_is_there():
    models = re.findall(r"^\| `([a-z-]+)` \|", README, re.MULTILINE)
    assert len(models) == 5
    for model in models:
        assert (ROOT / "checkpoints" / model / "card.json").is_file(), model
    rooms = set(re.findall(r"^\| `([^`]+)`", README, re.MULTILINE)) - set(models)
    assert len(rooms) > 12
    for room in rooms:
        assert (ROOT / room.replace("<section>", "explore")).exists(), room
    for link in re.findall(r"\]\((?!http)([^)]+)\)", README):
        assert (ROOT / link).is_file(), link
