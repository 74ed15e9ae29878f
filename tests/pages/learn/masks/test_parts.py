"""The other parts of the page, drawn bare: which attention has which mask, leaks, one pass against steps, dropout."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import transformer_core as tc
from pages.learn.masks import dropout, inference, leak, view_fields, which
from pages.shared.predictions import answers
from pages.shared.recipe import value_of
from pages.shared.view import state
from tests.pages.learn.bare import Bare, unpacked
from tests.pages.learn.masks.conftest import Look
from transformer_core.analysis.masks.dropout import DropoutOutcome
from transformer_core.analysis.masks.inference import Steps
from transformer_core.analysis.masks.leak import Change, Leak
from transformer_core.analysis.masks.rules import MaskChoice
from transformer_core.analysis.masks.run import Predictions

TEXT = "The cat sleeps."


def sent(bare: Bare) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The header, and the mask of each picture."""
    header, rest = unpacked(bare.components["mask_which"]["data"])
    cells = np.frombuffer(rest, dtype=np.uint8)
    masks = []
    for item in header["items"]:
        n = item["rows"] * item["columns"]
        masks.append(cells[:n].reshape(item["rows"], item["columns"]).astype(bool))
        cells = cells[n:]
    assert not cells.size
    return header, masks


def test_each_attention_has_its_sides_its_usual_mask_and_its_cells(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, attention="cross")
    which.show(data)
    header, masks = sent(bare)
    items = {item["name"]: item for item in header["items"]}
    assert [*items] == [*data.card.attentions] and header["chosen"] == "cross"
    assert [items[name]["mask"] for name in ("encoder", "decoder", "cross")] == [
        "Mask: Padding",
        "Mask: Padding × causal",
        "Mask: Padding of the source",
    ]
    assert (items["cross"]["from"], items["cross"]["to"]) == ("queries: the decoder’s input", "keys: the text")
    assert (items["encoder"]["from"], items["encoder"]["to"]) == ("queries: the text", "keys: the text")
    for item, mask in zip(header["items"], masks, strict=True):
        n_queries, n_keys = (len(data.alone.inputs[side]) for side in which.ends(item["name"]))
        expected = np.ones((n_queries + 3, n_keys + 3), dtype=bool)
        expected[:, n_keys:] = False
        if item["name"] == "decoder":
            expected &= np.tri(*expected.shape, dtype=bool)
        np.testing.assert_array_equal(mask, expected)
    assert [*header["joins"]] == ["memory", "asks"] and header["note"].startswith("Two common mistakes")
    assert bare.buttons["masks-edit-this"]["label"] == "Edit the mask of cross-attention"


def test_a_model_of_one_stack_has_no_joins(bare: Bare, look: Look):
    which.show(look("fill-in", text=TEXT))
    header, _ = sent(bare)
    assert header["joins"] == {} and header["note"] == "" and len(header["items"]) == 1


def test_an_attention_whose_mask_is_not_its_own_says_by_which_preset(bare: Bare, look: Look):
    choices: list[tuple[dict[str, Any], dict[str, str]]] = [
        ({"preset": "look_ahead", "attention": "encoder"}, {"encoder": "Causal"}),
        ({"preset": "cross", "attention": "cross"}, dict.fromkeys(("cross", "decoder"), "Causal on cross-attention")),
        ({"edits": ((0, 1),), "attention": "decoder"}, {"decoder": "The model’s own"}),
    ]
    for chosen, edited in choices:
        which.show(look("en-fr", text=TEXT, **chosen))
        header, masks = sent(bare)
        told = {item["name"]: item["mask"] for item in header["items"] if "as edited" in item["mask"]}
        assert told == {name: f"Mask: as edited ({preset})" for name, preset in edited.items()}
    (mask,) = (mask for item, mask in zip(header["items"], masks, strict=True) if item["name"] == "decoder")
    assert mask[0, 1] and not mask[0, 2]


def test_an_attention_is_chosen_by_its_name_and_the_button_leads_to_the_editor(bare: Bare, look: Look):
    which.show(look("en-fr", text=TEXT, attention="decoder", part="which"))
    for name, chosen in (("nothing", "decoder"), (None, "decoder"), (3, "decoder"), ("encoder", "encoder")):
        bare.session[which.WHICH] = {"chosen": {"name": name}}
        bare.components["mask_which"]["on_chosen_change"]()
        assert state.ATTENTION.value == chosen
    bare.buttons["masks-edit-this"]["on_click"]()
    assert view_fields.PART.value == "edit"


FIGURE = "masks-leak-figure"


GAPS = "The cat sleeps."


def test_each_column_is_the_change_of_one_token_with_both_masks(bare: Bare, look: Look):
    data = look("fill-in", text=GAPS, changed=2)
    leak.show(data)
    drawn = bare.figures[FIGURE]
    replacements, _ = leak._replacements(data)
    for name, choice in (("own", None), ("other", MaskChoice(preset="look_ahead", attention="encoder"))):
        expected = value_of(data.leak("x", replacements, choice)).moved
        np.testing.assert_array_equal(drawn.arrays[name], expected)
    assert (np.triu(drawn.arrays["other"], 1) == 0).all() and np.triu(drawn.arrays["own"], 1).any()
    labels = data.alone.labels["source"]
    n = len(labels)
    assert drawn.rows[0] == "output,changed,logits" and len(drawn.rows) == 1 + 2 * n * n
    for row, place, masks, of in ((1, 0, "own masks", "own"), (n + 2, 1, "other masks", "other")):
        assert f"{place} {labels[place]}, {masks}" in drawn.rows[row]
        assert float(drawn.rows[row].rsplit(",", 1)[1]) == pytest.approx(float(drawn.arrays[of][0, place]), rel=1e-4)
    titles = [note["text"] for note in drawn.layout["annotations"]]
    assert "own masks" in titles[0] and "With a causal mask, for comparison" in titles[1]
    assert "This model is bidirectional" in bare.words and "output at" in str(drawn.layout)
    assert "change token 2 “" in str(drawn.figure.data[0].customdata)


def test_the_changed_token_is_the_chosen_one_within_the_text_or_the_one_in_the_middle(bare: Bare, look: Look):
    for chosen, place in ((None, 5), (0, 0), (9, 9), (10, 9), (99, 9)):
        data = look("fill-in", text=GAPS, changed=chosen)
        assert len(data.alone.labels["source"]) == 10
        assert leak._controls(data) == place == bare.session["masks-changed-box"]
    widget = bare.widgets["masks-changed-box"]
    assert widget.options == [*range(10)]
    assert widget.names == [f"{index}  {label}" for index, label in enumerate(data.alone.labels["source"])]
    bare.session["masks-token-box"] = " dog "
    bare.widgets["masks-token-box"].how["on_change"]()
    assert view_fields.TOKEN.value == "dog", "without the space around it"


def test_a_typed_token_stands_in_each_place_but_its_own(bare: Bare, look: Look):
    tokenizer = tc.load("checkpoints/en-fr")[1].target
    data = look("en-fr", text="The cat sees the dog.", token="chat")
    (chat,) = tokenizer.encode("chat")[:1]
    tokens = data.alone.inputs["target"]
    assert chat in tokens
    replacements, remarks = leak._replacements(data)
    for place, (token, new) in enumerate(zip(tokens, replacements, strict=True)):
        behind = [tokens[(place + step) % len(tokens)] for step in range(1, len(tokens))]
        assert new == (next(other for other in behind if other != token) if token == chat else chat)
    assert remarks == [] and not bare.texts


def test_what_was_typed_is_remarked_upon_where_it_is_not_taken_as_it_is(look: Look):
    tokenizer = tc.load("checkpoints/en-fr")[1].target
    others = leak._replacements(look("en-fr", text=GAPS))[0]
    replacements, remarks = leak._replacements(look("en-fr", text=GAPS, token="zzxqj"))
    assert tokenizer.unk_id in replacements
    assert any("“\u2068zzxqj\u2069” is not in the vocabulary" in remark or "zzxqj" in remark for remark in remarks)
    replacements, remarks = leak._replacements(look("en-fr", text=GAPS, token="chat chien"))
    (n,) = {len(tokenizer.encode("chat chien"))}
    assert n > 1 and len(remarks) == 1 and f"the first of the {n} you typed" in remarks[0] and "chat" in remarks[0]
    assert tokenizer.encode("chat")[0] in replacements
    replacements, remarks = leak._replacements(look("en-fr", text=GAPS, token=" "))
    assert replacements == others and ["contains no token" in remark for remark in remarks] == [True]


def test_beside_the_own_masks_are_the_edited_ones_or_those_that_tell_most(look: Look):
    edited = "With the edited mask: {}".format
    choices: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
        ("fill-in", {}, {"preset": "look_ahead"}, "With a causal mask, for comparison"),
        ("en-fr", {}, {"preset": "none", "attention": "decoder"}, "Without a causal mask"),
        ("fill-in", {"preset": "block"}, {"preset": "block", "size": 4}, edited("Blocks")),
        ("fill-in", {"edits": ((0, 1),)}, {"turned": ((0, 1),)}, edited("The model’s own, modified")),
    ]
    for model, chosen, expected, title in choices:
        data = look(model, text=GAPS, **chosen)
        assert leak._other(data) == MaskChoice(**{"preset": "own", "attention": "encoder"} | expected)
        assert leak._title(data, leak._other(data)) == title


def test_leaks_are_counted_above_the_diagonal_alone(bare: Bare):
    def told(moved: list[list[float]]) -> str:
        after = np.zeros((3, 3), dtype=np.int64)
        return leak._leaks(Leak(moved=np.array(moved, dtype=np.float32), before=after[0], after=after))

    assert told([[1, 0, 0], [1, 1, 0], [1, 1, 1]]).endswith("above the diagonal all 3 cells are exactly 0")
    leaks = told([[9, 0.5, 0], [9, 9, 0.25], [9, 9, 9]])
    assert leaks == "over all tokens 2 of 3 cells above the diagonal leak, by up to 0.50" and not bare.texts


def test_outputs_that_say_another_token_are_named_up_to_six():
    tokenizer = tc.load("checkpoints/en-fr")[1].target
    chat, chien = (tokenizer.encode(word)[0] for word in ("chat", "chien"))
    for n, n_named in ((0, 0), (1, 1), (6, 6), (7, 6)):
        turned = tuple((place, chat, chien) for place in range(n))
        change = Change(most_before=0, most_from_it=0, n_before=0, n_from_it=0, turned=turned)
        told = "".join(leak._turned(change, tokenizer))
        assert told.startswith("now predicts another token at 0 “chat” → “chien”") or not n
        assert told.count("→") == n_named and told.endswith(" …") == (n > 6)


@pytest.mark.parametrize("model", ["en-fr", "stories"])
def test_the_facts_are_of_the_chosen_token_with_each_mask(bare: Bare, look: Look, model: str):
    data = look(model, text=GAPS, changed=1)
    leak.show(data)
    drawn = bare.figures[FIGURE]
    labels = data.alone.labels["target"]
    facts = bare.words.split("hl-masks-fact'>")[1:]
    assert "output after" in str(drawn.layout) and "changed token" in str(drawn.layout)
    assert facts[0].startswith(f"Token 1 “{labels[1]}” becomes “{labels[2]}”.")
    for fact, name, title in zip(
        facts[1:], ("own", "other"), ("With the model’s own masks", "Without a causal mask"), strict=True
    ):
        moved = drawn.arrays[name]
        assert fact.startswith(f"<b>{title}:</b> earlier outputs change by ")
        n_later = int(np.count_nonzero(moved[1:, 1]))
        assert f"{n_later} outputs from it on change, by up to {moved[1:, 1].max():.2f}" in fact
        assert ("earlier outputs change by exactly 0" in fact) == (moved[0, 1] == 0) == (name == "own")


def test_of_targets_that_are_not_shifted_the_decoder_is_given_those(bare: Bare, look: Look):
    data = look("en-fr", text=GAPS, preset="unshifted", changed=0)
    leak.show(data)
    drawn = bare.figures[FIGURE]
    n = len(data.alone.inputs["target"])
    assert drawn.arrays["own"].shape == drawn.arrays["other"].shape == (n, n)
    assert not np.allclose(drawn.arrays["own"], drawn.arrays["other"])
    assert "With the edited mask: Targets not shifted" in bare.words


def test_with_predictions_a_change_is_asked_about_first_and_then_shown_by_its_probabilities(bare: Bare, look: Look):
    data = look("en-fr", text=GAPS, changed=1)
    answers.IS_ON.set(True)
    leak.show(data)
    assert "predict-check" in bare.buttons and not bare.figures and "becomes" in bare.words
    bare.buttons["predict-skip"]["on_click"](*bare.buttons["predict-skip"]["args"])
    bare.clear()
    leak.show(data)
    assert {"masks-leak-change", FIGURE} == {*bare.figures}
    expected = value_of(data.changed(1, leak._replacements(data)[0][1]))
    before, after = bare.figures["masks-leak-change"].figure.data
    assert (before.name, after.name) == ("before", "after")
    np.testing.assert_array_equal([before.y, after.y], [said.probability for said in expected])
    assert before.y[0] == after.y[0] and before.y[-1] != after.y[-1]
    bare.clear()
    answers.IS_ON.set(False)
    leak.show(look("en-fr", text=GAPS, changed=1))
    assert [*bare.figures] == [FIGURE] and "hl-predict" not in bare.places


def test_each_fact_has_its_own_largest_difference(bare: Bare):
    grown = np.array([[0.0, np.nan], [1, 0.0]], dtype=np.float32)
    two = np.array([0.5, 1])
    inference._facts(
        Steps(
            best=np.array([3, 4]),
            in_one_pass=two,
            in_steps=two,
            apart=two * 0.02,
            apart_unmasked=two * 2.5,
            grown=grown * 0.04,
            grown_unmasked=grown * 3.5,
            tolerance=1e-4,
        )
    )
    facts = re.findall(r"<div><span>.*?</span>logits differ by (.*?)</div>", bare.words)
    assert facts == ["0.02", "2.50", "0.04", "3.50"]


@pytest.mark.parametrize("name", ["en-fr", "stories"])
def test_the_table_and_the_growing_text_have_a_row_for_each_token(bare: Bare, look: Look, name: str):
    data = look(name, text=TEXT)
    inference.show(data)
    expected, labels = value_of(data.steps()), data.alone.labels["target"]
    rows = re.findall(r"<tr><td>(\d+)</td><td><bdi>(.*?)</bdi></td><td><bdi>(.*?)</bdi></td>(.*?)</tr>", bare.words)
    said = tc.load(f"checkpoints/{name}")[1].target.labels(expected.best.tolist())
    assert [(int(row[0]), *row[1:3]) for row in rows] == [*zip(range(len(labels)), labels, said, strict=True)]
    shown = [[float(number) for number in re.findall(r"<td>(\d\.\d{6})</td>", row[3])] for row in rows]
    np.testing.assert_allclose(shown, np.stack([expected.in_one_pass, expected.in_steps]).T, atol=1e-6)
    drawn = bare.figures["masks-growing-figure"]
    np.testing.assert_array_equal(drawn.arrays["masked"], expected.grown)
    np.testing.assert_array_equal(drawn.arrays["unmasked"], expected.grown_unmasked)
    assert np.nanmax(drawn.arrays["masked"]) < 1e-3 < np.nanmax(drawn.arrays["unmasked"])
    assert drawn.rows[0] == "tokens read,output,logits"
    assert drawn.rows[1].startswith("1 tokens,") and "masked" in drawn.rows[1] and "unmasked" not in drawn.rows[1]
    n = len(labels)
    assert drawn.rows[-1].startswith(f"{n} tokens,") and f"{n - 1} {labels[-1]}, unmasked" in drawn.rows[-1]
    layout = str(drawn.layout)
    assert layout.index("With the causal mask") < layout.index("Without")


def test_ways_that_write_something_else_are_marked_and_nothing_is_a_dash(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT)
    ways = {(True, True): "a", (True, False): "a", (False, True): "", (False, False): "b"}
    object.__setattr__(data, "four_ways", lambda: ways)
    inference._four_ways(data)
    told = re.findall(r"<div class='([^']*)'><span>([^<]*)</span><bdi>(.*?)</bdi></div>", bare.words)
    other = "hl-masks-other"
    assert told[:2] == [("", "Mask, cache", "a"), ("", "Mask, no cache", "a")]
    assert told[2:] == [(other, "No mask, cache", "–"), (other, "No mask, no cache", "b")]
    inference.show(look("fill-in", text=TEXT))
    assert "This model is an encoder" in bare.words and not bare.figures


DROPOUT_FIGURE = "masks-dropout-figure"


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
    bare.clear()
    view_fields.DROPOUT.set(0.0)
    whole = np.array([[1.0, 0.0]])
    dropout._rows(replace(outcome(), pattern=whole, keep=np.ones((1, 2)), dropped_pattern=whole))
    assert "Weights above 1" not in bare.words and "p = 0.00: 0 of 1 non-zero" in bare.words
    assert "multiplied by 1.000. Row sums of the pattern now range from 1.00 to 1.00" in bare.words


def test_each_row_of_the_predictions_has_both_sides_in_their_columns(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT)
    labels = data.alone.expected_labels
    n = len(labels)
    own = tuple(f"own {place}" for place in range(n))
    others = ("own 0", *(f"other {place}" for place in range(1, n)))
    before, now = said(tuple(range(n)), own, [0.5] * n), said((0, *range(2, n + 1)), others, [0.25] * n)
    dropout._outputs(data, replace(outcome(), before=before, now=now, moved=np.arange(n) / 4))
    rows = re.findall(r"<tr class='(.*?)'><td>(.*?)</td></tr>", bare.words.replace("<bdi>", "").replace("</bdi>", ""))
    for place, (kind, cells) in enumerate(rows):
        expected = [str(place), labels[place], "0.500", "0.250", own[place], others[place], f"{place / 4:.2f}"]
        assert cells.split("</td><td>") == expected and kind == ("hl-masks-other" if place else "")
    told = f"{n - 1} of {n} predictions change. Mean token probability (geometric): 0.50 without dropout, 0.25 with it."
    assert len(rows) == n and told in bare.words and f"Max. logit difference: {(n - 1) / 4:.2f}." in bare.words


def test_the_pattern_before_and_after_is_drawn_and_taken_away(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, attention="cross", layer=1, head=3, dropout=0.5, seed=4)
    dropout.show(data)
    drawn = bare.figures[DROPOUT_FIGURE]
    expected = value_of(data.dropped(0.5, 4))
    arrays = drawn.arrays
    assert {*np.unique(arrays["keep"])} == {0, 2}, "1 / (1 - p)"
    for name, values in (("pattern", expected.pattern), ("keep", expected.keep), ("after", expected.dropped_pattern)):
        np.testing.assert_array_equal(arrays[name], values)
    queries, keys = (data.alone.labels[side] for side in ("target", "source"))
    assert drawn.rows[0] == "query,key,weight" and len(drawn.rows) == 1 + 3 * len(queries) * len(keys)
    kept = arrays["keep"] > 0
    panels = {"Pattern before": arrays["pattern"], "Dropout mask: 1 = kept": kept, "Pattern after": arrays["after"]}
    for panel, (name, values) in enumerate(panels.items()):
        row = drawn.rows[1 + 3 * len(keys) + panel * len(keys) + 2]
        assert row.startswith(f"1 {queries[1]},") and f"2 {keys[2]}, {name}" in row
        assert float(row.rsplit(",", 1)[1]) == pytest.approx(float(values[1, 2]), abs=1e-5)
    assert drawn.title == "Pattern with dropout, cross-attention L1.H3"
    assert bare.session["masks-dropout-box"] == 0.5 and bare.session["masks-seed-box"] == 4
    assert bare.widgets["masks-dropout-box"].how["limits"] == (0.0, 0.9)


def test_without_dropout_nothing_changes(bare: Bare, look: Look):
    data = look("fill-in", text=TEXT, dropout=0.0, layer=0, head=1)
    dropout.show(data)
    arrays = bare.figures[DROPOUT_FIGURE].arrays
    np.testing.assert_array_equal(arrays["pattern"], arrays["after"])
    assert f"0 of {arrays['pattern'].size} non-zero weights are dropped" in bare.words
    n = len(data.alone.judged)
    assert f"0 of {n} predictions change" in bare.words and "Max. logit difference: 0.00." in bare.words
