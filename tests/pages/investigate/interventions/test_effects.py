"""What the page says of the output of a model that writes nothing: against plain forward passes."""

from html import unescape
from pathlib import Path

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.interventions.records import Ablation, Component, InterventionStack
from headlight.figures import isolate
from tests.pages.conftest import OpenApp, shown_code, words_of
from tests.pages.investigate.interventions.test_page import changes, opened


def off(attention: str, layer: int, head: int) -> InterventionStack:
    component = Component(kind="head", attention=attention, layer=layer, heads=(head,))  # type: ignore[arg-type]
    return InterventionStack(entries=(Ablation(component=component, method="zero"),))


def test_where_the_text_is_only_read_the_next_token_is_shown(
    open_app: OpenApp, three_kinds_here: Path, capsys: pytest.CaptureFixture[str]
):
    model, tokenizer = tc.load(three_kinds_here / "tales")
    ids = tokenizer.encode_for("The cat sees the", "decoder_only")
    best = []
    for edits in ({}, {"decoder.blocks.0.self_attn.hook_z": tc.zero_heads([1])}):
        with torch.no_grad(), tc.intervene(model, edits):
            best.append(int(model(torch.tensor([ids]))[0, -1, 1:].argmax()) + 1)  # <pad>, which is 0, is never written
    app = opened(open_app, off("decoder", 0, 1), model="tales", text="The cat sees the", **{"continue": "off"})
    rows = unescape(words_of(app)).partition("hl-interventions-outputs")[2].partition("</div>")[0]
    assert [part.partition("</bdi>")[0].strip() for part in rows.split("<bdi>")[1:]] == [
        isolate(label).strip() for label in map(str, (tokenizer.labels([token])[0] for token in best))
    ]
    assert "Most probable next token" in rows
    assert len(changes(app)) == len(ids)  # the tokens of the text after the first, and the next one
    exec(shown_code(app), {})
    assert str(np.array(best)) in capsys.readouterr().out
