"""The available lessons, and the numbers of the models that they refer to, each computed once.

A folder holds one lesson per file, sorted by file name; a broken lesson does not affect the others.
"""

import os
import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache, partial
from pathlib import Path

from headlight.language import ENGLISH, language, say, speaking
from pages.learn.tour.lesson_engine.catalogue import KINDS
from pages.learn.tour.lesson_engine.drawn import Drawn, FigureData
from pages.learn.tour.lesson_engine.evidence import Evidence
from pages.learn.tour.lesson_engine.lesson import BrokenLesson, FigureSpec, Lesson, LessonError, Link
from pages.learn.tour.lesson_engine.reader import read_lesson
from pages.learn.tour.lesson_engine.run import LessonRun, run
from pages.learn.tour.lesson_engine.six_words import SixWords, train_six_words
from pages.shared import cache, devices, models
from pages.shared.models import APP, ROOT, ModelCard
from pages.shared.page import pages
from pages.shared.sources import Source
from pages.shared.view import state
from transformer_core.checkpoints.checkpoint import read_card
from transformer_core.errors import HeadlightError, Message, mark
from transformer_core.reasons import reason

SHIPPED = APP / "pages" / "learn" / "tour" / "lessons"
OWN = "own."  # the prefix of the names of a teacher's lessons
_OF_VIEW = ("text", "target", "attention", "layer", "head", "model", "stack")
MOST_LESSONS = 200  # of a folder
_NUMBER = re.compile(r"^\d+[-_ ]*")
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")
_TITLE = re.compile(r"^title:\s*(.+)$", re.MULTILINE | re.IGNORECASE)


def own_folder() -> Path:
    """Return the folder of a teacher's lessons: HEADLIGHT_LESSONS, by default `lessons`."""
    return Path(os.environ.get("HEADLIGHT_LESSONS", ROOT / "lessons")).resolve()


def here() -> list[Lesson | BrokenLesson]:
    """Return all lessons in the reader's language, the shipped ones first; each file is read again when it changes."""
    folders = (SHIPPED, own_folder())
    stamps = tuple(
        (str(path), path.stat().st_mtime_ns, path.stat().st_size)
        for folder in folders
        for path in files_of(folder, language())
        if path.is_file()
    )
    return list(_read(folders, language(), stamps))


def linked() -> Mapping[str, tuple[str, ...]]:
    """Return the pages that links can open, each with the fields that a link can set."""
    results = {url: page for url, page in pages().items() if page.subject not in ("lessons", "models")}
    return {url: (*(field.name for field in page.fields), *_OF_VIEW) for url, page in results.items()}


@lru_cache(maxsize=8)
def _read(
    folders: tuple[Path, ...], of_language: str, stamps: tuple[tuple[str, int, int], ...]
) -> tuple[Lesson | BrokenLesson, ...]:
    """Return the lessons of both folders; `stamps` invalidates the cache when a file changes."""
    shipped, own = folders
    return (
        *read_lessons(shipped, of_language, root=APP, pages=linked()),
        *read_lessons(own, of_language, root=ROOT, pages=linked(), before=OWN, group=say("Your own lessons")),
    )


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
    """Return the files of a folder that only their extension keeps from being lessons, relative to the folder.

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
        lessons.append(_lesson_of(path, name=name, file=file, pages=pages, group=group))
    return lessons


def _lesson_of(
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


def card_of(lesson: Lesson) -> ModelCard:
    """Return the model that a lesson names; the first available model if it names none.

    Raises:
        HeadlightError: it is not here.
    """
    cards = models.available()
    name = lesson.model or next(iter(cards))
    if name not in cards:
        raise HeadlightError(
            "this lesson uses the model “{name}”, which does not exist; available are {there}",
            name=name,
            there=", ".join(cards),
        )
    return cards[name]


def text_of(lesson: Lesson, card: ModelCard) -> str:
    """Return the text of a lesson; the model's first example if it names none."""
    return lesson.text or next(iter(card.examples), "")


def view_of(lesson: Lesson, link: Link, card: ModelCard) -> dict[str, str]:
    """Return the query of a link: the lesson's model, text and head, and the link's own values.

    Args:
        lesson: that the link belongs to.
        link: to a page.
        card: the lesson's model.
    """
    view = {
        state.MODEL.key: card.name,
        state.TEXT.key: text_of(lesson, card),
        state.TARGET.key: lesson.target,
        state.ATTENTION.key: lesson.attention or None,
        state.LAYER.key: lesson.layer,
        state.HEAD.key: lesson.head,
    } | dict(link.fields)
    return {name: str(value) for name, value in view.items() if value is not None}


def evidence_of(lesson: Lesson, *, seed: int = 0, on_step: Callable[[int, float], None] | None = None) -> Evidence:
    """Return the numbers that a lesson refers to, computed on demand.

    Args:
        lesson: which names model, text and mistake.
        seed: of the six words' first weights.
        on_step: called at each training step.
    """
    return Evidence(
        make_run=partial(_run, lesson), train=partial(_train, seed=seed, on_step=on_step), mistake=lesson.mistake
    )


def draw_figure(
    of_lesson: str,
    part: int,
    *,
    moved: Mapping[str, float],
    is_trained: bool = True,
    seed: int = 0,
    n_answered: int = 0,
    of_language: str = "en",
) -> Drawn:
    """Draw a lesson's figure, on a light ground.

    Args:
        of_lesson: its name.
        part: the figure's place among the lesson's parts.
        moved: the values of its sliders.
        is_trained: whether to draw the training that it shows as finished.
        seed: as for `evidence_of`.
        n_answered: the number of answered questions; the figure hides what the others ask for.
        of_language: of the lesson, such as "de".

    Raises:
        LessonError: it cannot be drawn.
    """
    with speaking(of_language):
        lesson = next(one for one in here() if isinstance(one, Lesson) and one.name == of_lesson)
        spec = lesson.parts[part]
        assert isinstance(spec, FigureSpec), "its place was taken from the lesson"
        evidence = evidence_of(lesson, seed=seed).hiding(lesson.questions[n_answered:])
        data = FigureData(lesson=lesson, spec=spec, evidence=evidence, moved=moved, is_trained=is_trained)
        return KINDS[spec.kind].draw(data)


def _run(lesson: Lesson, mistake: str, is_other: bool) -> LessonRun:
    """Run a lesson's model, always on the CPU in single precision: lessons quote exact numbers."""
    card = card_of(lesson)
    if is_other and not lesson.other:
        raise HeadlightError("this lesson has no other text; add one: other: …")
    text, target = (lesson.other, None) if is_other else (text_of(lesson, card), lesson.target)
    return _run_on(Source.of(card), text, target, lesson.padding, mistake)


@cache.by_arguments(mark("lessons"))
def _run_on(source: Source, text: str, target: str | None, padding: int, mistake: str) -> LessonRun:
    model, tokenizer = source.load()
    measured = read_card(models.place_of(source.path))
    with devices.on(source.device):
        return run(model, tokenizer, text, target=target, padding=padding, mistake=mistake, card=measured)


def _train(
    smoothing: float, is_shifted: bool, steps: int, *, seed: int, on_step: Callable[[int, float], None] | None
) -> SixWords:
    def make() -> SixWords:
        return train_six_words(smoothing=smoothing, is_shifted=is_shifted, steps=steps, seed=seed, on_step=on_step)

    return cache.get(mark("six-word model"), (smoothing, is_shifted, steps, seed), make)
