"""The analysis of a corpus before a training: a separate process, shared, cancelled, and mourned in a sentence."""

import os
import signal
import time

import pytest
from streamlit.testing.v1 import AppTest

from headlight.cli.launch import Started
from pages.shared import runs
from tests.pages.conftest import OpenApp, app_at, labels_of

TEXT = b"".join(b"This is line %d of a text.\n" % i for i in range(200))


@pytest.fixture
def open_own(train_page: AppTest) -> OpenApp:
    """Opens the page with "Your own text" chosen, as a new visitor."""

    def open_own() -> AppTest:
        app = app_at("train", {})
        app.session_state["train-source"] = "Your own text"
        return app.run()

    return open_own


def analysis() -> Started:
    """The one analysis that was started."""
    (started,) = (one for one in runs.launcher().started() if one.run.parent.name == ".analyses")
    return started


def settle(app: AppTest) -> AppTest:
    """Look again until the analysis is over."""
    end = time.time() + 120
    while "Cancel" in labels_of(app.run()):
        assert time.time() < end
        time.sleep(0.2)
    assert not app.exception
    return app


def test_two_sessions_share_an_analysis_which_goes_on_until_neither_waits(open_own: OpenApp):
    mine = open_own()
    mine.file_uploader[0].upload("text.txt", TEXT, "text/plain").run()
    assert not mine.exception
    assert "Cancel" in labels_of(mine) and "Start training" not in labels_of(mine)  # the page does not wait for it
    process = analysis().process
    other = open_own()
    assert "Cancel" in labels_of(other)
    assert analysis().process is process

    mine.button(key="cancel-analysis").click().run()
    mine.run()
    assert any("The analysis was cancelled" in info.value for info in mine.info)
    assert "Analyse" in labels_of(mine) and "Start training" not in labels_of(mine)
    other.run()
    assert process.poll() is None  # the other one waits
    other.button(key="cancel-analysis").click().run()
    assert process.wait(60) in (0, 130)  # it may have been done by then

    mine.button(key="analyse").click().run()
    assert "Start training" in labels_of(settle(mine))
    assert not [*(runs.folder() / ".analyses").glob("[!.]*")]
    mine.file_uploader[0].upload("other.txt", TEXT * 2, "text/plain").run()
    wanted = analysis().run / "wanted"
    assert wanted.exists()
    mine.file_uploader[0].upload("third.txt", TEXT * 3, "text/plain").run()
    assert not wanted.exists()  # without it the process ends, unless another session waits


def test_a_process_that_dies_is_one_sentence_and_tried_again(open_own: OpenApp):
    app = open_own()
    app.file_uploader[0].upload("text.txt", TEXT, "text/plain").run()
    os.kill(analysis().process.pid, signal.SIGKILL)
    analysis().process.wait(60)
    app.run()
    (warning,) = app.warning
    assert "its analysis ended early (exit status" in warning.value and not app.exception
    assert "Start training" not in labels_of(app)
    app.button(key="analyse-again").click().run()
    assert "Cancel" in labels_of(app)
    for path in (runs.folder() / ".texts").glob("*/*.txt"):  # while its analysis begins
        path.unlink()
    analysis().process.wait(60)
    app.run()
    assert not app.exception and "Start training" not in labels_of(app)
