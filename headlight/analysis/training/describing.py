"""What the card of a trained model says: what its heads do, and which outputs are usual."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from headlight.analysis.heads.guided_head import guidance_facts
from headlight.analysis.heads.scores import known_heads, score_heads
from headlight.analysis.trace.model_run import run_text
from transformer_core.checkpoints.checkpoint import CARD, read_card
from transformer_core.checkpoints.folder import write_json
from transformer_core.checkpoints.load import load
from transformer_core.corpora.corpus import Pair
from transformer_core.errors import HeadlightError, RunError
from transformer_core.model.transformer import Transformer
from transformer_core.reasons import reason
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.training.run.begin import corpus_of
from transformer_core.training.run.directory import RunDirectory

N_SCORED = 64  # held-out items on which the heads are measured
N_USUAL = 500  # held-out pairs that say what output is usual
UNUSUAL = 0.01  # share of them whose output is less probable than the limit in the card


def describe_heads(run: Path, folder: Path, *, n_scored: int = N_SCORED, n_usual: int = N_USUAL) -> None:
    """Measure what the heads of a kept model do, and write it into its card, which is replaced in one piece.

    Args:
        run: the folder of the run that it was kept from.
        folder: the model's.
        n_scored: held-out items of the run's corpus on which the heads are measured.
        n_usual: held-out pairs on which it is measured how probable the model finds what it writes.

    Raises:
        RunError: the heads could not be measured, and why. The model is as it was kept.
    """
    try:
        card = read_card(folder)
        model, tokenizer = load(folder)
        request = RunDirectory.open(run).request
        corpus = corpus_of(request)
        heads = known_heads(score_heads(model, tokenizer, corpus.held_out[:n_scored]))
        guidance = guidance_facts(model, tokenizer, corpus, request.training)
        usual = usual_output(model, tokenizer, corpus.held_out[:n_usual]) if corpus.is_pairs else None
        results = {"heads": heads, "guidance": guidance, "usual": usual}
        described = {name: value for name, value in results.items() if value}
        if described and read_card(folder) == card:  # else another model has taken its place meanwhile
            write_json(folder / CARD, card | described)
    except Exception as error:  # a model is never lost, nor called lost, because its description failed
        why = reason(error) if isinstance(error, HeadlightError | OSError) else f"{type(error).__name__}: {error}"
        raise RunError("head scores could not be measured ({error})", error=why) from error


def usual_output(model: Transformer, tokenizer: Tokenizer, pairs: Sequence[Pair]) -> dict[str, float]:
    """Return how probable a model finds its own output on texts like those that it was trained on.

    Returns:
        `pairs`, how many were read, and `least_probability`: the mean token probability (geometric, in [0, 1]) that
        one in a hundred of their outputs does not reach. Of a text whose output does not, the model has probably not
        seen the like. Nothing where an output is NaN or infinite.
    """
    results = [
        run_text(model, tokenizer, pair.source, max_tokens=model.config.max_seq_len).mean_probability for pair in pairs
    ]
    if not np.isfinite(results).all():
        return {}
    return {"pairs": len(pairs), "least_probability": round(float(np.quantile(results, UNUSUAL)), 4)}
