"""One text at the snapshots of a film: the same numbers as each snapshot's own model gives when loaded alone."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.texts.fixed_text import fix_text
from headlight.analysis.trace.attentions import attentions_of
from headlight.analysis.training.curves import Curve
from headlight.analysis.training.film_reading import (
    DamagedSnapshot,
    FilmReading,
    SnapshotReading,
    read_snapshots,
    reads_like,
    values_at,
)
from tests.headlight.analysis.conftest import TEXT_OF, TEXTS, Made
from transformer_core.config import Architecture
from transformer_core.errors import CheckpointError
from transformer_core.training.run.film import Film

Make = Callable[..., Made]
STEPS = (0, 3, 20)
each_architecture = pytest.mark.parametrize("architecture", TEXT_OF)


Made3 = tuple[Film, list[Made]]


@pytest.fixture(scope="module")
def films(make: Make, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Made3]:
    """Films of three snapshots that have nothing in common, and their models."""
    films: dict[str, Made3] = {}
    for architecture in TEXT_OF:
        film, result = Film(tmp_path_factory.mktemp("run")), [make(architecture, seed=step) for step in STEPS]
        film.begin(*result[0], {"examples": [TEXT_OF[architecture]]})
        for step, (model, _) in zip(STEPS, result, strict=True):
            film.add(step, model)
        films[architecture] = film, result
    return films


@pytest.fixture
def to_change(films: dict[str, Made3], tmp_path: Path) -> Made3:
    film, result = films["encoder_decoder"]
    copytree(film.folder, tmp_path / "film")
    return Film(tmp_path), result


@each_architecture
def test_each_snapshot_gives_what_its_own_model_gives(films: dict[str, Made3], architecture: Architecture):
    film, result = films[architecture]
    fixed = fix_text(*result[-1], TEXT_OF[architecture])
    snapshots = [*read_snapshots(film, STEPS, fixed)]
    for snapshot, step in zip(snapshots, STEPS, strict=True):
        assert isinstance(snapshot, SnapshotReading) and snapshot.step == step
        model, _ = film.load(step)
        with torch.inference_mode(), tc.capture(model, "*.hook_pattern") as acts:
            log_probs = model(*(torch.tensor([ids]) for ids in fixed.inputs)).log_softmax(-1)[0]
        for name, attention in attentions_of(model.config).items():
            by_hand = torch.stack([acts[attention.site(layer)][0] for layer in range(len(snapshot.patterns[name]))])
            np.testing.assert_allclose(snapshot.patterns[name], by_hand.numpy(), rtol=0, atol=1e-6)
        by_hand_of_tokens = [log_probs[at, token] for at, token in zip(fixed.judged, fixed.expected, strict=True)]
        np.testing.assert_allclose(snapshot.log_probs, by_hand_of_tokens, rtol=1e-6, atol=1e-6)


def test_a_snapshot_is_found_by_the_nearest_step_and_passed_over_where_it_was_thinned_out(films: dict[str, Made3]):
    film, result = films["decoder_only"]
    fixed = fix_text(*result[0], "The cat")
    steps = (0, 1, 3, 7, 20, 21)
    results = [m for m in read_snapshots(film, steps, fixed) if isinstance(m, SnapshotReading)]
    reading = FilmReading.of(fixed, results[::-1])
    assert reading.steps.tolist() == [*STEPS]
    assert [reading.place(step) for step in (0, 1, 2, 3, 11, 12, 20, 10**90)] == [0, 0, 1, 1, 1, 2, 2, 2]


def test_without_a_blank_nothing_is_judged(films: dict[str, Made3]):
    film, result = films["encoder_only"]
    fixed = fix_text(*result[0], "The cat.")
    reading = FilmReading.of(fixed, [m for m in read_snapshots(film, STEPS, fixed) if isinstance(m, SnapshotReading)])
    assert reading.log_probs.shape == (3, 0)
    assert np.isnan(reading.loss).all() and np.isnan(reading.mean_probability).all()


def truncated(film: Film, config: tc.ModelConfig) -> None:
    weights = film.folder / "000003" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])


def of_another_model(film: Film, config: tc.ModelConfig) -> None:
    film.add(3, tc.build(replace(config, d_ff=16)))


def diverged(film: Film, config: tc.ModelConfig) -> None:
    model = tc.build(config)
    with torch.no_grad():
        next(model.parameters()).fill_(torch.nan)
    film.add(3, model)


@pytest.mark.parametrize(
    ("damage", "words"),
    [(truncated, "damaged or truncated"), (of_another_model, "does not match"), (diverged, "diverged")],
)
def test_a_damaged_snapshot_is_told_and_the_others_are_read(to_change: Made3, damage: Any, words: str):
    film, result = to_change
    damage(film, result[0][0].config)
    first, bad, last = read_snapshots(film, STEPS, fix_text(*result[-1], TEXTS[0]))
    assert isinstance(bad, DamagedSnapshot) and bad.step == 3 and words in str(bad.reason)
    assert isinstance(first, SnapshotReading) and isinstance(last, SnapshotReading)


def test_films_of_models_of_one_shape_read_alike(films: dict[str, Made3], to_change: Made3, make: Make, tmp_path: Path):
    film, _ = films["encoder_decoder"]
    others = [films["decoder_only"][0]]
    shapes: dict[str, dict[str, Any]] = {"longer": {"max_seq_len": 40}, "letters": {"kind": "character"}}
    for name, changes in shapes.items():
        (tmp_path / name).mkdir()
        others.append(Film(tmp_path / name))
        others[-1].begin(*make("encoder_decoder", **changes), {})
    assert reads_like(film, film) and reads_like(film, to_change[0])
    assert not any(reads_like(film, other) for other in others)
    with pytest.raises(CheckpointError):
        reads_like(film, Film(tmp_path / "none"))


def test_a_curve_at_the_snapshots_of_a_film():
    curve = Curve(np.array([10, 20, 40]), np.array([3.0, 2.0, 1.0]))
    assert values_at(curve, np.array([0, 10, 15, 30, 40, 90])).tolist() == [3.0, 3.0, 2.5, 1.5, 1.0, 1.0]
