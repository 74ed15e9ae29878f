"""What goes with the curves of a training or an experiment when they are saved: all points, and how they are read."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pages.components.figures import Files
from pages.shared import export, models
from pages.shared.recipe import Expression, Print, call, literal, named, script

if TYPE_CHECKING:
    from headlight.analysis.training.curves import Curve
    from headlight.analysis.training.head_history import HeadHistory


def records_of(*path: str | Path) -> Expression:
    """Return the records of a file as code; `path`: its folder, and its name there."""
    from transformer_core.training.run.records import RecordFile

    return call(RecordFile, call(Path, models.at_root(Path(*path)))).read()


def weights_of(run: Path, step: int | None = None) -> str:
    """Return the folder of a run's saved weights, or of the snapshot of a step, as one writes it at the root."""
    return models.at_root(run / ("last" if step is None else f"film/{step:06}"))


def curve_files(
    curves: "Mapping[str, Curve]",
    recipe: Expression | Mapping[str, Expression],
    *,
    name: str,
    view: Callable[[], Mapping[str, str]],
    model: str | None = None,
) -> Files:
    """Return a function that makes the files of some curves.

    Args:
        curves: that are drawn, by their names.
        recipe: the same as code.
        name: of the files.
        view: gives the words of the URL.
        model: the folder of the weights.
    """
    from headlight.analysis.training.curves import curve_arrays

    last = max((int(curve.steps[-1]) for curve in curves.values() if len(curve.steps)), default=0)
    result = named("curves", literal(recipe) if isinstance(recipe, Mapping) else recipe)
    numbers = call(curve_arrays, result, last_step=last)
    return lambda: export.files(
        name=name,
        csv=lambda: curves_csv(curves),
        arrays=lambda: curve_arrays(curves),
        code=script(Print(numbers, "by name: the values and, under name_step, their steps")),
        state=view(),
        model=model,
        more={"last_step": last},
    )


def head_files(
    history: "HeadHistory", measure: str, run: Path, *, name: str, view: Callable[[], Mapping[str, str]]
) -> Files:
    """Return a function that makes the files of one measure of all heads over the steps of a run."""
    from headlight.analysis.training.head_history import HeadHistory
    from transformer_core.training.run.film import Film

    recipe = named("history", literal(HeadHistory).from_records(records_of(Film(run).heads.path)))
    last = int(history.steps[-1])
    return lambda: export.files(
        name=name,
        csv=lambda: _heads_csv(history, measure),
        arrays=lambda: history.arrays(measure),
        code=script(Print(recipe.arrays(measure, last_step=last), "steps, and by attention: [layer, head, snapshot]")),
        state=view(),
        model=weights_of(run),
        more={"measure": measure, "last_step": last},
    )


def curves_csv(curves: "Mapping[str, Curve]") -> str:
    """Return curves as a table: a line for each step, and a column for each of them."""
    import pandas as pd

    table = pd.DataFrame({name: pd.Series(curve.values, index=curve.steps) for name, curve in curves.items()})
    return str(table.sort_index().rename_axis("step").to_csv())


def _heads_csv(history: "HeadHistory", measure: str) -> str:
    """Return one measure of all heads as a table: a line for each snapshot."""
    import pandas as pd

    columns: dict[str, Any] = {
        f"{attention} L{layer}.H{head}": heads[layer, head]
        for attention, heads in history.by_attention(measure).items()
        for layer in range(heads.shape[0])
        for head in range(heads.shape[1])
    }
    return str(pd.DataFrame(columns, index=pd.Index(history.steps, name="step")).to_csv())
