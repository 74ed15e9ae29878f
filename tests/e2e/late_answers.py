"""A slow network: what the server says is kept from the browser until it is let through."""

import re

from playwright.sync_api import Page, WebSocketRoute

PATIENCE = 60  # s


class LateAnswers:
    """Of one page, from before it is opened."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._held: list[str | bytes] | None = None
        self._words: bytes | None = None  # what comes from the message with these words on is kept
        page.route_web_socket(re.compile("_stcore/stream"), self._connect)

    def hold(self, words: bytes = b"") -> None:
        """Keep all answers from the first one on that has these words."""
        self._words = words

    def wait(self, words: bytes = b"") -> None:
        """Return once an answer with these words is kept."""
        for _ in range(PATIENCE * 20):
            if any(words in message for message in self._held or () if isinstance(message, bytes)):
                return
            self._page.wait_for_timeout(50)
        raise AssertionError(f"the server never said {words!r}")

    def let_through(self) -> None:
        """Hand on what was kept, and keep nothing more."""
        held, self._held, self._words = self._held or (), None, None
        for message in held:
            self._browser.send(message)

    def _connect(self, browser: WebSocketRoute) -> None:
        self._browser = browser
        browser.connect_to_server().on_message(self._answer)

    def _answer(self, message: str | bytes) -> None:
        if self._held is None and self._words is not None and isinstance(message, bytes) and self._words in message:
            self._held = []
        if self._held is None:
            self._browser.send(message)
        else:
            self._held.append(message)
