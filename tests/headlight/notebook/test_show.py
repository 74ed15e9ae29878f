"""`show`, `head_view` and `model_view`: the numbers of the view are the model's, contradictions are refused."""

import json
import re
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import headlight as hl
import transformer_core as tc
from headlight.analysis.heads.text_measures import measure_run
from headlight.language import speaking
from headlight.notebook.arrays import NOT_ONE, labels_of
from headlight.notebook.bundle import page_script
from headlight.notebook.measuring import mask_of
from headlight.viewing.patterns import AttentionPatterns
from tests.headlight.notebook.test_packing import random_patterns, unpacked
from transformer_core.errors import ArgumentError

TEXT = "the small cats sleep"
TOKENS = ["[CLS]", "the", "Ġcat", "[SEP]"]
LAYERS = [torch.from_numpy(layer)[None] for layer in random_patterns((3, 4, 4, 4), is_causal=False)[0]]
ENCODER_DECODER = {
    "encoder_attention": LAYERS,
    "decoder_attention": [torch.from_numpy(np.tile(np.eye(5, dtype=np.float32), (1, 4, 1, 1)))] * 3,
    "cross_attention": [torch.full((1, 4, 5, 4), 0.25)] * 3,
}


def test_the_numbers_of_a_view_are_those_of_the_model():
    model, tokenizer = tc.load("checkpoints/en-fr")
    run = hl.run_text(model, tokenizer, TEXT)
    view = hl.show(model, TEXT)  # with the tokenizer that was loaded with it
    patterns = run.patterns
    for name, numbers in zip(patterns, unpacked(view._packed, [of.shape for of in patterns.values()]), strict=True):
        seen = np.broadcast_to(run.masks[name][:, None], numbers.shape)
        assert np.abs(numbers[seen] / view.header["top"] - patterns[name][seen]).max() <= view.error + 1e-7
    assert [group["queries"] for group in view.header["groups"]] == [[*run.labels(name)[0]] for name in patterns]
    measured = measure_run(run)
    for measure in view.header["measures"]:
        for name, values in measure["values"].items():
            expected = measured[name][measure["id"]]
            np.testing.assert_allclose(np.array(values, dtype=float), expected, atol=1e-5)
    assert repr(view).startswith(f"AttentionView({TEXT}: encoder: 2 layers x 4 heads, 5 x 5 tokens")


def test_byte_level_tokens_are_the_characters_of_their_text():
    tokens = ["<s>", "ä»Ĭ", "Ġå", "¤", "©", "Ġcat"]  # of 今 天 cat
    assert labels_of(tokens) == ("<s>", "今", "· 天 1/3", "天 2/3", "天 3/3", "·cat")
    assert labels_of(["caf", "é", "▁naïve", "x</w>"]) == ("caf", "é", "·naïve", "x")  # of other tokenizers
    assert labels_of(tokens, prettify=False) == tuple(tokens)


def test_a_saved_view_is_one_file_in_the_language_of_its_reader(tmp_path):
    with speaking("de"):
        view = hl.show(attentions=LAYERS, tokens=["</script><b>", *TOKENS[1:]])
        page = view.save(tmp_path / "x.html")
    text = page.read_text(encoding="utf-8")
    assert 'lang="de"' in text and '"Heatmap":"Heatmap"' not in text and "Kopf {head}" in text
    assert not re.search(r"(src|href)=[\"']?https?:|@import|\bfetch\(", text)
    header = json.loads(re.findall(r'data-kind="json">(.*?)</script>', text)[0])
    assert header["groups"][0]["keys"] == ["</script><b>", "the", "·cat", "[SEP]"]
    assert not re.search(r"^(import|export) ", page_script("de"), re.MULTILINE)
    with pytest.raises(ArgumentError, match=r"none/x.html cannot be written \(No such file"):
        view.save(tmp_path / "none" / "x.html")


def test_arrays_of_a_decoder_are_recognized_by_their_zeros():
    causal, mask = random_patterns((2, 2, 5, 5), is_causal=True)
    view = hl.show(attentions=causal, tokens=range(5))
    assert [*view.record.attentions] == ["decoder"]
    np.testing.assert_array_equal(view._masks["decoder"], mask)
    record = hl.show(attentions=LAYERS, tokens=TOKENS).record
    assert [*record.attentions] == ["encoder"] and not record.notes
    listed = [layer[0].tolist() for layer in LAYERS]
    assert "int64" not in hl.show(attentions=listed, tokens=TOKENS, layer=np.int64(1), head=np.int64(2)).page()
    dropped = torch.nn.functional.dropout(torch.stack(LAYERS), 0.1)
    assert hl.show(attentions=dropped, tokens=TOKENS).record.notes == (NOT_ONE,)


def test_layers_and_heads_keep_their_numbers():
    (group,) = hl.model_view(LAYERS, TOKENS, include_layers=[2, 0], include_heads=[3], html_action="view") or [None]
    assert group is None  # the view is displayed
    view = DISPLAYED.pop()
    (group,) = view.header["groups"]
    assert (group["layerNumbers"], group["headNumbers"]) == ([2, 0], [3])
    np.testing.assert_array_equal(view.record.attentions["encoder"].patterns[0, 0], LAYERS[2][0, 3])


def test_head_view_begins_with_lines_of_all_heads_of_a_layer():
    hl.head_view(LAYERS, TOKENS, sentence_b_start=2, layer=1)
    header = DISPLAYED.pop().header
    assert header["start"]["figure"] == "lines"
    assert [(pin["layer"], pin["head"]) for pin in header["start"]["pinned"]] == [(1, head) for head in range(4)]
    assert header["groups"][0]["border"] == {"query": 2, "key": 2}


def test_html_is_returned_without_ipython(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.delitem(sys.modules, "IPython.display")
    arguments: dict[str, Any] = {**ENCODER_DECODER, "encoder_tokens": TOKENS, "decoder_tokens": list("abcde")}
    html = hl.head_view(**arguments, html_action="return")
    assert html.data.count("data-kind") == 2 + page_script("en").count("data-kind")
    assert html.data == html._repr_html_()
    with pytest.raises(ArgumentError, match="install IPython"):
        hl.head_view(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"attention": LAYERS}, "attention needs tokens"),
        ({"attention": LAYERS, "tokens": TOKENS, "cross_attention": LAYERS}, "together with arguments"),
        ({"attention": LAYERS, "tokens": TOKENS, "encoder_tokens": TOKENS}, "together with arguments"),
        ({}, "no attention to show"),
        ({"cross_attention": LAYERS, "decoder_tokens": TOKENS}, "cross needs encoder_tokens"),
        ({"decoder_attention": LAYERS}, "decoder needs decoder_tokens"),
        ({"attention": LAYERS, "tokens": TOKENS[1:]}, "has 4 queries, but there are 3 tokens"),
        ({"attention": (), "tokens": TOKENS}, "attention has no patterns: .*set_attn_implementation"),
        (
            {"attention": (None, None), "tokens": TOKENS},
            "no patterns: .* output_attentions=True, .*implementation=“eager”",
        ),
        ({"attention": [torch.rand(2, 4, 4, 4)], "tokens": TOKENS}, "several texts"),
        ({"attention": [torch.rand(4, 4)], "tokens": TOKENS}, "layers of shape"),
        ({"attention": [9 * LAYERS[0]], "tokens": TOKENS}, "values from .* give the weights after the softmax"),
        ({"attention": [["a"]], "tokens": TOKENS}, "not made of numbers"),
        ({"attention": LAYERS, "tokens": TOKENS, "include_layers": np.array([3, 1])}, "no layer 3; the last is 2"),
        ({"attention": LAYERS, "tokens": TOKENS, "include_heads": []}, "no head is chosen"),
        ({"attention": LAYERS, "tokens": TOKENS, "html_action": "save"}, "“view” or “return”"),
    ],
)
def test_contradictory_arguments_are_refused(arguments: dict[str, Any], message: str):
    with pytest.raises(ArgumentError, match=message):
        hl.model_view(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs a model and a text, or arrays"),
        ({"model": 3, "text": "a"}, "got int"),
        ({"model": 3, "attentions": LAYERS}, "not both"),
        ({"model": torch.nn.Linear(1, 1), "tokenizer": 3}, "its tokenizer and a text"),
        ({"attentions": LAYERS, "tokens": TOKENS, "attention": "cross"}, "no attention cross; there are: encoder"),
        ({"attentions": LAYERS, "tokens": TOKENS, "measure": "length"}, "no measure length; there are: entropy"),
        ({"attentions": LAYERS, "tokens": TOKENS, "figure": "heatmap"}, "no figure heatmap; there are: cells, lines"),
        ({"cross_attentions": ((), ()), "tokens": TOKENS, "encoder_tokens": TOKENS}, "cross_attention has no patterns"),
        ({"attentions": LAYERS, "tokens": TOKENS, "head": [0, 4]}, "layer 0 with heads"),
    ],
)
def test_what_show_cannot_show_is_refused(arguments: dict[str, Any], message: str):
    with pytest.raises(ArgumentError, match=message):
        hl.show(**arguments)


def test_steps_with_beams_follow_the_beams():
    """Of three beams, the generated text was in row 1, then 2, then 0."""
    rng = np.random.default_rng(0)
    steps = [[rng.random((3, 2, 1 if n > 2 else 2, n), dtype=np.float32)] for n in (2, 3, 4)]
    view = hl.show(attentions=steps, tokens=range(4), beam_indices=torch.tensor([[1, 2, 0, -1]]))
    pattern = view.record.attentions["encoder" if "encoder" in view.record.attentions else "decoder"].patterns[0]
    np.testing.assert_array_equal(pattern[:, :2, :2], steps[0][0][1])
    np.testing.assert_array_equal(pattern[:, 2, :3], steps[1][0][2, :, 0])
    np.testing.assert_array_equal(pattern[:, 3], steps[2][0][0, :, 0])


def test_weights_of_a_decoder_without_a_causal_mask_are_shown():
    """As in object detectors, whose decoders read all queries at once."""
    patterns = np.full((1, 1, 2, 2), 0.5, dtype=np.float32)
    attention = AttentionPatterns(
        name="decoder", kind="decoder", patterns=patterns, queries="ab", keys="ab", layers=[0]
    )
    assert mask_of(attention).all()


DISPLAYED: list[Any] = []


@pytest.fixture(autouse=True)
def notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython, as far as it is needed."""
    module = ModuleType("IPython.display")
    vars(module).update(display=DISPLAYED.append)
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
