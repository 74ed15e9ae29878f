"""What `import transformer_core as tc` gives, and what it does not load."""

import subprocess
import sys
import types
from pathlib import Path

import pytest
import torch

import transformer_core as tc

ROOT = Path(__file__).resolve().parents[1]

PROMISED = {
    *("ModelConfig", "Transformer", "build", "presets"),
    *("Tokenizer", "train_tokenizer", "load", "save", "read_card"),
    *("Activations", "capture", "site", "sites", "site_names", "Decoding", "greedy_decode", "beam_search"),
    *("DecodingSession", "DecodingStep", "DecodingTree", "Sampling"),
    *("LazyActivations", "LazyPattern", "Site", "intervene", "weights", "HeadWeights"),
    *("zero", "scale", "replace", "average", "resample", "patch", "zero_heads"),
    *("set_cells", "knock_out", "edit_mask"),
}


def test_the_names_are_those_promised():
    assert set(tc.__all__) == PROMISED
    assert list(tc.__all__) == sorted(tc.__all__)
    assert set(tc.__all__) <= set(dir(tc))
    own = {name for name in vars(tc) if not name.startswith("_")} - PROMISED
    assert all(isinstance(getattr(tc, name), types.ModuleType) for name in own)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="ModelConfigg"):
        _ = tc.ModelConfigg


@pytest.mark.parametrize("name", sorted(PROMISED))
def test_every_name_says_what_it_is(name: str):
    assert getattr(tc, name).__doc__


def test_nothing_of_the_app_and_nothing_heavy_is_loaded():
    code = "import sys, transformer_core; print(*{name.split('.')[0] for name in sys.modules})"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert not {"torch", "streamlit", "plotly", "transformers", "pandas", "matplotlib"} & set(answer.stdout.split())
    assert answer.stderr == ""


def test_the_first_lines_run_as_they_stand(tmp_path: Path):
    """Those of the package's docstring, on a model of the test's own."""
    tokenizer = tc.train_tokenizer(["abc"], kind="character")
    tc.save(tmp_path / "checkpoints" / "en-fr", tc.build(tc.presets.tiny(tokenizer.vocab_size)), tokenizer)
    assert tc.__doc__ is not None
    lines = [line[4:] for line in tc.__doc__.splitlines() if line.startswith((">>> ", "... "))]
    assert len(lines) >= 5
    code = "\n".join(lines[:-1]).replace("checkpoints/", f"{tmp_path.as_posix()}/checkpoints/")
    names = {"src": torch.tensor([[4, 5, 6, 2]]), "tgt": torch.tensor([[1, 6, 5]])}
    exec(code, names)
    pattern = eval(lines[-1], names)
    assert pattern.shape == (1, 4, 3, 4)  # [batch, head, query, key]
    assert torch.allclose(pattern.sum(dim=-1), torch.ones(1, 4, 3))
