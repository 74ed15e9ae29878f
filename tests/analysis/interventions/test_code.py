"""An experiment as Python: it runs by itself, and prints the numbers of the page."""

import subprocess
import sys
from pathlib import Path

import pytest

import transformer_core as tc
from transformer_core.analysis.interventions import (
    Ablation,
    CellEdit,
    Component,
    Patch,
    Stack,
    TokenSwap,
    as_code,
    consequences,
    read_base,
)

ROOT = Path(__file__).resolve().parents[3]
TIRED = "The animal didn't cross the street because it was too tired."
WIDE = "The animal didn't cross the street because it was too wide."
STACK = Stack(
    entries=(
        Ablation(component=Component(kind="head", attention="cross", layer=1, heads=(0,)), texts=(WIDE,)),
        CellEdit(attention="cross", layer=0, operation="knock_out", heads=(1,), cells=((3, 2), (None, 1))),
        Patch(
            component=Component(kind="resid_mid", attention="decoder", layer=0, positions=(3,)),
            text=WIDE,
            direction="noising",
            continuation="same",
            name="it's “one”",
        ),
        TokenSwap(side="source", positions=(2,), tokens=(40,), enabled=False),
    )
)


def test_the_code_prints_the_same_numbers():
    model, tokenizer = tc.load("checkpoints/en-fr")
    base = read_base(model, tokenizer, TIRED, max_tokens=30)
    found = consequences(model, tokenizer, base, STACK)
    code = as_code(STACK, "checkpoints/en-fr", TIRED, max_tokens=30)
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, encoding="utf-8"
    ).stdout.splitlines()
    assert printed[0] == f"before: {found.output_before!r}" and printed[1] == f"after:  {found.output!r}"
    assert len(printed) == 3 + len(found.labels)
    before, after = found.logit_differences
    columns = (found.effect.before, found.effect.after, before, after, found.effect.kl)
    for line, label, *expected in zip(printed[3:], found.labels, *columns, strict=True):
        numbers = line.removeprefix(repr(label)).split()
        assert [float(number) for number in numbers] == pytest.approx(expected, abs=2e-5)
    assert found.changes_output


def test_only_what_is_not_as_usual_is_written():
    code = as_code(Stack(), "a'b", "x\ny")
    assert 'tc.load("a\'b")' in code and "read_base(model, tokenizer, 'x\\ny')" in code and "stack = Stack()" in code
    assert "import Stack, consequences, read_base" in code
    assert "target='z', max_tokens=9, max_new_tokens=2" in as_code(
        Stack(), "m", "x", target="z", max_tokens=9, max_new_tokens=2
    )
    compile(as_code(STACK, "m", "x"), "code", "exec")
