"""The lessons that are here, and the numbers of the models that they speak of, each made once."""

import os
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path

from headlight.language import language, say, speaking
from pages.learn.tour.lesson_engine.catalogue import KINDS
from pages.learn.tour.lesson_engine.drawn import Drawn, FigureData
from pages.learn.tour.lesson_engine.evidence import Evidence
from pages.learn.tour.lesson_engine.folder import files_of, read_lessons
from pages.learn.tour.lesson_engine.lesson import BrokenLesson, FigureSpec, Lesson, Link
from pages.learn.tour.lesson_engine.run import Run, run
from pages.learn.tour.lesson_engine.six_words import SixWords, train_six_words
from pages.shared import cache, models
from pages.shared.models import APP, ROOT, ModelCard
from pages.shared.page import pages
from pages.shared.sources import Source
from pages.shared.view import state
from transformer_core.checkpoints.checkpoint import read_card
from transformer_core.errors import HeadlightError, mark

SHIPPED = APP / "pages" / "learn" / "tour" / "lessons"
OWN = "own."  # what the names of a teacher's lessons begin with
_OF_VIEW = ("text", "target", "attention", "layer", "head", "model", "stack")


def own_folder() -> Path:
    """Return where a teacher's lessons are: `lessons`, or what HEADLIGHT_LESSONS says."""
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
    """Return the pages that links open, and of each what a link can choose there."""
    results = {url: page for url, page in pages().items() if page.subject not in ("lessons", "models")}
    return {url: (*(field.name for field in page.fields), *_OF_VIEW) for url, page in results.items()}


@lru_cache(maxsize=8)
def _read(
    folders: tuple[Path, ...], of_language: str, stamps: tuple[tuple[str, int, int], ...]
) -> tuple[Lesson | BrokenLesson, ...]:
    """Return the lessons of some folders; `stamps` tells one state of the files from another."""
    shipped, own = folders
    return (
        *read_lessons(shipped, of_language, root=APP, pages=linked()),
        *read_lessons(own, of_language, root=ROOT, pages=linked(), before=OWN, group=say("Your own lessons")),
    )


def card_of(lesson: Lesson) -> ModelCard:
    """Return the model that a lesson speaks of; the first one that is here, where it names none.

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
    """Return the text that a lesson reads; the model's first example, where it names none."""
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
    """Return the numbers that a lesson speaks of; they are made when they are requested.

    Args:
        lesson: which names model, text and mistake.
        seed: of the six words' first weights.
        on_step: told of each step while they are trained.
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
    of_language: str = "en",
) -> Drawn:
    """Draw a lesson's figure, on a light ground.

    Args:
        of_lesson: its name.
        part: the figure's place among the lesson's parts.
        moved: where its sliders stand.
        is_trained: whether a training that it shows is shown as done.
        seed: as for `evidence_of`.
        of_language: of the lesson, such as "de".

    Raises:
        LessonError: it cannot be drawn.
    """
    with speaking(of_language):
        lesson = next(one for one in here() if isinstance(one, Lesson) and one.name == of_lesson)
        spec = lesson.parts[part]
        assert isinstance(spec, FigureSpec), "its place was taken from the lesson"
        evidence = evidence_of(lesson, seed=seed)
        data = FigureData(lesson=lesson, spec=spec, evidence=evidence, moved=moved, is_trained=is_trained)
        return KINDS[spec.kind].draw(data)


def _run(lesson: Lesson, mistake: str, is_other: bool) -> Run:
    """Run a lesson's model, always on the CPU in single precision: lessons tell exact numbers."""
    card = card_of(lesson)
    if is_other and not lesson.other:
        raise HeadlightError("this lesson has no other text; add one: other: …")
    text, target = (lesson.other, None) if is_other else (text_of(lesson, card), lesson.target)
    return _run_on(Source.of(card), text, target, lesson.padding, mistake)


@cache.by_arguments(mark("lessons"))
def _run_on(source: Source, text: str, target: str | None, padding: int, mistake: str) -> Run:
    model, tokenizer = source.load()
    measured = read_card(models.place_of(source.path))
    with models.on(source.device):
        return run(model, tokenizer, text, target=target, padding=padding, mistake=mistake, card=measured)


def _train(
    smoothing: float, is_shifted: bool, steps: int, *, seed: int, on_step: Callable[[int, float], None] | None
) -> SixWords:
    def make() -> SixWords:
        return train_six_words(smoothing=smoothing, is_shifted=is_shifted, steps=steps, seed=seed, on_step=on_step)

    return cache.get(mark("six-word model"), (smoothing, is_shifted, steps, seed), make)
