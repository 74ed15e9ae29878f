"""What the parts of the page Masks say in sentences and tables, against plain forwards of the model."""

import html
import re
from pathlib import Path

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.pages.conftest import EXAMPLES, PROMPTS, words_of
from tests.pages.explore.decoding.decoding_parts import arrays_of, files_of
from tests.pages.learn.masks.test_page import OpenApp, opened
from transformer_core.analysis.masks.text import mask_text

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("three_kinds_here")]


@torch.inference_mode()
def logits_of(model: tc.Transformer, *inputs: tuple[int, ...] | list[int], is_masked: bool = True) -> np.ndarray:
    """The logits [pos, vocab] of a plain forward, or of one whose decoder sees all of its input."""
    tensors = [torch.tensor([list(ids)]) for ids in inputs]
    if is_masked:
        return np.asarray(model(*tensors)[0].numpy())
    everything = {"decoder.blocks.*.self_attn.hook_mask": lambda mask, _: torch.ones_like(mask)}
    with tc.intervene(model, everything):
        return np.asarray(model(*tensors)[0].numpy())


def said(value: float) -> str:
    """A change of logits with two digits; none of these is tiny."""
    return "exactly 0" if value == 0 else f"{value:.2f}" if value >= 0.005 else f"{value:.0e}".replace("e-0", "e-")


@pytest.mark.parametrize(
    ("name", "text", "target", "place"),
    [("tales", PROMPTS[0], "", 3), ("en-fr", EXAMPLES[1], "Le chien vu le chat", 2)],
)
def test_the_leak_test_says_what_one_change_does_with_the_mask_and_without(
    open_app: OpenApp, three_kinds: Path, name: str, text: str, target: str, place: int
):
    address = {"model": name, "text": text, "part": "leak", "attention": "decoder", "changed": str(place)}
    app = opened(open_app, **address | ({"target": target} if target else {}))
    model, tokenizer = tc.load(three_kinds / name)
    room = min(48, model.config.max_seq_len)
    read = mask_text(model, tokenizer, text, max_tokens=room, target=target or None)
    *source, tokens = read.inputs.values()
    words = html.unescape(words_of(app))
    labels = tokenizer.target.labels(list(tokens))
    new = re.findall(rf"Token {place} “(.*?)” becomes “(.*?)”\.", words)
    assert new[0][0] == labels[place] and new[0][1] != labels[place] and new[0][1] in labels
    changed = list(tokens)
    changed[place] = tokens[labels.index(new[0][1])]
    facts = re.findall(r"<b>(With the model’s own masks|Without a causal mask):</b>(.*?)</p>", words)
    assert [title for title, _ in facts] == ["With the model’s own masks", "Without a causal mask"]
    n = len(tokens)
    for (_, fact), is_masked, kind in zip(facts, (True, False), ("own", "other"), strict=True):
        before, after = (logits_of(model, *source, ids, is_masked=is_masked) for ids in (tokens, changed))
        moved = np.abs(after - before).max(axis=1)
        drawn = arrays_of(files_of(app, "masks-leak-figure"))[kind]
        np.testing.assert_allclose(drawn[:, place], moved, atol=1e-5)
        earlier, later = drawn[:place, place], drawn[place:, place]
        assert f"earlier outputs change by {said(float(earlier.max()))}" in fact
        assert f"{np.count_nonzero(later)} outputs from it on change, by up to {said(float(later.max()))}" in fact
        above = drawn[np.triu_indices(n, 1)]
        if is_masked:
            assert f"above the diagonal all {n * (n - 1) // 2} cells are exactly 0" in fact
        else:
            leaks = f"{np.count_nonzero(above)} of {n * (n - 1) // 2} cells above the diagonal leak"
            assert f"{leaks}, by up to {said(float(above.max()))}" in fact
        turned = np.flatnonzero(before.argmax(axis=1) != after.argmax(axis=1))
        told = re.findall(r"(\d+) “[^”]*” → “", fact)
        assert [int(at) for at in told] == turned[:6].tolist() and ("…" in fact) == (len(turned) > 6)


def test_a_token_is_never_replaced_by_itself(open_app: OpenApp, three_kinds: Path):
    """Of the typed token's own places, and of those alone, the replacement is another one of the text."""
    address = {"model": "en-fr", "text": EXAMPLES[1], "target": "chat le chien", "part": "leak"}
    app = opened(open_app, **address, changed="1", token="chat")
    tokenizer = tc.load(three_kinds / "en-fr")[1].target
    assert tokenizer.encode("chat")[0] != tokenizer.unk_id
    ((old, new),) = re.findall(r"Token 1 “(.*?)” becomes “(.*?)”", words_of(app))
    assert old == "chat" != new
    moved = arrays_of(files_of(app, "masks-leak-figure"))["own"]
    assert (moved[np.diag_indices(len(moved))] > 0).all(), "each token was changed"
    app = opened(open_app, **address, changed="2", token="chat")
    assert "Token 2 “le” becomes “chat”" in words_of(app)
    app = opened(open_app, **address)
    assert "Token 2 “le” becomes" in words_of(app), "the one in the middle is changed first"


@pytest.mark.parametrize(("name", "text"), [("tales", PROMPTS[0]), ("en-fr", EXAMPLES[1])])
def test_one_pass_says_at_each_row_what_a_plain_forward_says(
    open_app: OpenApp, three_kinds: Path, name: str, text: str
):
    app = opened(open_app, model=name, text=text, part="inference", attention="decoder")
    model, tokenizer = tc.load(three_kinds / name)
    read = mask_text(model, tokenizer, text, max_tokens=min(48, model.config.max_seq_len))
    *source, tokens = read.inputs.values()
    probabilities = torch.tensor(logits_of(model, *source, tokens)).softmax(dim=-1).numpy()
    words = html.unescape(words_of(app))
    table = words.split("hl-masks-table")[1]
    rows = [re.findall(r"<td>(?:<bdi>)?(.*?)(?:</bdi>)?</td>", row) for row in re.findall(r"<tr>(<td.*?)</tr>", table)]
    assert len(rows) == len(tokens)
    for place, (row, token) in enumerate(zip(rows, tokens, strict=True)):
        best = int(probabilities[place].argmax())
        assert row[:3] == [str(place), *tokenizer.target.labels([token]), *tokenizer.target.labels([best])]
        assert float(row[3]) == pytest.approx(probabilities[place].max(), abs=2e-6)
        assert float(row[4]) == pytest.approx(float(row[3]), abs=1e-5)
        assert row[5] == "exactly 0" or float(row[5]) < 1e-4
    arrays = arrays_of(files_of(app, "masks-growing-figure"))
    for n in (2, len(tokens)):
        for is_masked, kind in ((True, "masked"), (False, "unmasked")):
            whole = logits_of(model, *source, tokens[:n], is_masked=is_masked)
            for pos in range(n):
                when_last = logits_of(model, *source, tokens[: pos + 1], is_masked=is_masked)[pos]
                assert arrays[kind][n - 1, pos] == pytest.approx(np.abs(whole[pos] - when_last).max(), abs=1e-5)
        assert np.isnan(arrays["masked"][n - 1, n:]).all()

    ways = re.findall(r"<div class='([^']*)'><span>([^<]*)</span><bdi>(.*?)</bdi></div>", words)
    assert [way for _, way, _ in ways] == ["Mask, cache", "Mask, no cache", "No mask, cache", "No mask, no cache"]
    begin = tokens[: read.n_given] if name == "tales" else source[0]
    n_begun = len(begin) if name == "tales" else 1
    n_new = len(read.expected) + 1 - n_begun  # so much as the text has, with the last token that is judged
    written = tc.greedy_decode(model, torch.tensor([list(begin)]), max_new_tokens=n_new).tokens[0].tolist()
    own = ways[0][2]
    assert own == tokenizer.target.decode(written[n_begun:])
    for kind, _, text_of_way in ways:
        assert (kind == "hl-masks-other") == (text_of_way != own)
