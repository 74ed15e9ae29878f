"""All uses of Streamlit's private API; `tests/pages/shared/test_private_streamlit.py` shows which of them broke.

They tell a run of a page its page, and whether it follows Back or Forward. They also keep a user's action from being
lost when another, or a run, follows at once. Streamlit 1.67 has four faults, which two clicks some milliseconds apart
expose, and a click on `st.download_button` while the page runs:

- A run that is superseded by the next is stopped before or during its callbacks, and the next one does
  not call them again.
- A queued run is dropped together with the clicks that requested it.
- The browser's next message, sent before it has received a run's changes, repeats the older values of all
  other widgets, and they are taken for the user's.
- A file that a click makes is forgotten as soon as a run has replaced its button, although the browser may not yet
  show the new one; what the click made, as soon as two runs of anybody have ended, although it may not be fetched yet.

`tests/e2e/test_acts.py` sends two actions at once.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from threading import RLock, local
from typing import Any

from streamlit.config import set_option
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime import get_instance
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.scriptrunner import StopException, get_script_run_ctx
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import (
    ScriptRequestType,
    _coalesce_widget_states,
    _has_active_trigger_value,
)
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.web.server.starlette import starlette_websocket

from transformer_core.cancellation import add_cancellation_check

_UNHEARD = 0.3  # s after a run in which a message may predate the browser's update; nobody reacts so fast
_FETCHED = 30.0  # s within which a click has arrived and its file is fetched, with room for a busy machine
_thread = local()  # is_uninterrupted; works_for: a session, in a thread beside its runs


def is_in_a_run() -> bool:
    """Whether this code runs for a visitor's page, as opposed to the server's warm-up."""
    return get_script_run_ctx(suppress_warning=True) is not None


def came_through_history() -> bool:
    """Whether this run follows Back or Forward."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def page_of_run() -> str:
    """Return the name of this run's page."""
    context = get_script_run_ctx()
    return "" if context is None else context.page_script_hash


def is_host_allowed(host: str | None) -> bool:
    """Whether `server.allowedHosts` has this name of the server; Streamlit itself asks that of websockets alone."""
    return starlette_websocket.is_host_allowed(host)


def end_if_abandoned() -> None:
    """End a page run, or work done in `working_for`, if its session is gone or has requested another run."""
    context = get_script_run_ctx(suppress_warning=True)
    session: str = getattr(_thread, "works_for", "")
    if context is not None:
        context.yield_check()
    elif session and not get_instance().is_active_session(session):
        raise StopException


def session_of_run() -> str:
    """Return the id of this run's session."""
    context = get_script_run_ctx(suppress_warning=True)
    return "" if context is None else context.session_id


@contextmanager
def working_for(session: str) -> Iterator[None]:
    """Let this thread compute for a session, and stop as soon as the session is gone."""
    _thread.works_for = session
    try:
        yield
    except StopException:
        pass
    finally:
        _thread.works_for = ""


def keep_waiting_acts() -> None:
    """Patch Streamlit, once per process, before it serves anybody."""
    if not hasattr(AppSession.request_rerun, "__wrapped__"):
        add_cancellation_check(end_if_abandoned)
        AppSession.request_rerun = _with_what_waits(AppSession.request_rerun)  # type: ignore[method-assign]
        for name in ("on_script_will_rerun", "on_script_finished"):
            setattr(SafeSessionState, name, _undisturbed(getattr(SafeSessionState, name)))
        handle = ScriptRunner._maybe_handle_execution_control_request
        ScriptRunner._maybe_handle_execution_control_request = _later(handle)  # type: ignore[method-assign]
        inactive = MediaFileManager._get_inactive_file_ids
        MediaFileManager._get_inactive_file_ids = _not_lately(inactive)  # type: ignore[method-assign]


def serve_strangers(max_upload: int) -> None:
    """Ignore browser requests to clear the caches, which all visitors share, and limit the size of uploads.

    Args:
        max_upload: maximum size of a file in MB.
    """
    set_option("server.maxUploadSize", max_upload)
    setattr(AppSession, "_handle_clear_cache_request", lambda self: None)  # noqa: B010


def _with_what_waits(request_rerun: Callable[..., None]) -> Callable[..., None]:
    """Wrap a rerun request so that it includes the queued actions and omits widget values that it only repeats."""

    @wraps(request_rerun)
    def request(self: AppSession, client_state: ClientState | None) -> None:
        if client_state is not None:
            is_whole = not client_state.fragment_id
            waiting = _waiting(self, take=is_whole)
            session = _session(self.id)
            last = session.sent
            session.sent = {state.id: state.SerializeToString() for state in client_state.widget_states.widgets}
            if self._scriptrunner is not None or time.monotonic() - session.ended < _UNHEARD:
                own = {state.id for state in waiting.widgets}
                reports = [
                    state
                    for state in client_state.widget_states.widgets
                    if state.id in own
                    or _has_active_trigger_value(state)
                    or last.get(state.id) != session.sent[state.id]
                ]
                # Streamlit itself adds what waits to the request of a part, unless its run has begun by then.
                merged = _coalesce_widget_states(waiting if is_whole else None, WidgetStates(widgets=reports))
                client_state.widget_states.CopyFrom(merged or WidgetStates())
        request_rerun(self, client_state)

    return request


def _waiting(session: AppSession, *, take: bool) -> WidgetStates:
    """Return the widget states of a run that has not begun; `take` also cancels the run."""
    runner = session._scriptrunner
    if runner is None:
        return WidgetStates()
    requests = runner._requests
    with requests._lock:
        if requests._state != ScriptRequestType.RERUN:
            return WidgetStates()
        if take:
            requests._state = ScriptRequestType.CONTINUE
        return requests._rerun_data.widget_states or WidgetStates()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Keep this thread's run from being superseded or stopped in the block."""
    before = getattr(_thread, "is_uninterrupted", False)
    _thread.is_uninterrupted = True
    try:
        yield
    finally:
        _thread.is_uninterrupted = before


def _undisturbed(take_in: Callable[..., None]) -> Callable[..., None]:
    """Wrap the handling of widget changes so that a run finishes it, callbacks included, before another starts it."""

    @wraps(take_in)
    def undisturbed(self: Any, *args: Any, **options: Any) -> None:
        context = get_script_run_ctx(suppress_warning=True)
        session = _session("" if context is None else context.session_id)
        with session.lock, uninterrupted():
            try:
                take_in(self, *args, **options)
            finally:
                session.ended = time.monotonic()

    return undisturbed


@dataclass(eq=False)
class _Session:
    """The state of a session that Streamlit does not track."""

    lock: Any = field(default_factory=RLock)  # one run at a time handles actions
    sent: dict[str, bytes] = field(default_factory=dict)  # by widget, the last state that the browser sent
    ended: float = -math.inf  # s, when a run last began or ended


@lru_cache(maxsize=4096)
def _session(name: str) -> _Session:
    return _Session()


def _later(handle: Callable[..., None]) -> Callable[..., None]:
    """Let a run be superseded only outside of `uninterrupted`."""

    @wraps(handle)
    def handle_later(self: ScriptRunner) -> None:
        if not getattr(_thread, "is_uninterrupted", False):
            handle(self)

    return handle_later


def _not_lately(inactive: Callable[..., set[str]]) -> Callable[..., set[str]]:
    """Wrap the search for files to remove, which begins each removal, so that a file is kept for a while after its use.

    Until `_FETCHED` has passed, files that nobody uses any more count as those of a session without a name.
    """

    @wraps(inactive)
    def not_lately(self: MediaFileManager) -> set[str]:
        sessions, before, now = self._files_by_session_and_coord, vars(self).get("unused_since", {}), time.monotonic()
        sessions.pop("", None)
        used = {file for files in sessions.values() for file in files.values()}
        unused = {*self._file_metadata, *self._deferred_callables} - used
        since: dict[str, float] = {file: before.get(file, now) for file in unused}
        vars(self)["unused_since"] = since
        sessions[""] = {file: file for file, then in since.items() if now - then < _FETCHED}
        return inactive(self)

    return not_lately
