"""A training's end: a checkpoint with the training's card, and what the heads do."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from headlight.analysis.heads.scores import score_heads
from headlight.analysis.training import describing
from headlight.analysis.training.describing import describe_heads
from transformer_core.checkpoints.checkpoint import read_card
from transformer_core.checkpoints.load import load
from transformer_core.corpora import load_corpus
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.errors import CheckpointError, RunError
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Tokenizer
from transformer_core.training.run.begin import begin
from transformer_core.training.run.directory import keep_run
from transformer_core.training.run.request import Settings
from transformer_core.training.run.worker import work

SMALL = {"d_model": 16, "d_ff": 32, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1}


def test_kept_it_is_a_checkpoint_with_the_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "cache"))
    settings = Settings(model=SMALL, training={"steps": 2, "evaluate_pairs": 2, "film_megabytes": 0})
    job = begin(tmp_path / "run", corpus_name="copy", preset="tiny", settings=settings)
    with pytest.raises(RunError, match="has not saved any weights yet"):
        keep_run(tmp_path / "run", tmp_path / "kept")
    for _ in work(job, stop_reason=lambda: "enough"):
        pass
    torch.set_flush_denormal(False)
    for _ in range(2):  # an older checkpoint is replaced
        assert keep_run(tmp_path / "run", tmp_path / "kept", title="Mine") == 1
    model, _ = load(tmp_path / "kept")
    assert all(torch.equal(parameter, job.model.get_parameter(name)) for name, parameter in model.named_parameters())
    card, saved = read_card(tmp_path / "kept"), read_card(tmp_path / "run" / "last")
    assert card == saved | {"name": "kept", "title": "Mine"}
    measured = []

    def watched(model: Transformer, tokenizer: Tokenizer, items: Sequence[Any]) -> Any:
        measured.append(items)
        return score_heads(model, tokenizer, items)

    monkeypatch.setattr(describing, "score_heads", watched)
    describe_heads(tmp_path / "run", tmp_path / "kept", n_scored=3, n_usual=4)
    assert [[*items] for items in measured] == [[*load_corpus("copy").held_out[:3]]]
    described = read_card(tmp_path / "kept")
    assert {name: value for name, value in described.items() if name not in ("heads", "usual")} == card
    results = []
    for pair in load_corpus("copy").held_out[:4]:
        source = torch.tensor([load(tmp_path / "kept")[1].encode_for(pair.source, "encoder_decoder")])
        written = greedy_decode(model, source).tokens
        log_probs = model(source, written[:, :-1])[0].detach().log_softmax(-1).gather(-1, written[0, 1:, None])
        results.append(float(log_probs.mean().exp()))
    low, high = sorted(results)[:2]
    expected = low + 0.03 * (high - low)  # at 1 % of the way through three steps
    assert described["usual"] == {"pairs": 4, "least_probability": pytest.approx(expected, abs=2e-4)}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        keep_run(tmp_path / "run", tmp_path / "other")
