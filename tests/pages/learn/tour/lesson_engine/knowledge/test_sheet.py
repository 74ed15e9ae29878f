"""The twelve questions against their own computations, and the table of what was answered."""

import csv
import io
import math
import re
from collections.abc import Callable, Mapping
from itertools import product

import numpy as np
import pytest

from pages.learn.tour.lesson_engine.knowledge.item import Item
from pages.learn.tour.lesson_engine.knowledge.sheet import COLUMNS, WHENS, Answer, When, n_right, questions, table

NUMBER = re.compile(r"[−-]?\d+(?:\.\d+)?")


SEEDS = range(25)
Sheets = Mapping[tuple[int, When], Mapping[str, Item]]


@pytest.fixture(scope="module")
def sheets() -> Sheets:
    """The questions of all seeds, each made once."""
    return {(seed, when): questions(seed, when) for seed in SEEDS for when in WHENS}


def numbers(item: Item) -> list[float]:
    """The numbers of a question's text, in their order."""
    return [float(one.replace("−", "-")) for one in NUMBER.findall(str(item.ask))]


def temperature(*shown: float) -> str:
    *logits, usual, changed = shown
    before, after = (np.exp(np.array(logits) / t) / np.exp(np.array(logits) / t).sum() for t in (usual, changed))
    best = int(after.argmax())
    return f"{'ABC'[best]}; its probability {'rises' if after[best] > before[best] else 'falls'}"


def shifted_right(ask: str) -> str:
    target, word = re.findall("“(.*?)”", ask)
    read = ["<bos>", *target.split()]  # and what is predicted there: the target itself
    return f"“{read[target.split().index(word)]}”"


ORACLES: dict[str, Callable[..., float | str]] = {  # of the numbers in the question's text
    "scaling": lambda d_head, product: product / d_head**0.5,
    "softmax": lambda first, second, *_: math.exp(first) / (math.exp(first) + math.exp(second)),
    "causal-mask": lambda n, *_: sum(key <= query for query in range(int(n)) for key in range(int(n))),
    "padding-mask": lambda n, n_padded, *_: sum(key >= n for _ in range(int(n_padded)) for key in range(int(n_padded))),
    "heads": lambda d_model, n_heads: d_model / n_heads,
    "positions": lambda d_model, *_: sum(math.cos(0) for i in range(int(d_model)) if i % 2),
    "residual": lambda *summands: sum(summands),
    "layer-norm": lambda mean, deviation, weight, bias, number: (number - mean) / deviation,
    "cross-attention": lambda n_source, n_target: f"{n_target:.0f} × {n_source:.0f}",
    "label-smoothing": lambda share, n_vocab: 1 - share + share / n_vocab,
    "temperature": temperature,
    "shifted-right": shifted_right,
}


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("when", WHENS)
def test_each_question_has_exactly_one_right_answer_which_is_the_oracles(sheets: Sheets, name: str, when: When):
    for seed in SEEDS:
        item = sheets[seed, when][name]
        expected = ORACLES[name](*([str(item.ask)] if name == "shifted-right" else numbers(item)))
        if isinstance(expected, str):
            words = [str(choice) for choice in item.choices]
            assert len({*words}) == len(words) == 4
            verdicts = [item.judge(str(place)) for place in range(len(words))]
            assert [word for word, verdict in zip(words, verdicts, strict=True) if verdict.is_right] == [expected]
            assert verdicts[0].right == expected
        else:
            assert item.right == pytest.approx(expected, abs=1e-4)
            assert item.judge(str(round(expected, 2))).is_right or name == "label-smoothing"
            assert item.judge(repr(expected)).is_right and item.judge(f"{expected:.3f}".replace(".", ",")).is_right
            assert not item.judge(str(expected + 0.05)).is_right and not item.judge(str(expected - 0.05)).is_right
        assert not item.judge(None).is_right


def test_the_same_seed_asks_the_same(sheets: Sheets):
    questions.cache_clear()
    again = questions(3, "after")
    assert again is not sheets[3, "after"] and again == sheets[3, "after"]


def test_seeds_ask_different_questions_and_the_right_choice_stands_everywhere(sheets: Sheets):
    arguments = {tuple(str(item.ask) for item in sheet.values()) for sheet in sheets.values()}
    assert len(arguments) == 2 * len(SEEDS) and all([*sheet] == [*ORACLES] for sheet in sheets.values())
    for seed, name in product(SEEDS, ORACLES):
        assert str(sheets[seed, "before"][name].ask) != str(sheets[seed, "after"][name].ask)
    for name in ("cross-attention", "temperature", "shifted-right"):
        assert {sheet[name].right for sheet in sheets.values()} == {0, 1, 2, 3}


def test_what_is_an_answer():
    items = questions(0, "before")
    for name, answers, others in (("scaling", ["√16"], ["four", ""]), ("temperature", ["3"], ["4", "-1", "x", ""])):
        assert [given for given in (*answers, *others) if items[name].is_answer(given)] == answers
        assert not any(items[name].judge(given).is_right for given in others)


def test_right_answers_are_counted_and_the_table_says_what_was_given_and_what_is_right():
    items = questions(5, "before")
    answers = {
        name: Answer(given=str(int(item.right)) if item.choices else str(item.right), seconds=1.25)
        for name, item in items.items()
    }
    assert n_right(5, "before", answers) == 12 and n_right(5, "before", {}) == 0
    answers |= {"scaling": Answer(given="1,5", seconds=2.04), "heads": Answer(given=None, seconds=61)}
    assert n_right(5, "before", answers) == 10
    results = [*csv.DictReader(io.StringIO(table(5, [("before", answers), ("after", {})], version="1.2")))]
    by_name = {row["question"]: row for row in results}
    assert tuple(results[0]) == COLUMNS and len(results) == len(by_name) == 12
    scaling, heads, choice = (by_name[name] for name in ("scaling", "heads", "temperature"))
    assert [*scaling.values()] == ["5", "scaling", "before", "1,5", f"{items['scaling'].right:g}", "0", "2.0", "1.2-q1"]
    assert (heads["given"], heads["correct"], heads["seconds"]) == ("", "0", "61.0")
    assert choice["given"] == choice["right"] and "its probability" in choice["right"] and choice["correct"] == "1"
    assert all("−" not in row["right"] for row in results), "numbers that programs read"
    assert [row["correct"] for row in results].count("1") == 10
