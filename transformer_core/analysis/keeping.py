"""The end of a training: its model as a checkpoint, with a card that says what its heads do."""

from pathlib import Path

from transformer_core.analysis.head_scores import known_heads, score_heads
from transformer_core.errors import RunError
from transformer_core.language import say
from transformer_core.reasons import reason
from transformer_core.training.begin import corpus_of
from transformer_core.training.run_directory import RunDirectory
from transformer_core.weights.checkpoint import refuse_to_replace, save

N_SCORED = 64  # held-out items on which the heads are measured


def keep_run(run: Path, folder: Path, *, n_scored: int = N_SCORED) -> None:
    """Write the model that a run saved last as a checkpoint folder; an older checkpoint there is replaced.

    Args:
        run: the run's folder.
        folder: where.
        n_scored: held-out items on which the heads are measured.

    Raises:
        RunError: the run has saved nothing yet, is damaged, or the folder cannot be written.
        CheckpointError: the folder holds something else.
        CorpusError: the corpus of the run is not there any more.
    """
    refuse_to_replace(folder)
    directory = RunDirectory.open(run)
    saved = directory.read_last()
    if saved is None:
        raise RunError(
            say("{run} has saved nothing yet, so there is no model to keep; let it train a little longer", run=run)
        )
    held_out = corpus_of(directory.request).held_out[:n_scored]
    heads = known_heads(score_heads(saved.model, saved.tokenizer, held_out))
    card = saved.card | {"name": folder.resolve().name} | ({"heads": heads} if heads else {})
    try:
        save(folder, saved.model, saved.tokenizer, card)
    except OSError as error:
        raise RunError(
            say(
                "{folder} cannot be written ({error}); make room, or choose another folder",
                folder=folder,
                error=reason(error),
            )
        ) from error
