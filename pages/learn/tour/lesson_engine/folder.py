"""The lessons that are in a folder: one a file, in the order of their names; a broken one does not stop the others."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from headlight.language import ENGLISH
from pages.learn.tour.lesson_engine.errors import LessonError
from pages.learn.tour.lesson_engine.lesson import BrokenLesson, Lesson
from pages.learn.tour.lesson_engine.reader import read_lesson
from transformer_core.errors import Message
from transformer_core.reasons import reason

MOST_LESSONS = 200  # of a folder
_NUMBER = re.compile(r"^\d+[-_ ]*")
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")
_TITLE = re.compile(r"^title:\s*(.+)$", re.MULTILINE | re.IGNORECASE)


def files_of(folder: Path, language: str) -> list[Path]:
    """Return the files of the lessons in a language: `<folder>/<language>/*.md`; without such folders, `<folder>/*.md`.

    A lesson that a language does not have is read in English.

    Args:
        folder: of lessons.
        language: such as "de".
    """
    in_english = {path.name: path for path in sorted((folder / ENGLISH).glob("[!.]*.md"))}
    own = {path.name: path for path in sorted((folder / language).glob("[!.]*.md"))}
    plain = {path.name: path for path in sorted(folder.glob("[!.]*.md")) if path.name.lower() != "readme.md"}
    files = plain | in_english | own
    return [files[name] for name in sorted(files)][:MOST_LESSONS]


def not_read(folder: Path, language: str) -> list[str]:
    """Return the files of a folder that are no lessons for their ending alone, by their names inside it.

    Args:
        folder: of lessons.
        language: such as "de".
    """
    there = [path for place in ("", ENGLISH, language) for path in folder.joinpath(place).glob("[!.]*")]
    strays = {
        str(path.relative_to(folder))
        for path in there
        if path.suffix != ".md" and path.stem.lower() != "readme" and path.is_file()
    }
    return sorted(strays)


def read_lessons(
    folder: Path, language: str, *, root: Path, pages: Mapping[str, Collection[str]], before: str = "", group: str = ""
) -> list[Lesson | BrokenLesson]:
    """Read the lessons of a folder.

    Args:
        folder: of lessons.
        language: such as "de".
        root: the project's root, for the files' names.
        pages: that links can open, each with the fields that it takes.
        before: the prefix of the lessons' names in addresses, to tell folders apart.
        group: the heading of lessons that name none.
    """
    lessons: list[Lesson | BrokenLesson] = []
    for path in files_of(folder, language):
        name = before + (_NOT_IN_NAMES.sub("-", _NUMBER.sub("", path.stem)) or path.stem)
        file = str(path.relative_to(root) if path.is_relative_to(root) else path)
        lessons.append(_read(path, name=name, file=file, pages=pages, group=group))
    return lessons


def _read(
    path: Path, *, name: str, file: str, pages: Mapping[str, Collection[str]], group: str
) -> Lesson | BrokenLesson:
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        return read_lesson(text, name=name, file=file, pages=pages, group=group)
    except LessonError as error:
        why = error.message
    except UnicodeDecodeError:
        why = Message("{file}: this is not valid UTF-8; save it as UTF-8", file=file)
    except OSError as error:
        why = Message("{file}: it cannot be read ({reason})", file=file, reason=reason(error))
    title = _TITLE.search(text)
    return BrokenLesson(name=name, file=file, title=title[1].strip() if title else path.stem, group=group, why=why)
