"""A small Hugging Face Hub on this machine: the few addresses that a download asks for, and what can go wrong there."""

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

API = re.compile(r"/api/models/(?P<repo>[\w.-]+(/[\w.-]+)?)")
REVISION = re.compile(API.pattern + r"/revision/(?P<revision>.+)")
FILE = re.compile(r"/(?P<repo>[\w.-]+(/[\w.-]+)?)/resolve/(?P<commit>[0-9a-f]{40})/(?P<name>.+)")


@dataclass
class LocalHub:
    """Serves folders as models, at `url`; it stops serving with `stop`."""

    models: dict[tuple[str, str], Path] = field(default_factory=dict)  # by id and revision
    refusals: dict[str, tuple[int, dict[str, str]]] = field(default_factory=dict)  # by id: status and headers
    said_sizes: dict[str, int] = field(default_factory=dict)  # by file name, where it is not the true one
    change: Callable[[str, bytes], bytes] = lambda name, content: content  # what is sent in a file's place
    cut_off_once: set[str] = field(default_factory=set)  # files whose connection is lost halfway, once
    answered: Counter[tuple[str, str]] = field(default_factory=Counter)  # method and last part of the address

    def __post_init__(self) -> None:
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        self.is_running = True

    def serve(self, repo: str, folder: Path, revision: str = "main") -> None:
        self.models[repo, revision] = folder

    def stop(self) -> None:
        """Serve nobody any more; who knocks is refused."""
        if self.is_running:
            self.is_running = False
            self.server.shutdown()
            self.thread.join()
            self.server.server_close()

    def downloads(self) -> Counter[str]:
        """How often each file was sent."""
        return Counter({name: n for (method, name), n in self.answered.items() if method == "GET" and "." in name})


def commit_of(folder: Path) -> str:
    """A commit's name, which changes with the folder's weights."""
    return hashlib.sha1(b"".join(path.read_bytes() for path in sorted(folder.glob("*.safetensors")))).hexdigest()


def is_large(path: Path) -> bool:
    """Whether a file is known by its SHA-256, as files of weights are."""
    return path.suffix in (".safetensors", ".bin")


class _Handler(BaseHTTPRequestHandler):
    hub: LocalHub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.answered[self.command, path.rpartition("/")[2]] += 1
        for pattern, reply in ((FILE, self.file), (REVISION, self.info), (API, self.info)):
            if match := pattern.fullmatch(path):
                parts = match.groupdict()
                if parts["repo"] in self.hub.refusals:
                    status, headers = self.hub.refusals[parts["repo"]]
                    return self.send(status, headers)
                return reply(**parts)
        return self.send(404, {"X-Error-Code": "RepoNotFound"})

    do_HEAD = do_GET = answer

    def info(self, repo: str, revision: str = "main") -> None:
        if not any(known == repo for known, _ in self.hub.models):
            return self.send(404, {"X-Error-Code": "RepoNotFound"})
        commits = {commit_of(folder): folder for (known, _), folder in self.hub.models.items() if known == repo}
        folder = self.hub.models.get((repo, revision)) or commits.get(revision)
        if folder is None:
            return self.send(404, {"X-Error-Code": "RevisionNotFound"})
        files = []
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            content, name = path.read_bytes(), path.relative_to(folder).as_posix()
            file: dict[str, Any] = {"rfilename": name, "blobId": hashlib.sha1(content).hexdigest()}
            file["size"] = self.hub.said_sizes.get(name, len(content))
            if is_large(path):
                file["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
            files.append(file)
        return self.send_json({"id": repo, "sha": commit_of(folder), "siblings": files})

    def file(self, repo: str, commit: str, name: str) -> None:
        path = self.at(repo, commit) / name
        if not path.is_file():
            return self.send(404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit})
        true = path.read_bytes()
        name_of_content = (hashlib.sha256 if is_large(path) else hashlib.sha1)(true).hexdigest()
        headers = {"ETag": f'"{name_of_content}"', "X-Repo-Commit": commit}
        if self.command == "HEAD":
            return self.send(200, headers, true)
        content = self.hub.change(name, true)
        if match := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
            first = int(match[1])
            headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
            return self.send(206, headers, content[first:])
        if name in self.hub.cut_off_once:
            self.hub.cut_off_once.remove(name)
            return self.send(200, headers, content, n_sent=len(content) // 2)
        return self.send(200, headers, content)

    def at(self, repo: str, commit: str) -> Path:
        return next(
            folder for (known, _), folder in self.hub.models.items() if known == repo and commit_of(folder) == commit
        )

    def send_json(self, values: Any) -> None:
        self.send(200, {"Content-Type": "application/json"}, json.dumps(values).encode())

    def send(self, status: int, headers: dict[str, str], content: bytes = b"", n_sent: int | None = None) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content)), "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[:n_sent])
