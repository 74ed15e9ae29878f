"""The other parts of the page, drawn bare: which attention has which mask, leaks, dropout."""

from typing import Any

import numpy as np

import transformer_core as tc
from headlight.analysis.masks.dropout import DropoutOutcome
from headlight.analysis.masks.leak import Leak
from headlight.analysis.masks.rules import MaskChoice
from headlight.analysis.masks.run import Predictions
from pages.learn.masks import dropout, leak, view_fields, which
from pages.shared.predictions import answers
from pages.shared.recipe import value_of
from pages.shared.view import state
from tests.pages.learn.bare import Bare, unpacked
from tests.pages.learn.masks.conftest import Look

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
    assert [item["name"] for item in header["items"]] == [*data.card.attentions] and header["chosen"] == "cross"
    for item, mask in zip(header["items"], masks, strict=True):
        n_queries, n_keys = (len(data.alone.inputs[side]) for side in which.ends(item["name"]))
        expected = np.ones((n_queries + 3, n_keys + 3), dtype=bool)
        expected[:, n_keys:] = False
        if item["name"] == "decoder":
            expected &= np.tri(*expected.shape, dtype=bool)
        np.testing.assert_array_equal(mask, expected)
    assert [*header["joins"]] == ["memory", "asks"]
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
        payload = {item["name"]: item["mask"] for item in header["items"] if "as edited" in item["mask"]}
        assert payload == {name: f"Mask: as edited ({preset})" for name, preset in edited.items()}
    (mask,) = (mask for item, mask in zip(header["items"], masks, strict=True) if item["name"] == "decoder")
    assert mask[0, 1] and not mask[0, 2]


FIGURE = "masks-leak-figure"


def test_each_column_is_the_change_of_one_token_with_both_masks(bare: Bare, look: Look):
    data = look("fill-in", text=TEXT, changed=2)
    leak.show(data)
    drawn = bare.figures[FIGURE]
    replacements, _ = leak._replacements(data)
    for name, choice in (("own", None), ("other", MaskChoice(preset="look_ahead", attention="encoder"))):
        expected = value_of(data.leak("x", replacements, choice)).moved
        np.testing.assert_array_equal(drawn.arrays[name], expected)
    assert (np.triu(drawn.arrays["other"], 1) == 0).all() and np.triu(drawn.arrays["own"], 1).any()
    assert "change token 2 “" in str(drawn.figure.data[0].customdata)


def test_the_changed_token_is_the_chosen_one_within_the_text_or_the_one_in_the_middle(bare: Bare, look: Look):
    for chosen, place in ((None, 5), (0, 0), (9, 9), (10, 9), (99, 9)):
        data = look("fill-in", text=TEXT, changed=chosen)
        assert len(data.alone.labels["source"]) == 10
        assert leak._controls(data) == place == bare.session["masks-changed-box"]
    bare.session["masks-token-line"] = " dog"
    bare.widgets["masks-token-line"].how["on_change"]()
    assert view_fields.TOKEN.value == " dog"


def test_a_typed_token_stands_in_each_place_but_its_own(bare: Bare, look: Look):
    tokenizer = tc.load("checkpoints/en-fr")[1].target
    data = look("en-fr", text="The cat sees the dog.", token="chat")
    (chat,) = tokenizer.encode("chat")[:1]
    tokens = data.alone.inputs["target"]
    assert chat in tokens
    replacements, remarks = leak._replacements(data)
    for place, (token, new) in enumerate(zip(tokens, replacements, strict=True)):
        following = [tokens[(place + step) % len(tokens)] for step in range(1, len(tokens))]
        assert new == (next(other for other in following if other != token) if token == chat else chat)
    assert remarks == [] and not bare.texts


def test_what_was_typed_is_remarked_upon_where_it_is_not_taken_as_it_is(look: Look):
    tokenizer = tc.load("checkpoints/en-fr")[1].target
    others = leak._replacements(look("en-fr", text=TEXT))[0]
    replacements, remarks = leak._replacements(look("en-fr", text=TEXT, token="zzxqj"))
    assert tokenizer.unk_id in replacements
    assert any("zzxqj" in remark for remark in remarks)
    replacements, remarks = leak._replacements(look("en-fr", text=TEXT, token="chat chien"))
    (n,) = {len(tokenizer.encode("chat chien"))}
    assert n > 1 and len(remarks) == 1 and f"the first of the {n} you typed" in remarks[0] and "chat" in remarks[0]
    assert tokenizer.encode("chat")[0] in replacements
    replacements, remarks = leak._replacements(look("en-fr", text=TEXT, token=" "))
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
        data = look(model, text=TEXT, **chosen)
        assert leak._other(data) == MaskChoice(**{"preset": "own", "attention": "encoder"} | expected)
        assert leak._title(data, leak._other(data)) == title


def test_leaks_are_counted_above_the_diagonal_alone(bare: Bare):
    def told(moved: list[list[float]]) -> str:
        after = np.zeros((3, 3), dtype=np.int64)
        return leak._leaks(Leak(moved=np.array(moved, dtype=np.float32), before=after[0], after=after))

    assert told([[1, 0, 0], [1, 1, 0], [1, 1, 1]]).endswith("all 3 cells above the diagonal are exactly 0")
    leaks = told([[9, 0.5, 0], [9, 9, 0.25], [9, 9, 9]])
    assert leaks == "for all tokens together, 2 of 3 cells above the diagonal leak, by up to 0.50" and not bare.texts


def test_the_facts_are_of_the_chosen_token_with_each_mask(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, changed=1)
    leak.show(data)
    drawn = bare.figures[FIGURE]
    labels = data.alone.labels["target"]
    facts = bare.words.split("hl-masks-fact'>")[1:]
    assert facts[0].startswith(f"Token 1 “{labels[1]}” becomes “{labels[2]}”.")
    for fact, name in zip(facts[1:], ("own", "other"), strict=True):
        moved = drawn.arrays[name]
        n_later = int(np.count_nonzero(moved[1:, 1]))
        assert f"the {n_later} outputs from this position on change by up to {moved[1:, 1].max():.2f}" in fact
        assert ("earlier outputs change by exactly 0" in fact) == (moved[0, 1] == 0) == (name == "own")


def test_with_predictions_a_change_is_asked_about_first_and_then_shown_by_its_probabilities(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, changed=1)
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
    np.testing.assert_array_equal([before.y, after.y], [message.probability for message in expected])
    assert before.y[0] == after.y[0] and before.y[-1] != after.y[-1]
    bare.clear()
    answers.IS_ON.set(False)
    leak.show(look("en-fr", text=TEXT, changed=1))
    assert [*bare.figures] == [FIGURE] and "hl-predict" not in bare.places


DROPOUT_FIGURE = "masks-dropout-figure"


def test_weights_that_are_0_anyway_are_not_counted_as_dropped(bare: Bare):
    """The first query sees one key alone, and the other keeps one of its three weights."""
    pattern = np.array([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25]])
    keep = np.array([[2.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
    same = Predictions(best=(1,), labels=("a",), probability=np.array([0.5]))
    view_fields.DROPOUT.set(0.5)
    dropout._rows(
        DropoutOutcome(
            pattern=pattern, keep=keep, dropped_pattern=pattern * keep, before=same, now=same, moved=np.zeros(1)
        )
    )
    assert "p = 0.50: 2 of 4 non-zero weights are dropped; the others are multiplied by 2.000." in bare.words
    assert "range from 1.00 to 2.00" in bare.words


def test_the_pattern_before_and_after_is_drawn_and_taken_away(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, attention="cross", layer=1, head=3, dropout=0.5, seed=4)
    dropout.show(data)
    drawn = bare.figures[DROPOUT_FIGURE]
    expected = value_of(data.dropped(0.5, 4))
    arrays = drawn.arrays
    assert {*np.unique(arrays["keep"])} == {0, 2}, "1 / (1 - p)"
    for name, values in (("pattern", expected.pattern), ("keep", expected.keep), ("after", expected.dropped_pattern)):
        np.testing.assert_array_equal(arrays[name], values)


def test_an_attention_is_chosen_by_its_name_and_the_button_leads_to_the_editor(bare: Bare, look: Look):
    which.show(look("en-fr", text=TEXT, attention="decoder", part="which"))
    for name, chosen in (("nothing", "decoder"), (None, "decoder"), (3, "decoder"), ("encoder", "encoder")):
        bare.session[which.WHICH] = {"chosen": {"name": name}}
        bare.components["mask_which"]["on_chosen_change"]()
        assert state.ATTENTION.value == chosen
    bare.buttons["masks-edit-this"]["on_click"]()
    assert view_fields.PART.value == "edit"


GAPS = "The cat sleeps."


def test_of_targets_that_are_not_shifted_the_decoder_is_given_those(bare: Bare, look: Look):
    data = look("en-fr", text=GAPS, preset="unshifted", changed=0)
    leak.show(data)
    drawn = bare.figures[FIGURE]
    n = len(data.alone.inputs["target"])
    assert drawn.arrays["own"].shape == drawn.arrays["other"].shape == (n, n)
    assert not np.allclose(drawn.arrays["own"], drawn.arrays["other"])
    assert "With the edited mask: Targets not shifted" in bare.words
