"""One pass against steps: the facts, the table, the growing text and the four ways, against plain forwards."""

import re

import numpy as np
import torch

import transformer_core as tc
from pages.learn.masks import inference
from tests.pages.learn.bare import Bare
from tests.pages.learn.masks.conftest import Look
from transformer_core.analysis.masks.inference import Steps

TEXT = "The cat sleeps."


def steps(**changes: np.ndarray) -> Steps:
    """Steps of two tokens whose numbers are all different."""
    numbers = {
        "best": np.array([3, 4]),
        "in_one_pass": np.array([0.5, 0.25]),
        "in_steps": np.array([0.4, 0.2]),
        "apart": np.array([0.02, 0.01]),
        "apart_unmasked": np.array([1.5, 2.5]),
        "grown": np.array([[0.0, np.nan], [0.04, 0.0]], dtype=np.float32),
        "grown_unmasked": np.array([[0.0, np.nan], [3.5, 0.0]], dtype=np.float32),
    }
    return Steps(**numbers | changes, tolerance=1e-4)


def test_each_fact_has_its_own_largest_difference(bare: Bare):
    inference._facts(steps())
    facts = re.findall(r"<div><span>(.*?)</span>logits differ by (.*?)</div>", bare.words)
    assert facts == [
        ("one masked pass − cached steps", "0.02"),
        ("same, steps without a mask", "2.50"),
        ("earlier rows as the text grows, with mask", "0.04"),
        ("earlier rows as the text grows, without mask", "3.50"),
    ]


def test_the_table_has_for_each_row_its_token_and_what_both_ways_say(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT)
    inference.show(data)
    model, tokenizer = tc.load("checkpoints/en-fr")
    source, target = data.alone.inputs["source"], data.alone.inputs["target"]
    with torch.inference_mode():
        probabilities = model(torch.tensor([source]), torch.tensor([target]))[0].softmax(dim=-1)
    rows = re.findall(r"<tr><td>(\d+)</td>(.*?)</tr>", bare.words)
    assert [int(place) for place, _ in rows] == [*range(len(target))]
    labels = tokenizer.target.labels
    for (_, cells), token, row in zip(rows, target, probabilities, strict=True):
        said = re.findall(r"<bdi>(.*?)</bdi>", cells)
        assert said == [*labels([token]), *labels([int(row.argmax())])]
        shown = [float(number) for number in re.findall(r"<td>(\d\.\d{6})</td>", cells)]
        np.testing.assert_allclose(shown, [row.max(), row.max()], atol=2e-6)
    heads = re.findall(r"<th>(.*?)</th>", bare.words)
    assert heads == ["row", "token", "prediction", "one forward pass", "incremental", "max. logit difference"]


def test_the_growing_text_is_drawn_with_lengths_as_rows_and_taken_away(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT)
    inference.show(data)
    drawn = bare.figures["masks-growing-figure"]
    model, _ = tc.load("checkpoints/en-fr")
    source, target = data.alone.inputs["source"], data.alone.inputs["target"]
    n = len(target)
    everything = {"decoder.blocks.*.self_attn.hook_mask": lambda mask, _: torch.ones_like(mask)}

    def last_and_all(length: int, is_masked: bool) -> tuple[np.ndarray, np.ndarray]:
        with torch.inference_mode(), tc.intervene(model, {} if is_masked else everything):
            whole = model(torch.tensor([source]), torch.tensor([target[:length]]))[0].numpy()
        return whole[-1], whole

    for name, is_masked in (("masked", True), ("unmasked", False)):
        first, _ = last_and_all(1, is_masked)
        _, whole = last_and_all(n, is_masked)
        np.testing.assert_allclose(drawn.arrays[name][n - 1, 0], np.abs(whole[0] - first).max(), atol=1e-4)
        assert np.isnan(drawn.arrays[name][0, 1:]).all()
    assert drawn.arrays["masked"][n - 1, 0] < 1e-3 < drawn.arrays["unmasked"][n - 1, 0]
    assert drawn.arrays["tokens"].tolist() == [*data.alone.labels["target"]]
    assert drawn.rows[0] == "tokens read,output,logits"
    last = drawn.rows[-1]
    assert last.startswith(f"{n} tokens,") and f"{n - 1} {data.alone.labels['target'][-1]}, unmasked" in last
    assert drawn.rows[1].startswith("1 tokens,") and "masked" in drawn.rows[1] and "unmasked" not in drawn.rows[1]
    layout = str(drawn.layout)
    assert layout.index("With the causal mask") < layout.index("Without")
    assert "masks-inference" in bare.places[0]


def test_ways_that_write_something_else_are_marked_and_nothing_is_a_dash(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT)
    ways = {(True, True): "a", (True, False): "a", (False, True): "", (False, False): "b"}
    object.__setattr__(data, "four_ways", lambda: ways)
    inference._four_ways(data)
    told = re.findall(r"<div class='([^']*)'><span>([^<]*)</span><bdi>(.*?)</bdi></div>", bare.words)
    assert told == [
        ("", "Mask, cache", "a"),
        ("", "Mask, no cache", "a"),
        ("hl-masks-other", "No mask, cache", "–"),
        ("hl-masks-other", "No mask, no cache", "b"),
    ]


def test_an_encoder_has_no_steps(bare: Bare, look: Look):
    inference.show(look("fill-in", text=TEXT))
    assert "This model is an encoder" in bare.words and not bare.figures


def test_the_lines_print_both_ways_and_how_far_they_are_apart(look: Look):
    lines = inference.script(*inference._printed(look("en-fr", text=TEXT).steps()))
    for name in ("in_one_pass", "in_steps", "most_apart", "most_grown", "most_grown_unmasked"):
        assert f"found.{name}" in lines
