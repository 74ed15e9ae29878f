"""What the overview shows of a model run: against the patterns written out; and the measures, each on its own side."""

from typing import Any

import numpy as np
import pytest

import transformer_core as tc
from headlight.analysis.heads.text_measures import MEASURES
from headlight.analysis.trace.model_run import run_text
from pages.explore import overviews
from pages.shared import models, readings
from pages.shared.sources import Source
from tests.pages.conftest import EXAMPLES, GAPS, PROMPTS

TEXTS = {"en-fr": EXAMPLES[0], "tales": PROMPTS[0], "gaps": GAPS[0]}


def source_of(name: str) -> Source:
    return Source.of(models.available()[name])


@pytest.mark.usefixtures("three_kinds_here")
@pytest.mark.parametrize("name", TEXTS)
def test_every_head_has_its_picture_and_its_strongest_cell(name: str):
    source = source_of(name)
    model_run = readings.read(source, TEXTS[name])
    groups, levels = overviews.read(source, TEXTS[name], None)
    assert [group["attention"] for group in groups] == [*model_run.attention_maps]
    first = 0
    for group in groups:
        pattern, mask = (of[group["attention"]] for of in (model_run.patterns, model_run.masks))
        assert (group["layers"], group["heads"], group["queries"], group["keys"]) == pattern.shape
        wanted = np.where(mask[:, None], np.rint(253 * pattern), 255)
        actual = np.frombuffer(levels, np.uint8, count=pattern.size, offset=first).reshape(pattern.shape)
        assert np.abs(actual - wanted).max() <= 1 and ((actual == 255) == (wanted == 255)).all()
        first += pattern.size
        queries, keys = model_run.labels(group["attention"])
        chooses = mask.sum(axis=2) > 1  # [layer, query]: who may look at one key alone has no choice
        for layer, head in np.ndindex(pattern.shape[:2]):
            among = np.where(chooses[layer, :, None], pattern[layer, head], -1.0)
            query, key = np.unravel_index(among.argmax(), among.shape)
            text = group["strongest"][layer][head]
            assert [part.strip("\u2068\u2069") for part in text[:2]] == [queries[query][:30], keys[key][:30]]
            assert text[2] == pytest.approx(among.max(), abs=1e-6)
    assert first == len(levels)


def test_a_layer_with_a_window_is_drawn_with_its_own_mask():
    """Layers 0 and 2 have no window; in layer 1, a token sees itself and its neighbours."""
    tokenizer = tc.train_tokenizer(GAPS, kind="word", mask=True)
    shape = {"d_model": 16, "d_ff": 16, "n_heads": 2, "n_encoder_layers": 3, "n_decoder_layers": 0, "max_seq_len": 40}
    config: dict[str, Any] = {"architecture": "encoder_only", "tie_embeddings": "target", **shape}
    windows = {"sliding_window": 2, "layers_without_window": (0, 2)}
    model = tc.build(tc.ModelConfig(vocab_size=tokenizer.vocab_size, **config, **windows), seed=0).eval()
    model_run = run_text(model, tokenizer, GAPS[0])
    n = len(model_run.source)
    ((group,), levels) = overviews.of(model_run)
    assert (group["layers"], group["heads"], group["queries"], group["keys"]) == (3, 2, n, n) and n > 3
    forbidden = np.frombuffer(levels, np.uint8).reshape(3, 2, n, n) == 255
    for layer, head, query, key in np.ndindex(3, 2, n, n):
        assert forbidden[layer, head, query, key] == (layer == 1 and abs(query - key) >= 2)


@pytest.mark.usefixtures("three_kinds_here")
@pytest.mark.parametrize("name", TEXTS)
def test_the_measures_know_whose_tokens_are_no_text(name: str):
    source = source_of(name)
    model_run = readings.read(source, TEXTS[name])
    actual = overviews.measures(source, TEXTS[name], None)
    assert [*actual] == [*model_run.attention_maps]
    for attention, of_heads in actual.items():
        pattern = model_run.patterns[attention]
        assert {*of_heads} <= {*MEASURES} and all(values.shape == pattern.shape[:2] for values in of_heads.values())
        is_special = np.array(model_run.special["source" if attention in ("encoder", "cross") else "target"])
        assert is_special.any() and not is_special.all()
        chooses = model_run.masks[attention][0].sum(axis=1) > 1  # the same in all layers
        on_special = pattern[:, :, chooses][..., is_special].sum(axis=-1).mean(axis=-1)
        np.testing.assert_allclose(of_heads["special"], on_special, atol=1e-5)
