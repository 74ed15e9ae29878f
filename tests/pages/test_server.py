"""What stands in front of Streamlit: its page made ready for ours, and security headers on everything."""

import re
from concurrent.futures import Future
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pages.shared import server, style
from pages.shared.server import HEADERS, Doorkeeper, FrontPage
from tests.conftest import run_coroutine

LINK = re.compile(r'<link rel="(?:modulepreload|preload)"[^>]* fetchpriority="low" href="([^"]+)">')


async def streamlit_itself(scope: Any, receive: Any, send: Any) -> None:
    """Stands for all that lies after."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-from", b"streamlit")]})
    await send({"type": "http.response.body", "body": b"streamlit"})


def ask(app: Any, path: str, method: str = "GET") -> tuple[dict[str, str], str]:
    """Headers and body of the answer to one request."""
    messages: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": []}
    run_coroutine(app(scope, receive, send))
    headers = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
    return headers, b"".join(message.get("body", b"") for message in messages).decode()


@pytest.mark.parametrize("path", ["/", "/heads", "/head-roles", "/glossary", "/tour"])
def test_a_pages_address_gets_the_page(path: str):
    _, body = ask(FrontPage(streamlit_itself), path)
    assert "<title>Headlight</title>" in body
    assert "<title>Streamlit</title>" not in body
    assert body.index("BACKEND_BASE_URL") < body.index('<script type="module"')
    assert ('<script async src="/vendor/plotly.min.js">' in body) == path.startswith("/head")
    assert bool(LINK.search(body)) == (path == "/")
    assert body.index("history.pushState") < body.index('<script type="module"')  # before Streamlit takes it
    assert body.count("</style></body>") == 1
    rest = body.partition("</head>")[2]  # Streamlit's styles are in the head: ours have the last word
    assert style.sheet() in rest


def test_everything_else_goes_to_streamlit():
    for path in ("/_stcore/health", "/static/js/a.js", "/vendor/plotly.min.js", "/a/b"):
        assert ask(FrontPage(streamlit_itself), path)[1] == "streamlit"
    assert ask(FrontPage(streamlit_itself), "/heads", method="POST")[1] == "streamlit"


def test_start_asks_for_its_modules_in_the_readers_language():
    """Of the URL, else of the browser; both are words of a stranger."""
    cases = {("/start?language=de", "en"): "de", ("/start?language=xx", "de-AT,en;q=0.9"): "de", ("/", ""): "en"}
    cases |= {("/?language=en", "de"): "en", ("/", "../de"): "en"}
    client = TestClient(Starlette(routes=server.ROUTES, middleware=server.MIDDLEWARE), "http://localhost")
    for (path, preferred), language in cases.items():
        links = LINK.findall(client.get(path, headers={"accept-language": preferred}).text)
        ours = [address for address in links if address.startswith("/modules/")]
        assert len(ours) > 20 and len(set(links)) == len(links)
        for address in ours:
            assert f"/{language}/" in address
            answer = client.get(address)
            assert answer.status_code == 200 and "immutable" in answer.headers["cache-control"], address


def test_torch_waits_for_the_page_that_does_without_it(monkeypatch: pytest.MonkeyPatch):
    """A visitor of Start is served before torch is imported; for any other page it is imported at once."""
    for path, waits in (("/", True), ("/start", True), ("/heads", False)):
        request: Future[str] = Future()
        waited = list[float]()
        monkeypatch.setattr(server, "_FIRST_PATH", request)
        monkeypatch.setattr(server, "_PLOTLY_IS_ASKED_FOR", SimpleNamespace(wait=waited.append))
        monkeypatch.setattr(server.gc, "freeze", lambda: None)
        ask(FrontPage(streamlit_itself), path)
        assert request.result(0) == path
        server.warm_up()
        assert bool(waited) == waits, path
    monkeypatch.setattr(server, "_PLOTLY_IS_ASKED_FOR", is_asked_for := Event())
    for path in ("/", "/static/js/a.js", server.PLOTLY):  # which a browser asks for last
        ask(FrontPage(streamlit_itself), path)
        assert is_asked_for.is_set() == (path == server.PLOTLY)


def test_every_answer_has_the_headers():
    assert ask(Doorkeeper(FrontPage(streamlit_itself)), "/")[0].items() >= HEADERS.items()
