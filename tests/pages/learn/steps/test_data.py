"""Which tokens of a long text the page shows, which query and key it looks at first, and what it says of the rest."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transformer_core as tc
from pages.learn.steps import figure
from pages.learn.steps.data import StepsData
from pages.learn.steps.view_fields import MatrixCell
from pages.shared import models
from pages.shared.models import ModelCard
from tests.model.building import DECODER
from tests.pages.conftest import EXAMPLES
from tests.pages.learn.bare import Bare
from tests.pages.learn.steps.conftest import Look

SOURCE = " ".join(["The cat sees the dog"] * 6)  # 31 tokens with <eos>
TARGET = " ".join(["Le chat"] * 5)  # 11 with <bos>
LONG = " ".join(["The cat sees the dog"] * 9)  # 45 tokens, 46 with <bos>


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, ModelCard]:
    """An encoder-decoder and a decoder whose heads look here and there: their queries are enlarged."""
    folder = tmp_path_factory.mktemp("checkpoints")
    kinds: dict[str, dict[str, Any]] = {"pair": {"n_encoder_layers": 1, "n_decoder_layers": 1}}
    windows = {"sliding_window": 30, "layers_without_window": (0,)}
    kinds["tales"] = DECODER | {"n_decoder_layers": 2, "n_kv_heads": 2, **windows}
    for name, changes in kinds.items():
        tokenizer = tc.train_tokenizer([*EXAMPLES, SOURCE, TARGET], kind="word", vocab_size=90)
        sizes: dict[str, Any] = {
            "vocab_size": tokenizer.vocab_size,
            "d_model": 20,
            "d_ff": 30,
            "n_heads": 4,
            "d_head": 6,
        }
        config = tc.ModelConfig(**sizes | {"max_seq_len": 48, "positions": "rotary_halves"} | changes)
        model = tc.build(config, seed=3)
        for weight_name, weights in model.named_parameters():
            if weight_name.endswith("attn.q.weight"):
                weights.data *= 6
        tc.save(folder / name, model, tokenizer, {"title": name, "examples": [EXAMPLES[1]]})
    return {name: models._card(Path(folder / name)) for name in kinds}


def pattern_of(data: StepsData) -> np.ndarray:
    """The pattern [query, key], a copy."""
    return np.array(data.walk.quantities["pattern"].values)


def test_of_cross_attention_queries_and_keys_are_cut_each_by_its_own_length(
    look: Look, trained: Mapping[str, ModelCard]
):
    """All queries of a short target, and of the long source the keys around the selected one most."""
    address: dict[str, Any] = {"text": SOURCE, "target": TARGET, "attention": "cross", "layer": 0, "head": 1}
    pattern = pattern_of(look(trained["pair"], **address))
    n_queries, n_keys = pattern.shape
    assert n_queries < 24 < n_keys
    strongest = pattern.argmax(axis=1)
    seen = set()
    for query in (int(strongest.argmin()), int(strongest.argmax())):
        data = look(trained["pair"], query=query, **address)
        queries, keys = data.shown
        assert queries == range(n_queries)
        assert data.key == strongest[query] in keys and len(keys) == 24 and keys.stop <= n_keys
        seen.add(keys)
    assert len(seen) == 2, "the keys follow the query"


def test_the_shown_part_stays_within_the_text_and_says_what_weight_lies_elsewhere(
    look: Look, bare: Bare, trained: Mapping[str, ModelCard]
):
    for query in (0, 18, 30, 45):
        data = look(trained["tales"], text=LONG, layer=1, head=3, query=query)
        pattern = pattern_of(data)
        queries, keys = data.shown
        assert (
            queries == keys and len(keys) == 24 and query in keys and 0 <= keys.start < keys.stop <= len(pattern) == 46
        )
        key = int(pattern[query].argmax())
        is_near = query - key < 24
        assert (key in keys) == is_near
        elsewhere = 1 - pattern[query, keys.start : keys.stop].sum()
        figure.remarks(data)
        text = f"{elsewhere:.0%} of this query’s attention goes to keys not shown here, most of it to {key} “"
        assert (text in bare.words) != is_near and ("goes to keys not shown" in bare.words) != is_near


@pytest.mark.parametrize(("name", "attention", "head"), [("pair", "encoder", 2), ("pair", "cross", 3)])
def test_the_first_look_is_at_the_word_that_attends_most_to_another_word(
    look: Look, trained: Mapping[str, ModelCard], name: str, attention: str, head: int
):
    data = look(trained[name], text=EXAMPLES[1], target="Le chat.", attention=attention, layer=0, head=head)
    pattern = pattern_of(data)
    for axis, labels in enumerate(data.labels):
        no_word = [place for place, label in enumerate(labels) if not label[:1].isalpha()]
        assert no_word
        pattern[no_word if axis == 0 else (slice(None), no_word)] = 0
    if attention != "cross":
        np.fill_diagonal(pattern, 0)
    assert data.query == pattern.max(axis=1).argmax()


def test_the_first_look_is_at_no_word_that_the_model_wrote(look: Look, trained: Mapping[str, ModelCard]):
    """Here the first word that it wrote attends to another one more than all that it was given."""
    text = "the dog the cat"
    data = look(trained["tales"], text=text, attention="decoder", layer=0, head=0, continues=True)
    n_given = len(tc.load(trained["tales"].path)[1].encode_for(text, "decoder_only"))
    pattern = pattern_of(data)
    np.fill_diagonal(pattern, 0)
    most = pattern[:, 1:].max(axis=1)  # <bos> is no word
    most[0] = 0
    assert most[: n_given + 1].argmax() == n_given, "else this tells nothing"
    assert data.query == most[:n_given].argmax()


@pytest.mark.parametrize(("cell", "expected"), [("pattern.4.2", 2), ("k.3.5", 3), ("z.4.0", None)])
def test_an_open_number_leads_to_its_query_and_its_key(
    look: Look, trained: Mapping[str, ModelCard], cell: str, expected: int | None
):
    """The key is the column of a pattern and the row of K and V; a number of a query has none, so the strongest is."""
    matrix, row, column = cell.split(".")
    opened = MatrixCell(matrix, int(row), int(column))
    data = look(trained["pair"], text=EXAMPLES[1], attention="encoder", layer=0, head=1, cell=opened)
    if expected is None or matrix == "pattern":
        assert data.query == 4
    assert data.key == (pattern_of(data)[data.query].argmax() if expected is None else expected)
