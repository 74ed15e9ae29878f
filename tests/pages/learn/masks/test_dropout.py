"""Dropout on the pattern: what is drawn, said and taken away of one head and of the predictions."""

import re

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.masks import dropout, view_fields
from tests.pages.learn.bare import Bare
from tests.pages.learn.masks.conftest import Look
from transformer_core.analysis.masks.dropout import DropoutOutcome
from transformer_core.analysis.masks.run import Predictions

TEXT = "The cat sleeps."
FIGURE = "masks-dropout-figure"


def said(best: tuple[int, ...], labels: tuple[str, ...], probability: list[float]) -> Predictions:
    return Predictions(best=best, labels=labels, probability=np.array(probability))


def outcome() -> DropoutOutcome:
    """Two queries; the first sees one key alone, and the other keeps one of its three weights."""
    pattern = np.array([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25]])
    keep = np.array([[2.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
    return DropoutOutcome(
        pattern=pattern,
        keep=keep,
        dropped_pattern=pattern * keep,
        before=said((1, 2), ("a", "b"), [0.5, 0.125]),
        now=said((1, 3), ("a", "c"), [0.25, 0.25]),
        moved=np.array([0.5, 1.25]),
    )


def test_weights_that_are_0_anyway_are_not_counted_as_dropped(bare: Bare):
    view_fields.DROPOUT.set(0.5)
    dropout._rows(outcome())
    assert "p = 0.50: 2 of 4 non-zero weights are dropped; the others are multiplied by 2.000." in bare.words
    assert "range from 1.00 to 2.00" in bare.words and "Weights above 1" in bare.words


def test_weights_up_to_1_have_their_own_color(bare: Bare):
    view_fields.DROPOUT.set(0.0)
    pattern = np.array([[1.0, 0.0]])
    made = outcome()
    told = DropoutOutcome(
        pattern=pattern,
        keep=np.ones((1, 2)),
        dropped_pattern=pattern,
        before=made.before,
        now=made.now,
        moved=made.moved,
    )
    dropout._rows(told)
    assert "Weights above 1" not in bare.words and "p = 0.00: 0 of 1 non-zero" in bare.words
    assert "multiplied by 1.000. Row sums of the pattern now range from 1.00 to 1.00" in bare.words


def test_each_row_of_the_predictions_has_both_sides_in_their_columns(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT)
    n = len(data.alone.judged)
    best = tuple(range(n))
    made = DropoutOutcome(
        pattern=np.ones((1, 1)),
        keep=np.ones((1, 1)),
        dropped_pattern=np.ones((1, 1)),
        before=said(best, tuple(f"own {place}" for place in best), [0.5] * n),
        now=said(
            (best[0], *(place + 1 for place in best[1:])),
            tuple(f"other {p}" if p else "own 0" for p in best),
            [0.25] * n,
        ),
        moved=np.arange(n) / 4,
    )
    dropout._outputs(data, made)
    rows = re.findall(r"<tr class='(.*?)'>(.*?)</tr>", bare.words)
    cells = [
        re.sub(r"</?bdi>", "", row).removeprefix("<td>").removesuffix("</td>").split("</td><td>") for _, row in rows
    ]
    labels = data.alone.expected_labels
    for place, (kind, _) in enumerate(rows):
        other = f"other {place}" if place else "own 0"
        assert cells[place] == [str(place), labels[place], "0.500", "0.250", f"own {place}", other, f"{place / 4:.2f}"]
        assert kind == ("hl-masks-other" if place else "")
    told = f"{n - 1} of {n} predictions change. Mean token probability (geometric): 0.50 without dropout, 0.25 with it."
    assert told in bare.words and f"Max. logit difference: {(n - 1) / 4:.2f}." in bare.words


def test_the_pattern_before_and_after_is_drawn_and_taken_away(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, attention="cross", layer=1, head=3, dropout=0.5, seed=4)
    dropout.show(data)
    drawn = bare.figures[FIGURE]
    model, _ = tc.load("checkpoints/en-fr")
    site = "decoder.blocks.1.cross_attn.hook_pattern"
    with torch.inference_mode(), tc.capture(model, site) as activations:
        model(*(torch.tensor([data.alone.inputs[side]]) for side in ("source", "target")))
    own = activations[site][0, 3].numpy()
    arrays = drawn.arrays
    assert arrays["pattern"].shape == own.shape == arrays["keep"].shape
    assert {*np.unique(arrays["keep"])} == {0, 2}, "1 / (1 - p)"
    np.testing.assert_allclose(arrays["after"], arrays["pattern"] * arrays["keep"], atol=1e-6)
    queries, keys = (data.alone.labels[side] for side in ("target", "source"))
    assert drawn.rows[0] == "query,key,weight" and len(drawn.rows) == 1 + 3 * len(queries) * len(keys)
    for panel, (name, values) in enumerate(
        (
            ("Pattern before", arrays["pattern"]),
            ("Dropout mask: 1 = kept", arrays["keep"] > 0),
            ("Pattern after", arrays["after"]),
        )
    ):
        row = drawn.rows[1 + 3 * len(keys) + panel * len(keys) + 2]
        assert row.startswith(f"1 {queries[1]},") and f"2 {keys[2]}, {name}" in row
        assert float(row.rsplit(",", 1)[1]) == pytest.approx(float(values[1, 2]), abs=1e-5)
    assert drawn.title == "Pattern with dropout, cross-attention L1.H3"
    assert bare.session["masks-dropout-box"] == 0.5 and bare.session["masks-seed-box"] == 4
    assert bare.widgets["masks-dropout-box"].how["limits"] == (0.0, 0.9)


def test_without_dropout_nothing_changes(bare: Bare, look: Look):
    data = look("fill-in", text=TEXT, dropout=0.0, layer=0, head=1)
    dropout.show(data)
    arrays = bare.figures[FIGURE].arrays
    np.testing.assert_array_equal(arrays["pattern"], arrays["after"])
    assert f"0 of {arrays['pattern'].size} non-zero weights are dropped" in bare.words
    n = len(data.alone.judged)
    assert f"0 of {n} predictions change" in bare.words and "Max. logit difference: 0.00." in bare.words
    model, tokenizer = tc.load("checkpoints/fill-in")
    with torch.inference_mode():
        best = model(torch.tensor([data.alone.inputs["source"]]))[0].argmax(-1).tolist()
    shown = re.findall(r"<tr class=''><td>\d+</td>(?:<td>.*?</td>){3}<td><bdi>(.*?)</bdi></td>", bare.words)
    assert shown == [*tokenizer.labels([best[place] for place in data.alone.judged])]


def test_the_lines_print_what_is_kept_and_both_means(look: Look):
    lines = dropout.script(*dropout._printed(look("fill-in", text=TEXT).dropped(0.3, 2)))
    for part in ("probability=0.3", "seed=2", "dropped.keep", "dropped.dropped_pattern"):
        assert part in lines
    assert lines.index("dropped.before.mean_probability") < lines.index("dropped.now.mean_probability")
