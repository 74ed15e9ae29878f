"""The code of the Film page: snapshots of a training on one text, and their figures with all downloads."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headlight.analysis.heads.table import pattern_arrays, pattern_csv
from headlight.figures import TokenGrid
from pages.shared import drawing, models, runs
from pages.shared.readings import MAX_NEW_TOKENS
from pages.shared.recipe import Expression, Print, Unwritten, call, each, literal, named, through
from pages.shared.run_figures import weights_folder
from pages.shared.runs import Run
from pages.shared.view import run_state
from pages.train.film import film_readings
from pages.train.film.film_readings import SnapshotData


def film(run: Run, name: str = "film") -> Expression:
    """Return the film of a run."""
    from transformer_core.training.run.film import Film

    result: Expression = named(name, call(Film, call(Path, models.at_root(run.path))))
    return result


def fixed_text(data: SnapshotData, text: str | None = None) -> Expression:
    """Return the tokens that all snapshots read, of the shown text or of another one."""
    from headlight.analysis.texts.fixed_text import fix_text

    reading = data.read.reading
    config = runs.configurations(data.run)[0]
    target = run_state.TARGET.value if text is None and config.architecture == "encoder_decoder" else ""
    n_snapshots = len(reading.steps)
    if text is None:
        n_snapshots += len(data.read.damaged) + data.read.n_left_out
    last, tokenizer = named("last, tokenizer", film(data.run).load(int(reading.steps[-1])))
    return call(
        fix_text,
        last,
        tokenizer,
        run_state.TEXT.value if text is None else text,
        **({"target": target} if target else {}),
        max_tokens=film_readings.room(config, n_snapshots),
        max_new_tokens=MAX_NEW_TOKENS,
    )


def snapshot(data: SnapshotData, step: int, name: str, *, run: Run | None = None) -> Expression:
    """Return a snapshot's result for the shown text, under a name; `run`: another training."""
    from headlight.analysis.training.film_reading import read_snapshots

    of = film(data.run) if run is None else film(run, "other_film")
    result: Expression = named(name, call(next, call(read_snapshots, of, [step], named("fixed", fixed_text(data)))))
    return result


def draw(
    data: SnapshotData,
    figure: Callable[..., Any],
    *patterns: tuple[Expression, tuple[int, int], np.ndarray],
    title: str,
    of: tuple[Run, int] | None = None,
    axes: Mapping[str, Any] | None = None,
    width: int | None = None,
    **more: Any,
) -> None:
    """Draw the pattern of a head, or how two of them differ, with all files that can be saved.

    Args:
        data: what the page shows.
        figure: the function that draws it.
        patterns: for each, the snapshot as code, layer and head, and the numbers, which are not computed again.
        title: of the figure.
        of: the training and its snapshot whose weights are saved with it; None: those that are chosen.
        axes: labels and names, as `TokenGrid` takes them, and the mask; None: those of the chosen head.
        width: px that the figure is laid out for; None: the usual.
        more: as for `pages.shared.drawing.draw`.
    """
    attention, axes, (run, step) = data.head.attention, axes or data.axes, of or (data.run, data.step)
    weights = [_known(snapshot.patterns[attention][place], values) for snapshot, place, values in patterns]
    last, (layer, _), _ = patterns[-1]
    labels = {name: of for name, of in axes.items() if name != "mask"}
    grid = call(TokenGrid, **labels, **({} if width is None else {"width": Unwritten(width)}))
    mask = _known(last.masks[attention][layer], axes["mask"])
    shown = patterns[-1][2] if len(patterns) == 1 else patterns[1][2] - patterns[0][2]
    table = shown, axes["query_tokens"], axes["key_tokens"], axes["mask"]
    drawing.draw(
        call(figure, *weights, grid, title=title, mask=mask),
        Print(weights[0] if len(patterns) == 1 else call(np.subtract, *reversed(weights)), "[query, key]"),
        title=title,
        csv=lambda: pattern_csv(*table),
        arrays=lambda: pattern_arrays(*table),
        model=weights_folder(run.path, step),
        view=run_state.in_words,
        height=None,
        state_of=lambda: {"ids": [[*ids] for ids in data.read.reading.fixed.inputs]},
        **more,
    )


def matching(data: SnapshotData, other: Run, step: int, texts: Sequence[str], result: Any) -> Expression:
    """Return the matching of the heads of two snapshots on the shown text and others; `result` is its value."""
    from headlight.analysis.heads.likeness import match_heads
    from headlight.analysis.training.film_reading import read_snapshots

    fixed = named("fixed", literal([fixed_text(data), *(fixed_text(data, text) for text in texts)]))
    attention = data.head.attention

    def read(name: str, of: Expression, at: int) -> Expression:
        reading: Expression = named(
            name, each("text", fixed, lambda text: call(next, call(read_snapshots, of, [at], text)))
        )
        return reading

    ours, theirs = read("ours", film(data.run), data.step), read("theirs", film(other, "other_film"), step)
    patterns = (each("one", side, lambda one: one.patterns[attention]) for side in (ours, theirs))
    masks = each("one", ours, lambda one: one.masks[attention].any(axis=0))
    recipe: Expression = named("matching", _known(call(match_heads, *patterns, masks=masks), result))
    return recipe


def _known(recipe: Expression, value: Any) -> Expression:
    return through(recipe, lambda _: value)
