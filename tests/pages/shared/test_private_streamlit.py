"""What is private to Streamlit and used here: where an upgrade changes it, this says what, before a page breaks."""

import inspect
from dataclasses import fields
from typing import Any

import pytest
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils import script_requests
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state.safe_session_state import SafeSessionState


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (AppSession.request_rerun, ["self", "client_state"]),
        (ScriptRunner._maybe_handle_execution_control_request, ["self"]),
        (script_requests._coalesce_widget_states, ["old_states", "new_states"]),
        (script_requests._has_active_trigger_value, ["state"]),
        (get_script_run_ctx, ["suppress_warning"]),
    ],
    ids=lambda value: getattr(value, "__qualname__", ""),
)
def test_a_function_that_is_wrapped_or_called_takes_what_it_took(function: Any, parameters: list[str]):
    assert [*inspect.signature(inspect.unwrap(function)).parameters] == parameters


def test_a_run_takes_acts_in_where_it_is_wrapped():
    assert callable(SafeSessionState.on_script_will_rerun) and callable(SafeSessionState.on_script_finished)


@pytest.mark.parametrize(
    ("made_by", "names"),
    [
        (AppSession.__init__, ["_scriptrunner"]),
        (ScriptRunner.__init__, ["_requests"]),
        (ScriptRequests.__init__, ["_lock", "_state", "_rerun_data"]),
    ],
    ids=lambda value: getattr(value, "__qualname__", ""),
)
def test_an_attribute_that_is_read_is_made(made_by: Any, names: list[str]):
    source = inspect.getsource(made_by)
    assert not [name for name in names if f"self.{name}" not in source]


def test_a_run_knows_its_page_its_session_and_whether_it_follows_back_or_forward():
    assert {"page_script_hash", "session_id", "is_history_navigation"} <= {
        *(field.name for field in fields(ScriptRunContext)),
        *vars(ScriptRunContext),
    }


def test_a_request_that_waits_has_its_widgets():
    assert {"RERUN", "CONTINUE"} <= {*ScriptRequestType.__members__}
    assert "widget_states" in {field.name for field in fields(RerunData)}
