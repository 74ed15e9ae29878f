"""The Tour page: chapters, answers, a teacher's own lessons, and the message for a broken one."""

import re
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.learn.tour import lessons, view_fields
from pages.learn.tour.writing import EXAMPLE
from tests.pages.conftest import OpenApp, through_history, url_of
from tests.pages.explore.decoding.decoding_parts import arrays_of, files_of, redrawn

GOOD = "title: My lesson\nmodel: en-fr\ntext: The cat sees the dog.\n\nIt has {{d_head}} numbers.\n"


def html_of(app: AppTest) -> str:
    return " ".join(element.proto.body for element in app.get("html"))


def prose_of(app: AppTest) -> str:
    return " ".join(element.value for element in app.markdown)


def button(app: AppTest, label: str):
    return next(one for one in app.button if one.label.startswith(label))


def test_a_chapter_is_predicted_then_revealed(open_app: OpenApp):
    app = open_app("tour", lesson="masks")
    assert "Masking" in html_of(app)
    assert "1 + 2 + … + 7" not in prose_of(app)
    app.text_input(key="tour-masks-0").set_value("27").run()
    assert not app.exception
    assert "You answered 27. The correct answer is 28." in html_of(app)
    assert "1 + 2 + … + 7 = 28" in prose_of(app)
    assert "1 of 28 done" in html_of(app)
    assert url_of(app)["lesson"] == "masks"
    button(app, "Try again").click().run()
    assert "1 + 2 + … + 7" not in prose_of(app)
    app.text_input(key="tour-masks-0").set_value("twenty").run()
    assert "Please enter a number" in html_of(app)
    button(app, "Reveal answer").click().run()
    assert "The answer is 28." in html_of(app)


def test_a_figure_is_drawn_again_by_the_lines_that_are_saved_with_it(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    files = files_of(open_app("tour", lesson="positions"), "tour-positions-0-0")
    again, saved = redrawn(files, tmp_path, monkeypatch)["plot"].arrays(), arrays_of(files)
    assert again.keys() == saved.keys() and len(files["csv"].splitlines()) == 1 + len(saved["position"])
    np.testing.assert_array_equal([*again.values()], [*saved.values()])


def test_one_goes_on_and_back_from_the_first_chapter(open_app: OpenApp):
    app = open_app("tour", lesson="<b>none</b>")
    assert "There is no lesson “&lt;b&gt;none&lt;/b&gt;”" in html_of(app) and "Why attention?" in html_of(app)
    assert button(app, "Back").disabled
    button(app, "Next: Tokens and").click().run()
    assert not app.exception and url_of(app)["lesson"] == "tokens-and-embeddings"
    button(app, "Back").click().run()
    assert url_of(app)["lesson"] == "why-attention"


def test_a_teachers_lessons_and_a_broken_one(open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_LESSONS", str(tmp_path))
    (tmp_path / "1-good.md").write_text(GOOD)
    (tmp_path / "2-bad.md").write_text("title: Bad\n\n[figure]\nkind: photo\n")
    (tmp_path / "3-lies.md").write_text(f"{GOOD}\n[check]\nholds: d_head == 31\n\n[figure]\nkind: head\nlayer: 9\n")
    (tmp_path / "4-elsewhere.md").write_text("title: Elsewhere\nmodel: none\n\n{{d_head}}\n")
    (tmp_path / "5-example.md").write_text(EXAMPLE)
    (tmp_path / "who <is> it.txt").write_text("title: Mine\n")
    app = open_app("tour", lesson="own.example")
    assert "cannot be" not in html_of(app) and "who &lt;is&gt; it.txt" in html_of(app)
    assert re.search(r"numbers of the model: [01]\.\d\d", prose_of(app))
    app = open_app("tour", lesson="own.bad")
    assert "line 4: kind: “photo” is not one of" in html_of(app)
    assert {"28", "29", "30", "31", "32"} <= {one.label.split("\u2002")[0] for one in app.button}
    button(app, "Back").click().run()
    assert "It has 32 numbers." in prose_of(app)
    tour_state_of = {"own.lies": "this does not hold: d_head == 31 (left is 32, right is 31)", "own.elsewhere": "none"}
    for name, text in tour_state_of.items():
        app.query_params["lesson"] = name
        with through_history():
            app.run()
        assert not app.exception
        assert text in html_of(app)
    (tmp_path / "2-bad.md").write_text(GOOD.replace("lesson", "mended"))
    assert [lesson.title for lesson in lessons.here()][-4] == "My mended"


def test_what_the_browser_kept_is_done_again(session: dict[str, object]):
    view_fields.see("masks")
    assert not view_fields.is_restored()
    view_fields.restore({"masks": ["28"], "training": [None, "1.79"], "positions": []})
    assert view_fields.is_restored() and view_fields.answers("masks") == ("28",)
    assert view_fields.n_done([("masks", 1), ("training", 2), ("positions", 1), ("decoding", 0)]) == 2


@pytest.mark.parametrize("kept", [None, 3, ["masks"], {"masks": "28"}, {"masks": [28]}, {"masks": [["28"]]}])
def test_what_is_damaged_is_left_out(session: dict[str, object], kept: object):
    view_fields.restore(kept)
    assert view_fields.answers("masks") == ()
    assert view_fields.is_restored()


def test_as_much_is_taken_of_a_browser_as_may_be_kept_and_no_more(session: dict[str, object]):
    letters, many = "x" * view_fields.MOST_LETTERS, ["1"] * view_fields.MOST_ANSWERS
    view_fields.restore({"a": [letters], "b": [letters + "x"], "c": many, "d": [*many, "1"]})
    assert [len(view_fields.answers(name)) for name in "abcd"] == [1, 0, view_fields.MOST_ANSWERS, 0]
    chapters = {f"n{i}": ["1"] for i in range(view_fields.MOST_LESSONS + 1)}
    view_fields.restore(chapters)
    assert [name for name in chapters if not view_fields.answers(name)] == [f"n{view_fields.MOST_LESSONS}"]


def test_answers_follow_each_other_and_asking_again_forgets_those_from_there_on(session: dict[str, object]):
    for number, given in ((0, "a"), (2, "c"), (1, None), (0, "z"), (2, "c")):
        view_fields.answer("masks", number, given)
    assert view_fields.answers("masks") == ("a", None, "c")
    view_fields.ask_again("masks", 1)
    assert view_fields.answers("masks") == ("a",)
    view_fields.restore({"masks": ["z", "z"], "training": ["1"]})
    assert (view_fields.answers("masks"), view_fields.answers("training")) == (("a",), ("1",))


def test_each_training_begins_with_other_weights_until_all_have_been_seen(session: dict[str, object]):
    assert view_fields.seed("training") is None and not view_fields.wants_training("training")
    seeds = []
    for _ in range(view_fields.N_SEEDS + 1):
        view_fields.train("training")
        seeds.append(view_fields.seed("training"))
    assert seeds == [*range(view_fields.N_SEEDS), 0]
    assert view_fields.wants_training("training") and not view_fields.wants_training("masks")
