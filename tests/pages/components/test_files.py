"""The components' files: their addresses, the words that they say, and where their colors come from."""

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

import headlight
from headlight.language import add_catalogues, messages
from pages.components import modules

FOLDER = Path(modules.__file__).parent
SHARED = Path(headlight.__file__).with_name("components")
IMPORTED = re.compile(r'from "(\.[^"]+)"|"(\./[^"]+\.css|\.\./[^"]+\.css)"')


@pytest.fixture
def client() -> TestClient:
    add_catalogues(Path("pages/languages").resolve())
    modules.words.cache_clear()  # tests before this one may have asked without these catalogues
    modules.version.cache_clear()
    return TestClient(Starlette(routes=[modules.ROUTE]))


def test_no_color_is_written_into_a_style():
    for path in (*FOLDER.rglob("*.css"), *SHARED.rglob("*.css")):
        assert not re.search(r"#[0-9a-fA-F]{3,8}\b", path.read_text(encoding="utf-8")), path  # they are the theme's


def test_what_a_module_asks_for_is_there(client: TestClient):
    for path in sorted(FOLDER.rglob("*.js")):
        address = modules.address(path, "en")
        answer = client.get(address)
        assert answer.text == path.read_text(encoding="utf-8")
        assert answer.headers["content-type"].startswith("text/javascript")
        assert "immutable" in answer.headers["cache-control"]
        for script, style in IMPORTED.findall(answer.text):
            request = client.get(urlsplit(str(client.base_url.join(address).join(script or style))).path)
            assert request.status_code == 200, (path, script or style)
            assert request.headers["content-type"].startswith("text/css" if style else "text/javascript")


def test_only_modules_and_styles_have_an_address(client: TestClient):
    top = modules.address(FOLDER / "kit" / "mount.js", "en").partition("/pages/")[0]
    for path in ("pages/components/mounting.py", "pages/frame.py", "../app.py", "pages/../app.py", "nothing.js"):
        assert client.get(f"{top}/{path}").status_code == 404
    assert client.get("/modules/x/xx/pages/components/kit/mount.js").status_code == 404
    old = client.get("/modules/older/en/pages/components/kit/mount.js")  # what an old page asks for
    assert old.headers["cache-control"] == "no-store"


def test_each_language_has_its_words(client: TestClient):
    text = client.get(modules.address(FOLDER, "de").replace("pages/components", modules.LANGUAGE)).text
    pattern = r"^export const LANGUAGE = (.*);\nexport const WORDS = (.*);\nexport const FORMS = (.*);\n$"
    ((language, words, forms),) = re.findall(pattern, text)
    assert json.loads(language) == "de"
    german = messages("de")
    assert all(german[english] == actual for english, actual in json.loads(words).items())
    actual = re.findall(
        r'\bsay\("([^"]+)"',
        "".join(path.read_text(encoding="utf-8") for of in (FOLDER, SHARED) for path in of.rglob("*.js")),
    )
    assert len(actual) > 50
    assert {text for text in actual if text in german} <= json.loads(words).keys()
    counted = json.loads(forms)["1 token is more probable"]
    assert counted == {"one": "1 Token ist wahrscheinlicher", "other": "{n} Token sind wahrscheinlicher"}


def test_a_changed_word_or_module_has_another_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    versions = [modules.version("de")]
    for words, code in (("{}", "a = 1"), ("{1: 2}", "a = 1"), ("{1: 2}", "a = 2")):
        (tmp_path / "a.js").write_text(code, encoding="utf-8")
        monkeypatch.setattr(modules, "words", lambda language, words=words: words)
        monkeypatch.setattr(modules, "files", lambda: {"pages/a.js": tmp_path / "a.js"})
        modules.version.cache_clear()
        versions.append(modules.version("de"))
    modules.version.cache_clear()
    assert len({*versions}) == 4
