"""The memory that the app may keep things in: a share of the machine's, or what an environment variable says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pages.shared import budget as module
from pages.shared.budget import budget
from transformer_core.errors import ConfigError

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of 10,000 bytes that says nothing of a budget."""
    monkeypatch.delenv("HEADLIGHT_MEMORY", raising=False)
    monkeypatch.setattr(module, "main_memory", lambda: 10_000)


def test_what_can_be_asked_for(monkeypatch: pytest.MonkeyPatch):
    for wanted, n_bytes in (
        *(("", 5_000), ("0.25", 2_500), ("1", 10_000), ("30%", 3_000), ("100%", 10_000)),
        *(("8GB", 8_000_000_000), ("8 GiB", 8 << 30), ("1.5g", 1_500_000_000), (" 512MiB ", 512 << 20), ("2k", 2_000)),
    ):
        monkeypatch.setenv("HEADLIGHT_MEMORY", wanted)
        assert budget() == n_bytes, wanted
    monkeypatch.setattr(module, "main_memory", lambda: None)
    monkeypatch.delenv("HEADLIGHT_MEMORY")
    assert budget() == 4 << 30, "of a machine that says nothing"


@pytest.mark.parametrize("wanted", ["lots", "0", "-1", "1.5", "120%", "8", "0GB", "8GBB", "0.5GB or more", "nan"])
def test_what_cannot(wanted: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_MEMORY", wanted)
    with pytest.raises(ConfigError, match=f"such as 8GB.*got {wanted!r}"):
        budget()


def test_a_server_says_in_one_sentence_what_is_wrong():
    command = (sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", "0", "--server.headless", "true")
    env = os.environ | {"HEADLIGHT_MEMORY": "lots"}
    ended = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1
    (sentence,) = [line for line in ended.stderr.splitlines() if line.strip()]
    assert sentence.startswith("Headlight did not start: HEADLIGHT_MEMORY must be") and "got 'lots'" in sentence
