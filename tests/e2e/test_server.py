"""The server itself: what it sends, what it refuses, and that it speaks to nobody else."""

import http.client
import re
from email.message import Message
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect


def get(server_url: str, path: str, **headers: str) -> tuple[int, Message, bytes]:
    """Status, headers and body of the answer to one plain request; the path is sent without normalisation."""
    connection = http.client.HTTPConnection(urlsplit(server_url).netloc, timeout=60)
    try:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


WEBSOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec_WebSocket_Version": "13",
    "Sec_WebSocket_Key": "aGVhZGxpZ2h0LWhlYWRsaQ==",
}


def test_every_answer_has_the_security_headers(server_url: str):
    for path in ("/", "/heads", "/_stcore/health"):
        status, headers, _ = get(server_url, path)
        assert status == 200 and headers.get("X-Content-Type-Options") == "nosniff"
        policy = headers.get("Content-Security-Policy", "")
        assert all(rule in policy for rule in ("default-src 'self'", "object-src 'none'", "frame-ancestors"))
        assert not re.search(r"https?://|\*", policy)


def test_no_path_leads_out(server_url: str):
    for mount in ("", "/vendor", "/static", "/app/static", "/component", "/media", "/modules"):
        for climb in ("../" * 12, "..%2f" * 12, "%2e%2e/" * 12, "..\\" * 12, "....//" * 12, "/"):
            assert b"root:" not in get(server_url, f"{mount}/{climb}etc/passwd")[2]
            assert b"import streamlit" not in get(server_url, f"{mount}/{climb}app.py")[2]


def test_another_host_name_and_a_foreign_origin_are_refused(server_url: str):
    """A page elsewhere whose name is made to point to this machine (DNS rebinding) gets no session."""
    netloc, foreign = urlsplit(server_url).netloc, "http://evil.test"
    for host, origin, status in ((netloc, server_url, 101), ("evil.test", foreign, 403), (netloc, foreign, 403)):
        assert get(server_url, "/_stcore/stream", Host=host, Origin=origin, **WEBSOCKET)[0] == status
    for path in ("/", "/heads", "/vendor/plotly.min.js", "/_stcore/health", "/_stcore/metrics"):
        assert get(server_url, path, Host="evil.test")[0] == 421, path


def test_opens_without_errors_and_asks_nobody_else(page: Page):
    """The `page` fixture fails on console errors and on requests to other hosts."""
    page.goto("/")
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-connection-state", "CONNECTED")
    expect(page.get_by_test_id("stMain").get_by_role("heading").first).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)
