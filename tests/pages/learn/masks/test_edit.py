"""The editor of masks: the gallery, the matrix, and what is said of the output, against forwards of the model."""

import json
import struct
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.masks import edit, view_fields
from pages.learn.masks.data import MasksData
from pages.shared import readings
from pages.shared.predictions import answers
from tests.pages.learn.bare import Bare
from tests.pages.learn.masks.conftest import Look

TEXT = "The cat sleeps."


def sent(bare: Bare, name: str = "mask_matrix") -> tuple[dict[str, Any], bytes]:
    data = bare.components[name]["data"]
    (length,) = struct.unpack("<I", data[:4])
    return json.loads(data[4 : 4 + length]), data[4 + length :]


def drawn_matrix(bare: Bare, data: MasksData) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The header, and scores, pattern, pattern before, preset and the mask that the model ran with."""
    edit._matrix(data)
    header, rest = sent(bare)
    shape = len(header["query"]), len(header["key"])
    n = 4 * shape[0] * shape[1]
    floats = [np.frombuffer(rest[at * n : (at + 1) * n], dtype="<f4").reshape(shape) for at in range(3)]
    cells = np.frombuffer(rest[3 * n :], dtype=np.uint8).reshape(2, *shape).astype(bool)
    return header, [*floats, *cells]


def test_the_matrix_has_the_heads_scores_and_both_patterns_and_the_preset_without_edits(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, attention="decoder", layer=1, head=2, preset="none", edits=((0, 1), (2, 0)))
    header, (scores, pattern, before, preset, ran) = drawn_matrix(bare, data)
    model, _ = tc.load("checkpoints/en-fr")
    site = "decoder.blocks.1.self_attn"
    inputs = [torch.tensor([data.alone.inputs[side]]) for side in ("source", "target")]
    with torch.inference_mode(), tc.capture(model, f"{site}.hook_pattern") as activations:
        model(*inputs)
    np.testing.assert_allclose(before, activations[f"{site}.hook_pattern"][0, 2], atol=1e-5)
    n = len(data.alone.inputs["target"])
    expected = np.ones((n, n), dtype=bool)
    np.testing.assert_array_equal(preset, expected)
    expected[0, 1] = expected[2, 0] = False
    np.testing.assert_array_equal(ran, expected)
    masked = np.where(expected, scores.astype(np.float64), -np.inf)
    weights = np.exp(masked) / np.exp(masked).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(pattern, weights, atol=1e-5)
    assert header["turned"]["value"] == [1, 2 * n]
    assert header["query"][1] == header["key"][1] and header["real"] == {"query": n, "key": n}
    assert header["captions"]["mask"]["what"].startswith("Rows are queries (the decoder’s input)")


def test_of_cross_attention_rows_are_the_targets_and_columns_the_source_with_its_padding(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, attention="cross", preset="padding", padding=2)
    header, arrays = drawn_matrix(bare, data)
    n_source, n_target = (len(data.alone.inputs[side]) for side in ("source", "target"))
    assert header["real"] == {"query": n_target, "key": n_source}
    assert arrays[0].shape == (n_target, n_source + 2)
    assert not arrays[3][:, n_source:].any() and arrays[3][:, :n_source].all()
    what = header["captions"]["mask"]["what"]
    assert "queries (the decoder’s input), columns are keys (the text)" in what
    of = header["of"]
    for change in ({"padding": 1}, {"preset": "none"}, {"attention": "encoder"}, {"text": "The dog sleeps."}):
        other = {"text": TEXT, "attention": "cross", "preset": "padding", "padding": 2} | change
        assert drawn_matrix(bare, look("en-fr", **other))[0]["of"] != of
    assert drawn_matrix(bare, look("en-fr", text=TEXT, attention="cross", preset="padding", padding=2))[0]["of"] == of


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


def outcome_with(empty_rows: tuple[int, ...]) -> Any:
    return SimpleNamespace(head=SimpleNamespace(empty_rows=empty_rows))


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ((), "Point at a cell"),
        ((3,), "Query 3 may attend to nothing"),
        ((0, 1), "2 queries may attend to nothing (0, 1): "),
        ((0, 1, 2, 3, 4, 5), "6 queries may attend to nothing (0, 1, 2, 3, 4, 5): "),
        ((0, 1, 2, 3, 4, 5, 6), "7 queries may attend to nothing (0, 1, 2, 3, 4, 5 …): "),
    ],
)
def test_queries_that_see_nothing_are_named_up_to_six(rows: tuple[int, ...], told: str):
    assert edit._hint(outcome_with(rows)).startswith(told)


def test_each_row_of_the_output_has_its_target_and_both_probabilities(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, attention="decoder", preset="none")
    outputs = edit._outputs(data, data.outcome)
    model, tokenizer = tc.load("checkpoints/en-fr")
    inputs = [torch.tensor([data.alone.inputs[side]]) for side in ("source", "target")]
    everything = {"decoder.blocks.*.self_attn.hook_mask": lambda mask, _: torch.ones_like(mask)}
    with torch.inference_mode():
        logits = model(*inputs)[0]
        with tc.intervene(model, everything):
            others = model(*inputs)[0]
    labels = tokenizer.target.labels
    expected = data.alone.expected
    assert [row.place for row in outputs.rows] == [*range(len(expected))]
    for row, token, own, other in zip(outputs.rows, expected, logits, others, strict=False):
        assert row.word == labels([token])[0]
        assert row.before == pytest.approx(float(own.softmax(-1)[token]), abs=1e-5)
        assert row.now == pytest.approx(float(other.softmax(-1)[token]), abs=1e-5)
        assert (row.said, row.says) == (labels([int(own.argmax())])[0], labels([int(other.argmax())])[0])
    n = len(expected)
    changed = int((logits[:n].argmax(-1) != others[:n].argmax(-1)).sum())
    moved = float((logits[:n] - others[:n]).abs().max())
    means = [
        float(of[range(n), list(expected)].log().mean().exp())
        for of in (logits[:n].softmax(-1), others[:n].softmax(-1))
    ]
    told = f"{changed} of {n} predictions change. Mean token probability (geometric): {means[0]:.2f} with the model’s "
    assert told in outputs.counted and f"own masks, {means[1]:.2f} with these" in outputs.counted
    assert f"Max. logit difference: {moved:.2f}." in outputs.counted
    assert outputs.are_queries and outputs.counted.count(edit.GEOMETRIC) == 1


@pytest.mark.parametrize(("model", "attention", "are"), [("en-fr", "encoder", False), ("en-fr", "cross", True)])
def test_places_of_the_output_are_rows_where_the_queries_are_the_outputs(
    look: Look, model: str, attention: str, are: bool
):
    data = look(model, text=TEXT, attention=attention)
    outputs = edit._outputs(data, data.outcome)
    assert outputs.are_queries == are
    assert "the mean token probability is" in outputs.counted and "predictions change" not in outputs.counted


def test_an_edit_is_to_be_predicted_by_the_numbers_that_are_shown(bare: Bare, look: Look):
    assert edit._edit(look("en-fr", text=TEXT, attention="cross")) is None
    data = look("en-fr", text=TEXT, attention="cross", edits=((1, 1),))
    made, outputs = edit._edit(data), edit._outputs(data, data.outcome)
    assert made is not None
    shown = [(row.word, row.before, row.now) for row in outputs.rows]
    assert [*zip(made.labels, made.before.tolist(), made.after.tolist(), strict=True)] == shown
    names = {made.name}
    for change in ({"edits": ((1, 2),)}, {"text": "The dog sleeps."}, {"layers": "one"}, {"preset": "none"}):
        other = edit._edit(look("en-fr", **{"text": TEXT, "attention": "cross", "edits": ((1, 1),)} | change))
        assert other is not None
        names.add(other.name)
    assert len(names) == 5
    again = edit._edit(look("en-fr", text=TEXT, attention="cross", edits=((1, 1),), layer=0, head=3))
    assert again is not None and again.name == made.name, "the same edit, seen at another head"


def test_what_the_model_continues_is_another_edit(bare: Bare, look: Look):
    made = [
        edit._edit(look("stories", text="The cat", edits=((1, 0),), continues=continues)) for continues in (True, False)
    ]
    assert made[0] is not None and made[1] is not None
    assert len(made[0].labels) > len(made[1].labels) and made[0].name != made[1].name


def test_what_is_to_be_predicted_is_not_shown_yet(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, attention="cross", preset="flipped")
    hidden, shown = (edit._outputs(data, data.outcome, is_seen=is_seen) for is_seen in (False, True))
    assert [(row.word, row.before) for row in hidden.rows] == [(row.word, row.before) for row in shown.rows]
    assert all(row.now is None and row.says == row.said for row in hidden.rows)
    assert [*hidden.words] == [*shown.words][:1] and len(shown.words) == 2
    assert "these" not in hidden.counted and "change" not in hidden.counted and edit.GEOMETRIC in hidden.counted


@pytest.mark.parametrize(("is_on", "is_asked"), [(False, False), (True, True)])
def test_an_edit_is_asked_about_only_where_that_is_switched_on(bare: Bare, look: Look, is_on: bool, is_asked: bool):
    data = look("en-fr", text=TEXT, attention="cross", edits=((1, 1),))
    answers.IS_ON.set(is_on)
    edit.show(data)
    header, _ = sent(bare)
    assert ("predict-check" in bare.buttons) == is_asked == all(row["now"] is None for row in header["outputs"]["rows"])
    assert bare.widgets["predict-first-box"].kind == "toggle"
    assert ("hl-predict" in bare.places) == ("predict-calibration" in bare.places) == is_on


def test_a_text_that_was_cut_has_no_target_for_its_last_place(look: Look, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(readings, "MAX_NEW_TOKENS", 3)
    cut = look("stories", text="The cat", continues=True)
    assert len(cut.text.judged) == cut.text.n_real["target"] - 1
    assert edit.CUT in edit._outputs(cut, cut.outcome).counted
    pair = look("en-fr", text=TEXT)
    assert len(pair.text.judged) == pair.text.n_real["target"]
    assert edit.CUT not in edit._outputs(pair, pair.outcome).counted


def test_what_the_model_writes_is_said_with_both_masks(bare: Bare, look: Look):
    own = look("en-fr", text=TEXT, attention="decoder")
    model, tokenizer = tc.load("checkpoints/en-fr")
    source = torch.tensor([own.alone.inputs["source"]])
    written = tokenizer.target.decode(tc.greedy_decode(model, source, max_new_tokens=30).tokens[0, 1:].tolist())
    assert edit._words(own, own.outcome) == [("Own masks", written, False), ("These masks", written, False)]
    unshifted = look("en-fr", text=TEXT, attention="decoder", preset="unshifted")
    assert edit._words(unshifted, unshifted.outcome) == [("Own masks", written, False)]
    other = look("en-fr", text=TEXT, attention="cross", preset="flipped")
    (_, before, _), (name, now, is_changed) = edit._words(other, other.outcome)
    assert before == written and name == "These masks" and is_changed == (now != written) and is_changed
    assert not bare.texts


def test_filled_blanks_are_said_and_a_text_without_blanks_says_nothing_more(look: Look):
    data = look("fill-in", text="The ____ sleeps.", preset="look_ahead")
    _, tokenizer = tc.load("checkpoints/fill-in")
    model, _ = tc.load("checkpoints/fill-in")
    ids = data.alone.inputs["source"]
    with torch.inference_mode():
        best = model(torch.tensor([ids]))[0].argmax(-1).tolist()
    filled = tokenizer.labels([best[place] for place, token in enumerate(ids) if token == tokenizer.mask_id])
    (own, before, _), (_, now, is_changed) = edit._words(data, data.outcome)
    assert (own, before) == ("Own masks", ", ".join(filled)) and is_changed == (now != before)
    whole = look("fill-in", text=TEXT, preset="padding")
    assert edit._words(whole, whole.outcome) == []


@pytest.mark.parametrize(
    ("probability", "told"), [(0.5, "0.50"), (0.005, "0.01"), (0.0049, "below 0.01"), (0.0, "below 0.01")]
)
def test_a_small_mean_is_not_said_to_be_0(probability: float, told: str):
    assert edit._share(probability) == told


def test_padding_rows_are_told_of_where_there_are_some(bare: Bare, look: Look):
    edit._padding(look("fill-in", text=TEXT))
    assert not bare.texts
    edit._padding(look("fill-in", text=TEXT, preset="padding"))
    assert "Padding rows:" in bare.words and "e-0" not in bare.words


def test_the_gallery_shows_the_chosen_preset_as_it_was_edited(bare: Bare, look: Look):
    data = look("fill-in", text=TEXT, preset="look_ahead", edits=((0, 2),))
    edit._gallery(data)
    header, cells = sent(bare, "mask_gallery")
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
    groups = {item["name"]: item["group"] for item in header["items"]}
    assert groups["flipped"] == "Common mistakes" != groups["own"] == "Masks"
    bare.session[edit.GALLERY] = {"chosen": {"name": "block"}}
    bare.components["mask_gallery"]["on_chosen_change"]()
    assert view_fields.PRESET.value == "block" and view_fields.EDITS.value == ()


def test_a_mistake_says_what_goes_wrong(bare: Bare, look: Look):
    edit._about(look("fill-in", text=TEXT, preset="flipped"))
    assert "What goes wrong:" in bare.words and "True and False flipped.</b>" in bare.words
    bare.clear()
    edit._about(look("fill-in", text=TEXT, preset="block"))
    assert "What goes wrong:" not in bare.words


def test_a_preset_shown_at_another_attention_says_so(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, attention="decoder")
    edit._moved(data)
    assert not bare.texts
    view_fields.choose_preset("cross", data.card.config)
    edit._moved(MasksData.current(data.card))
    told = (
        "“Causal on cross-attention” concerns cross-attention, so its mask is shown. Another preset returns to decoder"
    )
    assert told in bare.words


@pytest.mark.parametrize(
    ("model", "chosen", "writes"),
    [("en-fr", {}, True), ("en-fr", {"preset": "unshifted"}, False), ("fill-in", {}, False)],
)
def test_the_lines_write_where_the_model_writes(look: Look, model: str, chosen: dict[str, Any], writes: bool):
    lines = edit._code(look(model, text=TEXT, layer=1, head=3, **chosen))
    assert ("write_masked" in lines) == writes and "L1.H3" in lines
    assert lines.index("outcome.before.labels") < lines.index("outcome.now.labels")
    assert "outcome.before.mean_probability" in lines and "outcome.head.pattern" in lines


@pytest.mark.parametrize(
    ("model", "words"), [("en-fr", "Allow a cell above the decoder’s diagonal"), ("fill-in", "Narrow the window")]
)
def test_what_to_look_for_fits_the_model(bare: Bare, look: Look, model: str, words: str):
    edit.show(look(model, text=TEXT))
    assert words in bare.words and {"mask_gallery", "mask_matrix"} <= {*bare.components}


@pytest.mark.parametrize("preset", ["own", "none"])
def test_of_a_model_without_a_last_layer_its_states_are_told_where_they_move(look: Look, preset: str):
    data = look("fill-in", text=TEXT, preset=preset, edits=((0, 1),) if preset == "none" else ())
    config = replace(data.card.config, unembed=False, tie_embeddings="none")
    outputs = edit._outputs(replace(data, card=replace(data.card, config=config)), data.outcome)
    assert not outputs.rows and not outputs.words and outputs.are_queries
    assert edit._edit(replace(data, card=replace(data.card, config=config))) is None, "there is nothing to predict"
    moved = f"Its final states change by at most {data.outcome.moved.max():.2f}."
    assert (moved in outputs.counted) == (preset == "none") and outputs.counted.startswith(edit.NO_HEAD)
