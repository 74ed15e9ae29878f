"""The server itself: what it sends, what it refuses, and that it speaks to nobody else."""

import http.client
import re
from dataclasses import dataclass
from email.message import Message
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


@dataclass(frozen=True)
class Answer:
    """What the server answered to one request."""

    status: int
    headers: Message
    body: bytes


def get(server_url: str, path: str, **headers: str) -> Answer:
    """The answer to one plain request; the path goes out as it is, not normalised."""
    connection = http.client.HTTPConnection(urlsplit(server_url).netloc, timeout=60)
    try:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())
    finally:
        connection.close()


WEBSOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec_WebSocket_Version": "13",
    "Sec_WebSocket_Key": "aGVhZGxpZ2h0LWhlYWRsaQ==",
}


def test_is_healthy(server_url: str):
    assert get(server_url, "/_stcore/health").status == 200


@pytest.mark.parametrize("path", ["/", "/heads", "/_stcore/health"])
def test_security_headers(server_url: str, path: str):
    answer = get(server_url, path)
    assert answer.status == 200
    assert answer.headers.get("X-Content-Type-Options") == "nosniff"
    policy = answer.headers.get("Content-Security-Policy", "")
    assert "default-src 'self'" in policy
    assert "object-src 'none'" in policy
    assert "frame-ancestors" in policy
    assert not re.search(r"https?://|\*", policy)


@pytest.mark.parametrize("mount", ["", "/vendor", "/static", "/app/static", "/component", "/media"])
@pytest.mark.parametrize("climb", ["../" * 12, "..%2f" * 12, "%2e%2e/" * 12, "..\\" * 12, "....//" * 12, "/"])
def test_no_path_leads_out(server_url: str, mount: str, climb: str):
    answer = get(server_url, f"{mount}/{climb}etc/passwd")
    assert b"root:" not in answer.body
    answer = get(server_url, f"{mount}/{climb}app.py")
    assert b"import streamlit" not in answer.body


def test_another_host_name_is_refused(server_url: str):
    """A page elsewhere whose name is made to point to this machine (DNS rebinding) gets no session."""
    netloc = urlsplit(server_url).netloc
    own = get(server_url, "/_stcore/stream", Host=netloc, Origin=server_url, **WEBSOCKET)
    assert own.status == 101
    forged = get(server_url, "/_stcore/stream", Host="evil.test", Origin="http://evil.test", **WEBSOCKET)
    assert forged.status == 403


def test_a_foreign_origin_is_refused(server_url: str):
    netloc = urlsplit(server_url).netloc
    answer = get(server_url, "/_stcore/stream", Host=netloc, Origin="http://evil.test", **WEBSOCKET)
    assert answer.status == 403


def test_opens_without_errors_and_asks_nobody_else(page: Page):
    """The `page` fixture fails on console errors and on requests to other hosts."""
    page.goto("/")
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-connection-state", "CONNECTED")
    expect(page.get_by_test_id("stMain").get_by_role("heading").first).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)
