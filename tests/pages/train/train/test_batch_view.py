"""Windows, one batch and its probabilities on the Train page, against the batches that a training makes."""

import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from headlight.corpora.analysis import stats_of
from pages.train.train import batch_view
from tests.corpora.test_corpus_tokenizer import END, TEXT, write_tokenizer
from tests.pages.conftest import words_of
from tests.pages.train.small_runs import train_copy
from transformer_core.checkpoints.load import load
from transformer_core.corpora import load_corpus
from transformer_core.corpora.batch_order import IGNORED
from transformer_core.corpora.batching import batches_for
from transformer_core.corpora.corpus_tokenizer import tokenizer_of
from transformer_core.corpora.reading import AS_MADE
from transformer_core.text.load import load_foreign

Analyse = Callable[[AppTest], AppTest]
TABLE = re.compile(r"<div class='hl-label'>(.*?) <code>\[(.*?)\]</code>.*?<tbody>(.*?)</tbody>", re.DOTALL)
CELL = re.compile(r"<td class='(.*?)'><bdi>(.*?)</bdi><small>(-?\d+)</small></td>")


@pytest.fixture
def app(tmp_path: Path, train_page: AppTest) -> AppTest:
    """The page with the panel open; "copy" was trained for three steps."""
    train_copy(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "copy").rename(tmp_path / "runs" / "copy")
    train_page.session_state[batch_view.OPEN] = True
    return train_page


def tables(app: AppTest) -> dict[str, tuple[list[int], list[list[tuple[bool, str, int]]]]]:
    """Each table by its title: the shape that stands there, and of each cell whether it is grey, its label, its id."""
    results = {}
    for title, shape, body in TABLE.findall(words_of(app)):
        rows = [
            [(kind == "hl-grey", label, int(i)) for kind, label, i in CELL.findall(row)] for row in body.split("</tr>")
        ]
        results[title] = ([int(n) for n in shape.split(",")], [row for row in rows if row])
    return results


def ids(rows: list[list[tuple[bool, str, int]]]) -> list[list[int]]:
    return [[i for _, _, i in row] for row in rows]


def test_a_batch_of_pairs_with_its_padding_and_its_probabilities(app: AppTest, analyse: Analyse, tmp_path: Path):
    analyse(app.run())
    corpus = load_corpus("copy")
    tokenizer = tokenizer_of(corpus, "encoder_decoder")
    batches = batches_for(corpus.train, tokenizer, "encoder_decoder", max_seq_len=64, batch_size=64, seed=0)
    first, pad_id = next(batches), tokenizer.pad_id or 0
    index, padded = next((i, one) for i, one in enumerate(batches, 1) if one.inputs[0].eq(pad_id).any())
    chosen = [0, 9, 18, 27, 36, 45, 54, 63]
    for i, batch in ((index, padded), (0, first)):
        app.session_state[batch_view.INDEX.key] = i
        app.run()
        shown = tables(app)
        for title, tensor in zip(("source", "decoder input", "target"), (*batch.inputs, batch.targets), strict=True):
            shape, rows = shown[title]
            assert shape == [*tensor.shape] and ids(rows) == tensor[chosen].tolist()
            for row in rows:
                assert [grey for grey, _, _ in row] == [i in (tokenizer.pad_id, IGNORED) for _, _, i in row]

    (choice,) = [box for box in app.selectbox if "untrained, with the chosen settings" in box.options]
    assert choice.value == "" and "training copy, after step 3" in choice.options
    choice.select("run copy").run()
    assert not app.exception and not app.warning
    with torch.no_grad():
        probabilities = load(tmp_path / "runs" / "copy" / "last")[0](*first.inputs).softmax(-1)
    assert f"[batch, pos, vocab] = <code>{[*probabilities.shape]}</code>" in words_of(app)
    assert f"Each of the {first.targets.numel():,} cells" in words_of(app)
    (field,) = [field for field in app.number_input if field.label == "Row"]
    for i in (0, 62):  # a row that is drawn above, and one that is not
        field.set_value(i).run()
        assert f"with probability {probabilities[i, 0, int(first.targets[i, 0])]:.4f}" in words_of(app)
        assert f"<td>{probabilities[i, 0].max():.4f}</td>" in words_of(app)


def test_windows_of_a_running_text_with_a_foreign_tokenizer(app: AppTest, analyse: Analyse, tmp_path: Path):
    folder = write_tokenizer(tmp_path / "tokens", bos_token=END, eos_token=END, pad_token=None)
    app.session_state["train-source"] = "Your own text"
    app.run()
    analyse(app.file_uploader[0].upload("lines.txt", TEXT.encode(), "text/plain").run())
    key = app.selectbox(key="train-own-box").value
    app.selectbox(key=f"train-divided-{key}-box").set_value("stream")
    app.selectbox(key=f"train-tokens-{key}-box").set_value("foreign").run()
    analyse(app.text_input(key=f"train-tokenizer-{key}-box").set_value(str(folder)).run())

    def field(label: str) -> Any:
        return next(one for one in app.number_input if one.label == label)

    field("Window length").set_value(10).run()
    field("Stride").set_value(1).run()
    assert not app.exception
    tokenizer = load_foreign(folder)
    stream = tokenizer.encode(TEXT)
    shape, rows = tables(app)["The first windows"]
    assert shape == [3, 10]
    shifted = [tokenizer.eos_id, *stream]
    expected = [row for i in range(3) for row in (shifted[i : i + 10], stream[i : i + 10])]
    assert ids(rows) == expected
    assert {"input", "target"} <= tables(app).keys()
    assert re.search(rf"\[batch, pos, vocab\] = <code>\[\d+, \d+, {tokenizer.vocab_size}\]</code>", words_of(app))
    field("Window stride (0 = window length)").set_value(4000).run()
    assert any("stride (4000) must be at most max_seq_len" in warning.value for warning in app.warning)


def test_a_file_that_was_written_anew_and_analysed_is_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "cache"))
    path, reading = tmp_path / "lines.txt", tuple(sorted(asdict(AS_MADE).items()))
    for word in ("cat", "dog"):  # with as many bytes
        path.write_text("".join(f"the {word} has {n} hats\n" for n in range(60)))
        analysed = stats_of(str(path)).to_json()
        feed = batch_view._feed(str(path), reading, "decoder_only", (8, 2, 0, None), analysed)
        assert feed is batch_view._feed(str(path), reading, "decoder_only", (8, 2, 0, None), analysed)
        assert f"the {word} has" in feed.tokenizer.decode(feed.batch(0).inputs[0][0].tolist())
