"""The answers of the Tour: what a browser kept is taken, but for what cannot be."""

import pytest

from pages.learn.tour import view_fields


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
