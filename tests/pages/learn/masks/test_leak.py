"""The leak test: what is replaced by what, which masks are compared, and what is said and taken away of it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.masks import leak, view_fields
from pages.shared.models import ModelCard
from pages.shared.predictions import answers
from tests.pages.learn.bare import Bare
from tests.pages.learn.masks.conftest import Look
from transformer_core.analysis.masks.leak import Change, Leak
from transformer_core.analysis.masks.rules import MaskChoice

FIGURE = "masks-leak-figure"
GAPS = "The cat sleeps."


def logits_of(ids: list[int], *, is_causal: bool) -> np.ndarray:
    """The logits [pos, vocab] of the encoder, with its own mask or with a causal one."""
    model, _ = tc.load("checkpoints/fill-in")
    causal = {"encoder.blocks.*.self_attn.hook_mask": lambda mask, _: mask & torch.ones(mask.shape[-2:]).tril().bool()}
    with torch.inference_mode(), tc.intervene(model, causal if is_causal else {}):
        return np.asarray(model(torch.tensor([ids]))[0].numpy())


def test_each_column_is_the_change_of_one_token_with_both_masks(bare: Bare, look: Look):
    data = look("fill-in", text=GAPS, changed=2)
    leak.show(data)
    drawn = bare.figures[FIGURE]
    tokens = list(data.alone.inputs["source"])
    n = len(tokens)
    for place in (0, n - 1):
        other = next(tokens[(place + step) % n] for step in range(1, n) if tokens[(place + step) % n] != tokens[place])
        changed = [*tokens[:place], other, *tokens[place + 1 :]]
        for name, is_causal in (("own", False), ("other", True)):
            moved = np.abs(logits_of(changed, is_causal=is_causal) - logits_of(tokens, is_causal=is_causal)).max(axis=1)
            np.testing.assert_allclose(drawn.arrays[name][:, place], moved, atol=1e-4)
    labels = data.alone.labels["source"]
    assert drawn.arrays["tokens"].tolist() == [*labels]
    assert drawn.rows[0] == "output,changed,logits" and len(drawn.rows) == 1 + 2 * n * n
    for row, place, masks, of in ((1, 0, "own masks", "own"), (n + 2, 1, "other masks", "other")):
        assert f"{place} {labels[place]}, {masks}" in drawn.rows[row]
        assert float(drawn.rows[row].rsplit(",", 1)[1]) == pytest.approx(float(drawn.arrays[of][0, place]), rel=1e-4)
    titles = [note["text"] for note in drawn.layout["annotations"]]
    assert any("own masks" in title for title in titles)
    assert any("With a causal mask, for comparison" in title for title in titles)
    assert "This model is bidirectional" in bare.words
    assert "{row_label}" in leak.HOVER_ENCODER and "change token 2 “" in str(drawn.figure.data[0].customdata)


@pytest.mark.parametrize(("chosen", "place"), [(None, 5), (0, 0), (9, 9), (10, 9), (99, 9)])
def test_the_changed_token_is_the_chosen_one_within_the_text_or_the_one_in_the_middle(
    bare: Bare, look: Look, chosen: int | None, place: int
):
    data = look("fill-in", text=GAPS, changed=chosen)
    assert len(data.alone.labels["source"]) == 10
    assert leak._controls(data) == place
    widget = bare.widgets["masks-changed-box"]
    assert widget.options == [*range(10)]
    assert widget.names == [f"{index}  {label}" for index, label in enumerate(data.alone.labels["source"])]
    assert bare.session["masks-changed-box"] == place


def test_a_typed_token_is_kept_without_the_space_around_it(bare: Bare, look: Look):
    leak._controls(look("fill-in", text=GAPS))
    bare.session["masks-token-box"] = " dog "
    bare.widgets["masks-token-box"].how["on_change"]()
    assert view_fields.TOKEN.value == "dog"


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


@pytest.mark.parametrize(
    ("model", "chosen", "expected", "title"),
    [
        ("fill-in", {}, MaskChoice(preset="look_ahead", attention="encoder"), "With a causal mask, for comparison"),
        ("en-fr", {}, MaskChoice(preset="none", attention="decoder"), "Without a causal mask"),
        (
            "fill-in",
            {"preset": "block"},
            MaskChoice(preset="block", size=4, attention="encoder"),
            "With the edited mask: Blocks",
        ),
        (
            "fill-in",
            {"edits": ((0, 1),)},
            MaskChoice(preset="own", attention="encoder", turned=((0, 1),)),
            "With the edited mask: The model’s own, modified",
        ),
    ],
)
def test_beside_the_own_masks_are_the_edited_ones_or_those_that_tell_most(
    look: Look, model: str, chosen: dict[str, Any], expected: MaskChoice, title: str
):
    data = look(model, text=GAPS, **chosen)
    assert leak._other(data) == expected
    assert leak._title(data, leak._other(data)) == title


def leaky(moved: list[list[float]]) -> Leak:
    n = len(moved)
    return Leak(
        moved=np.array(moved, dtype=np.float32),
        before=np.zeros(n, dtype=np.int64),
        after=np.zeros((n, n), dtype=np.int64),
    )


def test_leaks_are_counted_above_the_diagonal_alone(bare: Bare):
    assert leak._leaks(leaky([[1, 0, 0], [1, 1, 0], [1, 1, 1]])).endswith(
        "above the diagonal all 3 cells are exactly 0"
    )
    told = leak._leaks(leaky([[9, 0.5, 0], [9, 9, 0.25], [9, 9, 9]]))
    assert told == "over all tokens 2 of 3 cells above the diagonal leak, by up to 0.50"
    assert not bare.texts


@pytest.mark.parametrize(("n", "n_named", "is_cut"), [(1, 1, False), (6, 6, False), (7, 6, True)])
def test_outputs_that_say_another_token_are_named_up_to_six(n: int, n_named: int, is_cut: bool):
    tokenizer = tc.load("checkpoints/en-fr")[1].target
    chat, chien = (tokenizer.encode(word)[0] for word in ("chat", "chien"))
    turned = tuple((place, chat, chien) for place in range(n))
    change = Change(most_before=0, most_from_it=0, n_before=0, n_from_it=0, turned=turned)
    (told,) = leak._turned(change, tokenizer)
    assert told.startswith("now predicts another token at 0 “chat” → “chien”")
    assert told.count("→") == n_named and told.endswith(" …") == is_cut
    none = Change(most_before=0, most_from_it=0, n_before=0, n_from_it=0, turned=())
    assert leak._turned(none, tokenizer) == []


def test_the_facts_are_of_the_chosen_token_with_each_mask(bare: Bare, look: Look):
    data = look("en-fr", text=GAPS, changed=1)
    leak.show(data)
    drawn = bare.figures[FIGURE]
    labels = data.alone.labels["target"]
    facts = bare.words.split("hl-masks-fact'>")[1:]
    assert facts[0].startswith(f"Token 1 “{labels[1]}” becomes “{labels[2]}”.")
    for fact, name, title in zip(
        facts[1:], ("own", "other"), ("With the model’s own masks", "Without a causal mask"), strict=True
    ):
        moved = drawn.arrays[name]
        assert fact.startswith(f"<b>{title}:</b> earlier outputs change by ")
        n_later = int(np.count_nonzero(moved[1:, 1]))
        assert f"{n_later} outputs from it on change, by up to {moved[1:, 1].max():.2f}" in fact
        assert ("earlier outputs change by exactly 0" in fact) == (moved[0, 1] == 0) == (name == "own")


def test_the_lines_print_the_leaks_and_what_moved(look: Look):
    data = look("fill-in", text=GAPS)
    recipes = data.leak("own", (4,) * 10), data.leak("other", (4,) * 10, leak._other(data))
    lines = leak.script(*leak._printed(*recipes))
    assert "own.n_leaks" in lines and "other.n_leaks" in lines and "own.moved" in lines and "other.moved" in lines
    assert "preset='look_ahead'" in lines.replace('"', "'")


def test_of_targets_that_are_not_shifted_the_decoder_is_given_those(bare: Bare, look: Look):
    data = look("en-fr", text=GAPS, preset="unshifted", changed=0)
    leak.show(data)
    drawn = bare.figures[FIGURE]
    n = len(data.alone.inputs["target"])
    assert drawn.arrays["own"].shape == drawn.arrays["other"].shape == (n, n)
    assert not np.allclose(drawn.arrays["own"], drawn.arrays["other"])
    assert "With the edited mask: Targets not shifted" in bare.words


def test_hover_texts_of_a_decoder_name_the_output_after_a_token(bare: Bare, look: Look, cards: Mapping[str, ModelCard]):
    leak.show(look(replace(cards["en-fr"]), text=GAPS))
    layout = str(bare.figures[FIGURE].layout)
    assert "output after" in layout and "changed token" in layout
    leak.show(look("fill-in", text=GAPS))
    assert "output at" in str(bare.figures[FIGURE].layout)


def test_with_predictions_a_change_is_asked_about_first_and_then_shown_by_its_probabilities(bare: Bare, look: Look):
    data = look("en-fr", text=GAPS, changed=1)
    answers.IS_ON.set(True)
    leak.show(data)
    assert "predict-check" in bare.buttons and not bare.figures and "becomes" in bare.words
    bare.buttons["predict-skip"]["on_click"](*bare.buttons["predict-skip"]["args"])
    bare.clear()
    leak.show(data)
    assert {"masks-leak-change", FIGURE} == {*bare.figures}
    model, _ = tc.load("checkpoints/en-fr")
    source, target = (list(data.alone.inputs[side]) for side in ("source", "target"))
    changed = [*target]
    changed[1] = leak._replacements(data)[0][1]
    expected = list(data.alone.expected)
    for name, ids, bars in zip(
        ("before", "after"), (target, changed), bare.figures["masks-leak-change"].figure.data, strict=True
    ):
        with torch.inference_mode():
            probabilities = model(torch.tensor([source]), torch.tensor([ids]))[0].softmax(-1)
        assert bars.name == name
        np.testing.assert_allclose(bars.y, probabilities[range(len(expected)), expected], atol=1e-5)
    assert (
        bare.figures["masks-leak-change"].figure.data[0].y[0] == bare.figures["masks-leak-change"].figure.data[1].y[0]
    )


def test_without_predictions_nothing_more_is_drawn(bare: Bare, look: Look):
    leak.show(look("en-fr", text=GAPS, changed=1))
    assert [*bare.figures] == [FIGURE] and "hl-predict" not in bare.places
