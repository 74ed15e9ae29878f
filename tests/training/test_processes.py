"""A batch divided among processes, against a naive mean; and a single process."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
import torch.distributed as dist
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_core.corpora.batch_order import IGNORED, Batch
from transformer_core.errors import ConfigError
from transformer_core.training.processes import ALONE, Microbatch, OtherProcessError, Processes

VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK")


def a_batch(n_targets_in_rows: list[int]) -> Batch:
    """Rows of six tokens, each with so many targets that count."""
    n_rows = len(n_targets_in_rows)
    tokens = torch.arange(6 * n_rows).reshape(n_rows, 6)
    counts = torch.arange(6) < torch.tensor(n_targets_in_rows)[:, None]
    return Batch((tokens,), torch.where(counts, tokens, IGNORED))


def parts_of_all(batch: Batch, size: int, n_parts: int) -> Iterator[list[Microbatch]]:
    for rank in range(size):
        yield list(Processes(rank=rank, size=size).parts(batch, n_parts))


@settings(max_examples=60)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=9).filter(any), st.integers(1, 4), st.integers(1, 5))
def test_however_a_batch_is_divided_its_mean_losses_are_the_same(rows: list[int], size: int, n_parts: int):
    """Each row has this many targets, and as many pronouns, which have two antecedents each and their own loss."""
    cells = (torch.arange(6) < torch.tensor(rows[::-1])[:, None])[..., None] & (torch.arange(6) < 2)
    batch = a_batch(rows)._replace(antecedents=cells)
    losses = np.random.default_rng(0).random(batch.targets.numel())  # of each token, which is its own number

    mean, guidance, seen = 0.0, 0.0, []
    for parts in parts_of_all(batch, size, n_parts):
        assert len(parts) == n_parts  # each process goes as often forward and back, or the others would wait for ever
        for part in parts:
            assert len(part.batch.targets) >= 1  # a row there must be; without weight it is idle
            own = part.batch.targets[part.batch.targets != IGNORED]
            if part.weight:
                mean += part.weight * float(losses[own].mean()) / size
                seen += own.tolist()
            if part.guidance_weight:
                assert part.batch.antecedents is not None
                pronouns = part.batch.inputs[0][part.batch.antecedents.any(dim=-1)]
                guidance += part.guidance_weight * float(losses[pronouns].mean()) / size
    counting = batch.targets[batch.targets != IGNORED]
    assert sorted(seen) == counting.tolist()
    assert math.isclose(mean, float(losses[counting].mean()), rel_tol=1e-9)
    assert math.isclose(guidance, float(losses[batch.inputs[0][cells.any(dim=-1)]].mean()), rel_tol=1e-9)


def test_what_torchrun_says(monkeypatch: pytest.MonkeyPatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert Processes.from_environment() == ALONE
    for name, value in zip(VARIABLES, ("3", "4", "1"), strict=True):
        monkeypatch.setenv(name, value)
    actual = Processes.from_environment()
    assert actual == Processes(rank=3, size=4, local_rank=1)
    assert not actual.is_first
    monkeypatch.setenv("RANK", "three")
    assert Processes.from_environment() == ALONE


def test_the_device_of_a_process():
    second = Processes(rank=1, size=2, local_rank=1)
    if not torch.cuda.device_count():
        assert second.device("auto") == "auto"
        with pytest.raises(ConfigError, match=r"no GPU for process 1 .* has 0; .*--device cpu"):
            second.device("cuda")


def test_no_two_steps_and_no_two_processes_draw_alike():
    seeds = {
        Processes(rank=rank, size=3).step_seed(seed, step)
        for rank in range(3)
        for seed in (0, 1, 7)
        for step in range(1, 50)
    }
    assert len(seeds) == 3 * 3 * 49


def test_alone_there_is_nobody_to_ask():
    batch = a_batch([2, 3])
    assert list(ALONE.parts(batch, 1)) == [Microbatch(batch, 1.0)]
    assert ALONE.agree("so") == "so"
    assert ALONE.first_alone(lambda: 3) == ALONE.first_first(lambda: 3) == 3
    assert ALONE.total(torch.tensor(2.5)).item() == 2.5
    model = torch.nn.Linear(2, 2)
    assert ALONE.wrap(model) is model
    ALONE.join(torch.device("cpu"))
    ALONE.leave()


def test_only_a_lost_connection_is_told_as_one():
    both = Processes(rank=0, size=2)
    with (
        pytest.raises(OtherProcessError, match="one of the 2 processes of this training ended or was killed"),
        both.connected(),
    ):
        raise RuntimeError("[.../third_party/gloo/.../pair.cc:537] Read error: Connection reset by peer")
    with pytest.raises(RuntimeError, match=r"^some defect"), both.connected():
        raise RuntimeError("some defect")


def test_a_process_that_is_gone_before_it_was_found_is_told(monkeypatch: pytest.MonkeyPatch):
    def init(*_: object, **__: object) -> None:
        raise dist.DistNetworkError("Connection reset by peer")

    monkeypatch.setattr(dist, "init_process_group", init)
    with pytest.raises(OtherProcessError, match="one of the 2 processes"):
        Processes(rank=1, size=2).join(torch.device("cpu"))
