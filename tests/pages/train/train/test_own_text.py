"""A user's texts on the Train page: imported or refused, chosen, skipped lines, and deleted."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import run_commands, runs
from pages.shared.runs import Run
from pages.train.train import own_texts
from tests.pages.conftest import labels_of, words_of

Analyse = Callable[[AppTest], AppTest]
Upload = Callable[[str, bytes], None]
RHYME = b"one two three\nfour five six\n" * 20
PAIRS = "".join(f"number {i}\tnombre {i}\n" for i in range(30))
BAD = "".join(f"number {i}\tnombre {i}\n" if i % 3 else f"number {i}\n" for i in range(30))


@pytest.fixture
def app(train_page: AppTest, analyse: Analyse) -> AppTest:
    """The page with "Your own text" chosen."""
    train_page.session_state["train-source"] = "Your own text"
    return train_page.run()


@pytest.fixture
def upload(app: AppTest, analyse: Analyse) -> Callable[[str, bytes], None]:
    def upload(name: str, content: bytes) -> None:
        analyse(app.file_uploader[0].upload(name, content, "text/plain").run())

    return upload


def chosen(app: AppTest) -> str | None:
    """The name of the text that is chosen."""
    box = app.selectbox(key="train-own-box")
    return None if box.value is None else own_texts.available()[box.value].name


def warnings(app: AppTest) -> str:
    return "\n".join(warning.value for warning in app.warning)


def test_what_is_refused_leaves_nothing_to_be_trained_on(app: AppTest, upload: Upload, analyse: Analyse):
    upload("rhyme.txt", RHYME)
    assert chosen(app) == "rhyme.txt" and "Start training" in labels_of(app)
    for name, content, message in (
        ("nothing.txt", b"", "nothing.txt is empty"),
        ("no-text.txt", bytes(range(256)), "no-text.txt is not a text file"),
        ("pairs.tsv", b"no tab\nnone here either\n", "pairs.tsv: none of the lines is a pair"),
    ):
        upload(name, content)
        assert "could not be imported" in warnings(app) and message in warnings(app)
        assert chosen(app) is None and "Start training" not in labels_of(app)
    app.run()  # whatever else happens on the page
    assert chosen(app) is None and "Start training" not in labels_of(app)
    for text, pasted in ((" \n ", None), ("A pasted text. " * 40, "pasted.txt")):
        app.text_area[0].set_value(text)
        analyse(next(button for button in app.button if button.label == "Upload").click().run())
        assert chosen(app) == pasted and ("Start training" in labels_of(app)) == bool(pasted)
        assert name or "contains only whitespace" in warnings(app)


def test_bad_lines_are_shown_and_skipped_or_not(
    app: AppTest, upload: Upload, analyse: Analyse, monkeypatch: pytest.MonkeyPatch
):
    upload("rhyme.txt", RHYME)
    content = BAD.replace("\t", ",").encode()
    upload("pairs.csv", content)
    assert "pairs.csv: 10 of 30 lines are not pairs" in warnings(app)
    assert app.dataframe[0].value.to_numpy().tolist()[1] == ["line 4 has only one column", "number 3"]
    assert "Start training" not in labels_of(app)
    app.button(key="cancel-upload").click().run()
    assert chosen(app) is None and len(own_texts.available()) == 1

    upload("pairs.csv", content)
    analyse(app.button(key="skip-bad-lines").click().run())
    assert "not pairs" not in warnings(app)
    assert chosen(app) == "pairs.csv"
    assert "Skipped lines that are not pairs: 10." in words_of(app)
    actual: list[list[str]] = []
    monkeypatch.setattr(run_commands, "start", lambda name, arguments: actual.append([*arguments]))
    app.button(key="start-training").click().run()
    assert "skip_bad_lines=true" in actual[0]


def test_columns_are_chosen_and_a_header_is_not(
    app: AppTest, upload: Upload, analyse: Analyse, monkeypatch: pytest.MonkeyPatch
):
    rows = "".join(f"{i};cat {i};chat {i}\n" for i in range(30))
    upload("pairs.csv", f"id;name;title\n{rows}".encode())
    assert "Start training" not in labels_of(app)
    for label, column in (("Source", "name"), ("Target", "title")):
        next(box for box in app.selectbox if box.label == label).set_value(column)
    analyse(app.run())
    assert "29 pairs" in words_of(app)  # one is held out
    actual: list[list[str]] = []
    monkeypatch.setattr(run_commands, "start", lambda name, arguments: actual.append([*arguments]))
    app.button(key="start-training").click().run()
    assert {"source_column=name", "target_column=title"} <= {*actual[0]} and "header=no" not in actual[0]
    analyse(app.checkbox(key=f"train-header-{app.selectbox(key='train-own-box').value}").uncheck().run())
    assert "30 pairs" in words_of(app) and not app.exception
    upload("pairs.csv", f"id;first;title\n{rows}".encode())  # of the same name, with a column of the same name
    boxes = {box.label: box.value for box in app.selectbox if box.label in ("Source", "Target")}
    assert boxes == {"Source": None, "Target": None} and "Start training" not in labels_of(app)


def test_what_is_wrong_with_a_text_is_told_before_its_training(app: AppTest, upload: Upload):
    upload("word.txt", b"word " * 2000)
    assert "is repetitive" in warnings(app) or "so there is nothing to learn" in warnings(app)
    assert "Start training" in labels_of(app)
    (steps,) = (box for box in app.number_input if box.label == "Steps")
    assert steps.value == 400 and "the text is short, and this is already about" in words_of(app)
    upload("long.tsv", (PAIRS + "a " * 300 + "\tb\n").encode())
    assert "1 source is too long for the model" in warnings(app)
    assert "Start training" not in labels_of(app)
    next(box for box in app.number_input if box.label == "Maximum length (tokens)").set_value(1000).run()
    assert "too long for the model" not in warnings(app) and "Start training" in labels_of(app)


def test_texts_keep_their_names_and_can_be_deleted(
    app: AppTest, upload: Upload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    upload("My notes.txt", RHYME)
    upload("My notes.txt", RHYME * 2)
    upload("other.md", RHYME)
    options = app.selectbox(key="train-own-box").options
    assert options[0] == "other.md"
    assert len({*options}) == 3 and all(option.startswith("My notes.txt (2") for option in options[1:])
    text = own_texts.available()[str(app.selectbox(key="train-own-box").value)]
    at_work = Run(name="mine", path=tmp_path, state="running", request={"corpus": str(text.path)})
    with monkeypatch.context() as patch:
        patch.setattr(runs, "available", lambda: {"mine": at_work})
        app.button(key="delete-text-really").click().run()
    assert any("the training mine is using other.md; stop it first" in info.value for info in app.info)
    assert text.path.exists()

    app.button(key="delete-text-really").click().run()
    assert not app.exception
    assert not text.path.parent.exists() and len(own_texts.available()) == 2
    assert any("other.md was deleted" in info.value for info in app.info)
    assert chosen(app) is None and "Start training" not in labels_of(app)
    with pytest.raises(ValueError, match=r"its training text, other.md, no longer exists; upload it again"):
        run_commands.resume(at_work)


def test_epochs_and_the_steps_that_are_suggested_follow_the_settings(app: AppTest, upload: Upload):
    upload("pairs.tsv", "".join(f"{i} cats\t{i} chats\n" for i in range(800)).encode())
    settings = {str(box.key).removesuffix("-box").rpartition("-")[2]: str(box.key) for box in app.number_input}
    steps, batch_size = (app.number_input(key=settings[name]).value or 0 for name in ("steps", "batch_size"))
    assert f"{steps * batch_size / 760:,.0f} epochs of 760 pairs" in words_of(app)  # 40 are held out
    assert "More steps would mostly overfit" in words_of(app) or "too long on this machine" in words_of(app)
    app.number_input(key=settings["batch_size"]).set_value(8).run()
    app.number_input(key=settings["steps"]).set_value(100).run()
    assert not app.exception and "1.1 epochs of 760 pairs" in words_of(app)
    assert "With these settings, " in words_of(app) and "mostly overfit" not in words_of(app)
    upload("long.jsonl", b"".join(b'{"text": "%d %s"}\n' % (i, b"the cat sat. " * 400) for i in range(4)))
    assert re.search(r"epochs of \d+ windows", words_of(app))  # as the texts are cut
