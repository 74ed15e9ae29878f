"""The fingerprint of source code: any change of it is seen, and all code that draws a corpus is in it."""

import ast
from pathlib import Path

import transformer_core
from transformer_core.corpora.source_code import CODE_OF_CORPORA, CODE_OF_TEXT, fingerprint_of_code

CORE = Path(transformer_core.__file__).parent
# Names of architectures, checks of arguments, errors and their words, and where a property is kept.
NO_MATTER = {
    "arguments.py",
    "cached_property.py",
    "checked_fields.py",
    "config.py",
    "config_rules.py",
    "errors.py",
    "reasons.py",
}


def test_every_change_is_seen(tmp_path: Path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "deep" / "b.py").write_text("y = 2\n")
    fingerprints = [fingerprint_of_code(tmp_path)]
    (tmp_path / "notes.md").write_text("no code")
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_bytes(b"compiled")
    assert fingerprint_of_code(tmp_path) == fingerprints[0]
    for path, code in [("deep/b.py", "y = 3\n"), ("b.txt", "x"), ("deep/c.py", ""), ("a.py", ""), ("deep/c.py", "x\n")]:
        (tmp_path / path).write_text(code)
        fingerprints.append(fingerprint_of_code(tmp_path))
    (tmp_path / "a.py").rename(tmp_path / "d.py")
    fingerprints.append(fingerprint_of_code(tmp_path))
    assert len(set(fingerprints)) == len(fingerprints)


def test_the_rooms_have_their_own():
    assert fingerprint_of_code(CORE / "corpora") == CODE_OF_CORPORA
    assert CODE_OF_TEXT == fingerprint_of_code(CORE / "text") != CODE_OF_CORPORA


def imported(path: Path) -> set[Path]:
    """The files of ours that a file imports, wherever in it."""
    files = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("transformer_core"):
            for name in ("", *(f".{alias.name}" for alias in node.names)):
                place = CORE.parent / Path(*f"{node.module}{name}".split("."))
                files |= {path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()}
    return files


def test_what_draws_a_corpus_lies_in_the_room_whose_code_counts():
    rooms = [CORE / "corpora" / "tasks", CORE / "corpora" / "shipped"]
    waiting = {path for room in rooms for path in room.rglob("*.py")}
    known: set[Path] = set()
    while waiting:
        path = waiting.pop()
        known.add(path)
        if path != CORE / "corpora" / "__init__.py":  # it names all of this room
            waiting |= imported(path) - known
    elsewhere = {path.relative_to(CORE).as_posix() for path in known if CORE / "corpora" not in path.parents}
    assert elsewhere <= {*NO_MATTER, "__init__.py"}
    assert len(known) >= 24
