"""The film: its snapshots, those that are deleted, and that each is the trained model."""

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.errors import CheckpointError, RunError
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.training.run.film import Film, planned_snapshots

WEIGHTS = "model.safetensors"


@pytest.fixture
def film(tmp_path: Path, model: Transformer, tokenizer: Tokenizer) -> Film:
    film = Film(tmp_path)
    film.begin(model, tokenizer, {"name": "turns"})
    return film


def stir(model: Transformer) -> None:
    """Change the weights, as a step would."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.01)


def same(one: Transformer, other: Transformer) -> bool:
    others = dict(other.named_parameters())
    return all(torch.equal(parameter, others[name]) for name, parameter in one.named_parameters())


@given(st.integers(1, 100_000), st.integers(1, 10**9), st.integers(0, 300))
def test_planned_snapshots_fit_and_have_both_ends(steps: int, n_bytes: int, megabytes: int):
    snapshots = planned_snapshots(steps, snapshot_bytes=n_bytes, megabytes=megabytes)
    fitting = megabytes * 10**6 // n_bytes
    assert len(snapshots) <= min(100, fitting)
    if fitting >= 2:
        assert min(snapshots) == 0
        assert max(snapshots) == steps
    else:
        assert snapshots == frozenset()


def test_planned_snapshots_are_dense_at_the_beginning():
    """By hand: of 2,000 steps half of a hundred snapshots lie before s * ((1 + 2000/s)^(1/2) - 1), s = sqrt(2000)."""
    snapshots = sorted(planned_snapshots(2000, snapshot_bytes=1, megabytes=1))
    half = math.sqrt(2000) * (math.sqrt(1 + 2000 / math.sqrt(2000)) - 1)
    assert half == pytest.approx(257.7, abs=0.5)
    assert abs(sum(snapshot < half for snapshot in snapshots) - len(snapshots) / 2) <= 3  # early ones fall together
    assert planned_snapshots(30, snapshot_bytes=1000, megabytes=1) == frozenset(range(31))  # every step
    assert planned_snapshots(1, snapshot_bytes=1000, megabytes=1) == {0, 1}


def test_a_snapshot_is_the_model_as_it_was_bit_for_bit(film: Film, model: Transformer, tokenizer: Tokenizer):
    assert film.snapshots() == []
    film.add(0, model)
    untrained = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    stir(model)
    film.add(1_000_000, model)
    assert film.snapshots() == [0, 1_000_000]
    first, _ = film.load(0)
    assert all(torch.equal(tensor, untrained[name]) for name, tensor in first.state_dict().items())
    assert same(film.load(1_000_000)[0], model)
    path = film.folder / "000000" / WEIGHTS
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(CheckpointError, match=WEIGHTS):
        film.load(0)
    with pytest.raises(RunError, match="no snapshot at step 3; there are 0, 1000000"):
        film.load(3)


class ManySnapshots(Film):
    """A film whose snapshots weigh a megabyte each, as the size that a person chooses is in megabytes."""

    def n_bytes(self) -> int:
        return len(self.snapshots()) * 10**6


@pytest.mark.parametrize(("steps", "gone"), [((0, 1, 2, 10, 50, 51, 100), 1), ((0, 10, 20, 40, 100), 20)])
def test_what_is_thinned_out_is_closest_to_its_neighbours(
    tmp_path: Path, model: Transformer, tokenizer: Tokenizer, steps: tuple[int, ...], gone: int
):
    """On the scale on which snapshots are planned; counted in steps, 10 of the second film would be closest."""
    film = ManySnapshots(tmp_path)
    film.begin(model, tokenizer, {})
    for step in steps:
        film.add(step, model)

    def spread(step: int) -> float:
        return math.log1p(step / 10)

    film.thin(megabytes=len(steps) - 1, steps=100)
    around = {
        step: spread(after) - spread(before)
        for before, step, after in zip(steps[:-2], steps[1:-1], steps[2:], strict=True)
    }
    assert min(around, key=lambda step: around[step]) == gone
    assert film.snapshots() == sorted({*steps} - {gone})
    film.add(gone, model, is_asked=True)
    film.thin(megabytes=3, steps=100)
    assert film.snapshots() == [0, gone, 100]
    film.thin(megabytes=0, steps=100)
    assert film.snapshots() == [0, gone, 100]


def test_taken_back_it_drops_what_a_killed_process_left(film: Film, model: Transformer):
    for step in (0, 5, 9):
        film.add(step, model)
        film.heads.append({"step": step})
    half_written = film.folder / f".000007.{'0f' * 16}.new"
    half_written.mkdir()
    (half_written / WEIGHTS).write_bytes(b"half")
    (film.folder / "000005").rename(film.folder / ".000005.former")  # killed between the two renames
    film.look(3, model)
    film.now.rename(film.now.with_name(".now.former"))
    assert film.step_now() == 3  # a reader finds it all the same
    film.rewind(step=6)
    assert film.snapshots() == [0, 5]
    assert film.heads.read() == [{"step": 0}, {"step": 5}]
    assert same(film.load(5)[0], model)
    assert [path.name for path in film.folder.iterdir() if path.name.startswith(".")] == []
    assert film.step_now() == 3


def test_now_is_what_was_looked_at_last(film: Film, model: Transformer):
    assert film.step_now() is None
    with pytest.raises(RunError, match="does not contain any weights yet; send the run the command `look`"):
        film.load_now()
    film.look(3, model)
    stir(model)
    film.look(8, model)
    step, now, _ = film.load_now()
    assert film.step_now() == step == 8
    assert same(now, model)
