"""What is private to Streamlit and used here: where an upgrade changes it, this says what, before a page breaks."""

import ast
import inspect
import re
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.scriptrunner import StopException, get_script_run_ctx
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils import script_requests
from streamlit.runtime.scriptrunner_utils.script_requests import (
    RerunData,
    ScriptRequest,
    ScriptRequests,
    ScriptRequestType,
)
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state.safe_session_state import SafeSessionState

from pages.shared import private_streamlit, prose, server
from pages.shared.private_streamlit import keep_waiting_acts
from tests.e2e.browser import ROOT

PRIVATE = ROOT / "pages" / "shared" / "private_streamlit.py"
PUBLIC = {"streamlit", "streamlit.delta_generator"}
STATIC = Path(streamlit.__file__).parent / "static" / "static"


def test_one_file_alone_imports_what_is_private():
    """And none starts a process: only the launcher of the core does."""
    imported = set()
    for path in [ROOT / "app.py", *(ROOT / "pages").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if path != PRIVATE else ():
            if isinstance(node, ast.ImportFrom):
                imported.add(node.module or "")
            elif isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
    assert {module for module in imported if module.partition(".")[0] == "streamlit"} == PUBLIC
    assert "subprocess" not in imported


def test_the_parts_of_a_page_are_called_as_styles_and_components_call_them():
    ours = [path for kind in ("*.py", "*.js", "*.css") for path in (ROOT / "pages").rglob(kind)]
    text = "".join(path.read_text(encoding="utf-8") for path in ours)
    named = {*re.findall(r"data-testid[\^$*]?=\W*(st\w+)", text)}
    theirs = "".join(path.read_text(encoding="utf-8") for path in STATIC.rglob("*.js"))
    assert len(named) > 20 and not {name for name in named if not re.search(rf"[\"'`]{name}", theirs)}


def test_what_is_read_called_or_wrapped_is_there_and_takes_what_it_took():
    for function, parameters in (
        (AppSession.request_rerun, ["self", "client_state"]),
        (ScriptRunner._maybe_handle_execution_control_request, ["self"]),
        (script_requests._coalesce_widget_states, ["old_states", "new_states"]),
        (script_requests._has_active_trigger_value, ["state"]),
        (get_script_run_ctx, ["suppress_warning"]),
        (MediaFileManager._get_inactive_file_ids, ["self"]),
    ):
        assert [*inspect.signature(inspect.unwrap(function)).parameters] == parameters, function
    assert callable(SafeSessionState.on_script_will_rerun) and callable(SafeSessionState.on_script_finished)
    for made_by, names in (
        (AppSession.__init__, ["_scriptrunner", "id"]),
        (ScriptRunner.__init__, ["_requests"]),
        (ScriptRequests.__init__, ["_lock", "_state", "_rerun_data"]),
        (MediaFileManager.__init__, ["_file_metadata", "_files_by_session_and_coord", "_deferred_callables"]),
    ):
        assert not [name for name in names if f"self.{name}" not in inspect.getsource(made_by)]
    known = {*(field.name for field in fields(ScriptRunContext)), *vars(ScriptRunContext)}
    assert {"page_script_hash", "session_id", "is_history_navigation", "yield_check"} <= known
    assert {"RERUN", "CONTINUE"} <= {*ScriptRequestType.__members__}
    assert "widget_states" in {field.name for field in fields(RerunData)}


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_click_acts_once_although_a_part_of_the_page_runs_again_meanwhile(is_begun: bool):
    """Whether or not the run with the click has begun before the request of the part reaches it."""
    requests = ScriptRequests()
    clicked = WidgetStates(widgets=[WidgetState(id="step", trigger_value=True)])
    requests.request_rerun(RerunData(fragment_id="part", widget_states=clicked))
    runs: list[Any] = []

    def request_rerun(_: Any, client_state: ClientState) -> None:
        if is_begun:
            runs.append(requests.on_scriptrunner_ready())
        requests.request_rerun(RerunData(fragment_id="part", widget_states=client_state.widget_states))
        runs.append(requests.on_scriptrunner_ready())

    session: Any = SimpleNamespace(id="", _scriptrunner=SimpleNamespace(_requests=requests))
    private_streamlit._with_what_waits(request_rerun)(session, ClientState(fragment_id="part"))
    clicks = [state.id for run in runs for state in run.rerun_data.widget_states.widgets if state.trigger_value]
    assert clicks == ["step"]


def test_a_click_downloads_its_file_although_the_page_runs_again_meanwhile(monkeypatch: pytest.MonkeyPatch):
    keep_waiting_acts()
    files = MediaFileManager(MemoryMediaFileStorage("/media"))

    def run() -> str:
        files.clear_session_refs()
        button = files.add_deferred(lambda: b"content", None, "0.1")
        files.remove_orphaned_files()
        return button

    clicked = run()
    run()
    url = files.execute_deferred(clicked)
    run(), run()
    file = files.read_file(Path(url).stem)
    assert file is not None and file.content == b"content"
    monkeypatch.setattr(private_streamlit, "_FETCHED", 0.0)
    last = run()
    run(), run()
    assert files.read_file(Path(url).stem) is None
    for forgotten in (clicked, last):
        with pytest.raises(MediaFileStorageError, match="not found"):
            files.execute_deferred(forgotten)


def test_an_error_is_reported_even_if_the_run_is_to_stop(monkeypatch: pytest.MonkeyPatch):
    """If that raised, Streamlit would show the traceback."""
    keep_waiting_acts()
    stops = SimpleNamespace(on_scriptrunner_yield=lambda: ScriptRequest(ScriptRequestType.STOP))
    runner: Any = SimpleNamespace(_is_in_script_thread=lambda: True, _execing=True, _requests=stops)

    def say(text: str) -> str:
        ScriptRunner._maybe_handle_execution_control_request(runner)
        return text

    with pytest.raises(StopException):
        say("")
    monkeypatch.setattr(server, "say", say)
    shown: list[str] = []
    monkeypatch.setattr(prose, "error", shown.append)
    assert server.on_error(ValueError()) and len(shown) == 1
