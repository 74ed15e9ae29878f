"""The twelve questions against computations of their own, and the table of what was answered."""

import csv
import io
import math
import re
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from pages.learn.tour.lesson_engine.knowledge.item import Item
from pages.learn.tour.lesson_engine.knowledge.sheet import COLUMNS, WHENS, Answer, When, n_right, questions, table
from transformer_core.language import add_catalogues, say_message, speaking

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


def scaling(item: Item) -> float:
    d_head, product = numbers(item)
    return product / d_head**0.5


def softmax(item: Item) -> float:
    first, second = numbers(item)[:2]
    return math.exp(first) / (math.exp(first) + math.exp(second))


def causal(item: Item) -> float:
    n = int(numbers(item)[0])
    return sum(key <= query for query in range(n) for key in range(n))


def padding(item: Item) -> float:
    n, n_padded = map(int, numbers(item)[:2])
    return sum(key >= n for _ in range(n_padded) for key in range(n_padded))


def heads(item: Item) -> float:
    d_model, n_heads = numbers(item)
    return d_model / n_heads


def positions(item: Item) -> float:
    d_model = int(numbers(item)[0])
    return sum(math.sin(0) if i % 2 == 0 else math.cos(0) for i in range(d_model))


def residual(item: Item) -> float:
    return sum(numbers(item))


def layer_norm(item: Item) -> float:
    mean, deviation, _, _, number = numbers(item)
    return (number - mean) / deviation


def smoothing(item: Item) -> float:
    share, n_vocab = numbers(item)
    target = np.full(int(n_vocab), share / n_vocab)
    target[0] += 1 - share
    return float(target[0])


def cross_attention(item: Item) -> str:
    n_source, n_target = map(int, numbers(item))
    return f"{n_target} × {n_source}"


def temperature(item: Item) -> str:
    *logits, usual, changed = numbers(item)
    before, after = (np.exp(np.array(logits) / t) / np.exp(np.array(logits) / t).sum() for t in (usual, changed))
    best = int(after.argmax())
    return f"{'ABC'[best]}; its probability {'rises' if after[best] > before[best] else 'falls'}"


def shifted_right(item: Item) -> str:
    target, word = re.findall("“(.*?)”", str(item.ask))
    read = ["<bos>", *target.split()]  # and what is predicted there: the target itself
    return f"“{read[target.split().index(word)]}”"


ORACLES: dict[str, Callable[[Item], float | str]] = {
    "scaling": scaling,
    "softmax": softmax,
    "causal-mask": causal,
    "padding-mask": padding,
    "heads": heads,
    "positions": positions,
    "residual": residual,
    "layer-norm": layer_norm,
    "cross-attention": cross_attention,
    "label-smoothing": smoothing,
    "temperature": temperature,
    "shifted-right": shifted_right,
}


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("when", WHENS)
def test_each_question_has_exactly_one_right_answer_which_is_the_oracles(sheets: Sheets, name: str, when: When):
    for seed in SEEDS:
        item = sheets[seed, when][name]
        expected = ORACLES[name](item)
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
    asked = {tuple(str(item.ask) for item in sheet.values()) for sheet in sheets.values()}
    assert len(asked) == 2 * len(SEEDS) and all([*sheet] == [*ORACLES] for sheet in sheets.values())
    for seed, name in product(SEEDS, ORACLES):
        assert str(sheets[seed, "before"][name].ask) != str(sheets[seed, "after"][name].ask)
    for name in ("cross-attention", "temperature", "shifted-right"):
        assert {sheet[name].right for sheet in sheets.values()} == {0, 1, 2, 3}


def test_a_question_is_judged_in_the_readers_language():
    add_catalogues(Path("pages/languages").resolve())
    item = questions(0, "before")["temperature"]
    with speaking("de"):
        verdict = item.judge(str(int(item.right)))
        assert verdict.is_right and verdict.right == say_message(item.choices[int(item.right)])
        assert "Wahrscheinlichkeit" in verdict.right


@pytest.mark.parametrize(
    ("name", "given", "is_answer"),
    [
        *(("scaling", "√16", True), ("scaling", "four", False), ("scaling", "", False)),
        *(("temperature", "3", True), ("temperature", "4", False), ("temperature", "-1", False)),
        *(("temperature", "x", False), ("temperature", "", False)),
    ],
)
def test_what_is_an_answer(name: str, given: str, is_answer: bool):
    item = questions(0, "before")[name]
    assert item.is_answer(given) == is_answer
    if not is_answer:
        assert not item.judge(given).is_right


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
