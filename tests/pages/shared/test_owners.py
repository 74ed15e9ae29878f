"""Who made what on a shared server, and what its visitors are refused."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import streamlit as st

from pages.models import model_store
from pages.shared import models, owners, run_commands, runs
from pages.shared.runs import Run
from pages.train.train import own_texts
from transformer_core.errors import CheckpointError, ConfigError, HeadlightError, RunError


@pytest.fixture
def arrive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Make the server a shared one; the function that it returns lets another visitor act from here on."""
    monkeypatch.setenv(owners.VARIABLE, "1")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path / "checkpoints"))
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path / "runs"))

    def arrive(cookie: str) -> None:
        monkeypatch.setattr(st, "context", SimpleNamespace(cookies={owners.COOKIE: cookie}))

    return arrive


def made(path: Path) -> Path:
    """A folder that the visitor of this moment makes, with a file of 1,000 bytes."""
    path.mkdir(parents=True)
    (path / "config.json").write_bytes(b" " * 1_000)
    owners.claim(path)
    return path


def test_who_runs_the_server_is_on_its_machine_which_no_other_reaches(monkeypatch: pytest.MonkeyPatch):
    cases = {("127.0.0.1", None, "0"): True, ("127.0.0.1", "10.0.0.7", "0"): False, ("0.0.0.0", None, "0"): False}
    for (address, visitor, shared), expected in (cases | {("localhost", None, "1"): False}).items():
        monkeypatch.setenv(owners.VARIABLE, shared)
        monkeypatch.setattr(st, "get_option", {"server.address": address}.get)
        monkeypatch.setattr(st, "context", SimpleNamespace(ip_address=visitor))
        assert owners.is_operator() == expected


def test_what_one_visitor_made_another_can_neither_change_nor_delete(arrive):
    arrive("first")
    model = made(models.folder() / "mine")
    run = Run(name="run", path=made(runs.folder() / "run"), state="stopped")
    text = made(own_texts.folder() / "text")
    (key,) = own_texts.available()
    text = own_texts.available()[key]
    arrive("second")
    assert not own_texts.available()
    for act, kind in (
        (lambda: model_store.delete("mine"), CheckpointError),
        (lambda: run_commands.ask(run, "stop"), RunError),
        (lambda: run_commands.delete(run), RunError),
        (lambda: run_commands.start("run", []), RunError),
        (lambda: own_texts.delete(text), RunError),
        (lambda: model_store.bring_in("/etc", on_progress=lambda *_: None), CheckpointError),
    ):
        with pytest.raises(kind, match="shared server"):
            act()
    arrive("first")
    model_store.delete("mine")
    run_commands.delete(run)
    own_texts.delete(text)
    assert not model.exists() and not run.path.exists() and not own_texts.available()
    arrive("second")
    assert owners.is_mine(made(models.folder() / "mine"))  # the name is free again


def test_what_a_visitor_keeps_is_limited_and_what_others_keep_does_not_count(arrive, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(owners, "MOST_KEPT", 1_500)
    arrive("first")
    made(models.folder() / "a")
    owners.check_room(models.folder())
    made(models.folder() / "b")
    with pytest.raises(HeadlightError, match="delete some"):
        owners.check_room(models.folder())
    arrive("second")
    owners.check_room(models.folder())
    monkeypatch.setenv(owners.VARIABLE, "0")
    arrive("first")
    owners.check_room(models.folder())


def test_what_has_no_owner_is_the_operators_and_on_ones_own_machine_everybodys(arrive, monkeypatch: pytest.MonkeyPatch):
    arrive("first")
    assert not owners.is_mine(models.folder() / "theirs")
    monkeypatch.setenv(owners.VARIABLE, "")
    assert owners.is_mine(models.folder() / "theirs")
    monkeypatch.setenv(owners.VARIABLE, "maybe")
    with pytest.raises(ConfigError, match="1 or 0"):
        owners.is_shared()
    monkeypatch.setenv(owners.VARIABLE, "0")
