"""Values that a component and Python both change: their notes, and which value counts."""

from typing import Any

from pages.shared.view.shared_value import SharedValue

SHARED = SharedValue("figure", "place")


def tell(session: dict[str, Any], revision: object, value: object) -> Any:
    """A person changed the value in the browser."""
    session["figure"] = {"place": {"revision": revision, "value": value}}
    return SHARED.heard()


def test_what_the_browser_told_is_answered_with_its_revision(session: dict[str, Any]):
    revision = SHARED.payload([1])["revision"]
    assert SHARED.payload([1])["revision"] == revision
    assert tell(session, revision + 3, [2]) == [2]
    assert SHARED.payload([2]) == {"revision": revision + 3, "value": [2]}
    assert SHARED.payload([3]) == {"revision": revision + 4, "value": [3]}  # put correct, or changed elsewhere


def test_a_change_that_was_made_before_it_was_told_of_another_counts_no_less(session: dict[str, Any]):
    revision = SHARED.payload([1])["revision"]
    assert SHARED.payload([2])["revision"] == revision + 1
    tell(session, revision + 1, [3])
    assert SHARED.payload([3]) == {"revision": revision + 1, "value": [3]}


def test_without_an_echo_nothing_new_is_said_to_a_component_that_went_there_by_itself(session: dict[str, Any]):
    first = SHARED.payload([1], echoes=False)
    tell(session, first["revision"] + 1, [2])
    assert SHARED.payload([2], echoes=False) == first
    assert SHARED.payload([1], echoes=False) == {"revision": first["revision"] + 2, "value": [1]}
    SHARED.forget()
    assert SHARED.payload([1], echoes=False) == {"revision": first["revision"] + 3, "value": [1]}


def test_a_new_session_counts_on_beyond_what_a_page_may_have_seen(session: dict[str, Any]):
    revision = SHARED.payload([1])["revision"]
    for n in range(3):
        tell(session, revision + n, [n])
    session.clear()
    SHARED.forget()  # as at the first run of a page
    assert SHARED.payload([1])["revision"] >= revision


def test_what_is_no_message_changes_nothing(session: dict[str, Any]):
    before = SHARED.payload([1])
    for message in (None, 3, {}, {"revision": "1", "value": 2}, {"revision": 1.5, "value": 2}, {"revision": 1}):
        session["figure"] = {"place": message}
        assert SHARED.heard() is None and SHARED.payload([1]) == before, message
