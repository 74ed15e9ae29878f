"""What stands in front of Streamlit: its page made ready for ours, and security headers on everything."""

import asyncio
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from pages.shared import server, style
from pages.shared.server import HEADERS, FrontPage, SecurityHeaders


async def streamlit_itself(scope: Any, receive: Any, send: Any) -> None:
    """Stands for all that lies behind."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-from", b"behind")]})
    await send({"type": "http.response.body", "body": b"behind"})


def ask(app: Any, path: str, method: str = "GET") -> tuple[dict[str, str], str]:
    """Headers and body of the answer to one request."""
    messages: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    asyncio.run(app({"type": "http", "method": method, "path": path, "headers": []}, receive, send))
    headers = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
    return headers, b"".join(message.get("body", b"") for message in messages).decode()


@pytest.mark.parametrize("path", ["/", "/heads", "/head-roles"])
def test_a_pages_address_gets_the_page(path: str):
    _, body = ask(FrontPage(streamlit_itself), path)
    assert "<title>Headlight</title>" in body
    assert "<title>Streamlit</title>" not in body
    assert body.index("BACKEND_BASE_URL") < body.index('<script type="module"')
    plotly = {"/": 'rel="prefetch" as="script" href="/vendor/plotly.min.js"'}.get(path, 'src="/vendor/plotly.min.js"')
    assert plotly in body and body.count("/vendor/plotly.min.js") == 1
    assert body.index("history.pushState") < body.index('<script type="module"')  # before Streamlit takes it
    assert body.count("</style></body>") == 1
    behind = body.partition("</head>")[2]  # Streamlit's styles are in the head: ours have the last word
    assert style.sheet() in behind


@pytest.mark.parametrize(
    "path", ["/_stcore/health", "/static/js/a.js", "/favicon.png", "/vendor/plotly.min.js", "/a/b"]
)
def test_everything_else_goes_to_streamlit(path: str):
    assert ask(FrontPage(streamlit_itself), path)[1] == "behind"
    assert ask(FrontPage(streamlit_itself), "/heads", method="POST")[1] == "behind"


def test_torch_waits_for_the_page_that_does_without_it(monkeypatch: pytest.MonkeyPatch):
    """A visitor of Start is served before torch is imported; for any other page it is imported at once."""
    for path, waits in (("/", True), ("/start", True), ("/heads", False)):
        asked: Future[str] = Future()
        waited = list[float]()
        monkeypatch.setattr(server, "_FIRST_PATH", asked)
        monkeypatch.setattr(server.health, "PAGE_IS_DRAWN", SimpleNamespace(wait=waited.append))
        monkeypatch.setattr(server, "WAIT_FOR_BROWSER", 0.0)
        monkeypatch.setattr(server.gc, "freeze", lambda: None)
        ask(FrontPage(streamlit_itself), path)
        assert asked.result(0) == path
        server.warm_up()
        assert bool(waited) == waits, path


def test_every_answer_has_the_headers():
    for app in (SecurityHeaders(streamlit_itself), SecurityHeaders(FrontPage(streamlit_itself))):
        headers, _ = ask(app, "/")
        assert headers.items() >= HEADERS.items()
