"""Which tokens of a long text the page shows, which query and key it looks at first, and what it says of the rest."""

import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from tests.model.building import DECODER
from tests.pages.conftest import EXAMPLES, component, words_of

pytestmark = pytest.mark.slow
OpenApp = Callable[..., AppTest]
SOURCE = " ".join(["The cat sees the dog"] * 6)  # 31 tokens with <eos>
TARGET = " ".join(["Le chat"] * 5)  # 11 with <bos>
LONG = " ".join(["The cat sees the dog"] * 9)  # 45 tokens, 46 with <bos>


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an encoder-decoder and a decoder whose heads look here and there: its queries are enlarged."""
    folder = tmp_path_factory.mktemp("checkpoints")
    kinds: dict[str, dict[str, Any]] = {"pair": {"n_encoder_layers": 1, "n_decoder_layers": 1}}
    kinds["tales"] = DECODER | {"n_decoder_layers": 2, "n_kv_heads": 2, "sliding_window": 30, "full_attention_every": 2}
    for name, changes in kinds.items():
        tokenizer = tc.train_tokenizer([*EXAMPLES, SOURCE, TARGET], kind="word", vocab_size=90)
        sizes = {
            "vocab_size": tokenizer.vocab_size,
            "d_model": 20,
            "d_ff": 30,
            "n_heads": 4,
            "d_head": 6,
            "max_seq_len": 48,
        }
        model = tc.build(tc.ModelConfig(**sizes | {"positions": "rotary_halves"} | changes), seed=3)
        for weight_name, weights in model.named_parameters():
            if weight_name.endswith("attn.q.weight"):
                weights.data *= 6
        tc.save(folder / name, model, tokenizer, {"title": name, "examples": [EXAMPLES[1]]})
    return folder


@pytest.fixture
def open_steps(open_app: OpenApp, models: Path, monkeypatch: pytest.MonkeyPatch) -> OpenApp:
    """Opens the page at an address with these parameters."""
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(models))

    def open_at(**parameters: str) -> AppTest:
        app = open_app("steps", **parameters)
        assert not app.exception
        return app

    return open_at


def header_of(app: AppTest) -> dict[str, Any]:
    data = component(app, "steps").bytes
    (length,) = struct.unpack("<I", data[:4])
    return dict(json.loads(data[4 : 4 + length]))


def shown(header: dict[str, Any], side: str) -> range:
    """The places of the tokens that are shown."""
    first = header["first"][side]
    return range(first, first + len(header[side]))


@torch.inference_mode()
def pattern_of(models: Path, name: str, site: str, head: int, *texts: str) -> np.ndarray:
    """A pattern [query, key] of a plain forward."""
    model, tokenizer = tc.load(models / name)
    if name == "tales":
        inputs = [tokenizer.encode_for(texts[0], "decoder_only")]
    else:
        inputs = [tokenizer.encode_for(texts[0], "encoder_decoder")]
        inputs.append([model.config.bos_id, *tokenizer.target.encode(texts[1])])
    with tc.capture(model, site) as acts:
        model(*(torch.tensor([ids]) for ids in inputs))
    return np.asarray(acts[site][0, head].numpy())


def test_of_cross_attention_queries_and_keys_are_cut_each_by_its_own_length(open_steps: OpenApp, models: Path):
    """All queries of a short target, and of the long source the keys around the one that is looked at most."""
    pattern = pattern_of(models, "pair", "decoder.blocks.0.cross_attn.hook_pattern", 1, SOURCE, TARGET)
    n_queries, n_keys = pattern.shape
    assert n_queries < 24 < n_keys
    seen = set()
    address = {"model": "pair", "text": SOURCE, "target": TARGET, "attention": "cross", "layer": "0", "head": "1"}
    for query in (int(pattern.argmax(axis=1).argmin()), int(pattern.argmax(axis=1).argmax())):
        app = open_steps(**address, query=str(query))
        header, key = header_of(app), pattern[query].argmax()
        assert shown(header, "query") == range(n_queries)
        keys = shown(header, "key")
        assert key in keys and len(keys) == 24 and keys.stop <= n_keys
        seen.add(keys)
        assert f"Showing {n_queries} queries and 24 keys" in words_of(app) and f"over all {n_keys} keys" in words_of(
            app
        )
        assert "goes to keys not shown" not in words_of(app)
    assert len(seen) == 2, "the keys follow the query"


def test_the_shown_part_stays_within_the_text_and_says_what_weight_lies_elsewhere(open_steps: OpenApp, models: Path):
    address = {"model": "tales", "text": LONG, "layer": "1", "head": "3"}
    pattern = pattern_of(models, "tales", "decoder.blocks.1.self_attn.hook_pattern", 3, LONG)
    n = len(pattern)
    parts = {}
    for query in (0, 17, 18, 29, 30, n - 1):
        app = open_steps(**address, query=str(query))
        header = header_of(app)
        (n_all,) = map(int, re.findall(r"over all (\d+) keys", words_of(app)))  # with what the model wrote
        parts[query] = shown(header, "query")
        assert parts[query] == shown(header, "key") and len(parts[query]) == 24
        assert query in parts[query] and parts[query].stop <= n_all
        key = int(pattern[query].argmax())
        is_near = query - key < 24
        assert (key in parts[query]) == is_near
        elsewhere = 1 - pattern[query, parts[query].start : parts[query].stop].sum()
        told = re.findall(
            r"(\d+)% of this query’s attention goes to keys not shown here, most of it to (\d+)", words_of(app)
        )
        assert told == ([] if is_near else [(f"{elsewhere:.0%}"[:-1], str(key))])
    assert parts[0].start == 0


def test_the_first_look_is_at_the_word_that_attends_most_to_another_word(open_steps: OpenApp, models: Path):
    for name, site, attention, head in (
        ("pair", "encoder.blocks.0.self_attn.hook_pattern", "encoder", 2),
        ("pair", "decoder.blocks.0.cross_attn.hook_pattern", "cross", 3),
        *(("tales", "decoder.blocks.0.self_attn.hook_pattern", "decoder", head) for head in range(4)),
    ):
        text, target = EXAMPLES[1], "Le chat."
        address = {"model": name, "text": text, "attention": attention, "layer": "0", "head": str(head)}
        header = header_of(open_steps(**address | ({"target": target} if name == "pair" else {})))
        pattern = pattern_of(models, name, site, head, text, target)
        pattern = pattern[: len(header["query"]), : len(header["key"])].copy()
        is_word = [np.array([token[:1].isalpha() for token in header[side]]) for side in ("query", "key")]
        pattern[~is_word[0][: len(pattern)]] = 0
        pattern[:, ~is_word[1][: pattern.shape[1]]] = 0
        if attention != "cross":
            np.fill_diagonal(pattern, 0)
        query = int(pattern.max(axis=1).argmax())
        assert header["at"]["value"]["query"] == query, (name, attention)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [("pattern.4.2", 2), ("k.3.5", 3), ("v.1.0", 1), ("q.4.1", None), ("z.4.0", None)],
)
def test_an_open_number_leads_to_its_query_and_its_key(
    open_steps: OpenApp, models: Path, cell: str, expected: int | None
):
    """The key is the column of a pattern and the row of K and V; a number of a query has none, so the strongest is."""
    address = {"model": "pair", "text": EXAMPLES[1], "attention": "encoder", "layer": "0", "head": "1"}
    at = header_of(open_steps(**address, cell=cell))["at"]["value"]
    pattern = pattern_of(models, "pair", "encoder.blocks.0.self_attn.hook_pattern", 1, EXAMPLES[1], "")
    if expected is None or cell.startswith("pattern"):
        assert at["query"] == 4
    assert at["key"] == (pattern[at["query"]].argmax() if expected is None else expected)


def test_of_a_long_source_query_and_key_are_shown_together_whichever_comes_first(open_steps: OpenApp, models: Path):
    address = {"model": "pair", "text": SOURCE, "attention": "encoder", "layer": "0"}
    n_each = [0, 0]
    for head in range(4):
        pattern = pattern_of(models, "pair", "encoder.blocks.0.self_attn.hook_pattern", head, SOURCE, "")
        for query, key in enumerate(pattern.argmax(axis=1).tolist()):
            is_before = key < query
            if not 13 <= abs(key - query) < 24 or n_each[is_before] == 3:
                continue
            n_each[is_before] += 1
            header = header_of(open_steps(**address, head=str(head), query=str(query)))
            places = shown(header, "key")
            assert places == shown(header, "query") and query in places and key in places
            assert len(places) == 24 and places.stop <= len(pattern)
    assert all(n_each), "there are keys before and after their queries"


def test_the_first_look_is_at_no_word_that_the_model_wrote(open_steps: OpenApp, models: Path):
    """Here the first word that it wrote attends to another one more than all that it was given."""
    text, site = "the dog the cat", "decoder.blocks.0.self_attn.hook_pattern"
    address = {"model": "tales", "text": text, "attention": "decoder", "layer": "0", "head": "0"}
    header = header_of(open_steps(**address))
    n_given = len(tc.load(models / "tales")[1].encode_for(text, "decoder_only"))
    pattern = pattern_of(models, "tales", site, 0, " ".join(header["query"][1:]))  # both, without <bos>
    np.fill_diagonal(pattern, 0)
    most = pattern[:, 1:].max(axis=1)  # <bos> is no word
    most[0] = 0
    assert most[: n_given + 1].argmax() == n_given, "else this tells nothing"
    assert header["at"]["value"]["query"] == most[:n_given].argmax()
