"""The page Decoding as a whole: what becomes of the branches when another text is read, and when one goes back."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.explore.decoding import view_fields
from tests.pages.conftest import EXAMPLES, shown_code, through_history, url_of, view_of, words_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("three_kinds_here")]
OpenApp = Callable[..., AppTest]
FORKED = {"model": "en-fr", "text": EXAMPLES[0], "branches": "~5.!6", "branch": "1", "step": "2"}


@pytest.fixture
def forked(open_app: OpenApp) -> AppTest:
    """The page, at a link to a fork."""
    app = open_app()
    for name, value in FORKED.items():
        app.query_params[name] = value
    app.switch_page("explore/decoding/page.py").run()
    assert not app.exception
    return app


def test_the_one_code_of_the_page_has_that_of_the_search(forked: AppTest):
    forked.query_params["part"] = "beams"
    with through_history():
        forked.run()
    lines = shown_code(forked)
    assert len(forked.code) == 2  # the other is the plain text
    namespace: dict[str, Any] = {}
    exec(compile(lines, "shown", "exec"), namespace)
    assert f"{namespace['found'].best.total_log_prob:.2f}".replace("-", "−") in words_of(forked)


def branches(app: AppTest) -> str:
    return view_fields.BRANCHES.write(app.session_state[view_fields.BRANCHES.key])


def test_another_text_has_no_branches_and_back_they_are_there_again(forked: AppTest):
    assert branches(forked) == "~5.!6"
    before = view_of(forked)
    forked.text_input(key="text").set_value(EXAMPLES[1]).run()
    assert not forked.exception
    assert branches(forked) == ""
    for name in [*url_of(forked)]:
        del forked.query_params[name]
    for name, value in before.items():
        forked.query_params[name] = value
    with through_history():
        forked.run()
    assert not forked.exception
    assert branches(forked) == "~5.!6"
    assert view_of(forked) == before


def test_a_text_that_was_typed_on_another_page_has_none_either(forked: AppTest):
    forked.switch_page("explore/heads/page.py").run()
    forked.text_input(key="text").set_value(EXAMPLES[1]).run()
    forked.switch_page("explore/decoding/page.py").run()
    assert not forked.exception
    assert branches(forked) == ""
