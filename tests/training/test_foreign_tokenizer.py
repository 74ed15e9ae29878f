"""A run with a tokenizer from a folder: it is recorded, saved with the model, and the run continues exactly."""

import json
import shutil
from pathlib import Path

import pytest

from tests.corpora.test_corpus_tokenizer import END, write_tokenizer
from tests.training.small_runs import MODEL, TRAINING, corpus, go_on, logged, work
from transformer_core.checkpoints.load import load
from transformer_core.errors import CorpusError, RunError
from transformer_core.training.run import begin as beginning
from transformer_core.training.run.job import Job
from transformer_core.training.run.request import Settings

__all__ = ["corpus"]  # a fixture


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tokenizer(tmp_path / "Like GPT-2", bos_token=END, eos_token=END, pad_token=None)


def begin(path: Path, corpus: Path, folder: Path, **training: object) -> Job:
    settings = Settings(
        model=MODEL, training=TRAINING | training, reading={"tokens": str(folder), "division": "stream"}
    )
    return beginning.begin(path, corpus_name=str(corpus), preset="tiny-decoder", settings=settings)


def test_a_run_records_its_tokenizer_and_goes_on_exactly(tmp_path: Path, corpus: Path, folder: Path):
    work(begin(tmp_path / "whole", corpus, folder, stride=3))
    work(begin(tmp_path / "broken", corpus, folder, stride=3), until=5)
    shutil.rmtree(folder)  # the run has its own
    work(go_on(tmp_path / "broken"))
    assert logged(tmp_path / "broken") == logged(tmp_path / "whole")

    request = json.loads((tmp_path / "whole" / "run.json").read_text())
    assert request["training"]["stride"] == 3 and request["reading"]["tokens"] == str(folder)
    model, tokenizer = load(tmp_path / "whole" / "last")
    config = model.config
    assert (config.vocab_size, config.pad_id, config.bos_id, config.eos_id) == (301, None, 300, 300)
    assert tokenizer.encode_for("a c e", "decoder_only")[0] == 300


def test_a_run_that_was_never_saved_needs_the_same_tokenizer(tmp_path: Path, corpus: Path, folder: Path):
    begin(tmp_path / "run", corpus, folder).directory.release()
    write_tokenizer(folder, special=(END, "<other>"), bos_token=END, eos_token="<other>")
    with pytest.raises(RunError, match=r"the tokenizer .*Like GPT-2 has changed since this run was started"):
        go_on(tmp_path / "run")


def test_a_stride_is_for_running_texts_and_leaves_nothing_out(tmp_path: Path, corpus: Path):
    for reading, stride, message in (
        ({"division": "lines"}, 1, "stride only applies to windows of a continuous text; set division=stream"),
        ({"division": "stream"}, 9, r"stride \(9\) must be at most max_seq_len \(8\)"),
    ):
        settings = Settings(model=MODEL, training=TRAINING | {"stride": stride}, reading=reading)
        with pytest.raises(CorpusError, match=message):
            beginning.begin(tmp_path / "run", corpus_name=str(corpus), preset="tiny-decoder", settings=settings)
        assert not (tmp_path / "run").exists()
