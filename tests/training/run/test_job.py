"""One run at work: what its card says, and that what it saves is where it stands."""

from pathlib import Path

from tests.training.small_runs import MODEL, begin, corpus, work

__all__ = ["corpus"]  # a fixture


def test_the_card_says_what_it_is_and_how_far_it_has_come(tmp_path: Path, corpus: Path):
    job = begin(tmp_path / "run", corpus, seed=5)
    card = job.card()
    assert (card["name"], card["kind"]) == ("letters", "decoder-only")
    assert card["trained"] == {"steps": 0, "seed": 5, "minutes": 0.0, "command": job.directory.request.command}
    assert card["metrics"] == {}
    assert card["corpus"]["fingerprint"] == job.corpus.fingerprint
    vocab_size, width, inner = job.model.config.vocab_size, MODEL["d_model"], MODEL["d_ff"]
    assert card["parameters"] == sum(parameter.numel() for parameter in job.model.parameters())
    assert card["parameters"] >= width * vocab_size + 4 * width * width + 2 * width * inner
    work(job)
    assert job.is_complete
    card = job.card()
    assert card["trained"]["steps"] == 12
    assert card["metrics"].keys() >= {"loss", "accuracy"}
    assert card["trained"]["minutes"] == round(job.seconds / 60, 2)
