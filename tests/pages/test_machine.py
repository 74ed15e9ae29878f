"""What the model runs on: chosen beside the page, and calm where it fails."""

import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pages.shared import devices, machine
from tests.pages.conftest import OpenApp, figure_of, shown_code, url_of, values_of

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.usefixtures("three_kinds_here")


def test_precision_is_chosen_beside_the_page(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(machine.st, "popover", lambda *_, **__: nullcontext(SimpleNamespace(open=True)))
    app = open_app("heads", text="The cat.")
    exact = values_of(figure_of(app)["data"][0])
    app.segmented_control(key="precision-segments").select("bfloat16").run()
    assert not app.exception
    rounded = values_of(figure_of(app)["data"][0])
    assert not np.array_equal(rounded, exact)
    np.testing.assert_allclose(rounded, exact, atol=0.05)
    assert "dtype='bfloat16'" in shown_code(app)
    assert url_of(app) == {"text": "The cat."}  # not part of a link
    app.selectbox(key="model-box").select("gaps").run()
    assert app.segmented_control(key="precision-segments").value == "bfloat16"


def test_a_device_that_is_not_there_is_a_calm_sentence(open_app: OpenApp):
    app = open_app("heads", text="The cat.")
    app.session_state["device"] = "cuda:7"
    app.run()
    assert not app.exception
    assert "This model cannot be used: there is no device 'cuda:7'" in app.warning[0].value
    app.session_state["device"] = "cpu"
    app.run()
    assert not app.warning and figure_of(app)["data"]


@pytest.mark.parametrize(
    ("error", "device", "sentence"),
    [
        (RuntimeError("CUDA error: device-side assert\ntriggered"), "cuda:0", "GPU failed .CUDA error.*choose the CPU"),
        (RuntimeError(), "cuda:0", "GPU failed .RuntimeError.; choose the CPU"),
        (RuntimeError("CUDA out of memory. Tried to"), "cuda:0", "GPU has too little memory.*, or choose the CPU"),
        (MemoryError(), "cpu", "CPU has too little memory for this; choose bfloat16.*smaller model$"),
    ],
)
def test_what_a_device_says_becomes_a_sentence(error: Exception, device: str, sentence: str):
    with pytest.raises(devices.DeviceError, match=sentence), devices.on(device):
        raise error
    with pytest.raises(RuntimeError, match="shapes"), devices.on("cpu"):  # a fault of ours stays one
        raise RuntimeError("shapes cannot be multiplied")


def test_the_frame_does_not_wait_for_torch():
    """What is drawn before the answer needs no torch."""
    code = "import sys; from pages.shared import model_bar, models; models.available(); print('torch' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert answer.stdout.strip() == "False"
