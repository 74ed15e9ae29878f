"""What is saved with a figure: the lines, run in a process of their own, give the arrays; the state says of what."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from tests.pages.explore.decoding.decoding_parts import files_of
from tests.pages.investigate.interventions.test_page import BOTH, TEXT, opened, swept
from tests.pages.small_gpt2 import save_small_gpt2
from transformer_core.analysis.interventions.records import Ablation, Component, Patch, Stack
from transformer_core.analysis.interventions.stack_json import from_json
from transformer_core.checkpoints.bring_in import bring_in

ROOT = Path(__file__).parents[4]
OF_DECODER = Component(kind="head", attention="decoder", layer=0, heads=(1,))
OFF = Stack(entries=(Ablation(component=OF_DECODER, method="zero"),))
PATCHED = Stack(entries=(*BOTH.entries, Patch(component=OF_DECODER, text="The cat sleeps.", direction="noising")))
CASES: list[tuple[str, str, Stack | None, str, tuple[str, ...]]] = [
    ("en-fr", TEXT, PATCHED, "pattern", ("tokens", "pattern")),
    ("en-fr", TEXT, PATCHED, "residual", ("residual-encoder",)),
    ("small", "the cat sees a dog", OFF, "heads", ("heads", "tokens")),
    ("tales", "The cat sees the", OFF, "exact", ("sweep-decoder",)),
    ("gaps", "The ____ sees the dog.", None, "sieve", ("sieve", "sweep-encoder")),
]
RUN = """
import runpy, sys
from pathlib import Path
import numpy as np
Path.write_text = lambda *_, **__: 0  # the page that is drawn again
for path in map(Path, sys.argv[1:]):
    printed = []
    runpy.run_path(str(path / "redraw.py"), {"print": printed.append})
    with np.load(path / "numbers.npz") as arrays:
        assert {*arrays} == {*printed[-1]} and any(arrays[name].size > 1 for name in arrays), path
        for name in arrays:
            if arrays[name].dtype.kind == "U":
                assert arrays[name].tolist() == list(printed[-1][name]), (path, name)
            else:
                np.testing.assert_allclose(printed[-1][name], arrays[name], rtol=1e-5, atol=1e-6, err_msg=f"{path}")
"""


def test_the_lines_give_the_arrays_in_a_clean_process_and_the_state_says_of_what(
    open_app: Callable[..., AppTest], three_kinds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "here").mkdir()
    save_small_gpt2(tmp_path / "imported")
    bring_in(str(tmp_path / "imported"), tmp_path / "here" / "small")
    folders = []
    for model, text, stack, view, keys in CASES:
        here = tmp_path / "here" if model == "small" else three_kinds
        monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(here))
        is_sweep = view in ("exact", "sieve")
        app = opened(open_app, stack, model=model, text=text, view="sweep" if is_sweep else view)
        if is_sweep:
            app = swept(app, way=view)
        loaded, tokenizer = tc.load(here / model)
        for key in keys:
            files = files_of(app, f"interventions-{key}")
            told: dict[str, Any] = json.loads(files["json"])
            assert (
                told["model"]["sha256"] == hashlib.sha256((here / model / "model.safetensors").read_bytes()).hexdigest()
            )
            assert told["view"]["text"] == text and from_json(json.dumps(told["stack"])) == (stack or Stack())
            ids = next(iter(told["ids"].values()))
            own = [*tokenizer.encode_for(text, loaded.config.architecture)]
            assert ids[: len(own)] == own
            assert not is_sweep or (told["sweep"]["method"], told["sweep"]["kind"]) == (view, "head")
            assert len(files["csv"].splitlines()) > 2
            folders.append(tmp_path / f"{model}-{view}-{key}")
            folders[-1].mkdir()
            for name, kind in (("redraw.py", "py"), ("numbers.npz", "npz")):
                (folders[-1] / name).write_bytes(files[kind])
    done = subprocess.run([sys.executable, "-c", RUN, *map(str, folders)], cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stderr
