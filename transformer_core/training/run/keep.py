"""Save the model of a run as a checkpoint."""

from pathlib import Path

from transformer_core.checkpoints.checkpoint import refuse_to_replace, save
from transformer_core.checkpoints.folder import real_path
from transformer_core.errors import RunError
from transformer_core.instrument.finite import not_finite_weights, note_on_weights
from transformer_core.reasons import reason
from transformer_core.training.run.directory import RunDirectory


def keep_run(run: Path, folder: Path, *, title: str | None = None) -> int:
    """Write the model that a run saved last as a checkpoint folder; an older checkpoint there is replaced.

    The run may be finished, stopped or paused, or continue meanwhile.

    Args:
        run: the run's folder.
        folder: where.
        title: what people call the model; None: what they call its corpus.

    Returns:
        The step after which the model was saved.

    Raises:
        RunError: the run has saved nothing yet, is damaged, or the folder cannot be written.
        CheckpointError: the folder holds something else.
    """
    refuse_to_replace(folder)
    saved = RunDirectory.open(run).read_last()
    if saved is None:
        raise RunError(
            "{run} has not saved any weights yet, so there is no model to save; let it train a little longer", run=run
        )
    card = saved.card | {"name": real_path(folder).name} | ({"title": title} if title else {})
    if note := note_on_weights(not_finite_weights(saved.model)):
        card["notes"] = [note.as_json()]
    try:
        save(folder, saved.model, saved.tokenizer, card)
    except OSError as error:
        raise RunError(
            "{folder} cannot be written ({error}); free some disk space, or choose another folder",
            folder=folder,
            error=reason(error),
        ) from error
    return saved.progress.step
