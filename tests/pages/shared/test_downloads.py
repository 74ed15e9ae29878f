"""A model as a file: it loads once it is unpacked, and is never in memory as a whole."""

import asyncio
import tracemalloc
import zipfile
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pages.shared import downloads, models
from tests.conftest import run_coroutine

N_BYTES = 200_000_000  # of a large model's weights


@pytest.fixture
def client() -> TestClient:
    return TestClient(Starlette(routes=[downloads.ROUTE]))


def test_nothing_else_can_be_had(three_kinds_here: Path, client: TestClient):
    for path in ("gone", "broken", "..", "%2e%2e%2fen-fr", ".hidden", "tales%2fconfig.json"):
        answer = client.get(f"/download/{path}.zip")
        assert answer.status_code == 404 and len(answer.content) < 100, path


def test_names_of_all_kinds_have_an_address(two_models: Path, tmp_path: Path, client: TestClient, monkeypatch: Any):
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    name = "a b\"'%é#?&"
    (tmp_path / name).symlink_to(two_models / "other")
    address = downloads.address(models.available()[name])
    assert not {*address} & {*" \"'#?&é"}
    answer = client.get(address)
    assert answer.status_code == 200 and answer.headers["content-type"] == "application/zip"
    assert int(answer.headers["content-length"]) == len(answer.content)


def test_a_model_that_cannot_be_packed(three_kinds_here: Path, client: TestClient, monkeypatch: pytest.MonkeyPatch):
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    address = downloads.address(models.available()["tales"])
    monkeypatch.setattr(zipfile.ZipFile, "write", full)
    answer = client.get(address)
    assert answer.status_code == 500 and "cannot be read" in answer.text


def test_a_large_model_is_never_in_memory(three_kinds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    large = tmp_path / "large"
    large.mkdir()
    for path in (three_kinds / "tales").iterdir():
        (large / path.name).write_bytes(path.read_bytes())
    with (large / "model.safetensors").open("r+b") as weights:
        weights.truncate(N_BYTES)
    sent = 0

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(3600)
        return {}

    async def send(message: MutableMapping[str, Any]) -> None:
        nonlocal sent
        sent += len(message.get("body", b""))

    scope = {"type": "http", "method": "GET", "path": downloads.address(models.available()["large"]), "headers": []}
    tracemalloc.start()
    try:
        run_coroutine(Starlette(routes=[downloads.ROUTE])(scope, receive, send))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sent > N_BYTES
    assert peak < 8_000_000
