"""The Decoding page as a whole: its one code gives what is shown, and what becomes of branches with another text."""

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.explore.decoding import view_fields
from tests.pages.conftest import EXAMPLES, PROMPTS, OpenApp, shown_code, through_history, url_of, view_of
from tests.pages.explore.decoding.components import test_candidates, test_writing
from tests.pages.explore.decoding.decoding_parts import cells, figure

pytestmark = pytest.mark.usefixtures("three_kinds_here")
FORKED = {"model": "en-fr", "text": EXAMPLES[0], "branches": "~5.!6", "branch": "1", "step": "2"}


PARTS = ["heads", "alignment", "tree", "beams", "cache", "led"]
KINDS = [
    {"model": "en-fr", "text": EXAMPLES[0], "branches": "~5.!6", "branch": "1", "length": "8", "step": "3"},
    {"model": "tales", "text": PROMPTS[0], "length": "8", "step": "3"},
]
SAMPLINGS = [{}, {"temperature": "0.9", "top_k": "5", "repetition": "1.3", "seed": "4"}]


def opened(open_app: OpenApp, **parameters: str) -> AppTest:
    """The page, at a link."""
    app = open_app("decoding", **parameters)
    assert not app.exception
    return app


def run_shown(app: AppTest) -> tuple[dict[str, Any], str]:
    """What the shown code defines, and what it prints."""
    defined: dict[str, Any] = {}
    with redirect_stdout(StringIO()) as printed:
        exec(compile(shown_code(app), "the shown code", "exec"), defined)
    return defined, printed.getvalue()


@pytest.mark.parametrize(("kind", "sampling"), [*zip(KINDS, SAMPLINGS, strict=True)])
def test_the_shown_code_gives_what_is_written_what_comes_next_and_where_heads_look(
    open_app: OpenApp, kind: dict[str, str], sampling: dict[str, str]
):
    app = opened(open_app, **kind, **sampling)
    defined, printed = run_shown(app)
    paths = app.session_state["decoding-paths"]
    assert tuple(step.token for step in defined["branch"]) == paths[int(kind.get("branch", "0"))]
    header, rows, *_ = test_writing.sent(app)
    assert defined["at"] is defined["branch"][header["at"]["value"] - 1]
    log_probs = [step.log_prob for step in defined["branch"]]
    np.testing.assert_allclose(rows[header["nGiven"] :, 2], log_probs, atol=1e-5)
    candidates, (scores, *_) = test_candidates.sent(app)
    of_rows = {row["token"]: row["log_prob"] for row in candidates["rows"]}
    expected = [defined["prediction"].candidate(token).log_prob for token in of_rows]
    np.testing.assert_allclose([*of_rows.values()], expected, atol=1e-5)
    assert candidates["next"] == defined["session"].choice(defined["at"])
    kept = defined["drawn_from"] > 0
    assert int(kept.sum()) == (5 if sampling else 1) and kept[candidates["next"]]
    if sampling:  # what is drawn from is the softmax of the penalized scores over the temperature, of the top k
        of_kept = {row["token"]: float(scores[row["place"]]) / 0.9 for row in candidates["rows"] if kept[row["token"]]}
        shares = torch.tensor([*of_kept.values()]).softmax(0)
        np.testing.assert_allclose(defined["drawn_from"][[*of_kept]], shares, atol=1e-5)
    for attention in ("cross", "decoder") if kind["model"] == "en-fr" else ("decoder",):
        drawn = cells(figure(app, f"decoding-rows-{attention}"))
        np.testing.assert_allclose(defined[f"{attention}_rows"].values, drawn, atol=1e-6)
    assert str(defined["prediction"].entropy) in printed


@pytest.mark.parametrize(("kind", "sampling"), [*zip(KINDS, SAMPLINGS[::-1], strict=True)])
def test_the_shown_code_gives_the_table_of_branches(open_app: OpenApp, kind: dict[str, str], sampling: dict[str, str]):
    app = opened(open_app, **kind, **sampling, part="tree")
    table, (defined, printed) = app.dataframe[0].value, run_shown(app)
    assert [len(branch) for branch in defined["branches"]] == table["tokens"].tolist()
    totals = [branch[-1].total_log_prob for branch in defined["branches"]]
    np.testing.assert_allclose(totals, table["nats"], atol=1e-5)
    assert str([*zip(map(len, defined["branches"]), totals, strict=True)]) in printed


@pytest.mark.parametrize(("part", "step"), [*zip(PARTS, "202020", strict=True)])
def test_the_shown_code_runs_at_both_ends_of_a_text(open_app: OpenApp, three_kinds: Path, part: str, step: str):
    eos = tc.load(three_kinds / "en-fr")[0].config.eos_id
    app = opened(open_app, model="en-fr", text=EXAMPLES[0], branches=f"5.!{eos}", step=step, part=part)
    defined, printed = run_shown(app)
    assert [step.token for step in defined["branch"]] == [5, eos] and "'<eos>'" in printed
    assert ("prediction" in defined) == (step == "0")


@pytest.mark.parametrize(("part", "name"), [("beams", "found"), ("cache", "cached"), ("alignment", "weights")])
def test_the_shown_code_has_the_lines_of_the_part_that_is_shown(open_app: OpenApp, part: str, name: str):
    defined, _ = run_shown(opened(open_app, **KINDS[0], part=part, beams="3"))
    assert name in defined


def branches(app: AppTest) -> str:
    return view_fields.BRANCHES.write(app.session_state[view_fields.BRANCHES.key])


def test_another_text_has_no_branches_and_back_they_are_there_again(open_app: OpenApp):
    forked = opened(open_app, **FORKED)
    assert branches(forked) == "~5.!6"
    before = view_of(forked)
    forked.text_input(key="text-line").set_value(EXAMPLES[1]).run()
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
    forked.switch_page("explore/heads/page.py").run()
    forked.text_input(key="text-line").set_value(EXAMPLES[1]).run()
    forked.switch_page("explore/decoding/page.py").run()
    assert not forked.exception
    assert branches(forked) == "", "nor where it was typed on another page"
