"""The editor of masks: the gallery, the matrix, and the text about the output, against forwards of the model."""

from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.masks import edit, view_fields
from pages.learn.masks.data import MasksData
from pages.shared import readings
from pages.shared.predictions import answers
from tests.pages.learn.bare import Bare, unpacked
from tests.pages.learn.masks.conftest import Look

TEXT = "The cat sleeps."


def drawn_matrix(bare: Bare, data: MasksData) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The header, and scores, pattern, pattern before, preset and the mask that the model ran with."""
    edit._matrix(data)
    header, rest = unpacked(bare.components["mask_matrix"]["data"])
    shape = len(header["query"]), len(header["key"])
    n = 4 * shape[0] * shape[1]
    floats = [np.frombuffer(rest[at * n : (at + 1) * n], dtype="<f4").reshape(shape) for at in range(3)]
    cells = np.frombuffer(rest[3 * n :], dtype=np.uint8).reshape(2, *shape).astype(bool)
    return header, [*floats, *cells]


def test_the_matrix_has_the_heads_scores_and_both_patterns_and_the_preset_without_edits(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, attention="decoder", layer=1, head=2, preset="none", edits=((0, 1), (2, 0)))
    header, (scores, pattern, before, preset, ran) = drawn_matrix(bare, data)
    head, n = data.outcome.head, len(data.alone.inputs["target"])
    np.testing.assert_array_equal(scores, head.scores.astype(np.float32))
    np.testing.assert_array_equal(pattern, head.pattern.astype(np.float32))
    np.testing.assert_array_equal(before, data.outcome.head_before.pattern.astype(np.float32))
    assert preset.all() and not ran[0, 1] and not ran[2, 0] and ran.sum() == n * n - 2
    assert header["turned"]["value"] == [1, 2 * n]
    assert header["query"][1] == header["key"][1] and header["real"] == {"query": n, "key": n}


def test_of_cross_attention_rows_are_the_targets_and_columns_the_source_with_its_padding(bare: Bare, look: Look):
    address: dict[str, Any] = {"text": TEXT, "attention": "cross", "preset": "padding", "padding": 2}
    data = look("en-fr", **address)
    header, arrays = drawn_matrix(bare, data)
    n_source, n_target = (len(data.alone.inputs[side]) for side in ("source", "target"))
    assert header["real"] == {"query": n_target, "key": n_source}
    assert arrays[0].shape == (n_target, n_source + 2)
    for change in ({}, {"padding": 1}, {"preset": "none"}, {"attention": "encoder"}, {"text": "The dog sleeps."}):
        other, _ = drawn_matrix(bare, look("en-fr", **address | change))
        assert (other["of"] == header["of"]) == (not change)


def test_cells_that_come_back_are_counted_row_by_row_over_the_keys(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, attention="cross", edits=((1, 1),))
    edit._matrix(data)
    n_keys = len(data.alone.inputs["source"])
    on_turned = bare.components["mask_matrix"]["on_turned_change"]
    bare.session[edit.MATRIX] = {"turned": {"revision": 1, "value": [n_keys + 2, 3]}}
    on_turned()
    assert view_fields.EDITS.value == ((0, 3), (1, 2))
    bare.session[edit.MATRIX] = {"turned": {"revision": 2, "value": ["x"]}}
    on_turned()
    assert view_fields.EDITS.value == ((0, 3), (1, 2)), "nothing sensible was sent"


def test_each_row_of_the_output_has_its_target_and_both_probabilities(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, attention="decoder", preset="none")
    outcome, outputs = data.outcome, edit._outputs(data, data.outcome)
    before, now = outcome.before, outcome.now
    assert [(row.place, row.word, row.before, row.now, row.previous, row.says) for row in outputs.rows] == [
        *zip(
            data.text.judged,
            data.text.expected_labels,
            before.probability.tolist(),
            now.probability.tolist(),
            before.labels,
            now.labels,
            strict=True,
        )
    ]
    assert f"{outcome.n_changed} of {len(before.labels)} predictions change." in outputs.counted
    assert f"Max. logit difference: {outcome.moved.max():.2f}." in outputs.counted
    for attention, are_queries in (("encoder", False), ("cross", True)):
        data = look("en-fr", text=TEXT, attention=attention)
        assert edit._outputs(data, data.outcome).are_queries == are_queries


def test_an_edit_is_to_be_predicted_by_the_numbers_that_are_shown(bare: Bare, look: Look):
    assert edit._edit(look("en-fr", text=TEXT, attention="cross")) is None
    data = look("en-fr", text=TEXT, attention="cross", edits=((1, 1),))
    result, outputs = edit._edit(data), edit._outputs(data, data.outcome)
    assert result is not None
    shown = [(row.word, row.before, row.now) for row in outputs.rows]
    assert [*zip(result.labels, result.before.tolist(), result.after.tolist(), strict=True)] == shown
    names = {result.name}
    for change in ({"edits": ((1, 2),)}, {"text": "The dog sleeps."}, {"layers": "one"}, {"preset": "none"}):
        other = edit._edit(look("en-fr", **{"text": TEXT, "attention": "cross", "edits": ((1, 1),)} | change))
        assert other is not None
        names.add(other.name)
    assert len(names) == 5
    again = edit._edit(look("en-fr", text=TEXT, attention="cross", edits=((1, 1),), layer=0, head=3))
    assert again is not None and again.name == result.name, "the same edit, seen at another head"


def test_what_is_to_be_predicted_is_not_shown_yet(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, attention="cross", preset="flipped")
    hidden, shown = (edit._outputs(data, data.outcome, is_seen=is_seen) for is_seen in (False, True))
    assert [(row.word, row.before) for row in hidden.rows] == [(row.word, row.before) for row in shown.rows]
    assert all(row.now is None and row.says == row.previous for row in hidden.rows)
    assert [*hidden.words] == [*shown.words][:1] and len(shown.words) == 2
    assert "these" not in hidden.counted and "change" not in hidden.counted and edit.GEOMETRIC in hidden.counted


@pytest.mark.parametrize(("is_on", "is_asked"), [(False, False), (True, True)])
def test_an_edit_is_asked_about_only_where_that_is_switched_on(bare: Bare, look: Look, is_on: bool, is_asked: bool):
    data = look("en-fr", text=TEXT, attention="cross", preset="forgotten")
    answers.IS_ON.set(is_on)
    edit.show(data)
    header, _ = unpacked(bare.components["mask_matrix"]["data"])
    assert ("predict-check" in bare.buttons) == is_asked == all(row["now"] is None for row in header["outputs"]["rows"])
    for answer in ("What goes wrong:", "Padding rows:"):
        assert (answer in bare.words) != is_asked


@pytest.mark.usefixtures("fresh_caches")
def test_a_text_that_was_cut_has_no_target_for_its_last_place(look: Look, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(readings, "MAX_NEW_TOKENS", 3)
    cut = look("stories", text="The cat", continues=True)
    assert len(cut.text.judged) == cut.text.n_real["target"] - 1
    assert edit.CUT in edit._outputs(cut, cut.outcome).counted


def test_what_the_model_writes_is_said_with_both_masks(bare: Bare, look: Look):
    own = look("en-fr", text=TEXT, attention="decoder")
    model, tokenizer = tc.load("checkpoints/en-fr")
    source = torch.tensor([own.alone.inputs["source"]])
    written = tokenizer.target.decode(tc.greedy_decode(model, source, max_new_tokens=30).tokens[0, 1:].tolist())
    assert edit._words(own, own.outcome) == [("Model’s masks", written, False), ("Edited masks", written, False)]
    unshifted = look("en-fr", text=TEXT, attention="decoder", preset="unshifted")
    assert edit._words(unshifted, unshifted.outcome) == [("Model’s masks", written, False)]
    other = look("en-fr", text=TEXT, attention="cross", preset="flipped")
    (_, before, _), (name, now, is_changed) = edit._words(other, other.outcome)
    assert before == written and name == "Edited masks" and is_changed == (now != written) and is_changed
    assert not bare.texts


def test_filled_blanks_are_said_and_a_text_without_blanks_says_nothing_more(look: Look):
    data = look("fill-in", text="The ____ sleeps.", preset="look_ahead")
    (own, before, _), (_, now, is_changed) = edit._words(data, data.outcome)
    assert (own, before) == ("Model’s masks", ", ".join(data.outcome.before.labels)) and is_changed == (now != before)
    whole = look("fill-in", text=TEXT, preset="padding")
    assert edit._words(whole, whole.outcome) == []


def test_the_gallery_shows_the_chosen_preset_as_it_was_edited(bare: Bare, look: Look):
    data = look("fill-in", text=TEXT, preset="look_ahead", edits=((0, 2),))
    edit._gallery(data)
    header, cells = unpacked(bare.components["mask_gallery"]["data"])
    masks = {}
    for item in header["items"]:
        n = item["rows"] * item["columns"]
        masks[item["name"]] = np.frombuffer(cells[:n], dtype=np.uint8).reshape(item["rows"], item["columns"])
        cells = cells[n:]
    n = len(data.alone.inputs["source"])
    expected = np.tri(n)
    expected[0, 2] = 1
    np.testing.assert_array_equal(masks["look_ahead"], expected)
    np.testing.assert_array_equal(masks["none"], np.ones((n, n)))
    assert header["chosen"] == "look_ahead" and "cross" not in masks and "unshifted" not in masks
    bare.session[edit.GALLERY] = {"chosen": {"name": "block"}}
    bare.components["mask_gallery"]["on_chosen_change"]()
    assert view_fields.PRESET.value == "block" and view_fields.EDITS.value == ()


def test_a_mistake_says_what_goes_wrong_and_a_preset_shown_at_another_attention_says_so(bare: Bare, look: Look):
    edit.show(look("fill-in", text=TEXT, preset="flipped"))
    assert "What goes wrong:" in bare.words and {"mask_gallery", "mask_matrix"} <= {*bare.components}
    bare.clear()
    data = look("en-fr", text=TEXT, attention="decoder", preset="block")
    edit._about(data)
    edit._moved(data)
    assert "What goes wrong:" not in bare.words and "so its mask is shown" not in bare.words
    view_fields.choose_preset("cross", data.card.config)
    edit._moved(MasksData.current(data.card))
    assert "concerns cross-attention, so its mask is shown" in bare.words
