"""What the system and libraries say went wrong: in English as they say it, in German whole."""

import json
import re
import struct
import zipfile
from collections.abc import Callable
from io import BytesIO
from os import strerror
from pathlib import Path

import pytest
from safetensors import safe_open

from headlight.language import say_message, speaking
from tests.lints.languages import reasons as entries
from transformer_core.reasons import WITH_VALUES, reason


def header(text: bytes, weights: bytes = b"") -> bytes:
    return struct.pack("<Q", len(text)) + text + weights


def failing(do: Callable[[], object]) -> Exception:
    """Return the error of what cannot be done."""
    with pytest.raises(Exception) as caught:  # of whatever library
        do()
    return caught.value


@pytest.mark.parametrize(
    ("text", "german"),
    [
        ("", "ein Wert fehlt: Zeile 1, Spalte 1 (Zeichen 0)"),
        ("[" * 100_000, "zu viele Listen ineinander"),
        ('{"a":' * 100_000, "zu viele Objekte ineinander"),
    ],
    ids=lambda text: text[:12],
)
def test_of_a_text_that_is_not_json(text: str, german: str):
    error = failing(lambda: json.loads(text))
    assert str(reason(error)) == str(error)
    with speaking("de"):
        assert say_message(reason(error)) == german


def test_of_bytes_that_are_no_text():
    error = failing(b"a\xe2\x82".decode)
    assert str(reason(error)) == str(error)
    with speaking("de"):
        assert say_message(reason(error)).startswith("die Bytes an den Plätzen 1-2 sind kein Text in utf-8")


@pytest.mark.parametrize(
    ("content", "german"),
    [
        (b"abc", "er ist zu kurz"),
        (header(b"{}", b"1"), "er beschreibt nicht die ganze Datei"),
        (header(b"xxxx"), "er ist kein gültiges JSON: ein Wert wird erwartet, Zeile 1, Spalte 1"),
        (
            header(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}', b"12345678"),
            "der Ort des Tensors „a“ stimmt nicht",
        ),
    ],
)
def test_of_a_safetensors_file(content: bytes, german: str, tmp_path: Path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    error = failing(lambda: safe_open(path, framework="pt"))
    assert str(reason(error)) == str(error)
    with speaking("de"):
        assert say_message(reason(error)) == f"der Kopf der Datei lässt sich nicht lesen: {german}"


def test_of_a_zip_file_and_of_the_system(tmp_path: Path):
    no_zip = failing(lambda: zipfile.ZipFile(BytesIO(b"PK")))
    nowhere = failing((tmp_path / "nowhere").read_text)
    assert isinstance(nowhere, OSError)
    assert (str(reason(no_zip)), str(reason(nowhere))) == (str(no_zip), nowhere.strerror)
    with speaking("de"):
        assert say_message(reason(no_zip)) == "sie ist keine Zip-Datei"
        assert say_message(reason(nowhere)) == "Datei oder Ordner nicht gefunden"
        assert say_message(reason("what nobody knows")) == "what nobody knows"


def test_common_errors_of_the_system_and_of_libraries_are_translated():
    system, plain = {strerror(number) for number in range(1, 133)}, [str(entry.id) for entry in entries()]
    assert len([text for text in plain if text in system]) == 18  # in Linux's own words
    for known in (*plain, *(message.template for message in WITH_VALUES)):
        english = re.sub(r"\{\w+\}", "12", known)
        with speaking("de"):
            assert say_message(reason(english)) != english
