"""One head of A beside one of B where a text has words that the other lacks: against patterns computed by hand."""

import html
import re

import numpy as np
import pytest

import transformer_core as tc
from headlight.analysis.texts.side_by_side import PairedPlaces, TokenAlignment
from pages.explore.compare import head
from tests.pages.conftest import EXAMPLES, OpenApp, words_of
from tests.pages.explore.compare.compare_parts import figures_of, open_compare
from tests.pages.explore.compare.test_page import HEAD, pattern
from tests.pages.explore.decoding.decoding_parts import arrays_of, files_of, numbers

pytestmark = pytest.mark.usefixtures("checkpoints")
SHORT = "The cat didn't see the dog."  # EXAMPLES[0] without its four last words


def cells(figure: dict[str, object], name: str) -> np.ndarray:
    traces: list[dict[str, object]] = figure["data"]  # type: ignore[assignment]
    return numbers(next(trace for trace in traces if trace["name"] == name)["z"])


def test_what_a_text_has_alone_is_one_last_column_that_rows_still_sum_to_one(open_app: OpenApp, checkpoints):
    tokenizer = tc.load(checkpoints / "en-fr")[1]
    long, short = (tokenizer.labels_for(text, "encoder_decoder") for text in (EXAMPLES[0], SHORT))
    n_alike = next(place for place, (one, other) in enumerate(zip(long, short, strict=False)) if one != other)
    n_end = len(short) - n_alike  # what both texts end with
    shared = [*range(n_alike), *range(len(long) - n_end, len(long))]
    whole = pattern(checkpoints, EXAMPLES[0], 1, 2)[shared]
    a = np.column_stack([whole[:, shared], np.delete(whole, shared, axis=1).sum(axis=1)])
    b = np.column_stack([pattern(checkpoints, SHORT, 1, 2), np.zeros(len(short))])

    app = open_compare(open_app, text=EXAMPLES[0], btext=SHORT, **HEAD)
    drawn = [*figures_of(app).values()]
    for figure, expected in zip(drawn[:2], (a, b), strict=True):
        np.testing.assert_allclose(cells(figure, "attention"), expected, atol=1e-6)  # nothing of it is forbidden
        assert figure["layout"]["xaxis"]["ticktext"][-1] == "elsewhere"
    np.testing.assert_allclose(cells(drawn[2], "difference"), b - a, atol=1e-6)
    assert f"{len(short)} queries paired, {len(long) - len(short)} only in A, 0 only in B." in words_of(app)
    arrays = arrays_of(files_of(app, "compare-B"))
    np.testing.assert_allclose(arrays["pattern"], b, atol=1e-6)


def alignment(n_pairs: int, replaced: int = 0, only_a: int = 0, only_b: int = 0) -> TokenAlignment:
    pairs = [PairedPlaces(i, i, f"a{i} → b{i}" if i < replaced else f"a{i}", i < replaced) for i in range(n_pairs)]
    return TokenAlignment(
        pairs=tuple(pairs), only_a=tuple(range(90, 90 + only_a)), only_b=tuple(range(90, 90 + only_b))
    )


@pytest.mark.parametrize(
    ("side", "message"),
    [
        (
            alignment(9, replaced=4, only_a=3),
            "9 queries paired, 4 of them replaced (a0 → b0, a1 → b1, a2 → b2, a3 → b3), "
            "3 only in A, 0 only in B and so on.",
        ),
        (
            alignment(9, replaced=6),
            "9 queries paired, 6 of them replaced (a0 → b0, a1 → b1, a2 → b2, a3 → b3 and 2 more).",
        ),
    ],
)
def test_what_was_paired_is_told_in_a_sentence(side: TokenAlignment, message: str):
    assert head._paired(side, "queries", elsewhere=" and so on") == message


def test_a_cell_is_marked_in_all_three_maps_as_far_as_they_reach(open_app: OpenApp, checkpoints):
    n = len(pattern(checkpoints, SHORT, 1, 2))
    for cell, is_marked in ((f"{n - 1}.{n}", True), (f"{n}.0", False), (f"0.{n + 1}", False)):  # the last is elsewhere
        app = open_compare(open_app, text=EXAMPLES[0], btext=SHORT, cell=cell, **HEAD)
        marks = [len(figure["layout"].get("shapes", ())) for figure in figures_of(app).values()]
        assert len(marks) == 3 and len({*marks}) == 1
        assert bool(marks[0]) == is_marked


def test_a_head_that_does_the_same_in_both_is_told(open_app: OpenApp):
    same = "Both heads do the same here."
    ablated = {"btext": "", "bchange": "off:encoder.1.1"}
    assert same in html.unescape(words_of(open_compare(open_app, **ablated, **HEAD)))
    assert same not in html.unescape(words_of(open_compare(open_app, btext=SHORT, **HEAD)))
    causal = words_of(open_compare(open_app, **ablated, **HEAD | {"attention": "decoder"}))
    n, n_rows = re.findall(r"at least two allowed keys: (\d+) of (\d+)\)", causal)[0]
    assert (int(n) + 1, f"{n_rows} queries paired" in causal) == (int(n_rows), True)  # the first has itself alone
    assert "zero-ablated in B" not in words_of(open_compare(open_app, **ablated, **HEAD | {"layer": "0", "head": "1"}))
