"""The list of faults can be planted, and a verdict is what the tests say."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.mutants.__main__ import ROOT, Fault, faults, verdict


def test_each_listed_fault_can_be_planted_and_has_its_tests():
    listed = faults()
    assert len(listed) >= 60 and sum(fault.file.endswith(".js") for fault in listed) >= 30
    for fault in listed:
        fault.planted((ROOT / fault.file).read_text(encoding="utf-8"))
        assert fault.tests and all((ROOT / name).exists() for name in fault.tests), fault.name


def test_a_fault_is_planted_while_its_tests_run_and_taken_out_again(tmp_path: Path):
    source = tmp_path / "sign.py"
    source.write_text("x = 1\n")
    seen = []

    def passes(place: Path, tests: Sequence[str]) -> bool:
        seen.append(((place / "sign.py").read_text(), *tests))
        return tests == ("blind",)

    def fault(test: str, old: str = "x = 1") -> Fault:
        return Fault(name="sign", file="sign.py", old=old, new="x = -1", tests=(test,), area="here")

    assert verdict(tmp_path, fault("sharp"), passes) == "caught"
    assert verdict(tmp_path, fault("blind"), passes) == "survived"
    assert seen == [("x = -1\n", "sharp"), ("x = -1\n", "blind")]
    assert verdict(tmp_path, fault("sharp", old="y"), passes).startswith("not tried: sign: `old` occurs 0 times")
    assert source.read_text() == "x = 1\n"


def test_names_are_unique(tmp_path: Path):
    entry = '[[fault]]\nname = "a"\nfile = "f"\nold = "o"\nnew = "n"\ntests = []\n'
    (tmp_path / "one.toml").write_text(entry)
    assert [(fault.area, fault.name) for fault in faults(tmp_path)] == [("one", "a")]
    (tmp_path / "two.toml").write_text(entry)
    with pytest.raises(ValueError, match="twice: a"):
        faults(tmp_path)
