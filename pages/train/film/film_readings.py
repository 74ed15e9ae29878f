"""The cached model runs of all snapshots of a film on one text, and the data that the page shows of one snapshot."""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headlight.analysis.heads.measures import HeadName
from headlight.analysis.trace.attentions import ATTENTIONS, attentions_of
from headlight.analysis.trace.cells import strongest_cells
from headlight.figures import isolate
from pages.components.overview import Pictures
from pages.shared import cache, devices, run_readings, runs
from pages.shared.heads import axis_names
from pages.shared.readings import MAX_NEW_TOKENS, max_tokens
from pages.shared.runs import Run
from pages.shared.sources import Source
from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError, RunError, mark

if TYPE_CHECKING:
    from headlight.analysis.trace.traced_forward import FixedText
    from headlight.analysis.training.film_reading import DamagedSnapshot, FilmReading, SnapshotReading

MOST_PATTERN_BYTES = 40_000_000  # memory limit of a film's patterns; a text is truncated to what fits
LEAST_TOKENS = 8  # however many heads there are
LABEL_LENGTH = 30  # characters of a token in a tip

OnSnapshot = Callable[[int, int, int], None]
"""Told how many snapshots are read, of how many, and the step of the last one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FilmRead:
    """A text read at all snapshots that can be shown."""

    identity: str  # identifies the text, its tokens and the snapshots; the key of all cached results
    reading: "FilmReading"
    damaged: "tuple[DamagedSnapshot, ...]"
    n_left_out: int  # snapshots omitted for lack of memory in the browser
    side: int  # rows and columns of a picture at most


@dataclass(frozen=True, kw_only=True, eq=False)
class SnapshotData:
    """A snapshot and a head of a film; all parts of the page draw from it."""

    run: Run
    read: FilmRead
    place: int  # index of the snapshot among those that were read
    head: HeadName

    @property
    def step(self) -> int:
        """The chosen snapshot."""
        return int(self.read.reading.steps[self.place])

    def pattern(self, place: int) -> Any:
        """Return the chosen head's pattern [query, key] at a snapshot."""
        attention, layer, head = self.head
        return self.read.reading.patterns[attention][place, layer, head]

    @property
    def axes(self) -> dict[str, Any]:
        """Tokens, names and mask of all figures of the chosen head."""
        mask = self.read.reading.masks[self.head.attention][self.head.layer]
        return {**self.axes_of(self.head.attention), "mask": mask}

    def axes_of(self, attention: str) -> dict[str, Any]:
        """Return the tokens and names of an attention, as `TokenGrid` takes them."""
        queries, keys = self.read.reading.fixed.labels(attention)
        names = axis_names(self.read.reading.fixed.architecture, attention)
        return {"query_tokens": queries, "key_tokens": keys, **names}

    def file_name(self, *more: str) -> str:
        """Return the name of a file that is saved, without its ending."""
        attention, layer, head = self.head
        return "-".join([self.run.name, *more, attention, f"layer{layer}", f"head{head}"])


def read(run: Run, snapshots: Sequence[int], text: str, target: str, on_snapshot: OnSnapshot) -> FilmRead:
    """Return a text read at a film's snapshots, all teacher-forced on what the last one writes or on a typed target.

    Raises:
        HeadlightError: no snapshot can be read, or the text cannot.
    """
    from headlight.analysis.training.film_reading import (
        DamagedSnapshot,
        FilmReading,
        SnapshotReading,
        read_snapshots,
    )
    from headlight.figures.heatmaps.overview import fit_frames, thinned_places

    film = run_readings.film(run)
    config = runs.configurations(run)[0]
    tokens = fixed(run, snapshots, text, target)
    shapes = {}
    for name, attention in attentions_of(config).items():
        n_queries, n_keys = map(len, tokens.labels(name))
        shapes[name] = attention.n_layers(config), config.n_heads, n_queries, n_keys
    side, n_frames = fit_frames(shapes, len(snapshots))
    steps = [snapshots[place] for place in thinned_places(len(snapshots), n_frames)]
    sources = {step: run_readings.source(run, step) for step in steps}
    missing = [step for step in steps if not read_one.holds(sources[step], tokens)]
    known: dict[int, SnapshotReading | DamagedSnapshot] = {
        step: read_one(sources[step], tokens) for step in steps if step not in missing
    }
    reader = read_snapshots(film, missing, tokens)
    while True:
        with devices.on(devices.CPU):  # acquired for each snapshot, so that others can run in between
            snapshot = next(reader, None)
        if snapshot is None:
            break
        known[snapshot.step] = snapshot
        if isinstance(snapshot, SnapshotReading):
            read_one.put(snapshot, sources[snapshot.step], tokens)
        on_snapshot(len(known) - len(steps) + len(missing), len(missing), snapshot.step)
    results = [known[step] for step in steps if step in known]
    read_ones = [snapshot for snapshot in results if isinstance(snapshot, SnapshotReading)]
    if not read_ones:
        raise RunError("no snapshot of the film of {run} can be read; train it again", run=run.name)
    shown = f"{run.path} {run_readings.version(run)} {tokens} {[snapshot.step for snapshot in read_ones]}"
    identity = hashlib.sha256(shown.encode()).hexdigest()[:16]
    return FilmRead(
        identity=identity,
        reading=cache.get(mark("snapshots"), identity, lambda: FilmReading.of(tokens, read_ones)),
        damaged=tuple(snapshot for snapshot in results if isinstance(snapshot, DamagedSnapshot)),
        n_left_out=len(snapshots) - len(steps),
        side=side,
    )


def fixed(run: Run, snapshots: Sequence[int], text: str, target: str) -> "FixedText":
    """Return the tokens of a text, with the output of the last readable snapshot or a typed target.

    Raises:
        HeadlightError: no snapshot can be read, or the text cannot.
    """
    most = room(runs.configurations(run)[0], len(snapshots))
    trouble: Exception = RunError("{run} has no snapshots", run=run.name)
    for step in reversed(snapshots):
        try:
            return _fixed_by(run_readings.source(run, step), text, target, most)
        except (CheckpointError, RunError) as error:
            trouble = error
    raise trouble


def pictures(read: FilmRead) -> tuple[Pictures, bytes]:
    """Return the pictures of all heads at all snapshots and their strongest cells, as `FilmStrip` takes them."""
    return cache.get(mark("snapshot thumbnails"), read.identity, lambda: _pictures(read))


def labels(fixed: "FixedText", attention: str) -> tuple[list[str], list[str]]:
    """Return the labels of queries and keys, short enough for a tip."""
    queries, keys = fixed.labels(attention)
    return [isolate(label[:LABEL_LENGTH]) for label in queries], [isolate(label[:LABEL_LENGTH]) for label in keys]


def room(config: ModelConfig, n_snapshots: int) -> int:
    """Return how many tokens of a text fit into memory at this many snapshots."""
    n_heads = config.n_heads * sum(attention.n_layers(config) for attention in attentions_of(config).values())
    most = math.isqrt(MOST_PATTERN_BYTES // (4 * n_heads * n_snapshots))
    return max(LEAST_TOKENS, min(max_tokens(config), most))


@cache.by_arguments(mark("fixed texts"))
def _fixed_by(source: Source, text: str, target: str, most: int) -> "FixedText":
    from headlight.analysis.texts.fixed_text import fix_text

    model, tokenizer = source.load()
    takes_target = model.config.architecture == "encoder_decoder"
    with devices.on(devices.CPU):
        return fix_text(
            model,
            tokenizer,
            text,
            target=target or None if takes_target else None,
            max_tokens=most,
            max_new_tokens=MAX_NEW_TOKENS,
        )


@cache.by_arguments(mark("snapshots of films"))
def read_one(source: Source, tokens: "FixedText") -> "SnapshotReading":
    """Return the result of a snapshot of a run, or of one that reads like it, for a fixed text.

    Raises:
        HeadlightError: this snapshot cannot be read.
    """
    from headlight.analysis.training.film_reading import SnapshotReading, read_snapshots
    from transformer_core.training.run.film import Film

    run, step = Path(source.path), source.step
    assert step is not None, "a snapshot has a step"
    with devices.on(devices.CPU):
        snapshot = next(read_snapshots(Film(run), [step], tokens), None)
    if isinstance(snapshot, SnapshotReading):
        return snapshot
    if snapshot is None:
        raise RunError("step {step:,} of {run} no longer exists; choose another", step=step, run=run.name)
    raise RunError("step {step:,} of {run} cannot be read: {reason}", step=step, run=run.name, reason=snapshot.reason)


def _pictures(read: FilmRead) -> tuple[Pictures, bytes]:
    from headlight.figures.heatmaps.overview import pooled_levels

    groups, cells, strongest = [], [], []
    for name, patterns in read.reading.patterns.items():
        n_snapshots, n_layers, n_heads = patterns.shape[:3]
        mask = read.reading.masks[name][:, None]
        pooled = pooled_levels(patterns, mask, side=read.side)
        rows, columns = pooled.shape[-2:]
        title = ATTENTIONS[name].title
        groups.append(
            {"attention": name, "title": title, "layers": n_layers, "heads": n_heads, "queries": rows, "keys": columns}
        )
        cells.append(pooled.reshape(n_snapshots, -1))
        queries, keys, weights = strongest_cells(patterns, mask)
        triples = np.stack([queries, keys, np.rint(100 * weights)], axis=-1)
        strongest.append(triples.reshape(n_snapshots, -1).astype("<u2"))
    levels = np.concatenate(cells, axis=1).tobytes()
    pictures = Pictures(groups=groups, levels=levels, version=read.identity)
    return pictures, np.concatenate(strongest, axis=1).tobytes()
