"""What all tests share: shapes checked at run time, the data folder, hypothesis profiles."""

import asyncio
import os
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import hypothesis
import jaxtyping
import pytest
import torch

from tests import shapes

pytest_plugins = ["tests.schedule"]

Result = TypeVar("Result")

if "PYTEST_XDIST_WORKER" in os.environ:  # tests that run side by side take one thread each, and so does what they start
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    torch.set_num_threads(1)
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test asks the real Hub; downloads come from a server of ours

# Before the first import of the core: every annotated shape is checked by beartype, in the tests only.
shapes.install()

ROOT = Path(__file__).resolve().parents[1]

hypothesis.settings.register_profile("daily", deadline=None, max_examples=50, derandomize="CI" in os.environ)
hypothesis.settings.register_profile("release", deadline=None, max_examples=200)


def pytest_configure(config: pytest.Config) -> None:
    """Try more examples where every combination is tried, too."""
    hypothesis.settings.load_profile("release" if config.getoption("full") else "daily")


@pytest.fixture(autouse=True)
def smallest_numbers() -> Iterator[None]:
    """A training rounds the smallest numbers to 0, in the whole process; the next test has them again."""
    yield
    torch.set_flush_denormal(False)


@pytest.fixture
def without_type_checks() -> Iterator[None]:
    """Values of files and command lines have no types yet: error messages are the code's, not the type checker's."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def run_coroutine(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a loop of another thread: in this one the loop of Playwright may be running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data that the project does not ship; tests that need it skip where it is missing."""
    folder = Path(os.environ.get("HEADLIGHT_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"needs the data folder: there is none at {folder}; HEADLIGHT_DATA can point to it")
    return folder
