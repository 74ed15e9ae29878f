"""What stands in front of Streamlit: its page made ready for ours, and security headers on everything."""

import asyncio
from typing import Any

import pytest

from pages.shared import style
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
    assert 'src="/vendor/plotly.min.js"' in body
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


def test_every_answer_has_the_headers():
    for app in (SecurityHeaders(streamlit_itself), SecurityHeaders(FrontPage(streamlit_itself))):
        headers, _ = ask(app, "/")
        assert headers.items() >= HEADERS.items()
