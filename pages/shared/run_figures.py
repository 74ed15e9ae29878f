"""The curves of a training or an experiment, saved with all their points and the code that reads them."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pages.shared import drawing, models
from pages.shared.recipe import Expression, Print, call, literal, named, script

if TYPE_CHECKING:
    from headlight.analysis.training.curves import Curve
    from headlight.analysis.training.head_history import HeadHistory
    from headlight.figures import Figure


def records_of(*path: str | Path) -> Expression:
    """Return the records of a file as code; `path`: its folder, and its name there."""
    from transformer_core.training.run.records import RecordFile

    return call(RecordFile, call(Path, models.at_root(Path(*path)))).read()


def weights_folder(run: Path, step: int | None = None) -> str:
    """Return the folder of a run's saved weights, or of the snapshot of a step, as one writes it at the root."""
    return models.at_root(run / ("last" if step is None else f"film/{step:06}"))


def draw_curves(
    figure: "Figure", curves: "Mapping[str, Curve]", recipe: Expression | Mapping[str, Expression], **how: Any
) -> None:
    """Draw curves over steps, with their points to be saved.

    Args:
        figure: is drawn.
        curves: that it shows, by their names.
        recipe: the same as code.
        how: as for `drawing.draw_figure`.
    """
    from headlight.analysis.training.curves import curve_arrays

    last = max((int(curve.steps[-1]) for curve in curves.values() if len(curve.steps)), default=0)
    result = named("curves", literal(recipe) if isinstance(recipe, Mapping) else recipe)
    numbers = Print(call(curve_arrays, result, last_step=last), "by name: the values and, under name_step, their steps")
    drawing.draw_figure(
        figure,
        csv=lambda: curves_csv(curves),
        arrays=lambda: curve_arrays(curves),
        code=lambda: script(numbers),
        state_of=lambda: {"last_step": last},
        **how,
    )


def draw_heads(figure: "Figure", history: "HeadHistory", measure: str, run: Path, **how: Any) -> None:
    """Draw one measure of all heads over the steps of a run; `how`: as for `drawing.draw_figure`."""
    from headlight.analysis.training.head_history import HeadHistory
    from transformer_core.training.run.film import Film

    recipe = named("history", literal(HeadHistory).from_records(records_of(Film(run).heads.path)))
    last = int(history.steps[-1])
    numbers = Print(recipe.arrays(measure, last_step=last), "steps, and by attention: [layer, head, snapshot]")
    drawing.draw_figure(
        figure,
        csv=lambda: _heads_csv(history, measure),
        arrays=lambda: history.arrays(measure),
        code=lambda: script(numbers),
        model=weights_folder(run),
        state_of=lambda: {"measure": measure, "last_step": last},
        **how,
    )


def curves_csv(curves: "Mapping[str, Curve]") -> str:
    """Return curves as a table: a line for each step, and a column for each of them."""
    import pandas as pd

    table = pd.DataFrame({name: pd.Series(curve.values, index=curve.steps) for name, curve in curves.items()})
    return str(table.sort_index().rename_axis("step").to_csv())


def _heads_csv(history: "HeadHistory", measure: str) -> str:
    import pandas as pd

    columns: dict[str, Any] = {
        f"{attention} L{layer}.H{head}": heads[layer, head]
        for attention, heads in history.by_attention(measure).items()
        for layer in range(heads.shape[0])
        for head in range(heads.shape[1])
    }
    return str(pd.DataFrame(columns, index=pd.Index(history.steps, name="step")).to_csv())
