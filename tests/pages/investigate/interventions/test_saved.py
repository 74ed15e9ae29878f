"""What is saved with a figure: the lines, run in their own process, give the arrays; the state says of what."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from headlight.analysis.interventions.records import Ablation, Component, InterventionStack, Patch
from headlight.analysis.interventions.stacks import from_json
from tests.pages.explore.decoding.decoding_parts import files_of
from tests.pages.investigate.interventions.test_page import BOTH, TEXT, opened, swept
from tests.pages.small_gpt2 import save_small_gpt2
from transformer_core.checkpoints.bring_in import bring_in

HEAD = Component(kind="head", attention="decoder", layer=0, heads=(1,))
OFF = InterventionStack(entries=(Ablation(component=HEAD, method="zero"),))
PATCHED = InterventionStack(entries=(*BOTH.entries, Patch(component=HEAD, text="The cat sleeps.", direction="noising")))
CASES: tuple[tuple[str, str, InterventionStack, str, tuple[str, ...]], ...] = (
    ("en-fr", TEXT, PATCHED, "pattern", ("tokens", "pattern")),
    ("en-fr", TEXT, PATCHED, "residual", ("residual-encoder",)),
    ("small", "the cat sees a dog", OFF, "heads", ("heads", "tokens")),
    ("tales", "The cat sees the", OFF, "exact", ("sweep-decoder",)),
    ("gaps", "The ____ sees the dog.", InterventionStack(), "sieve", ("sieve", "sweep-encoder")),
)
RUN = """
import runpy, sys
from pathlib import Path
import numpy as np
Path.write_text = lambda *_, **__: 0  # the page that is drawn again
for path in sys.argv[1:]:
    printed = []
    runpy.run_path(f"{path}.py", {"print": printed.append})
    with np.load(f"{path}.npz") as arrays:
        assert {*arrays} == {*printed[-1]} and any(of.size > 1 for of in arrays.values()), path
        for name, of in arrays.items():
            close = {} if of.dtype.kind == "U" else {"rtol": 1e-5, "atol": 1e-6}
            assert (np.allclose if close else np.array_equal)(printed[-1][name], of, **close), (path, name)
"""


def test_the_lines_give_the_arrays_in_a_clean_process_and_the_state_says_of_what(
    open_app: Callable[..., AppTest], three_kinds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    save_small_gpt2(tmp_path / "imported")
    bring_in(str(tmp_path / "imported"), tmp_path / "here" / "small")
    paths = []
    for model, text, stack, view, keys in CASES:
        here, is_sweep = (tmp_path / "here" if model == "small" else three_kinds), view in ("exact", "sieve")
        monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(here))
        app = opened(open_app, stack, model=model, text=text, view="sweep" if is_sweep else view)
        app = swept(app, way=view) if is_sweep else app
        loaded, tokenizer = tc.load(here / model)
        for key in keys:
            files = files_of(app, f"interventions-{key}")
            actual, own = json.loads(files["json"]), [*tokenizer.encode_for(text, loaded.config.architecture)]
            weights = (here / model / "model.safetensors").read_bytes()
            assert actual["model"]["sha256"] == hashlib.sha256(weights).hexdigest()
            assert actual["view"]["text"] == text and from_json(json.dumps(actual["stack"])) == stack
            assert next(iter(actual["ids"].values()))[: len(own)] == own and len(files["csv"].splitlines()) > 2
            assert not is_sweep or (actual["sweep"]["method"], actual["sweep"]["kind"]) == (view, "head")
            paths.append(tmp_path / f"{model}-{view}-{key}")
            for ending in ("py", "npz"):
                paths[-1].with_suffix(f".{ending}").write_bytes(files[ending])
    root = Path(tc.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", RUN, *map(str, paths)], cwd=root, capture_output=True, text=True)
    assert not done.returncode, done.stderr
