"""One server and one Chromium for the session; every browser page is watched for errors and strangers."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests.e2e.browser import Server, launch, serve

VIEWPORT = {"width": 1440, "height": 900}
LOCAL_SCHEMES = ("data", "blob", "about")


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The app, running; when the session ends, its log must hold no traceback."""
    with serve() as server:
        yield server
        log = server.log.read_text()
    assert "Traceback" not in log, log


@pytest.fixture(scope="session")
def server_url(server: Server) -> str:
    """The app's address, without a final slash."""
    return server.url


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@contextmanager
def watched(context: BrowserContext, host: str) -> Iterator[None]:
    """Fail at the end where a page of this context logged an error, threw one, or asked another host."""
    troubles: list[str] = []

    def see_request(url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in LOCAL_SCHEMES and parts.netloc != host:
            troubles.append(f"asked another host: {url}")

    def see_page(page: Page) -> None:
        page.on("websocket", lambda socket: see_request(socket.url))
        page.on("crash", lambda _: troubles.append("the page crashed"))

    def see_message(message: ConsoleMessage) -> None:
        if message.type == "error":
            troubles.append(f"logged: {message.text} (at {message.location['url']})")

    context.on("page", see_page)
    context.on("request", lambda request: see_request(request.url))
    context.on("weberror", lambda error: troubles.append(f"threw: {error.error}"))
    context.on("console", see_message)
    yield
    assert not troubles, "\n".join(troubles)


@pytest.fixture
def new_page(browser: Browser, server_url: str) -> Iterator[Callable[..., Page]]:
    """Opens a page in a new context, as another visitor: `new_page()`, or with Playwright's context options."""
    with ExitStack() as stack:

        def open_page(**options: Any) -> Page:
            context = browser.new_context(**{"viewport": VIEWPORT, "base_url": server_url, **options})
            stack.enter_context(watched(context, urlsplit(server_url).netloc))
            stack.callback(context.close)  # first of the two, so that late events are still seen
            return context.new_page()

        yield open_page


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """One watched page, 1440 x 900, not yet anywhere: `page.goto("/heads")` is relative to the app."""
    return new_page()
