"""The lint of imports finds what it should, in planted files."""

from pathlib import Path

import pytest

from tests.lints.arrows import all_faults, circle, little_shared, problems


def test_what_two_pages_use_is_seen(tmp_path: Path):
    use = "from pages.shared import known\nfrom pages.shared.little import x"
    sources = {"shared/known.py": "", "shared/little.py": "", "learn/masks/page.py": use, "learn/steps/page.py": use}
    for name, source in (sources | {"frame.py": "import pages.shared.known"}).items():
        (tmp_path / "pages" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pages" / name).write_text(source)
    assert little_shared(tmp_path) == {"pages.shared.little"}
    (tmp_path / "pages/learn/steps/other.py").write_text(use)  # of the same page
    assert little_shared(tmp_path) == {"pages.shared.little"}
    (tmp_path / "pages/learn/tour").mkdir()
    (tmp_path / "pages/learn/tour/page.py").write_text("def show():\n    from pages.shared import little")
    assert little_shared(tmp_path) == set()


def test_a_circle_is_seen(tmp_path: Path):
    sources = {
        "text/__init__.py": "",
        "text/a.py": "from transformer_core.text.b import x",
        "text/b.py": "def f():\n    from . import c",
        "text/c.py": "import typing\nif typing.TYPE_CHECKING:\n    import transformer_core.text.a",
    }
    for name, source in sources.items():
        (tmp_path / "transformer_core" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "transformer_core" / name).write_text(source)
    assert circle(tmp_path) == []
    (tmp_path / "transformer_core/text/c.py").write_text("def f():\n    import transformer_core.text.a")
    modules = circle(tmp_path)
    assert {*modules} == {f"transformer_core.text.{name}" for name in "abc"}
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/heads.py").touch()  # a page outside of a section
    sentences = [*problems(tmp_path)]
    assert [sentence.partition(":")[0] for sentence in sentences] == ["files that import each other", "pages/heads.py"]


@pytest.mark.parametrize(
    ("file", "source", "fault"),
    [
        ("transformer_core/model/block.py", "from transformer_core.instrument.capture import capture", "lies above"),
        ("transformer_core/model/block.py", "from ..instrument import capture", "lies above"),
        ("transformer_core/model/block.py", "def f():\n    import transformer_core.training.loop", "lies above"),
        ("transformer_core/hooks.py", "from transformer_core.text import tokenizer", "lies above"),
        ("transformer_core/cli/train.py", "import pages.shared.view.state", "lies above"),
        ("pages/shared/view/state.py", "from pages.explore import heads", "lies above"),
        ("headlight/analysis/flow/rollout.py", "import streamlit as st", "streamlit stops"),
        ("headlight/analysis/flow/rollout.py", "from plotly import graph_objects", "plotly belongs"),
        ("pages/explore/heads/page.py", "import streamlit as st\nst.session_state.a = 1", "a Field or Kept"),
        ("pages/explore/heads/page.py", "def f():\n    import plotly.express as px", "plotly belongs"),
        ("headlight/figures/heatmap.py", "from torch import Tensor", "numpy arrays"),
        ("pages/explore/heads/page.py", "import torch", "no tensor arithmetic"),
        ("pages/learn/tour/lesson_engine/run.py", "import streamlit as st", "streamlit stops"),
        ("pages/shared/loaders.py", "import transformers", "loads for seconds"),
        ("transformer_core/model/block.py", "from headlight.language import say", "knows no reader"),
        ("headlight/analysis/flow/rollout.py", "from headlight import language", "knows no reader"),
        ("transformer_core/model/block.py", "print('here')", "only the command line prints"),
        ("transformer_core/model/utils.py", "", "name the file"),
        ("transformer_core/extras/thing.py", "", "no room"),
        ("transformer_core/corpora/corpus.py", "from grammars import stories", "lies above"),
        ("pages/frame.py", "import grammars.en_fr", "lies above"),
        ("grammars/stories/split.py", "from pages.shared import known", "the core alone"),
    ],
)
def test_a_fault_is_seen(tmp_path: Path, file: str, source: str, fault: str):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(source)
    assert any(fault in sentence and sentence.startswith(file) for sentence in all_faults(tmp_path))


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("app.py", "import streamlit\nfrom pages.shared import server"),
        ("pages/shared/server.py", "import plotly"),
        ("pages/frame.py", "from pages.shared import state\nimport streamlit"),
        ("pages/explore/heads/page.py", "import transformer_core as tc\nfrom headlight.figures import theme"),
        ("pages/shared/loaders.py", "def load():\n    import torch"),
        ("pages/learn/tour/lesson_engine/run.py", "import torch\nfrom headlight.language import say"),
        (
            "pages/shared/loaders.py",
            "import typing\nif typing.TYPE_CHECKING:\n    import torch",
        ),
        ("transformer_core/__init__.py", "from transformer_core.model import transformer\nfrom . import config"),
        ("transformer_core/__main__.py", "from transformer_core.cli import train\nprint('usage')"),
        (
            "transformer_core/corpora/shipped/en_fr/pairs.py",
            "from ...corpus import Pair\nfrom ....errors import CorpusError",
        ),
        ("transformer_core/decoding/greedy.py", "from transformer_core import hooks"),
        ("headlight/figures/heatmap.py", "import plotly.graph_objects as go"),
        ("headlight/figures/heatmap.py", "from headlight.language import say"),
        ("transformer_core/training/loop.py", "from transformer_core.errors import Message"),
    ],
)
def test_an_import_that_points_down_is_no_fault(tmp_path: Path, file: str, source: str):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(source)
    assert all_faults(tmp_path) == []
