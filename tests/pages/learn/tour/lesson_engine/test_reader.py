"""From files to lessons: what is in them, and in which line something is wrong."""

from pathlib import Path

import pytest

from pages.learn.tour.lesson_engine.lesson import (
    Asked,
    BrokenLesson,
    Check,
    FigureSpec,
    Lesson,
    LessonError,
    Link,
    Prose,
    Question,
)
from pages.learn.tour.lesson_engine.reader import read_lesson
from pages.learn.tour.lessons import files_of, read_lessons

PAGES = {"steps": ("query", "stage", "text"), "heads": ()}
WHOLE = """title: Where does it look?
section: 3.2
model: en-fr
text: The cat sees
  the dog.
attention: cross
layer: 1
head: 3

Some *prose* with {{d_head : 1}} numbers.

And {{n_heads}} more.

[figure]
kind: row
query: "cat"
[question]
ask: How many?
answer: d_head * 2
within: 0.5

[check]
claim: It holds.
holds: d_head == 32
holds: n_heads == 4

[link]
page: steps
label: Go there
query: 3
"""


def read(text: str) -> Lesson:
    return read_lesson(text, name="test", file="lessons/test.md", pages=PAGES)


def test_a_whole_lesson():
    lesson = read(WHOLE)
    assert (lesson.title, lesson.section, lesson.text) == ("Where does it look?", "3.2", "The cat sees the dog.")
    assert (lesson.attention, lesson.layer, lesson.head, lesson.mistake) == ("cross", 1, 3, "")
    assert lesson.padding == 0 and read(WHOLE.replace("head: 3", "padding: 16")).padding == 16
    prose, figure, question, check, link = lesson.parts
    assert isinstance(prose, Prose)
    assert [piece for piece in prose.pieces if isinstance(piece, str)][1] == " numbers.\n\nAnd "
    reports = [(one.source, one.decimals, one.line) for one in prose.pieces if isinstance(one, Asked)]
    assert reports == [("d_head", 1, 10), ("n_heads", None, 12)]
    assert figure == FigureSpec(kind="row", parameters={"query": "cat"}, lines={"kind": 15, "query": 16}, line=14)
    assert isinstance(question, Question) and (question.ask, question.within, question.line) == ("How many?", 0.5, 17)
    assert isinstance(check, Check)
    assert [(request.source, request.line) for request in check.holds] == [("d_head == 32", 24), ("n_heads == 4", 25)]
    assert link == Link(page="steps", label="Go there", fields={"query": "3"}, line=27)


@pytest.mark.parametrize(
    ("old", "new", "line", "part"),
    [
        ("title: Where does it look?", "titel: Where?", 1, "unknown key “titel”"),
        ("section: 3.2", "section 3.2", 2, "a key with a colon"),
        ("layer: 1", "layer: one", 7, "whole number"),
        ("attention: cross", "attention: crossed", 6, "attention: “crossed” is not one of encoder, decoder, cross"),
        ("head: 3", "mistake: none", 8, "mistake: “none” is not one of dropped_pattern, "),
        ("head: 3", "padding: 17", 8, "padding: “17” must be a whole number from 0 to 16"),
        ("head: 3", "padding: -1", 8, "whole number"),
        ("{{n_heads}}", "{{n_heads +}}", 12, "“n_heads +▸” is not a Python expression"),
        ("[figure]", "[picture]", 14, "no block [picture]"),
        ("kind: row", "kind: column", 15, "kind: “column” is not one of head, heads, row"),
        ('query: "cat"', "querry: cat", 16, "unknown key “querry”"),
        ("ask: How many?", "hint: many", 17, "a question needs a text"),
        ("answer: d_head * 2", "answer: d_head **", 19, "“d_head **▸” is not a Python expression"),
        ("answer: d_head * 2", "hint: none", 17, "a question needs choices"),
        ("answer: d_head * 2", "choice: 64", 17, "no choice is marked as correct"),
        ("answer: d_head * 2", "right when: 1 == 1", 19, "must follow its choice"),
        ("within: 0.5", "within: half", 20, "within: “half” must be a number"),
        ("within: 0.5", "tokens: both", 20, "tokens: “both” is not one of source, target"),
        ("within: 0.5", "within: 0.5\nwithin: 0.6", 21, "appears twice"),
        ("holds: n_heads == 4", "holds: n_heads = 4", 25, "“n_heads ▸= 4” is not a Python expression"),
        ("page: steps", "page: nowhere", 28, "page: “nowhere” is not one of steps, heads"),
        ("label: Go there", "query: 1", 30, "appears twice"),
        ("query: 3", "stages: 1", 30, "unknown key “stages”"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(old: str, new: str, line: int, part: str):
    assert old in WHOLE
    with pytest.raises(LessonError) as caught:
        read(WHOLE.replace(old, new, 1))
    assert str(caught.value).startswith(f"lessons/test.md, line {line}: ")
    assert part in str(caught.value)


def test_a_lesson_without_a_title_or_anything():
    for text in ("", "\n\n", "model: en-fr\n\nprose"):
        with pytest.raises(LessonError, match="must start with its title"):
            read(text)


def test_a_broken_lesson_does_not_stop_the_others(tmp_path: Path):
    (tmp_path / "1-good.md").write_text(WHOLE)
    (tmp_path / "2-bad.md").write_text("title: Bad\n\n[figure]\nkind: no\n")
    (tmp_path / "3-bytes.md").write_bytes(b"title: \xff\xfe")
    (tmp_path / "README.md").write_text("no lesson")
    actual = read_lessons(tmp_path, "en", root=tmp_path, pages=PAGES, before="own.", group="Mine")
    assert [lesson.name for lesson in actual] == ["own.good", "own.bad", "own.bytes"]
    good, bad, undecodable = actual
    assert isinstance(good, Lesson) and good.group == "Mine"
    assert isinstance(bad, BrokenLesson) and bad.title == "Bad" and "line 4: kind: “no” is not one of" in str(bad.why)
    assert isinstance(undecodable, BrokenLesson) and "UTF-8" in str(undecodable.why)


def test_a_lesson_that_a_language_lacks_is_read_in_english(tmp_path: Path):
    for place in ("en/1-a.md", "en/2-b.md", "de/2-b.md", "de/3-c.md"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text("title: T\n")
    names = [str(path.relative_to(tmp_path)) for path in files_of(tmp_path, "de")]
    assert names == ["en/1-a.md", "de/2-b.md", "de/3-c.md"]
    assert [path.parent.name for path in files_of(tmp_path, "en")] == ["en", "en"]
