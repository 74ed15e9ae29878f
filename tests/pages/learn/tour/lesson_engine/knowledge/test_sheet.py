"""The table of what was answered, and how many answers are right."""

import csv
import io

from pages.learn.tour.lesson_engine.knowledge.sheet import COLUMNS, Answer, n_right, questions, table
from transformer_core.language import speaking


def rows(text: str) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(text))]


def right(seed: int) -> dict[str, Answer]:
    """All answers right."""
    return {
        name: Answer(given=str(int(item.right)) if item.choices else str(item.right), seconds=1.25)
        for name, item in questions(seed, "before").items()
    }


def test_right_answers_are_counted():
    answers = right(5)
    assert n_right(5, "before", answers) == 12
    assert n_right(5, "before", answers | {"scaling": Answer(given=None, seconds=0)}) == 11
    assert n_right(5, "before", {}) == 0


def test_the_table_says_what_was_given_and_what_is_right():
    answers = right(5) | {"scaling": Answer(given="1,5", seconds=2.04), "heads": Answer(given=None, seconds=61)}
    with speaking("de"):
        text = table(5, [("before", answers), ("after", {})], version="1.2")
    found = rows(text)
    assert tuple(found[0]) == COLUMNS and len(found) == 12
    assert {row["seed"] for row in found} == {"5"} and {row["version"] for row in found} == {"1.2-q1"}
    by_name = {row["question"]: row for row in found}
    scaling, heads, choice = (by_name[name] for name in ("scaling", "heads", "temperature"))
    item = questions(5, "before")["scaling"]
    assert (scaling["given"], scaling["right"], scaling["correct"]) == ("1,5", f"{item.right:g}", "0")
    assert (scaling["when"], scaling["seconds"]) == ("before", "2.0")
    assert (heads["given"], heads["correct"], heads["seconds"]) == ("", "0", "61.0")
    assert choice["given"] == choice["right"] and "its probability" in choice["right"] and choice["correct"] == "1"
    assert all("−" not in row["right"] for row in found), "numbers that programs read"
    assert [row["correct"] for row in found].count("1") == 10
