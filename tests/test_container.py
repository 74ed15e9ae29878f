"""The Dockerfile's steps, performed in a folder: they copy all that the app needs, and it answers as a Space."""

import http.client
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml

from pages.shared.models import SHIPPED
from tests.conftest import ROOT
from tests.e2e import browser

STEPS = re.findall(r"^([A-Z]+) (.+)$", (ROOT / "Dockerfile").read_text().replace("\\\n", ""), re.MULTILINE)
PORT = "7860"


def steps(name: str) -> list[str]:
    return [rest for step, rest in STEPS if step == name]


def test_the_app_starts_from_what_is_copied_and_answers_to_the_spaces_name(tmp_path: Path):
    home = tmp_path / "home"
    for step in steps("COPY"):
        *sources, target = step.removeprefix("--chown=user ").split()
        for source in sources:
            place = (home / target / source if target.endswith("/") else home / target).resolve()
            place.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, place)
    port, host = str(browser.free_port()), "someone-headlight.hf.space"
    (command,), (check,) = steps("CMD"), [step.removeprefix("CMD ") for step in steps("HEALTHCHECK")]
    settings = dict(part.split("=", 1) for step in steps("ENV") for part in step.split() if not part.startswith("PATH"))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | settings | {"HOME": str(tmp_path), "PATH": path, "SPACE_HOST": host}
    log = tmp_path / "log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command.replace(PORT, port), shell=True, cwd=home, env=environment, stdout=sink, stderr=sink,
            start_new_session=True,
        )  # fmt: skip
    try:
        browser.wait_until_healthy(browser.Server(f"http://localhost:{port}", log, process.pid), process, 120)
        subprocess.run(check.replace(PORT, port), shell=True, env=environment, check=True)
        answers = {}
        for name in (host, "elsewhere.org"):
            connection = http.client.HTTPConnection("localhost", int(port))
            connection.request("GET", "/", headers={"Host": name})
            answers[name] = connection.getresponse()
            connection.close()
        assert (answers[host].status, answers["elsewhere.org"].status) == (200, 421)
        assert "frame-ancestors https://huggingface.co;" in str(answers[host].headers["content-security-policy"])
        assert "SameSite=None; Secure" in str(answers[host].headers["set-cookie"])
    finally:
        browser.stop(process)


def test_the_container_has_the_pinned_torch_the_shipped_models_and_the_port_that_is_documented():
    pins = (ROOT / "requirements.txt").read_text().splitlines()
    assert any(step.split()[-1] in pins and step.split()[-1].startswith("torch==") for step in steps("RUN"))
    kept = re.findall(r"^!checkpoints/(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert tuple(kept) == tuple(SHIPPED)
    documented = re.search(r"^---\n(.+?)^---$", (ROOT / "docs" / "operators.md").read_text(), re.DOTALL | re.MULTILINE)
    assert documented is not None
    space = yaml.safe_load(documented[1])
    assert (space["sdk"], str(space["app_port"])) == ("docker", PORT) and steps("EXPOSE") == [PORT]
    version = re.search(r'__version__ = "(.+)"', (ROOT / "transformer_core" / "__init__.py").read_text())
    assert version is not None
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == version[1]
    assert f"\n## {version[1]}" in (ROOT / "CHANGELOG.md").read_text()
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"] == citation["license"]
