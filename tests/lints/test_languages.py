"""The lint of translations finds what it should."""

from pathlib import Path

import pytest

from tests.lints import languages


@pytest.mark.parametrize(
    ("text", "translation", "n_problems"),
    [
        ("{n} of <b>{m}</b>", "<b>{m}</b> mit {n}", 0),
        ("{n} of {m}", "{n} von {k}", 1),
        ("<b>a</b>", "a", 1),
        ("a ", "a", 1),
        ("{share}%", "{share}\u202f%", 0),
        ("{share} %", "{share} %", 1),
        ("{share:.0%}", "{share:.0%}", 0),
    ],
)
def test_a_translation_keeps_values_tags_and_spaces(text: str, translation: str, n_problems: int):
    assert len([*languages.differences(text, translation)]) == n_problems


@pytest.mark.parametrize(
    ("source", "n_problems"),
    [
        ("say('a {n}', n=1)", 0),
        ("say(f'a {x}', n=1)", 1),
        ("say('a' + b, n=1)", 1),
        ("raise ConfigError('a {n}', n=1)", 0),
        ("raise ConfigError(say('a'))", 1),
    ],
)
def test_a_text_is_said_whole(tmp_path: Path, source: str, n_problems: int):
    (tmp_path / "page.py").write_text(f"from headlight.language import say\n{source}")
    assert len([*languages.in_python(tmp_path / "page.py")]) == n_problems
