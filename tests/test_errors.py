"""Errors keep their template and values: in English, and in any language where they are shown, in files as JSON."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.learn.tour.lesson_engine.lesson import LessonError
from tests.german import in_german
from transformer_core.corpora.storage.pair_lines import BadLine, BadLinesError, PairLines
from transformer_core.errors import NO_MESSAGE, ConfigError, HeadlightError, Message

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9)
nested = st.recursive(
    plain, lambda inner: st.builds(lambda a, b: Message("{a} of {b!r}", a=a, b=b), inner, inner), max_leaves=4
)


def bad_lines() -> BadLinesError:
    bad = BadLine(line=3, problem="one_column", text="one")
    return BadLinesError(PairLines(n_lines=1234, n_bad=1, first_bad=[bad]), "a.tsv")


def test_a_message_is_english_with_its_values_put_in():
    message = Message("{n:,} of {path}, {share:.1%}, {name!r}", n=12345, path=Path("/a"), share=0.5, name="b")
    assert str(message) == "12,345 of /a, 50.0%, 'b'"
    assert str(Message("{braces} stay where nothing is put in")) == "{braces} stay where nothing is put in"
    assert [str(Message("{n} heron", plural="{n} herons", n=n)) for n in (0, 1, 2)] == [
        "0 herons",
        "1 heron",
        "2 herons",
    ]


def test_what_is_no_number_and_no_text_becomes_its_text():
    message = Message("{a!r} {b} {c:,} {d:.2f}", a=(1, "x"), b=[2], c=np.int64(3000), d=np.float32(0.5))
    assert str(message) == "(1, 'x') [2] 3,000 0.50"
    assert message == Message.from_json(json.loads(json.dumps(message.as_json())))


def test_several_are_one():
    error = ConfigError("x is {x}", x=1)
    assert str(Message.joined("; ", (error, Message("y"), "z"))) == "x is 1; y; z"
    assert str(Message.joined("; ", ())) == ""
    assert not NO_MESSAGE and error.message


def test_a_name_takes_the_place_of_a_path():
    inner = ConfigError("{path} is {what}", path="/tmp/a/config.json", what="/tmp/a")
    outer = Message("no: {error}, {n}", error=inner, n=1)
    assert str(outer.replaced("/tmp/a/", "").replaced("/tmp/a", Message("it"))) == "no: config.json is it, 1"


@given(values=st.dictionaries(st.sampled_from("abc"), nested))
def test_json_brings_back_what_it_got(values: dict[str, Any]):
    message = Message(" ".join(f"{{{name}}}" for name in values), **values)
    again = Message.from_json(json.loads(json.dumps(message.as_json())))
    assert (again, str(again), hash(again)) == (message, str(message), hash(message))
    assert pickle.loads(pickle.dumps(message)) == message


@pytest.mark.parametrize(
    "stored",
    [
        None,
        3,
        {},
        {"template": 3, "values": {}},
        {"template": "a"},
        {"template": "{a}", "values": {"b": 1}},
        {"template": "{a:,}", "values": {"a": "x"}},
        {"template": "a", "plural": "b", "values": {"a": 1}},
    ],
)
def test_what_is_no_message_is_refused(stored: object):
    with pytest.raises(TypeError):
        Message.from_json(stored)


def test_a_text_of_an_older_file_is_a_message():
    assert str(Message.from_json("it was stopped {so}")) == "it was stopped {so}"


@pytest.mark.parametrize(
    "error",
    [
        ConfigError("d_model ({d_model}) is wrong", d_model=5),
        ConfigError(Message("so")),
        LessonError("no figure “{name}”", name="x", line=4).of("a.md"),
        bad_lines(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_crosses_processes(error: HeadlightError):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.message) == (str(error), error.message)
    assert vars(again).keys() == vars(error).keys()


def test_an_error_in_an_error_is_german_too():
    assert str(bad_lines()).startswith("a.tsv: 1 of 1,234 lines is not a pair (line 3 has only one column); each line")
    assert in_german(bad_lines()).startswith(
        "a.tsv: 1 von 1\u202f234 Zeilen ist kein Paar (Zeile 3 hat nur eine Spalte)"
    )
    assert in_german(LessonError("so", line=2)) == "diese Lektion, Zeile 2: so"
