"""One run at work: what its card says, and that what it saves is where it stands."""

from pathlib import Path

import torch

from tests.training.small_runs import MODEL, begin, corpus, go_on, work

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


def test_what_is_saved_is_where_it_stands(tmp_path: Path, corpus: Path):
    job = begin(tmp_path / "run", corpus)
    work(job, until=7)
    tensors = job.optimizer.tensors()
    again = go_on(tmp_path / "run")
    assert (again.step, again.batches.position) == (7, job.batches.position)
    assert again.seconds == job.seconds > 0
    assert again.metrics == job.metrics != {}
    for name, tensor in job.model.state_dict().items():
        assert torch.equal(tensor, again.model.state_dict()[name])
    found = again.optimizer.tensors()
    assert found.keys() == tensors.keys() != set()
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    again.directory.release()


def test_a_run_begun_twice_with_one_seed_is_the_same_run(tmp_path: Path, corpus: Path):
    jobs = [begin(tmp_path / name, corpus, seed=seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))]
    first, same, other = (torch.cat([p.flatten() for p in job.model.parameters()]) for job in jobs)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
    for job in jobs:
        job.directory.release()
