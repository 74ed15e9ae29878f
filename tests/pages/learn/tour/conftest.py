"""Chapters that are made for a test."""

from collections.abc import Callable
from typing import Any

import pytest

from pages.learn.tour.lesson_engine.lesson import Lesson

MakeLesson = Callable[..., Lesson]


@pytest.fixture
def make_lesson() -> MakeLesson:
    """Returns a chapter about the first shipped model, with some of its settings."""

    def make(*parts: Any, **settings: Any) -> Lesson:
        usual: dict[str, Any] = {"name": "made", "file": "lessons/made.md", "title": "Made", "group": "", "section": ""}
        usual |= {"model": "en-fr", "text": "The cat sleeps.", "target": None, "other": "", "attention": "cross"}
        usual |= {"layer": 1, "head": 2, "padding": 0, "mistake": "", "parts": parts}
        return Lesson(**usual | settings)

    return make
